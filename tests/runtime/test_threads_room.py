"""Room for what is large: never more at a time, and nothing waits for ever."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.runtime.threads import Room
from tests.support.waiting import PATIENCE_SECONDS, eventually


def test_those_that_wait_get_it_in_the_order_in_which_they_came() -> None:
    """A small one that would fit does not go before a large one."""
    room, log, may_leave = Room(10), [], threading.Event()

    def hold(name: str, size: int) -> None:
        with room.hold(size):
            log.append(name)
            assert may_leave.wait(PATIENCE_SECONDS)

    with ThreadPoolExecutor() as pool:
        try:
            pool.submit(hold, "first", 6)
            eventually(lambda: log == ["first"], "the first one has room")
            for count, (name, size) in enumerate((("large", 7), ("small", 3)), 1):
                pool.submit(hold, name, size)
                eventually(lambda count=count: room.waiting_count == count, "it waits")
            time.sleep(0.05)
            assert log == ["first"]
        finally:
            may_leave.set()
    assert log == ["first", "large", "small"]


def test_never_more_at_a_time() -> None:
    room, sizes, most = Room(10), [], []

    def hold(size: int) -> None:
        with room.hold(size):
            sizes.append(size)
            most.append(sum(sizes))
            time.sleep(0.001)
            sizes.remove(size)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(hold, [1, 9, 4, 4, 10, 3, 7, 2] * 5))
    assert max(most) <= 10


def test_one_that_is_larger_has_all_of_it() -> None:
    room = Room(10)
    with room.hold(1_000):
        assert room._left == 0
    assert room._left == 10


@pytest.mark.parametrize("size", [1, 10])
def test_the_time_of_one_that_waits_ends_and_it_holds_nothing(size: int) -> None:
    room = Room(10)
    with room.hold(10), deadline.limited(0.01), pytest.raises(DeadlineExceeded), room.hold(size):
        pytest.fail("the room is full")
    assert (room._left, room.waiting_count) == (10, 0)
