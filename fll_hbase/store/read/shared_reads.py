"""Reads shared by the queries of one thread: a window that one query has read is not read again."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)

SHARED_MAX = 200_000
"""Maximum number of shared values, counted with their items; further values are read again."""


class _Shared:
    """Results by query, and their size."""

    def __init__(self) -> None:
        self.values: dict[Hashable, Any] = {}
        self.size = 0


_current: ContextVar[_Shared | None] = ContextVar("shared", default=None)


@contextmanager
def shared() -> Iterator[None]:
    """Return a context in which queries of this thread share their reads, and thus see one state."""
    token = _current.set(_Shared())
    try:
        yield
    finally:
        _current.reset(token)


def lookup(keys: Iterable[K]) -> dict[K, Any]:
    """Return the shared values of the keys that have one."""
    current = _current.get()
    return {} if current is None else {key: current.values[key] for key in keys if key in current.values}


def add(values: Mapping[Any, Collection[Any]], *, size: int) -> None:
    """Share values, `size` items in all, if there is room for all of them; outside `shared` do nothing."""
    current = _current.get()
    if current is not None and current.size + size <= SHARED_MAX:
        current.values.update(values)
        current.size += size


def forget() -> None:
    """Forget all shared values, so that the next query reads the current state."""
    current = _current.get()
    if current is not None:
        current.values.clear()
        current.size = 0
