"""What keeps what: the contents, parts, references and index rows that run rows need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cachetools import LRUCache

from fll_hbase.errors import CorruptRow, in_row
from fll_hbase.keys import layout, ranges
from fll_hbase.keys.codec import day_of
from fll_hbase.model.operations import Dataset
from fll_hbase.model.retention_policy import Horizons
from fll_hbase.model.runs import DAY_MS
from fll_hbase.store import content_rows, run_rows
from fll_hbase.store.run_rows import Claim
from fll_hbase.tables import Cell, CellKey, Row, Table

CONTENTS_MAX, DAYS_MAX = 100_000, 200_000
"""Of so many contents the end points are remembered, and of so many days of contents that they were told."""

SCANNED = (layout.LIGHT,)
"""What is read of run rows."""


class Kept(NamedTuple):
    """What one run row needs, and those of its end points before whose horizons its run started.

    Rows of contents and parts are named without a column. What other runs need too is told of one of them,
    or of few.
    """

    cells: Sequence[CellKey]
    shortened: Sequence[Dataset] = ()


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
    claim: Claim | None
    ends: Sequence[_End]


class Marking:
    """Reads run rows for what they keep."""

    def __init__(self, table: Table, horizons: Horizons) -> None:
        self._table = table
        self._horizons = horizons
        self._ends: LRUCache[str, list[_End]] = LRUCache(CONTENTS_MAX)
        self._told: LRUCache[tuple[str, int, bool], bool] = LRUCache(DAYS_MAX)

    def due(self, page: Mapping[bytes, Row], *, until_ms: int) -> Iterator[bytes]:
        """The runs that started before the horizons of all their end points, and were not touched of late.

        Raises CorruptRow.
        """
        old = dict(old_rows(page.items(), until_ms))
        for key, true in self._truths(old).items():
            horizon_ms = min((end.horizon_ms for end in true.ends), default=self._horizons.all_ms)
            if _start_ms(key, old[key], true.claim) < horizon_ms:
                yield key

    def kept(self, page: Mapping[bytes, Row]) -> Iterator[Kept]:
        """What run rows keep. Raises CorruptRow: then nothing may be swept."""
        for key, (value, claim, ends) in self._truths(page).items():
            cells = list(_said(page[key], value))
            if claim is None:
                yield Kept(cells)
                continue
            start_ms, failed = claim.start_ms, claim.state.failed
            cells += self._shared(claim.checksum, day_of(start_ms), failed, ends)
            column = run_rows.reference_column(claim.checksum, failed=failed)
            tail = layout.escaped_tail(start_ms, ranges.escaped_run_in(key))
            cells += [CellKey(end.references + tail, column) for end in ends if start_ms >= end.horizon_ms]
            yield Kept(cells, [end.end_point for end in ends if start_ms < end.horizon_ms])

    def _shared(self, checksum: str, day: int, failed: bool, ends: Iterable[_End]) -> Iterator[CellKey]:
        """The content and the index rows of a day, unless they were told before."""
        asked = checksum, day, failed
        if asked in self._told:
            return
        self._told[asked] = True
        yield CellKey(layout.data_row(checksum), b"")
        witness = layout.FAILED_WITNESS if failed else layout.WITNESS
        tail = layout.index_tail(day, checksum)
        for end in ends:
            if (day + 1) * DAY_MS > end.horizon_ms:
                yield CellKey(end.index + tail, witness)

    def _truths(self, page: Mapping[bytes, Row]) -> dict[bytes, _True]:
        """What is true of each, if any pass has finished, and the end points of its content."""
        values = {key: run_rows.truth_value(row) for key, row in page.items()}
        claims = {key: _claimed(key, value) for key, value in values.items()}
        ends = self._ends_of({claim.checksum for claim in claims.values() if claim is not None})
        return {
            key: _True(values[key], claim, ends[claim.checksum] if claim else [])
            for key, claim in claims.items()
        }

    def _ends_of(self, checksums: set[str]) -> dict[str, list[_End]]:
        found = {checksum: ends for checksum in checksums if (ends := self._ends.get(checksum)) is not None}
        missing = sorted(checksums - found.keys())
        keys = {layout.data_row(checksum): checksum for checksum in missing}
        read = self._table.rows(list(keys), columns=(layout.SOURCES, layout.DESTINATIONS)) if keys else {}
        for key, checksum in keys.items():
            with in_row(key):
                if key not in read:
                    raise CorruptRow("a run names this data row, but there is none")
                named = content_rows.ends_of(checksum, read[key])
            found[checksum] = self._ends[checksum] = [
                _End(
                    end_point,
                    self._horizons.of(end_point),
                    layout.references(direction, end_point),
                    layout.index(direction, end_point),
                )
                for direction, end_point in named.directed()
            ]
        return found


def old_cells(scanned: Iterable[tuple[bytes, Row]], until_ms: int) -> Iterator[tuple[bytes, bytes, Cell]]:
    """The cells of references and index rows that may be swept if nothing needs them: row, column, cell."""
    for key, row in scanned:
        for column, cell in row.items():
            if cell.stamp_ms <= until_ms:
                yield key, column, cell


def old_rows(scanned: Iterable[tuple[bytes, Row]], until_ms: int) -> Iterator[tuple[bytes, Row]]:
    """The rows that may be swept if nothing needs them."""
    return ((key, row) for key, row in scanned if is_old(row, until_ms))


def is_old(row: Row, until_ms: int) -> bool:
    """Whether no cell of a row was put after `until_ms`."""
    return all(cell.stamp_ms <= until_ms for cell in row.values())


def end_points_of(key: bytes, row: Row) -> list[bytes]:
    """The catalogue rows of the end points that a data row names. Raises CorruptRow."""
    with in_row(key):
        ends = content_rows.ends_of(ranges.content_in(key), row)
    return [layout.end_point_row(end_point) for end_point in {*ends.sources, *ends.destinations}]


def _claimed(key: bytes, value: bytes | None) -> Claim | None:
    try:
        return None if value is None else run_rows.claimed(value)
    except CorruptRow:
        with in_row(key):
            raise


def _start_ms(key: bytes, row: Row, claim: Claim | None) -> int:
    """When a run started; of one that no pass has finished, as far as is known."""
    if claim is not None:
        return claim.start_ms
    with in_row(key):
        latest = run_rows.latest_document(row)
        starts = [event.time_ms for event in run_rows.events_of(row)]
        starts += [run_rows.claimed(latest.value).start_ms] if latest else []
    return min(starts, default=0)


def _said(row: Row, truth: bytes | None) -> Iterator[CellKey]:
    """The content of the latest document, if that is not the truth; and the parts of all events."""
    if all(cell.value == truth for cell in row.values()):
        return
    latest = run_rows.latest_document(row)
    if latest is not None and latest.value != truth:
        yield CellKey(layout.data_row(run_rows.claimed(latest.value).checksum), b"")
    for event in run_rows.events_of(row):
        yield CellKey(layout.part_row(event.part), b"")
        yield CellKey(layout.part_row(event.facts), b"")
