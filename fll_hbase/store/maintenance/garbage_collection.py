"""What nothing needs any more is taken away: purge of old runs, and a sweep after what was left behind.

Writers delete nothing. A sweep marks what run rows need, and then removes what is not marked, if it was put
before any pass began that may still rely on it: docs/row-keys.md, "How rows go". Whatever a writer does
meanwhile it puts anew, and deletes spare what was put later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeVar

from fll_hbase.keys import layout, ranges
from fll_hbase.model.retention_policy import Horizons
from fll_hbase.store.maintenance import liveness
from fll_hbase.store.maintenance.liveness import Marking
from fll_hbase.tables import CellKey, Put, Row, Table

T = TypeVar("T")

PAGE_ROWS = 1_000
HINTS = (*layout.REFERENCES, layout.INDEX)
"""References, and the day index."""

_SLACK = 8
"""Clocks may differ by an eighth of the grace period."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """What a sweep found: hints and rows that are to go, and end points whose past is cut."""

    cells: frozenset[CellKey]
    end_points: frozenset[bytes]
    contents: frozenset[bytes]
    shortened: frozenset[bytes]


class Removed(NamedTuple):
    """How much was removed; of a row or cell that was put anew meanwhile some may be left."""

    rows: int
    cells: int
    bytes: int

    def __add__(self, other: object) -> Removed:
        if not isinstance(other, Removed):
            return NotImplemented
        return Removed(self.rows + other.rows, self.cells + other.cells, self.bytes + other.bytes)


NOTHING = Removed(0, 0, 0)
_CELL_BYTES = 20
"""What HBase stores with a cell beside its key and value: lengths, stamp, type."""


def size_bytes(row: bytes, column: bytes, value: bytes) -> int:
    """About what a cell takes, before any encoding or compression."""
    return len(row) + len(column) + len(value) + _CELL_BYTES


def until_ms(now_ms: int, grace_ms: int) -> int:
    """What was put by then, and is not marked from now on, nobody relies on."""
    return now_ms - grace_ms - grace_ms // _SLACK


def purge(table: Table, horizons: Horizons, *, until_ms: int) -> Removed:
    """Remove runs that started before their horizons; a sweep, begun later, takes what was theirs."""
    marking = Marking(table, horizons)
    removed = NOTHING
    for page in pages(table, *ranges.under(layout.RUNS)):
        removed += remove_runs(table, list(marking.due(page, until_ms=until_ms)), until_ms=until_ms)
    return removed


def found(table: Table, horizons: Horizons, *, until_ms: int) -> Garbage:
    """All garbage of a table that one process can hold; it must be begun after `until_ms` was told.

    Raises CorruptRow: then nothing is known to be garbage.
    """
    marking = Marking(table, horizons)
    kept = [one for page in pages(table, *ranges.under(layout.RUNS)) for one in marking.kept(page)]
    needed = {cell for one in kept for cell in one.cells}
    hints = (table.scan(*ranges.under(kind)) for kind in HINTS)
    old = {
        CellKey(row, column) for scanned in hints for row, column, _ in liveness.old_cells(scanned, until_ms)
    }
    contents = dict(table.scan(*ranges.under(layout.CONTENTS), columns=(layout.SOURCES, layout.DESTINATIONS)))
    parts = table.scan(*ranges.under(layout.PARTS), columns=(layout.PART,))
    gone = {key for key, row in liveness.old_rows(contents.items(), until_ms) if (key, b"") not in needed}
    named = {key: set(liveness.end_points_of(key, row)) for key, row in contents.items()}
    alive = set().union(*(named[key] for key in named.keys() - gone))
    dead = set().union(*(named[key] for key in gone)) - alive
    return Garbage(
        cells=frozenset(old - needed),
        end_points=frozenset(dead | (aliases(table, sorted(dead)) - alive)),
        contents=frozenset(gone)
        | {key for key, _ in liveness.old_rows(parts, until_ms) if (key, b"") not in needed},
        shortened=frozenset(layout.end_point_row(end) for one in kept for end in one.shortened),
    )


def aliases(table: Table, keys: Sequence[bytes]) -> set[bytes]:
    """The catalogue rows of the further names of end points."""
    rows = [layout.alias_row(ranges.end_point_in(key)) for key in keys]
    read = [row for some in _batches(rows) for row in table.rows(some).values()]
    return {layout.end_point_row(layout.parsed_alias(column)) for row in read for column in row}


def remove(table: Table, garbage: Garbage, horizons: Horizons, *, until_ms: int) -> None:
    """Hints first; the catalogue of an end point before the content that names it.

    Whatever ends it, what is left is found by the next sweep.
    """
    shorten(table, garbage.shortened, horizons)
    remove_cells(table, sorted(garbage.cells), until_ms=until_ms)
    remove_end_points(table, sorted(garbage.end_points), until_ms=until_ms)
    remove_rows(table, sorted(garbage.contents), until_ms=until_ms)


def shorten(table: Table, keys: Iterable[bytes], horizons: Horizons) -> None:
    """Note at end points from which start on their references are whole."""
    puts = [
        Put(key, layout.horizon_column(horizons.of(ranges.end_point_in(key))), b"") for key in sorted(keys)
    ]
    if puts:
        table.write([puts])


def remove_runs(table: Table, keys: Sequence[bytes], *, until_ms: int) -> Removed:
    """Remove run rows unless they were touched: truths, then what was said."""
    removed = NOTHING
    for some in _batches(keys):
        due = _old(table, some, until_ms)
        unsaid = _taken(table, due, layout.TRUTH, until_ms=until_ms)
        gone = _taken(table, unsaid, b"", until_ms=until_ms)
        removed += measured({key: due[key] for key in gone})
    return removed


def remove_cells(table: Table, cells: Sequence[CellKey], *, until_ms: int) -> None:
    """Remove references and index rows."""
    for some in _batches(cells):
        table.delete(some, until_ms=until_ms)


def remove_rows(table: Table, keys: Sequence[bytes], *, until_ms: int) -> Removed:
    """Remove rows of contents and parts, unless they were put anew."""
    removed = NOTHING
    for some in _batches(keys):
        old = _old(table, some, until_ms)
        table.delete(_cells(old), until_ms=until_ms)
        removed += measured(old)
    return removed


def remove_end_points(table: Table, keys: Sequence[bytes], *, until_ms: int) -> Removed:
    """Remove what is old of catalogue rows, and aliases both of whose ends go."""
    gone = {ranges.end_point_in(key) for key in keys}
    for some in _batches(sorted(map(layout.alias_row, gone))):
        for key, row in table.rows(some).items():
            both = [column for column in row if layout.parsed_alias(column) in gone]
            table.delete([CellKey(key, column) for column in both], until_ms=until_ms)
    removed = NOTHING
    for some in _batches(keys):
        found = table.rows(some)
        table.delete(_cells(found), until_ms=until_ms)
        removed += measured(found)
    return removed


def pages(table: Table, start: bytes, stop: bytes) -> Iterator[dict[bytes, Row]]:
    """The light cells of a range, some rows at a time."""
    scanned = table.scan(start, stop, columns=liveness.SCANNED)
    while page := dict(islice(scanned, PAGE_ROWS)):
        yield page


def _taken(table: Table, due: Mapping[bytes, Row], kind: bytes, *, until_ms: int) -> dict[bytes, Row]:
    """Remove the columns that begin with `kind`; returns what is left of each row.

    Rows that were touched at this very moment get back what was taken, and are left out.
    """
    left = {key: {c: row[c] for c in row if not c.startswith(kind)} for key, row in due.items()}
    table.delete(
        [CellKey(key, c) for key in due for c in due[key].keys() - left[key].keys()], until_ms=until_ms
    )
    now = table.rows(list(due)) if due else {}
    touched = {key for key in due if now.get(key, {}) != left[key]}
    back = [
        Put(key, c, due[key][c].value) for key in sorted(touched) for c in due[key].keys() - left[key].keys()
    ]
    if back:
        table.write([back])
    return {key: row for key, row in left.items() if key not in touched}


def _old(table: Table, keys: Sequence[bytes], until_ms: int) -> dict[bytes, Row]:
    return {key: row for key, row in table.rows(keys).items() if liveness.is_old(row, until_ms)}


def measured(found: Mapping[bytes, Row]) -> Removed:
    """How much these rows are."""
    sizes = [
        size_bytes(key, column, cell.value) for key, row in found.items() for column, cell in row.items()
    ]
    return Removed(len(found), len(sizes), sum(sizes))


def _cells(found: Mapping[bytes, Row]) -> list[CellKey]:
    return [CellKey(key, column) for key, row in found.items() for column in row]


def _batches(keys: Sequence[T]) -> Iterator[Sequence[T]]:
    for begin in range(0, len(keys), PAGE_ROWS):
        yield keys[begin : begin + PAGE_ROWS]
