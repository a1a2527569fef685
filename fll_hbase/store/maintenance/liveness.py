"""Liveness analysis for garbage collection: every cell that a run row refers to.

A run needs its content (the set of operations that it performed), its event bodies, its references, its row
in the run index, the calendar cells of its day and the ways of its period.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from cachetools import LRUCache

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.keys.row_kinds import unknown_names
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.runtime.errors import CorruptRow, in_row
from fll_hbase.store.endpoints import EndpointCache, EndpointKeys, decode_endpoints
from fll_hbase.store.rows import calendar_rows, run_rows
from fll_hbase.store.rows.calendar_rows import ContentDay
from fll_hbase.store.rows.run_rows import CommittedHead
from fll_hbase.tables import Cell, CellKey, Row, Table

CACHED_DAYS_MAX = 200_000
"""Maximum number of cached days of contents whose shared cells were already reported."""

_ANY_AGE_MS = 2**63 - 1
# Bypass the Python-level constructor of a named tuple, because each run needs several cells.
_cell_key: Callable[[tuple[bytes, bytes]], CellKey] = partial(tuple.__new__, CellKey)


class LiveCells(NamedTuple):
    """The cells that one run row needs; rows of contents and event bodies are cells without a column.

    Cells shared by several runs may be reported for only one of them. `truncated_datasets` are datasets of
    the run that lost their references to it in a purge, because it started before their horizons. `former`
    has the cells of the run's earlier states, if the run changed recently.
    """

    cells: Sequence[CellKey]
    truncated_datasets: Sequence[Dataset] = ()
    former: Sequence[CellKey] = ()


class _CommittedState(NamedTuple):
    """The commit value of a run row, its head and its content's endpoints, or None, None and ()."""

    value: bytes | None
    head: CommittedHead | None
    endpoints: Sequence[EndpointKeys]


class LivenessScanner:
    """Finds the cells that pages of run rows need. Only one thread may use it.

    Methods raise CorruptRow. The caller must then delete nothing: an unreadable row could need any cell.
    """

    def __init__(self, table: Table, policy: RetentionPolicy) -> None:
        self._policy = policy
        self._endpoints = EndpointCache(
            table, lambda datasets: {dataset: policy.cutoff_ms(dataset) for dataset in datasets}
        )
        # An evicted entry only causes a second report of the same cells, which changes no result.
        self._reported: LRUCache[ContentDay, bool] = LRUCache(CACHED_DAYS_MAX)

    def expired_runs(self, page: Mapping[bytes, Row], *, until_ms: int) -> Iterator[bytes]:
        """Yield the keys of runs that started before the cut-offs of all their datasets.

        Rows with a cell put after `until_ms` are left out.
        """
        # A writer may still be working on a younger row.
        old = dict(rows_older_than(page.items(), until_ms))
        for key, state in self._committed_states(old).items():
            horizons = (endpoint.horizon_ms for endpoint in state.endpoints)
            # The earliest cut-off of its datasets decides. A run without a commit has no known datasets.
            if _start_ms(key, old[key], state.head) < min(horizons, default=self._policy.default_ms):
                yield key

    def live_cells(self, page: Mapping[bytes, Row], *, until_ms: int = _ANY_AGE_MS) -> Iterator[LiveCells]:
        """Yield one LiveCells for each row of a page of run rows: the cells of other rows that it needs.

        A content, ways and calendar cells that several runs need are yielded with only one of them, rarely
        more, across all pages of this scanner. Without a commit record, a run needs only the content of its
        latest document and its event bodies. A row with a cell put after `until_ms` counts as recently
        changed. Raises CorruptRow for an unreadable run row, or a missing content.
        """
        for key, (value, head, endpoints) in self._committed_states(page).items():
            cells = list(_input_cells(page[key], value))
            if head is None:
                yield LiveCells(cells)
                continue
            day = calendar_rows.day_of_head(head)
            if day not in self._reported:
                self._reported[day] = True
                cells += _day_cells(day, endpoints)
            # References of replaced documents are garbage: readers reject these hints.
            live = [endpoint for endpoint in endpoints if head.start_ms >= endpoint.horizon_ms]
            cells += _index_cells(key, head, live)
            truncated = [item.dataset for item in endpoints if head.start_ms < item.horizon_ms]
            yield LiveCells(cells, truncated, self._former_cells(key, page[key], value, until_ms))

    def _former_cells(self, key: bytes, row: Row, committed: bytes | None, until_ms: int) -> list[CellKey]:
        """Return the cells that a run's other commit records need, or [] if it last changed by `until_ms`."""
        # A reader that read the calendars before the change finds the run by its former reference, and then
        # its current state by its run row. Without the former reference it would not find the run.
        values = [cell[0] for column, cell in row.items() if column.startswith(layout.COMMIT)]
        others = {value for value in values if value != committed}
        if not others or is_older_than(row, until_ms):
            return []
        heads = {head for value in others if (head := decode_head(key, value))} - {
            decode_head(key, committed)
        }
        endpoints = self._endpoints.read({layout.content_row(head.checksum) for head in heads})
        cells: list[CellKey] = []
        for head in heads:
            # A missing content was already garbage when the run changed.
            listed = endpoints.get(layout.content_row(head.checksum), ())
            if not isinstance(listed, CorruptRow):
                cells += _day_cells(calendar_rows.day_of_head(head), listed)
                cells += _index_cells(key, head, listed)
        return cells

    def _committed_states(self, page: Mapping[bytes, Row]) -> dict[bytes, _CommittedState]:
        """Return the committed state of each run row of a page, with the endpoints of its content."""
        values = {key: run_rows.commit_value(row) for key, row in page.items()}
        heads = {key: decode_head(key, value) for key, value in values.items()}
        # Most runs of a page share a few contents, so one read is enough.
        content_rows = {layout.content_row(head.checksum) for head in heads.values() if head is not None}
        endpoints = self._endpoints.read(content_rows)
        return {
            key: _CommittedState(values[key], head, _require(endpoints, head) if head else ())
            for key, head in heads.items()
        }


