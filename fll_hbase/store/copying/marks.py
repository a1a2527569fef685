"""Marks of ranges of rows: numbers of rows and cells, and one 64-bit number made of all cells."""

from __future__ import annotations

from dataclasses import dataclass

import xxhash

from fll_hbase.tables import Row

_MARKS = 2**64
_LENGTHS = (4, 4)
"""Bytes of the lengths of key and column in what is hashed: no two cells are the same bytes."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Rows, cells and the sum of the 64-bit hashes of the cells; equal ranges of rows have equal marks.

    The sum does not depend on the order of rows and columns. Timestamps are no part of it: an engine stamps
    what is put into it by its own clock.
    """

    rows: int = 0
    cells: int = 0
    hash: int = 0

    def __add__(self, other: Mark) -> Mark:
        return Mark(self.rows + other.rows, self.cells + other.cells, (self.hash + other.hash) % _MARKS)


def mark_row(key: bytes, row: Row) -> Mark:
    """Return the mark of one row."""
    return Mark(
        1, len(row), sum(_cell_hash(key, column, cell.value) for column, cell in row.items()) % _MARKS
    )


def _cell_hash(key: bytes, column: bytes, value: bytes) -> int:
    """Return the 64-bit hash of a cell; the lengths of key and column are part of what is hashed."""
    lengths = b"".join(
        len(part).to_bytes(size, "big") for part, size in zip((key, column), _LENGTHS, strict=True)
    )
    return xxhash.xxh3_64_intdigest(lengths + key + column + value)
