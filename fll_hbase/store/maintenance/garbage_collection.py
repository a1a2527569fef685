"""Garbage collection in one process: purge of expired runs, then deletion of cells that no run row needs.

docs/reference/row-keys.md, "How rows are deleted", defines both steps and explains why they are safe while
writers are running. Deletes only cells that were put at `until_ms` or earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import NamedTuple, TypeAlias, TypeVar

import xxhash

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.keys.layout import Range
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.errors import CorruptRow, StoreUnavailable
from fll_hbase.store.maintenance import liveness
from fll_hbase.store.maintenance.liveness import LivenessScanner
from fll_hbase.store.rows import calendar_mark, calendar_rows, run_rows
from fll_hbase.store.rows.calendar_rows import ContentDay
from fll_hbase.tables import Cell, CellKey, Put, Row, Table

T = TypeVar("T")

Report: TypeAlias = Callable[[str, int], None]
"""Called with the current kind of rows, and the number of rows of all kinds read so far."""

_Touch: TypeAlias = Callable[[Collection[ContentDay]], None]

PAGE_ROWS = 1_000
"""Rows of a page of a scan, and cells or rows of a delete."""

HINTS = (*layout.REFERENCES, layout.WAYS, layout.CALENDARS, layout.RUN_INDEX)
"""Prefixes of rows that are deleted cell by cell."""

TRIES_MAX = 10
"""Maximum number of touches, each of half the grace period or more, before a job gives up."""

SKEW_SHARE = 8
"""Clocks may differ by an eighth of the grace period."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """Cells of HINTS to delete, and whole rows of catalogue, contents and event bodies.

    `contents` also has the keys of event bodies. `truncated_rows` are the catalogue rows of datasets that
    lose references to runs that other datasets keep. `bytes` is the total size, without the catalogue
    rows, and without the operations of contents.
    """

    cells: frozenset[CellKey]
    catalogue_rows: frozenset[bytes]
    contents: frozenset[bytes]
    truncated_rows: frozenset[bytes]
    bytes: int = 0


class Removed(NamedTuple):
    """Numbers of deleted rows, cells and bytes, including cells that a writer put again in the meantime."""

    rows: int
    cells: int
    bytes: int

    def __add__(self, other: object) -> Removed:
        """Return the sums number by number; NotImplemented for another type."""
        if not isinstance(other, Removed):
            return NotImplemented
        return Removed(self.rows + other.rows, self.cells + other.cells, self.bytes + other.bytes)


NONE_REMOVED = Removed(0, 0, 0)
_CELL_BYTES = 20
"""Bytes that HBase adds to key and value of a cell: lengths, timestamp, type."""


def size_bytes(row: bytes, column: bytes, value: bytes) -> int:
    """Return the approximate size of a stored cell before encoding and compression."""
    return len(row) + len(column) + len(value) + _CELL_BYTES


def safe_until_ms(now_ms: int, grace_ms: int) -> int:
    """Return the latest `until_ms` that is safe for a scan beginning at `now_ms`."""
    # A commit relies on cells younger than half the grace period, and puts nothing later than half of it
    # after its beginning. One that relied on an older cell has ended, so the scan sees its commit record.
    return now_ms - grace_ms - grace_ms // SKEW_SHARE


def purge(
    table: Table, policy: RetentionPolicy, *, until_ms: int, grace_ms: int, clock: Callable[[], int] = now_ms
) -> Removed:
    """Delete the rows of runs that started before the cut-offs of all their datasets; return the numbers.

    Rows with a cell put after `until_ms` stay; `grace_ms` and `clock` are passed to `touch_days`. Raises
    CorruptRow or StoreUnavailable.
    """
    # Delete run rows only. Their contents, references, ways and calendar cells are garbage for a scan that
    # begins after the purge: `remove_runs` may restore a run, which then needs its content (decision 15).
    scanner = LivenessScanner(table, policy)
    removed = NONE_REMOVED
    for page in pages(table, *ranges.prefix_range(layout.RUNS)):
        expired = list(scanner.expired_runs(page, until_ms=until_ms))
        removed += remove_runs(table, expired, until_ms=until_ms, grace_ms=grace_ms, clock=clock)
    return removed


def find_garbage(
    table: Table, policy: RetentionPolicy, *, until_ms: int, purge_until_ms: int | None = None
) -> Garbage:
    """Return all garbage of a table, with a 64-bit hash in memory of each cell that its runs need.

    `until_ms` must come from `safe_until_ms` for a time before the call. With `purge_until_ms`, runs that a
    purge up to this time would delete need nothing, as if it had ended.

    Raises CorruptRow, because an unreadable row could need any cell.
    """
    # A run committed after its row was scanned needs no older cell: its commit put or refreshed all of them.
    needed, truncated = _needed_cells(table, policy, until_ms, purge_until_ms)
    size = 0
    cells: set[CellKey] = set()
    for prefix in HINTS:
        scanned = table.scan(*ranges.prefix_range(prefix))
        for row, column, cell in liveness.cells_older_than(scanned, until_ms):
            if hash_cell(liveness.needed_cell(row, column)) not in needed:
                cells.add(CellKey(row, column))
                size += size_bytes(row, column, cell.value)
    contents = dict(
        table.scan(*ranges.prefix_range(layout.CONTENTS), columns=(layout.SOURCES, layout.DESTINATIONS))
    )
    bodies = table.scan(*ranges.prefix_range(layout.EVENT_BODIES), columns=(layout.EVENT_BODY,))
    unneeded: set[bytes] = set()
    for key, cells_of_row in liveness.rows_older_than(chain(contents.items(), bodies), until_ms):
        if hash_cell(CellKey(key, b"")) not in needed:
            unneeded.add(key)
            size += size_of({key: cells_of_row}).bytes
    # The catalogue is not needed by runs: a dataset is garbage if only garbage contents name it.
    datasets = {key: set(liveness.catalogue_keys(key, row)) for key, row in contents.items()}
    live_datasets = set().union(*(datasets[key] for key in datasets.keys() - unneeded))
    dead_datasets = set().union(*(datasets[key] for key in datasets.keys() & unneeded)) - live_datasets
    # Runs are recorded under one name (decision 13), so no content may name the alias of a dataset.
    dead_aliases = {alias for _, alias in alias_cells(table, sorted(dead_datasets))} - live_datasets
    return Garbage(
        cells=frozenset(cells),
        catalogue_rows=frozenset(dead_datasets | dead_aliases),
        contents=frozenset(unneeded),
        truncated_rows=frozenset(truncated),
        bytes=size,
    )


def _needed_cells(
    table: Table, policy: RetentionPolicy, until_ms: int, purge_until_ms: int | None
) -> tuple[set[int], set[bytes]]:
    """Return the hashes of the cells that runs need, and the catalogue keys of datasets that lose references.

    With `purge_until_ms`, expired runs are left out. Runs changed after `until_ms` also need their former
    cells. Two cells with equal hashes keep each other (decision 16). Raises CorruptRow.
    """
    scanner = LivenessScanner(table, policy)
    needed: set[int] = set()
    truncated: set[bytes] = set()
    for page in pages(table, *ranges.prefix_range(layout.RUNS)):
        if purge_until_ms is not None:
            for key in list(scanner.expired_runs(page, until_ms=purge_until_ms)):
                del page[key]
        for live_cells in scanner.live_cells(page, until_ms=until_ms):
            needed.update(map(hash_cell, (*live_cells.cells, *live_cells.former)))
            truncated.update(map(layout.dataset_row, live_cells.truncated_datasets))
    return needed, truncated


def hash_cell(cell: tuple[bytes, bytes]) -> int:
    """Return the 64-bit hash of a cell, given as row and column."""
    return xxhash.xxh3_64_intdigest(b"%b\0%b" % cell)


def alias_cells(table: Table, keys: Sequence[bytes]) -> Iterator[tuple[CellKey, bytes]]:
    """Yield each alias cell of the datasets with these catalogue keys, and the alias's catalogue key."""
    for batch in _batches([layout.alias_row(ranges.dataset_of(key)) for key in keys]):
        for key, row in table.rows(batch).items():
            for alias in layout.aliases_in(row):
                yield CellKey(key, layout.alias_column(alias)), layout.dataset_row(alias)


