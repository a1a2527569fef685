"""Columns that a document derives without listing them, and bounds on their number.

A kilobyte of SQL can select all columns of a query twice, and repeat that twenty times. Readers count columns
where they make them, so that the columns of a document fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from fll_hbase.runtime.errors import TooLarge

T = TypeVar("T")

DERIVED_MAX = 100_000
"""Derived columns of a document that may be in memory at a time; stated in docs/reference/rest.md."""

RETAINED_MAX = 400_000
"""Derived columns in all writes of a document. Each takes two kilobytes, including its operations."""

INPUTS_PER_COLUMN = 10
"""Number of inputs of a column that take as much memory as the column itself."""


class TooManyColumns(TooLarge):
    """A document that derives more than DERIVED_MAX columns at a time, or RETAINED_MAX in all its writes."""


class Part:
    """Columns that a part of a document has derived so far, and columns that remain after its end.

    `view_columns` are read by later parts, as from views. `retained`, of writes, have a separate bound.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.view_columns = 0
        self.retained = 0

    def keep_view(self, columns: int) -> None:
        """Keep this number of columns for later parts, none if negative."""
        self.view_columns += max(0, columns)

    def keep(self, columns: int) -> None:
        """Keep this number of columns in writes, none if negative."""
        self.retained += max(0, columns)

    def add(self, inner: Part) -> None:
        """Add what remains of an inner part. Raises TooManyColumns, and then adds nothing."""
        if self.retained + inner.retained > RETAINED_MAX:
            raise _too_many(RETAINED_MAX)
        if self.count + inner.view_columns > DERIVED_MAX:
            raise _too_many(DERIVED_MAX)
        self.retained += inner.retained
        self.count += inner.view_columns


_current: ContextVar[Part | None] = ContextVar("derived_columns", default=None)


@contextmanager
def part() -> Iterator[Part]:
    """Return a context that counts columns while a document or a part of it is read. Raises TooManyColumns.

    Columns that remain at the end count for the outer part.
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
    """Count columns that are made now; do nothing outside a part. Raises TooManyColumns."""
    current = _current.get()
    if current is None or not columns:
        return
    current.count += columns
    if current.count > DERIVED_MAX:
        raise _too_many(DERIVED_MAX)


def counted(columns: Iterable[T]) -> Iterator[T]:
    """Yield the columns and count each. Raises TooManyColumns."""
    for column in columns:
        derive(1)
        yield column


def _too_many(bound: int) -> TooManyColumns:
    """Return the error of a document that derives more columns than a bound."""
    return TooManyColumns(f"derives more than {bound:,} columns from others, as `SELECT *` does")


def inputs_weight(inputs: int) -> int:
    """Return the weight in columns of one column's inputs, which is 0 for few inputs."""
    return inputs // INPUTS_PER_COLUMN
