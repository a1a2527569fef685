"""Keys that split a range of a SQLite table into similar parts, in time independent of its size."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import accumulate, pairwise, takewhile
from typing import Any, NamedTuple

from fll_hbase.tables.sqlite_connection import Connection

COUNTED_MAX = 1_000_000
"""Maximum number of cells counted for exact parts, in a fraction of a second; a larger range is estimated."""

SECTION_CELLS = 50_000
"""Cells of a section that is not divided further; the sizes of larger sections are unknown."""

SECTIONS_PER_PART = 16

_COUNT = "SELECT count(*) FROM (SELECT 1 FROM cells WHERE row > ? AND row < ? LIMIT ?)"
_HOP = "SELECT row FROM cells WHERE row > ? AND row < ? ORDER BY row LIMIT 1 OFFSET ?"
_FIRST = "SELECT row FROM cells WHERE row >= ? AND row < ? ORDER BY row LIMIT 1"
_LAST = "SELECT row FROM cells WHERE row >= ? AND row < ? ORDER BY row DESC LIMIT 1"


class _Section(NamedTuple):
    """The start of a part of the range, and its number of cells, SECTION_CELLS if there are more."""

    start: bytes
    cells: int


def find_splits(connection: Connection, start: bytes, stop: bytes, *, parts: int) -> list[bytes]:
    """Return sorted keys between `start` and `stop` (both excluded), at most one less than `parts`.

    The keys split the cells into parts of similar size. In a large range, some keys may have no row.
    """
    cells = _count(connection, start, stop, cells_max=COUNTED_MAX)
    if cells < COUNTED_MAX:
        return _every_nth(connection, start, stop, parts=parts, cells=cells)
    return _spread(_sections(connection, start, stop, sections_max=SECTIONS_PER_PART * parts), parts=parts)


def _every_nth(connection: Connection, start: bytes, stop: bytes, *, parts: int, cells: int) -> list[bytes]:
    """Return at most `parts - 1` keys that split a range of `cells` cells into parts of similar size."""
    keys: list[bytes] = []
    hop = (start, stop, cells // parts)
    while len(keys) < parts - 1 and (key := connection.execute(_HOP, hop).fetchone()):
        keys += key
        hop = (*key, stop, cells // parts)
    return keys


def _sections(connection: Connection, start: bytes, stop: bytes, *, sections_max: int) -> list[_Section]:
    """Divide the range by the next byte of its keys until sections are small, or there are enough of them."""
    # Start with the widest: a dataset with most of the rows is divided by time, while small ones stay whole.
    waiting = deque([(start, stop)])
    sections: list[_Section] = []
    while waiting:
        section = waiting.popleft()
        cells = _count(connection, *section, cells_max=SECTION_CELLS)
        divisible = cells == SECTION_CELLS and len(sections) + len(waiting) < sections_max
        bounds = [section[0], *_next_bytes(connection, *section), section[1]] if divisible else []
        if len(bounds) > 2:
            waiting.extend(pairwise(bounds))
        else:
            sections.append(_Section(section[0], cells))
    return sorted(sections)


def _next_bytes(connection: Connection, start: bytes, stop: bytes) -> Iterator[bytes]:
    """Yield the beginnings of keys up to the first byte in which they differ, except the first beginning."""
    first, last = _key(connection, _FIRST, start, stop), _key(connection, _LAST, start, stop)
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    size = sum(1 for _ in same)
    head = first[: size + 1]
    while head < last[: size + 1]:
        # All keys that begin with `head` are below `successor`; the prefix itself has no further byte.
        successor = head + b"\0" if len(head) == size else head[:size] + bytes([head[size] + 1])
        head = _key(connection, _FIRST, successor, stop)[: size + 1]
        if head:
            yield head


def _key(connection: Connection, query: str, start: bytes, stop: bytes) -> bytes:
    """Return the row key that `query`, _FIRST or _LAST, finds in the range, b"" if the range has no rows."""
    key: Any = connection.execute(query, (start, stop)).fetchone()
    return key[0] if key else b""


def _spread(sections: list[_Section], *, parts: int) -> list[bytes]:
    """Return the starts of the sections that begin new parts of similar size."""
    total = sum(section.cells for section in sections) + 1
    begins = accumulate((section.cells for section in sections), initial=0)
    part_numbers = [cells * parts // total for cells in begins]
    return [
        section.start
        for section, (previous, number) in zip(sections[1:], pairwise(part_numbers), strict=False)
        if number > previous
    ]


def _count(connection: Connection, start: bytes, stop: bytes, *, cells_max: int) -> int:
    """Return the number of cells between `start` and `stop` (both excluded), at most `cells_max`."""
    cells: Any = connection.execute(_COUNT, (start, stop, cells_max)).get
    return int(cells)