def remove(table: Table, garbage: Garbage, policy: RetentionPolicy, *, until_ms: int) -> None:
    """Put horizons, then delete garbage: cells of HINTS, aliases, catalogue rows, contents, event bodies."""
    # Write the markers first: an audit reports missing references of runs that start after the horizon.
    write_horizon_markers(table, garbage.truncated_rows, policy)
    # Delete contents last, because the garbage of the catalogue is found through them. After an interruption,
    # the next garbage collection then finds the rest.
    remove_cells(table, sorted(garbage.cells), until_ms=until_ms)
    datasets = sorted(garbage.catalogue_rows)
    # An alias is in the rows of both names. If one of the two datasets stays, both cells stay.
    aliases = [cell for cell, alias in alias_cells(table, datasets) if alias in garbage.catalogue_rows]
    remove_cells(table, aliases, until_ms=until_ms)
    remove_datasets(table, datasets, until_ms=until_ms)
    remove_rows(table, sorted(garbage.contents), until_ms=until_ms)


def write_horizon_markers(table: Table, keys: Iterable[bytes], policy: RetentionPolicy) -> None:
    """Put the cut-off of each dataset, given by its catalogue row: older references may have been deleted.

    The cut-off goes into the catalogue row, and into a row next to the ways, which queries read.
    """
    puts = []
    for key in sorted(keys):
        dataset = ranges.dataset_of(key)
        column = layout.horizon_column(policy.cutoff_ms(dataset))
        puts += [Put(key, column, b""), Put(calendars.horizon_row(dataset), column, b"")]
    if puts:
        table.write([puts])


