"""What keeps what: the contents, parts, references and index rows that run rows need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cachetools import LRUCache

from fll_hbase.errors import CorruptRow, in_row
from fll_hbase.keys import layout, ranges
from fll_hbase.keys.codec import day_of
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.window import DAY_MS
from fll_hbase.store import content_rows, run_rows
from fll_hbase.store.run_rows import CommittedHead
from fll_hbase.tables import Cell, CellKey, Row, Table

CONTENTS_MAX, DAYS_MAX = 100_000, 200_000
"""Of so many contents the end points are remembered, and of so many days of contents that they were told."""

SCANNED = (layout.LIGHT,)
"""What is read of run rows."""


class LiveCells(NamedTuple):
    """What one run row needs, and those of its end points before whose horizons its run started.

    Rows of contents and parts are named without a column. What other runs need too is told of one of them,
    or of few.
    """

    cells: Sequence[CellKey]
    truncated_datasets: Sequence[Dataset] = ()


@dataclass(frozen=True, slots=True)
class _End:
    """An end point in one direction, with what its references and index rows begin with."""

    end_point: Dataset
    horizon_ms: int
    references: bytes
    index: bytes


class _True(NamedTuple):
    """What is true of a run, as bytes and as far as it can be claimed, and where its hints are."""

    value: bytes | None
    claim: CommittedHead | None
    ends: Sequence[_End]


class LivenessScanner:
    """Reads run rows for what they keep."""

    def __init__(self, table: Table, horizons: RetentionPolicy) -> None:
        self._table = table
        self._horizons = horizons
        self._ends: LRUCache[str, list[_End]] = LRUCache(CONTENTS_MAX)
        self._told: LRUCache[tuple[str, int, bool], bool] = LRUCache(DAYS_MAX)

    def expired_runs(self, page: Mapping[bytes, Row], *, until_ms: int) -> Iterator[bytes]:
        """The runs that started before the horizons of all their end points, and were not touched of late.

        Raises CorruptRow.
        """
        old = dict(rows_older_than(page.items(), until_ms))
        for key, true in self._truths(old).items():
            horizon_ms = min((end.horizon_ms for end in true.ends), default=self._horizons.default_ms)
            if _start_ms(key, old[key], true.claim) < horizon_ms:
                yield key

    def live_cells(self, page: Mapping[bytes, Row]) -> Iterator[LiveCells]:
        """What run rows keep. Raises CorruptRow: then nothing may be swept."""
        for key, (value, claim, ends) in self._truths(page).items():
            cells = list(_said(page[key], value))
            if claim is None:
                yield LiveCells(cells)
                continue
            start_ms, failed = claim.start_ms, claim.state.failed
            cells += self._shared(claim.checksum, day_of(start_ms), failed, ends)
            column = run_rows.reference_column(claim.checksum, failed=failed)
            tail = layout.escaped_reference_tail(start_ms, ranges.escaped_run_of(key))
            cells += [CellKey(end.references + tail, column) for end in ends if start_ms >= end.horizon_ms]
            yield LiveCells(cells, [end.end_point for end in ends if start_ms < end.horizon_ms])

    def _shared(self, checksum: str, day: int, failed: bool, ends: Iterable[_End]) -> Iterator[CellKey]:
        """The content and the index rows of a day, unless they were told before."""
        asked = checksum, day, failed
        if asked in self._told:
            return
        self._told[asked] = True
        yield CellKey(layout.content_row(checksum), b"")
        witness = layout.FAILED_SAMPLE_RUN if failed else layout.SAMPLE_RUN
        tail = layout.index_tail(day, checksum)
        for end in ends:
            if (day + 1) * DAY_MS > end.horizon_ms:
                yield CellKey(end.index + tail, witness)

    def _truths(self, page: Mapping[bytes, Row]) -> dict[bytes, _True]:
        """What is true of each, if any pass has finished, and the end points of its content."""
        values = {key: run_rows.commit_value(row) for key, row in page.items()}
        claims = {key: _claimed(key, value) for key, value in values.items()}
        ends = self._ends_of({claim.checksum for claim in claims.values() if claim is not None})
        return {
            key: _True(values[key], claim, ends[claim.checksum] if claim else [])
            for key, claim in claims.items()
        }

    def _ends_of(self, checksums: set[str]) -> dict[str, list[_End]]:
        found = {checksum: ends for checksum in checksums if (ends := self._ends.get(checksum)) is not None}
        missing = sorted(checksums - found.keys())
        keys = {layout.content_row(checksum): checksum for checksum in missing}
        read = self._table.rows(list(keys), columns=(layout.SOURCES, layout.DESTINATIONS)) if keys else {}
        for key, checksum in keys.items():
            with in_row(key):
                if key not in read:
                    raise CorruptRow("a run names this data row, but there is none")
                named = content_rows.decode_endpoints(checksum, read[key])
            found[checksum] = self._ends[checksum] = [
                _End(
                    end_point,
                    self._horizons.cutoff_ms(end_point),
                    layout.reference_prefix(direction, end_point),
                    layout.index_prefix(direction, end_point),
                )
                for direction, end_point in named.directed()
            ]
        return found


def cells_older_than(scanned: Iterable[tuple[bytes, Row]], until_ms: int) -> Iterator[tuple[bytes, bytes, Cell]]:
    """The cells of references and index rows that may be swept if nothing needs them: row, column, cell."""
    for key, row in scanned:
        for column, cell in row.items():
            if cell.stamp_ms <= until_ms:
                yield key, column, cell


def rows_older_than(scanned: Iterable[tuple[bytes, Row]], until_ms: int) -> Iterator[tuple[bytes, Row]]:
    """The rows that may be swept if nothing needs them."""
    return ((key, row) for key, row in scanned if is_older_than(row, until_ms))


def is_older_than(row: Row, until_ms: int) -> bool:
    """Whether no cell of a row was put after `until_ms`."""
    return all(cell.stamp_ms <= until_ms for cell in row.values())


def catalogue_keys(key: bytes, row: Row) -> list[bytes]:
    """The catalogue rows of the end points that a data row names. Raises CorruptRow."""
    with in_row(key):
        ends = content_rows.decode_endpoints(ranges.checksum_of(key), row)
    return [layout.dataset_row(end_point) for end_point in {*ends.sources, *ends.destinations}]


def _claimed(key: bytes, value: bytes | None) -> CommittedHead | None:
    try:
        return None if value is None else run_rows.decode_head(value)
    except CorruptRow:
        with in_row(key):
            raise


def _start_ms(key: bytes, row: Row, claim: CommittedHead | None) -> int:
    """When a run started; of one that no pass has finished, as far as is known."""
    if claim is not None:
        return claim.start_ms
    with in_row(key):
        latest = run_rows.latest_document(row)
        starts = [event.time_ms for event in run_rows.decode_events(row)]
        starts += [run_rows.decode_head(latest.value).start_ms] if latest else []
    return min(starts, default=0)


def _said(row: Row, truth: bytes | None) -> Iterator[CellKey]:
    """The content of the latest document, if that is not the truth; and the parts of all events."""
    if all(cell.value == truth for cell in row.values()):
        return
    latest = run_rows.latest_document(row)
    if latest is not None and latest.value != truth:
        yield CellKey(layout.content_row(run_rows.decode_head(latest.value).checksum), b"")
    for event in run_rows.decode_events(row):
        yield CellKey(layout.event_body_row(event.lineage_digest), b"")
        yield CellKey(layout.event_body_row(event.facts_digest), b"")
