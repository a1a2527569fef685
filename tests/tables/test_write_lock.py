"""The write lock admits one writer at a time, across threads and processes, and every wait is bounded."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from fll_hbase.tables import write_lock as turns
from fll_hbase.tables.write_lock import WriteLock
from tests.support.table_workers import acquires_the_lock, go_on, holds_the_lock, process, received, stopped
from tests.support.waiting import eventually, patience

SOON, LONG = 0.2, 120.0


@pytest.fixture
def lock(tmp_path: Path) -> str:
    path = tmp_path / "cells.db"
    path.touch()
    return str(path)


@pytest.fixture(params=["file", "threads alone"])
def turn(request: pytest.FixtureRequest, lock: str) -> WriteLock:
    return WriteLock(lock if request.param == "file" else None)


def is_free(turn: WriteLock, seconds: float = LONG) -> bool:
    """Whether another thread gets its turn; it waits for one that is just being given back."""

    def attempt() -> bool:
        try:
            with turn.acquired(seconds):
                return True
        except TimeoutError:
            return False

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(attempt).result()


def waits_in_vain(turn: WriteLock) -> bool:
    """Whether another thread waits for its turn in vain."""
    return not is_free(turn, SOON)


def test_one_thread_at_a_time(turn: WriteLock) -> None:
    inside: list[int] = []
    most = []

    def work(number: int) -> None:
        for _ in range(50):
            with turn.acquired(LONG):
                inside.append(number)
                most.append(len(inside))
                time.sleep(0)
                inside.remove(number)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert most == [1] * 200


def test_waiting_ends_in_bounded_time_and_what_was_held_is_free_again(turn: WriteLock) -> None:
    with turn.acquired(LONG):
        began = time.monotonic()
        with patience():
            assert waits_in_vain(turn)
        assert time.monotonic() - began >= SOON * 0.9
    assert is_free(turn)


def test_an_error_inside_gives_the_turn_back(turn: WriteLock) -> None:
    with pytest.raises(ZeroDivisionError), turn.acquired(LONG):
        raise ZeroDivisionError
    assert is_free(turn)


def outcomes(
    turn: WriteLock, seconds: float, *, threads: int, inside_seconds: float = 0
) -> list[Future[None]]:
    """Threads that wait for their turn, and then keep it for a while."""

    def wait(outcome: Future[None]) -> None:
        try:
            with turn.acquired(seconds):
                time.sleep(inside_seconds)
            outcome.set_result(None)
        except TimeoutError as error:
            outcome.set_exception(error)

    started: list[Future[None]] = [Future() for _ in range(threads)]
    for outcome in started:
        threading.Thread(target=wait, args=(outcome,), daemon=True).start()
    return started


def test_where_nothing_moves_only_a_few_threads_go_on_waiting(
    turn: WriteLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "STUCK_SECONDS", SOON)
    with turn.acquired(LONG):
        waiting = outcomes(turn, LONG, threads=turns.PATIENT_THREADS_MAX + 3)
        eventually(lambda: sum(future.done() for future in waiting) >= 3, "three give up")
        time.sleep(2 * SOON)
        gave_up = [future for future in waiting if future.done()]
        assert [type(future.exception()) for future in gave_up] == [TimeoutError] * 3
    patient = [future for future in waiting if future not in gave_up]
    assert [future.exception(LONG) for future in patient] == [None] * turns.PATIENT_THREADS_MAX


@pytest.mark.slow
def test_where_the_turn_moves_on_nobody_gives_up_early(turn: WriteLock) -> None:
    """The last of them waits for longer than STUCK_SECONDS, each holder takes a twentieth of it."""
    waiting = outcomes(turn, LONG, threads=24, inside_seconds=turns.STUCK_SECONDS / 20)
    assert [future.exception(LONG) for future in waiting] == [None] * len(waiting)


def test_all_turns_of_one_file_exclude_one_another(lock: str) -> None:
    first, second = WriteLock(lock), WriteLock(lock)
    with first.acquired(LONG):
        assert waits_in_vain(second)
        assert waits_in_vain(second)
    assert is_free(second)
    with second.acquired(LONG):
        assert waits_in_vain(first)
    assert is_free(first)


def test_turns_of_other_files_do_not(lock: str, tmp_path: Path) -> None:
    with WriteLock(lock).acquired(LONG):
        other = tmp_path / "other.db"
        other.touch()
        assert is_free(WriteLock(str(other)))
        assert is_free(WriteLock(None))


def test_who_waits_gets_the_turn_as_soon_as_it_is_given_back(lock: str) -> None:
    first, second = WriteLock(lock), WriteLock(lock)
    had = threading.Event()

    def wait() -> None:
        with second.acquired(LONG):
            had.set()

    with ThreadPoolExecutor(1) as pool:
        with first.acquired(LONG):
            waiting = pool.submit(wait)
            assert not had.wait(SOON)
        waiting.result(LONG)
    assert had.is_set()
    assert is_free(first)


def test_a_turn_that_came_too_late_is_given_up(lock: str) -> None:
    first, second = WriteLock(lock), WriteLock(lock)
    with (
        first.acquired(LONG),
        pytest.raises(TimeoutError, match=r"other processes held the write lock for 0\.2 s"),
        second.acquired(SOON),
    ):
        pass
    assert is_free(first)
    assert is_free(second)


def test_readers_exclude_writers_only_while_none_writes_or_waits(turn: WriteLock) -> None:
    assert turn.exclude_threads()
    assert not turn.exclude_threads()
    writer = threading.Thread(target=acquire_once, args=(turn,))
    writer.start()
    writer.join(SOON)
    assert writer.is_alive(), "the writer waits for the reader"
    turn.admit_threads()
    writer.join(LONG)
    assert not writer.is_alive()
    with turn.acquired(LONG):
        assert not turn.exclude_threads()


def test_timeouts_leave_no_threads_and_no_descriptors(lock: str) -> None:
    first, second = WriteLock(lock), WriteLock(lock)
    with first.acquired(LONG):
        for _ in range(5):
            with pytest.raises(TimeoutError), second.acquired(0.01):
                pass
        # Those of other tests may still be about to end.
        threads = lambda: [thread.name for thread in threading.enumerate()].count("lock-file")  # noqa: E731
        eventually(lambda: threads() == 1, "one thread waits for the lock, however many gave up")
        open_files = [os.path.realpath(entry) for entry in Path("/proc/self/fd").iterdir()]
        assert open_files.count(os.path.realpath(f"{lock}.lock")) == 2, "one for each lock"
        waiting = threading.Thread(target=acquire_once, args=(second,))
        waiting.start()
    waiting.join(LONG)
    assert not waiting.is_alive(), "the thread that waited since the first timeout hands its lock over"
    assert is_free(first)
    second.close()
    first.close()


def test_an_interrupted_wait_releases_a_lock_that_comes_at_that_moment(
    lock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = WriteLock(lock), WriteLock(lock)

    waits = threading.Event()

    def interrupted(condition: threading.Condition, *_: object) -> bool:
        waits.set()
        condition.wait(LONG)
        raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as pool:
        with first.acquired(LONG):
            monkeypatch.setattr(threading.Condition, "wait_for", interrupted)
            waiting = pool.submit(acquire_once, second)
            assert waits.wait(LONG)
        assert isinstance(waiting.exception(LONG), KeyboardInterrupt)
    monkeypatch.undo()
    assert is_free(first)
    assert is_free(second)


def acquire_once(lock: WriteLock) -> None:
    with lock.acquired(LONG):
        pass


@pytest.mark.slow
def test_a_process_holds_what_another_cannot_have(lock: str) -> None:
    turn = WriteLock(lock)
    with process(acquires_the_lock, lock, LONG) as (child, reports):
        assert received(reports) == "held"
        assert waits_in_vain(turn)
        reports.send("enough")
        child.join(LONG)
        assert is_free(turn)
    with turn.acquired(LONG), process(acquires_the_lock, lock, SOON) as (_, reports):
        assert received(reports) == "not had"


def test_a_killed_process_holds_nothing(lock: str) -> None:
    with process(acquires_the_lock, lock, LONG) as (child, reports):
        assert received(reports) == "held"
        child.kill()
        child.join(LONG)
    assert is_free(WriteLock(lock))


def test_a_stopped_process_holds_its_turn_until_it_goes_on(lock: str) -> None:
    turn = WriteLock(lock)
    with process(holds_the_lock, lock) as (child, reports):
        stopped(child)
        assert waits_in_vain(turn)
        assert waits_in_vain(turn)
        go_on(child)
        assert received(reports) == "given back"
        assert is_free(turn)


def test_after_closing_the_file_is_free_and_can_be_locked_again(turn: WriteLock) -> None:
    with turn.acquired(LONG):
        pass
    turn.close()
    turn.close()
    assert is_free(turn)


def hold_in_child(reports: Connection, turn: WriteLock) -> None:
    with turn.acquired(LONG):
        reports.send("held")
        reports.recv()


def test_a_fork_takes_turns_with_its_parent(lock: str) -> None:
    turn = WriteLock(lock)
    with turn.acquired(LONG):
        pass
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    child = fork.Process(target=hold_in_child, args=(theirs, turn))
    child.start()
    try:
        assert received(ours) == "held"
        assert waits_in_vain(turn)
        ours.send("enough")
        child.join(LONG)
        assert child.exitcode == 0
        assert is_free(turn)
    finally:
        child.kill()
