"""Calls in threads: side by side within one deadline, or apart, so that the caller waits a bounded time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def map_in_threads(function: Callable[[T], R], items: Sequence[T], *, threads_max: int) -> list[R]:
    """Return `function(item)` of each item, in order. At most `threads_max` run at a time.

    Raises the error of the first item that has one, after the calls that run by then have ended. No other
    begin. A single item, or `threads_max` of 1, runs in the calling thread. Context variables are copied.
    """
    if len(items) <= 1 or threads_max <= 1:
        return [function(item) for item in items]
    # Threads of this call only: they need no care after a fork, and start faster than one call of an engine.
    with ThreadPoolExecutor(min(len(items), threads_max)) as executor:
        futures = [executor.submit(copy_context().run, function, item) for item in items]
        try:
            return [future.result() for future in futures]
        finally:
            executor.shutdown(cancel_futures=True)


def call_bounded(work: Callable[[], T], seconds: float) -> T:
    """Return what `work()` returns, or raise what it raises, or TimeoutError after `seconds`.

    After a timeout the work goes on in its thread, which does not keep the process from ending; timeouts of
    its own have to end it. If the process is ending, it runs in the calling thread, without a bound.
    """
    outcome: Future[T] = Future()
    try:
        # A daemon: the threads of an executor are joined when the process ends.
        threading.Thread(target=_run, args=(work, outcome), daemon=True).start()
    # From Python 3.12 on a process that is ending starts no threads, and its exit handlers may call this.
    except RuntimeError:
        return work()
    try:
        return outcome.result(seconds)
    except TimeoutError as error:
        # The one of the wait has no text; `work` may raise one, too.
        raise TimeoutError(str(error) or f"timed out after {seconds:.3g} s") from error


def _run(work: Callable[[], T], outcome: Future[T]) -> None:
    """Call `work` and put what it returns, or any exception that it raises, into `outcome`."""
    try:
        outcome.set_result(work())
    except BaseException as error:  # noqa: BLE001 (raised where the result is awaited)
        outcome.set_exception(error)
