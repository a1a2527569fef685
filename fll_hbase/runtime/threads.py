"""Calls in threads, in parallel or in the background with a bounded wait, and room that threads share."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import TypeVar

from fll_hbase.runtime import deadline

T = TypeVar("T")
R = TypeVar("R")

LOOK_SECONDS = 0.5
"""Seconds between two checks of the deadline while a caller waits for room."""


def map_in_threads(function: Callable[[T], R], items: Sequence[T], *, threads_max: int) -> list[R]:
    """Return `function(item)` of each item, in order. At most `threads_max` run at a time.

    Raises the error of the first item, in their order, that has one. Further calls may begin until all
    items before it have results, and the running calls end before the error is raised. A single item, or
    `threads_max` of 1, runs in the calling thread. Context variables are copied.
    """
    if len(items) <= 1 or threads_max <= 1:
        return [function(item) for item in items]
    # Threads only for this call need no care after a fork, and start faster than one call of an engine.
    with ThreadPoolExecutor(min(len(items), threads_max)) as executor:
        futures = [executor.submit(copy_context().run, function, item) for item in items]
        try:
            return [future.result() for future in futures]
        finally:
            executor.shutdown(cancel_futures=True)


def call_bounded(work: Callable[[], T], seconds: float) -> T:
    """Return the result of `work()` or raise its error, or raise TimeoutError after `seconds`.

    After a timeout the work continues in its thread until its own timeouts end it. The thread does not keep
    the process from ending. If no thread can start, as while the process ends, the work runs in the calling
    thread without a time limit.
    """
    try:
        outcome = start_in_background(work)
    # From Python 3.12 on a process that is ending starts no threads, and its exit handlers may call this.
    except RuntimeError:
        return work()
    try:
        return outcome.result(seconds)
    except TimeoutError as error:
        # The wait raises one without a text, but `work` may raise its own with a text.
        raise TimeoutError(str(error) or f"timed out after {seconds:.3g} s") from error


def start_in_background(work: Callable[[], T]) -> Future[T]:
    """Start `work()` in a thread that does not keep the process from ending; return its future result.

    Context variables, such as the deadline, are not copied. Raises RuntimeError if no thread can start, as
    while the process ends (Python 3.12).
    """
    outcome: Future[T] = Future()
    # A future whose caller no longer waits still gets its result.
    outcome.set_running_or_notify_cancel()
    # A daemon thread, because the threads of an executor are joined when the process ends.
    threading.Thread(target=_run, args=(work, outcome), daemon=True).start()
    return outcome


def _run(work: Callable[[], T], outcome: Future[T]) -> None:
    """Call `work` and put its result, or any exception that it raises, into `outcome`."""
    try:
        outcome.set_result(work())
    except BaseException as error:  # noqa: BLE001 (raised where the result is awaited)
        outcome.set_exception(error)


class Room:
    """Room of a fixed size for large things, which waiting callers get in the order in which they came."""

    def __init__(self, size: int) -> None:
        self._size = self._left = size
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()

    @property
    def waiting_count(self) -> int:
        """Return how many callers wait."""
        return len(self._waiting)

    @contextmanager
    def hold(self, size: int) -> Iterator[None]:
        """Wait until there is room for `size`, and occupy it inside the block.

        A larger size occupies all of the room. Raises DeadlineExceeded and, while a document is read,
        TooLarge.
        """
        size = min(size, self._size)
        self._wait(size)
        try:
            yield
        finally:
            with self._changed:
                self._left += size
                self._changed.notify_all()

    def _wait(self, size: int) -> None:
        """Take room in order of arrival, so that smaller sizes cannot delay a larger size forever."""
        me = object()
        with self._changed:
            self._waiting.append(me)
            try:
                while self._waiting[0] is not me or self._left < size:
                    self._changed.wait(deadline.seconds_left(LOOK_SECONDS))
                self._left -= size
            finally:
                self._waiting.remove(me)
                self._changed.notify_all()