def _index_cells(key: bytes, head: CommittedHead, endpoints: Iterable[EndpointKeys]) -> list[CellKey]:
    """Return the row of a run in the run index, and its references at these endpoints."""
    run = ranges.escaped_run_of(key)
    column = run_rows.reference_column(head.checksum, failed=head.state.failed)
    tail = layout.escaped_reference_tail(head.start_ms, run)
    cells = [_cell_key((endpoint.references + tail, column)) for endpoint in endpoints]
    cells.append(run_index_cell(layout.escaped_run_index_tail(head.start_ms, run)))
    return cells


def _day_cells(key: ContentDay, endpoints: Iterable[EndpointKeys]) -> Iterator[CellKey]:
    """Yield a content, the cells of its day and its ways, leaving out ways before a horizon."""
    yield CellKey(layout.content_row(key.checksum), b"")
    yield from calendar_rows.day_cells(key)
    tail = calendars.way_tail(calendars.period_of(key.day), key.checksum)
    stop_ms = calendars.day_window(key.day).stop_ms
    for endpoint in endpoints:
        # Compare the end of the day: runs on the rest of a horizon's day stay, and with them their way.
        if stop_ms > endpoint.horizon_ms:
            yield CellKey(endpoint.ways + tail, calendars.WAY)


def needed_cell(row: bytes, column: bytes) -> CellKey:
    """Return the cell by which `LiveCells` names a stored cell: the cell itself, except in the run index.

    In the run index, one cell represents all rows of one run and start, in any namespace and program.
    """
    # The program of a run with events is in its event bodies, which liveness does not read. A row of another
    # program is a rejected hint, and stays until its run is purged or starts at another time (decision 31).
    if row.startswith(layout.RUN_INDEX):
        return run_index_cell(layout.split_run_index_key(row)[1])
    return _cell_key((row, column))


