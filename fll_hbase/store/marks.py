"""What keeps what: the contents, parts, references and index rows that run rows need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from cachetools import LRUCache

from fll_hbase.errors import CorruptRow, in_row
from fll_hbase.keys import layout, ranges
from fll_hbase.keys.codec import day_of
from fll_hbase.model.horizons import Horizons
from fll_hbase.model.operations import EndPoint
from fll_hbase.model.runs import DAY_MS
from fll_hbase.store import content_rows, rows
from fll_hbase.store.rows import Claim
from fll_hbase.tables import CellKey, Row, Table

CONTENTS_MAX = 100_000
"""Of so many the end points are remembered."""

SCANNED = (layout.LIGHT,)
"""What is read of run rows."""


class Kept(NamedTuple):
    """What one run row needs, and those of its end points before whose horizons its run started."""

    rows: tuple[bytes, ...]
    cells: tuple[CellKey, ...] = ()
    shortened: tuple[EndPoint, ...] = ()


@dataclass(frozen=True, slots=True)
class _End:
    """An end point in one direction, with what its references and index rows begin with."""

    end_point: EndPoint
    horizon_ms: int
    references: bytes
    index: bytes


class Marking:
    """Reads run rows for what they keep."""

    def __init__(self, table: Table, horizons: Horizons) -> None:
        self._table = table
        self._horizons = horizons
        self._ends: LRUCache[str, list[_End]] = LRUCache(CONTENTS_MAX)

    def due(self, page: Mapping[bytes, Row], *, until_ms: int) -> Iterator[bytes]:
        """The runs that started before the horizons of all their end points, and were not touched of late.

        Raises CorruptRow.
        """
        old = {key: row for key, row in page.items() if is_old(row, until_ms)}
        for key, (claim, ends) in self._true(old).items():
            horizon_ms = min((end.horizon_ms for end in ends), default=self._horizons.all_ms)
            if _start_ms(key, old[key], claim) < horizon_ms:
                yield key

    def kept(self, page: Mapping[bytes, Row]) -> Iterator[Kept]:
        """What run rows keep. Raises CorruptRow: then nothing may be swept."""
        for key, (claim, ends) in self._true(page).items():
            if claim is None:
                yield Kept(tuple(_said(page[key])))
            else:
                yield _kept(key, page[key], claim, ends)

    def _true(self, page: Mapping[bytes, Row]) -> dict[bytes, tuple[Claim | None, list[_End]]]:
        """What is true of each, if any pass has finished, and the end points of its content."""
        claims = {key: _claim(key, row) for key, row in page.items()}
        ends = self._ends_of({claim.checksum for claim in claims.values() if claim is not None})
        return {key: (claim, ends[claim.checksum] if claim else []) for key, claim in claims.items()}

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


def _kept(key: bytes, row: Row, claim: Claim, ends: list[_End]) -> Kept:
    tail = layout.reference_tail(claim.start_ms, ranges.run_in(key))
    reference = rows.reference_column(claim.checksum, failed=claim.state.failed)
    witness = layout.FAILED_WITNESS if claim.state.failed else layout.WITNESS
    day = day_of(claim.start_ms)
    index_tail = layout.index_tail(day, claim.checksum)
    cells = []
    shortened = []
    for end in ends:
        if claim.start_ms >= end.horizon_ms:
            cells.append(CellKey(end.references + tail, reference))
        else:
            shortened.append(end.end_point)
        if (day + 1) * DAY_MS > end.horizon_ms:
            cells.append(CellKey(end.index + index_tail, witness))
    return Kept((layout.data_row(claim.checksum), *_said(row)), tuple(cells), tuple(shortened))


def _start_ms(key: bytes, row: Row, claim: Claim | None) -> int:
    """When a run started; of one that no pass has finished, as far as is known."""
    if claim is not None:
        return claim.start_ms
    with in_row(key):
        latest = rows.latest_document(row)
        starts = [event.time_ms for event in rows.events_of(row)]
        starts += [rows.claimed(latest.value).start_ms] if latest else []
    return min(starts, default=0)


def old_cells(scanned: Iterable[tuple[bytes, Row]], until_ms: int) -> Iterator[CellKey]:
    """The cells of references and index rows that may be swept if nothing needs them."""
    for key, row in scanned:
        for column, cell in row.items():
            if cell.stamp_ms <= until_ms:
                yield CellKey(key, column)


def is_old(row: Row, until_ms: int) -> bool:
    """Whether no cell of a row was put after `until_ms`."""
    return all(cell.stamp_ms <= until_ms for cell in row.values())


def end_points_of(key: bytes, row: Row) -> list[bytes]:
    """The catalogue rows of the end points that a data row names. Raises CorruptRow."""
    with in_row(key):
        ends = content_rows.ends_of(ranges.content_in(key), row)
    return [layout.end_point_row(end_point) for end_point in {*ends.sources, *ends.destinations}]


def _claim(key: bytes, row: Row) -> Claim | None:
    value = rows.truth_value(row)
    if value is None:
        return None
    with in_row(key):
        return rows.claimed(value)


def _said(row: Row) -> Iterator[bytes]:
    """The data row of the latest document, and the parts of all events."""
    latest = rows.latest_document(row)
    if latest is not None:
        yield layout.data_row(rows.claimed(latest.value).checksum)
    for event in rows.events_of(row):
        yield layout.part_row(event.part)
        yield layout.part_row(event.facts)
