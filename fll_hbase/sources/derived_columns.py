"""Columns that a document derives and does not list: how many of them reading it may make.

A kilobyte of SQL can select all columns of a query twice, and so on twenty times. Readers count columns where
they make them, so that none makes more than memory has room for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from fll_hbase.runtime.errors import TooLarge

T = TypeVar("T")

DERIVED_MAX = 100_000
"""Derived columns of a document that may be in memory at the same time; docs/reference/rest.md states it."""

RETAINED_MAX = 400_000
"""Columns of all writes of a document that it derives. Each takes two kilobytes, with its operations."""

INPUTS_PER_COLUMN = 10
"""Inputs of a column that need as much memory as a column."""


class TooManyColumns(TooLarge):
    """A document that derives more than DERIVED_MAX columns at a time, or RETAINED_MAX in all its writes."""


class Part:
    """Columns that a part of a document has derived so far, and those that stay behind its end.

    `view_columns` are those that later parts read, as of views, `retained` those of writes, which have a
    bound apart.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.view_columns = 0
        self.retained = 0

    def keep_view(self, columns: int) -> None:
        """Hold so many columns for the parts that follow, none if negative."""
        self.view_columns += max(0, columns)

    def keep(self, columns: int) -> None:
        """Keep so many columns in writes, none if negative."""
        self.retained += max(0, columns)

    def add(self, inner: Part) -> None:
        """Add what stays of a part inside of this one. Raises TooManyColumns, then nothing of it stays."""
        if self.retained + inner.retained > RETAINED_MAX:
            raise _too_many(RETAINED_MAX)
        if self.count + inner.view_columns > DERIVED_MAX:
            raise _too_many(DERIVED_MAX)
        self.retained += inner.retained
        self.count += inner.view_columns


_current: ContextVar[Part | None] = ContextVar("derived_columns", default=None)


@contextmanager
def part() -> Iterator[Part]:
    """Return a context in which a document or a part of one is read; behind it, what stays of it counts.

    Raises TooManyColumns.
    """
    outer = _current.get()
    inner = Part(outer.count if outer else 0)
    token = _current.set(inner)
    try:
        yield inner
    finally:
        _current.reset(token)
    if outer is not None:
        outer.add(inner)


def derive(columns: int) -> None:
    """Count columns that are made now. Raises TooManyColumns. Outside of a part it does nothing."""
    current = _current.get()
    if current is None or not columns:
        return
    current.count += columns
    if current.count > DERIVED_MAX:
        raise _too_many(DERIVED_MAX)


def counted(columns: Iterable[T]) -> Iterator[T]:
    """Yield the columns, and count each. Raises TooManyColumns."""
    for column in columns:
        derive(1)
        yield column


def _too_many(bound: int) -> TooManyColumns:
    """Return the error of a document that derives more columns than a bound."""
    return TooManyColumns(f"derives more than {bound:,} columns from others, as `SELECT *` does")


def inputs_weight(inputs: int) -> int:
    """Return how many columns so many inputs of one count as: none if they are few."""
    return inputs // INPUTS_PER_COLUMN
