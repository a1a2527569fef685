"""Long scripts are parsed one at a time, wait for the store without stopping others, and share memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from fll_hbase.model.datasets import Dataset
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.sources.sql import long_scripts
from fll_hbase.sources.sql.document import read_script
from fll_hbase.sources.sql.names.table_schemas import TableSchemas
from tests.support.waiting import PATIENCE_SECONDS

LONG = f"INSERT INTO o SELECT * FROM t -- {'x' * long_scripts.CONCURRENT_CHARACTERS_MAX}"
HALF = "x" * (long_scripts.CHARACTERS_MAX // 2)


@pytest.fixture(autouse=True)
def all_is_free() -> Iterator[None]:
    """Whatever happened, the next script has its turn."""
    yield
    with deadline.limited(1), long_scripts.turn("x" * long_scripts.CHARACTERS_MAX):
        pass


def read(lookup: threading.Event, looked_up: threading.Event) -> int:
    """Return the number of operations of a long script; the catalogue answers once `lookup` is set."""

    def columns(_: Dataset) -> list[str]:
        looked_up.set()
        assert lookup.wait(PATIENCE_SECONDS)
        return ["a"]

    tables = TableSchemas("n", {}, columns)
    return len(read_script(LONG, dialect="spark", tables=tables).info.operations)


def test_others_are_parsed_while_one_waits_for_the_catalogue() -> None:
    lookup, looked_up = threading.Event(), threading.Event()
    with ThreadPoolExecutor() as pool:
        first = pool.submit(read, lookup, looked_up)
        try:
            assert looked_up.wait(PATIENCE_SECONDS)
            answered = threading.Event()
            answered.set()
            second = pool.submit(read, answered, threading.Event()).result(PATIENCE_SECONDS)
        finally:
            lookup.set()
        assert first.result() == second > 0


def test_after_the_catalogue_it_is_parsed_when_it_is_its_turn_again() -> None:
    lookup, looked_up = threading.Event(), threading.Event()
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(read, lookup, looked_up)
        assert looked_up.wait(PATIENCE_SECONDS)
        with long_scripts.turn(LONG):
            lookup.set()
            time.sleep(0.1)
            assert not waiting.done()
        assert waiting.result() > 0


def test_the_time_of_a_script_ends_while_it_waits_for_its_turn() -> None:
    with ThreadPoolExecutor() as pool, long_scripts.turn(LONG):

        def late() -> None:
            with deadline.limited(0.1), pytest.raises(DeadlineExceeded), long_scripts.turn(LONG):
                pytest.fail("it is not its turn")

        pool.submit(late).result()


def test_all_that_are_read_have_room_in_the_order_in_which_they_came() -> None:
    """Two halves fill it; a third one waits, and a small one that comes later does not go before it."""
    inside = threading.Semaphore(0)
    leave = threading.Event()
    log: list[str] = []

    def hold(sql: str) -> None:
        with long_scripts.turn(sql), long_scripts.let_go():
            log.append(sql[0])
            inside.release()
            assert leave.wait(PATIENCE_SECONDS)

    with ThreadPoolExecutor() as pool:
        try:
            for name in ("a", "b"):
                pool.submit(hold, name + HALF[1:])
                assert inside.acquire(timeout=PATIENCE_SECONDS)
            third = pool.submit(hold, "c" + HALF[1:])
            while not long_scripts.ROOM.waiting_count:
                time.sleep(0.001)
            fourth = pool.submit(hold, "d" * (long_scripts.CONCURRENT_CHARACTERS_MAX + 1))
            time.sleep(0.1)
            assert log == ["a", "b"]
        finally:
            leave.set()
        third.result()
        fourth.result()
    assert sorted(log) == ["a", "b", "c", "d"]
