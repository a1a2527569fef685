"""What do the rows of a page say: each by its letter, with what has to be read for all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from cachetools import LRUCache

from fll_hbase.errors import CorruptRow
from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.store import content_rows
from fll_hbase.store.maintenance.audit import check_contents, check_indexes
from fll_hbase.store.maintenance.audit.check_runs import End, RunRowChecker
from fll_hbase.store.maintenance.audit.expectations import RowFacts
from fll_hbase.store.maintenance.audit.findings import Finding, Kind
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.run_rows import ContentEndpoints
from fll_hbase.tables import Row, Table

PAGE_ROWS, LARGE_ROWS = 1_000, 20
CONTENTS_MAX = 100_000
"""Of so many the end points are remembered, and of so many end points the horizons."""

KeyedRow: TypeAlias = tuple[bytes, Row]
Tell: TypeAlias = Callable[[bytes, Row, RowFacts], None]

_LARGE = (layout.CONTENTS, layout.EVENT_BODIES)
_OTHERS: Mapping[bytes, Tell] = {
    **dict.fromkeys(layout.REFERENCES, check_indexes.tell_reference),
    layout.INDEX: check_indexes.tell_index,
    layout.DATASETS: check_indexes.tell_end_point,
    layout.ALIASES: check_indexes.tell_aliases,
    layout.EVENT_BODIES: check_indexes.tell_part,
    layout.CONTENTS: check_contents.collect,
}


def pages(scanned: Iterable[KeyedRow]) -> Iterator[list[KeyedRow]]:
    """Rows, many at a time; fewer of those that may be large."""
    page: list[KeyedRow] = []
    for keyed in scanned:
        page.append(keyed)
        if len(page) == PAGE_ROWS or (len(page) >= LARGE_ROWS and keyed[0].startswith(_LARGE)):
            yield page
            page = []
    if page:
        yield page


class FactCollector:
    """Tells what rows say. What it read of contents and horizons it keeps, so none lives long."""

    def __init__(self, table: Table, *, once: bool = False) -> None:
        self._table = table
        self._runs = RunRowChecker(EventMerger(table), once=once)
        self._ends: LRUCache[bytes, tuple[End, ...]] = LRUCache(CONTENTS_MAX)
        self._horizons: LRUCache[Dataset, int] = LRUCache(CONTENTS_MAX)

    def collect(self, page: Sequence[KeyedRow], said: RowFacts) -> None:
        """What all rows of a page say, together."""
        ends = self._all_ends(page)
        for key, row in page:
            if key.startswith(layout.REFERENCES):
                check_indexes.tell_reference(key, row, said)
            else:
                self._tell(key, row, ends, said)

    def collect_each(self, page: Sequence[KeyedRow]) -> dict[bytes, RowFacts]:
        """What each row of a page says."""
        ends = self._all_ends(page)
        each = {key: RowFacts() for key, _ in page}
        for key, row in page:
            self._tell(key, row, ends, each[key])
        return each

    def _tell(self, key: bytes, row: Row, ends: Mapping[bytes, tuple[End, ...]], said: RowFacts) -> None:
        try:
            tell = _OTHERS.get(key[:2])
            if tell is not None:
                tell(key, row, said)
            elif key.startswith(layout.RUNS):
                self._runs.collect(key, row, ends, said)
            else:
                raise CorruptRow("no row begins like this")
        except CorruptRow as error:
            said.findings.append(Finding(Kind.UNREADABLE, key, str(error)))

    def _all_ends(self, page: Sequence[KeyedRow]) -> dict[bytes, tuple[End, ...]]:
        """The end points of all contents that runs of a page truly have, where those can be read."""
        named = set(_checksums(page))
        keys = {layout.CONTENTS + checksum: checksum for checksum in named if checksum not in self._ends}
        columns = (layout.SOURCES, layout.DESTINATIONS)
        read = self._table.rows(sorted(keys), columns=columns) if keys else {}
        found: dict[bytes, ContentEndpoints] = {}
        for key, row in read.items():
            try:
                found[keys[key]] = content_rows.decode_endpoints("", row)
            except CorruptRow:
                continue
        self._read_horizons({end for ends in found.values() for end in (*ends.sources, *ends.destinations)})
        for checksum, ends in found.items():
            self._ends[checksum] = tuple(
                End(
                    layout.reference_prefix(direction, end_point),
                    layout.index_prefix(direction, end_point),
                    self._horizons[end_point],
                )
                for direction, end_point in ends.directed()
            )
        return {checksum: self._ends[checksum] for checksum in named if checksum in self._ends}

    def _read_horizons(self, end_points: set[Dataset]) -> None:
        keys = {layout.dataset_row(end): end for end in end_points if end not in self._horizons}
        read = self._table.rows(list(keys), columns=(layout.LIGHT,)) if keys else {}
        for key, end_point in keys.items():
            self._horizons[end_point] = _horizon_ms(read.get(key, {}))


def _checksums(page: Sequence[KeyedRow]) -> Iterator[bytes]:
    """What truths of runs begin with."""
    for key, row in page:
        if key.startswith(layout.RUNS):
            for column, cell in row.items():
                if column.startswith(layout.COMMIT):
                    yield cell.value[: layout.CHECKSUM_DIGITS]


def _horizon_ms(row: Row) -> int:
    """Runs that started before it may have lost their references; what cannot be read is told of its row."""
    said = []
    for column in row:
        if column.startswith(layout.HORIZON):
            try:
                said.append(layout.parse_horizon(column))
            except CorruptRow:
                continue
    return max(said, default=0)
