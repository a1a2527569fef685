"""Calls side by side: threads of one call, which share its deadline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def map_in_threads(function: Callable[[T], R], items: Sequence[T], *, threads_max: int) -> list[R]:
    """Return `function(item)` of each item, in order, of which at most `threads_max` run at a time.

    Raises the error of the first item that has one, after the calls that run by then have ended; no others
    begin. A single item runs in the calling thread.
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