def days_of_commits(rows: Iterable[Mapping[bytes, Cell]]) -> set[ContentDay]:
    """Return the content and day of each commit record of run rows, including invalid records.

    An unreadable record is left out, because no reader counts its run anywhere.
    """
    # Include all records, because a failed delete may leave a record that becomes the valid one.
    cells = (row[column] for row in rows for column in row if column.startswith(layout.COMMIT))
    days = set()
    for value in {cell.value for cell in cells}:
        with suppress(CorruptRow):
            days.add(calendar_rows.day_of_head(run_rows.decode_head(value)))
    return days


def touch_days(
    table: Table, days: Collection[ContentDay], *, grace_ms: int, clock: Callable[[], int] = now_ms
) -> None:
    """Touch days whose runs the caller changes immediately, within half the grace period of the touch.

    As in a commit, a touch invalidates the seals of a day (docs/reference/row-keys.md, "Days and seals").
    A grace period of 0 ms or less means that no other process uses the table, so one touch is enough.
    Raises StoreUnavailable after TRIES_MAX touches that took longer.
    """
    if not days:
        return
    for _ in range(TRIES_MAX):
        # Take the time before the touch, because a seal relies on the time at which its token was put.
        began_ms = clock()
        table.write([calendar_rows.touch_puts(days, calendar_rows.new_token())])
        if grace_ms <= 0 or clock() - began_ms < grace_ms // 2:
            return
    raise StoreUnavailable(
        f"touching {len(days)} days took more than half the grace period of {grace_ms} ms, {TRIES_MAX} times;"
        " try again"
    )


def remove_runs(
    table: Table, keys: Sequence[bytes], *, until_ms: int, grace_ms: int, clock: Callable[[], int] = now_ms
) -> Removed:
    """Delete run rows, except those with a cell put after `until_ms` or changed in the meantime.

    Returns the numbers of deleted rows, cells and bytes. Touches the days of the runs first, see
    `touch_days`, which defines `grace_ms` and `clock` and raises StoreUnavailable.
    """
    touch = partial(touch_days, table, grace_ms=grace_ms, clock=clock)
    removed = NONE_REMOVED
    for batch in _batches(keys):
        expired = _older_rows(table, batch, until_ms)
        touch(days_of_commits(expired.values()))
        # Purge in two steps with a read after each. In the reverse order, a reader could find a commit record
        # without its events, which is CorruptRow; readers ignore a run without a commit record.
        uncommitted = _delete_columns(table, expired, layout.COMMIT, until_ms=until_ms, touch=touch)
        deleted = _delete_columns(table, uncommitted, b"", until_ms=until_ms, touch=touch)
        removed += size_of({key: expired[key] for key in deleted})
    return removed


def remove_cells(table: Table, cells: Sequence[CellKey], *, until_ms: int) -> None:
    """Delete cells one by one, in batches, unless they were put again after `until_ms`."""
    for batch in _batches(cells):
        table.delete(batch, until_ms=until_ms)


def remove_rows(table: Table, keys: Sequence[bytes], *, until_ms: int) -> Removed:
    """Delete rows of contents and event bodies without cells after `until_ms`; return the numbers."""
    removed = NONE_REMOVED
    for batch in _batches(keys):
        # Read again: step 2 of a commit may have put a row again since the scan.
        rows = _older_rows(table, batch, until_ms)
        table.delete(_cells(rows), until_ms=until_ms)
        removed += size_of(rows)
    return removed


