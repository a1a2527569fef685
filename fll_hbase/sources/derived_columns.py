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
"""Columns that a document derives, as far as they are in memory at the same time; docs/rest.md states it."""

INPUTS_PER_COLUMN = 10
"""Inputs of a column that need as much memory as a column."""


class TooManyColumns(TooLarge):
    """A document that derives more than DERIVED_MAX columns."""


class Part:
    """Columns that a part of a document has derived so far, and those that it keeps behind its end."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.retained = 0

    def keep(self, columns: int) -> None:
        """Keep so many columns, none if negative."""
        self.retained += max(0, columns)


_current: ContextVar[Part | None] = ContextVar("derived_columns", default=None)


@contextmanager
def part() -> Iterator[Part]:
    """Return a context in which a document or a part of one is read; behind it, what it retained counts."""
    outer = _current.get()
    inner = Part(outer.count if outer else 0)
    token = _current.set(inner)
    try:
        yield inner
    finally:
        _current.reset(token)
    derive(inner.retained)


def derive(columns: int) -> None:
    """Count columns that are made now. Raises TooManyColumns. Outside of a part it does nothing."""
    current = _current.get()
    if current is None or not columns:
        return
    current.count += columns
    if current.count > DERIVED_MAX:
        raise TooManyColumns(f"derives more than {DERIVED_MAX:,} columns from others, as `SELECT *` does")


def counted(columns: Iterable[T]) -> Iterator[T]:
    """Yield the columns, and count each. Raises TooManyColumns."""
    for column in columns:
        derive(1)
        yield column


def inputs_weight(inputs: int) -> int:
    """Return how many columns so many inputs of one count as: none if they are few."""
    return inputs // INPUTS_PER_COLUMN