def cells_older_than(
    scanned: Iterable[tuple[bytes, Row]], until_ms: int
) -> Iterator[tuple[bytes, bytes, Cell]]:
    """Yield row, column and cell of the known columns that were put at `until_ms` or earlier.

    Horizons next to the ways are left out, because they are deleted with their dataset's catalogue row.
    """
    for key, row in scanned:
        spared = spared_columns(key, row)
        for column, cell in row.items():
            if cell[1] <= until_ms and column not in spared:
                yield key, column, cell


def spared_columns(key: bytes, columns: Iterable[bytes]) -> set[bytes]:
    """Return the columns of rows of the key's kind that garbage collection never deletes one by one.

    These are unknown columns, which a newer release may need, and horizons next to the ways, which are
    deleted with the catalogue row of their dataset.
    """
    columns = set(columns)
    spared = set(unknown_names(key, columns))
    if key.startswith(layout.WAYS):
        spared |= {name for name in columns if name.startswith(layout.HORIZON)}
    return spared


def rows_older_than(scanned: Iterable[tuple[bytes, Row]], until_ms: int) -> Iterator[tuple[bytes, Row]]:
    """Yield the rows whose cells were all put at `until_ms` or earlier."""
    return ((key, row) for key, row in scanned if is_older_than(row, until_ms))


def is_older_than(row: Row, until_ms: int) -> bool:
    """Return whether no cell of a row was put after `until_ms`."""
    return max([stamp_ms for _, stamp_ms in row.values()], default=until_ms) <= until_ms


def catalogue_keys(key: bytes, row: Row) -> list[bytes]:
    """Return the keys of the catalogue rows of a content's datasets, each once. Raises CorruptRow."""
    endpoints = decode_endpoints(key, row)
    return [layout.dataset_row(dataset) for dataset in {*endpoints.sources, *endpoints.destinations}]


def run_index_cell(tail: bytes) -> CellKey:
    """Return the cell that represents all rows of the run index with a tail (see `needed_cell`)."""
    return _cell_key((run_index_row(tail), b""))


def run_index_row(tail: bytes) -> bytes:
    """Return the key that represents all rows of the run index with a tail, as `run_index_cell`."""
    return b"n||" + tail


def _require(
    endpoints: Mapping[bytes, tuple[EndpointKeys, ...] | CorruptRow], head: CommittedHead
) -> tuple[EndpointKeys, ...]:
    """Return the endpoints of a committed run. Raises CorruptRow if its content is missing or unreadable."""
    key = layout.content_row(head.checksum)
    match endpoints.get(key):
        case None:
            raise CorruptRow(f"{key.decode()}: a run refers to this content row, which is missing")
        case CorruptRow() as error:
            raise error
        case readable:
            return readable


def decode_head(key: bytes, value: bytes | None) -> CommittedHead | None:
    """Return the head of a commit value, or None for None. Raises CorruptRow, naming the row `key`."""
    try:
        return None if value is None else run_rows.decode_head(value)
    except CorruptRow:
        with in_row(key):
            raise


def _start_ms(key: bytes, row: Row, head: CommittedHead | None) -> int:
    """Return the start of a run: committed, else the earliest of its latest document and events, else 0."""
    if head is not None:
        return head.start_ms
    with in_row(key):
        latest = run_rows.latest_document(row)
        starts = [event.time_ms for event in run_rows.decode_events(row)]
        starts += [run_rows.decode_head(latest.value).start_ms] if latest else []
    return min(starts, default=0)


def _input_cells(row: Row, committed: bytes | None) -> Iterator[CellKey]:
    """Yield the content of the latest document if it is not yet committed, and the bodies of all events."""
    # Nearly all rows have a document and a commit record of equal value, whose content the caller reports.
    if [value for value, _ in row.values()] == [committed] * len(row):
        return
    latest = run_rows.latest_document(row)
    if latest is not None and latest.value != committed:
        yield CellKey(layout.content_row(run_rows.decode_head(latest.value).checksum), b"")
    # Include events overridden by a document: audits and `run_details` read their bodies.
    for event in run_rows.decode_events(row):
        yield CellKey(layout.event_body_row(event.lineage_digest), b"")
        yield CellKey(layout.event_body_row(event.facts_digest), b"")