def remove_datasets(table: Table, keys: Sequence[bytes], *, until_ms: int) -> Removed:
    """Delete the cells put up to `until_ms` of catalogue rows and of the horizon rows among the ways.

    Alias rows stay. Returns the numbers of the catalogue rows as read, younger cells included.
    """
    removed = NONE_REMOVED
    for batch in _batches(keys):
        # Cell by cell, unlike contents: a catalogue cell is valid without the rest of its row (decision 1).
        rows = table.rows(batch)
        horizons = table.rows([calendars.horizon_row(ranges.dataset_of(key)) for key in batch])
        table.delete(_cells({**rows, **horizons}), until_ms=until_ms)
        removed += size_of(rows)
    return removed


def former_index_ranges(table: Table) -> list[Range]:
    """Return the key ranges of `layout.INDEXES_BEFORE_CALENDARS` with rows; [] if the table is not marked.

    Without the mark, servers of an earlier release may still read these rows.
    """
    if not calendar_mark.is_marked(table):
        return []
    key_ranges = map(ranges.prefix_range, layout.INDEXES_BEFORE_CALENDARS)
    return [key_range for key_range in key_ranges if any(table.scan(*key_range, limit=1))]


def remove_former_indexes(
    table: Table, start: bytes, stop: bytes, *, until_ms: int, dry_run: bool = False
) -> Iterator[Removed]:
    """Delete the rows of a range of `former_index_ranges`; yield the numbers of each page.

    Rows with a cell put after `until_ms` stay. If `dry_run` is set, all rows stay.
    """
    for page in pages(table, start, stop):
        rows = dict(liveness.rows_older_than(page.items(), until_ms))
        if rows and not dry_run:
            table.delete(_cells(rows), until_ms=until_ms)
        yield size_of(rows)


def pages(table: Table, start: bytes, stop: bytes) -> Iterator[dict[bytes, Row]]:
    """Scan light cells from `start` (included) to `stop` (excluded), PAGE_ROWS rows at a time."""
    # Run rows have no other family.
    scanned = table.scan(start, stop, columns=(layout.LIGHT,))
    while page := dict(islice(scanned, PAGE_ROWS)):
        yield page


def _delete_columns(
    table: Table, rows: Mapping[bytes, Row], prefix: bytes, *, until_ms: int, touch: _Touch
) -> dict[bytes, Row]:
    """Delete the columns that begin with `prefix`; return the remaining cells of each row, by key.

    `rows` are complete rows as read before, without cells put after `until_ms`. A row without remaining cells
    is in the result, empty. If a writer changed a row in the meantime, even by a put of an equal cell, the
    row is left out, its day is touched, and its deleted cells are restored.
    """
    left = {key: {c: row[c] for c in row if not c.startswith(prefix)} for key, row in rows.items()}
    deleted = {key: rows[key].keys() - left[key].keys() for key in rows}
    table.delete([CellKey(key, column) for key in rows for column in deleted[key]], until_ms=until_ms)
    current = table.rows(list(rows)) if rows else {}
    # Compare cells with their timestamps: a writer that puts an equal cell also relies on the row.
    changed = {key for key in rows if current.get(key, {}) != left[key]}
    restored = {key: {column: rows[key][column] for column in deleted[key]} for key in sorted(changed)}
    # Touch again: a reader may since have sealed the day without these runs.
    touch(days_of_commits(restored.values()))
    # Put without the old timestamps: HBase's delete also hides later puts that are not newer than `until_ms`.
    puts = [Put(key, column, cell.value) for key, row in restored.items() for column, cell in row.items()]
    if puts:
        table.write([puts])
    return {key: row for key, row in left.items() if key not in changed}


def _older_rows(table: Table, keys: Sequence[bytes], until_ms: int) -> dict[bytes, Row]:
    """Return by key the stored rows among these whose cells were all put at `until_ms` or earlier."""
    return {key: row for key, row in table.rows(keys).items() if liveness.is_older_than(row, until_ms)}


def size_of(rows: Mapping[bytes, Row]) -> Removed:
    """Return the number of rows, the number of their cells, and the approximate size in bytes."""
    sizes = [size_bytes(key, column, cell.value) for key, row in rows.items() for column, cell in row.items()]
    return Removed(len(rows), len(sizes), sum(sizes))


def _cells(rows: Mapping[bytes, Row]) -> list[CellKey]:
    """Return the keys of all cells of rows."""
    return [CellKey(key, column) for key, row in rows.items() for column in row]


def _batches(keys: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield consecutive parts of a sequence, of PAGE_ROWS items each; the last may be shorter."""
    for start in range(0, len(keys), PAGE_ROWS):
        yield keys[start : start + PAGE_ROWS]
