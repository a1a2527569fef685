"""Calls that end in a bounded time, whatever they wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def call_bounded(work: Callable[[], T], seconds: float) -> T:
    """Return what `work()` returns, or raise what it raises, or TimeoutError after `seconds`.

    After a timeout the work goes on in its thread, which does not keep the process from ending; timeouts of
    its own have to end it.
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
    try:
        outcome.set_result(work())
    except BaseException as error:  # noqa: BLE001 (raised where the result is awaited)
        outcome.set_exception(error)
