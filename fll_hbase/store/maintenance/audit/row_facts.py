"""Collection of audit facts from pages of rows, with a handler per key prefix and batched lookups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, islice
from typing import TypeAlias

from cachetools import LRUCache

from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.endpoints import CACHED_CONTENTS_MAX, EndpointCache
from fll_hbase.store.maintenance.audit import check_contents, check_indexes
from fll_hbase.store.maintenance.audit.check_runs import Endpoints, RunRowChecker
from fll_hbase.store.maintenance.audit.findings import Finding, Kind, RowFacts
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.tables import Row, Table, read_rows

PAGE_ROWS, LARGE_ROWS = 1_000, 20
"""Rows of a page; LARGE_ROWS applies to contents and event bodies, whose cells may have 8 MiB each."""

KeyedRow: TypeAlias = tuple[bytes, Row]

_LARGE = (layout.CONTENTS, layout.EVENT_BODIES)
_COLLECTORS: Mapping[bytes, Callable[[bytes, Row, RowFacts], None]] = {
    layout.WAYS: check_indexes.collect_way,
    layout.CALENDARS: check_indexes.collect_calendar,
    **dict.fromkeys(layout.INDEXES_BEFORE_CALENDARS, check_indexes.ignore),
    layout.DATASETS: check_indexes.collect_dataset,
    layout.ALIASES: check_indexes.collect_aliases,
    layout.EVENT_BODIES: check_indexes.collect_event_body,
    layout.CONTENTS: check_contents.collect,
    layout.TAGS: check_indexes.collect_tags,
    layout.TAG_INDEX: check_indexes.collect_tag_index,
    layout.POLICIES: check_indexes.collect_policy,
    layout.ACCESS: check_indexes.collect_access,
    layout.PROPERTIES: check_indexes.collect_property,
}

_PAGE_COLLECTORS: Mapping[bytes, Callable[[Sequence[KeyedRow], RowFacts], None]] = {
    **dict.fromkeys(layout.REFERENCES, check_indexes.collect_references),
    layout.RUN_INDEX: check_indexes.collect_run_index,
}
"""Collectors of kinds with a row for each run. They take whole pages, since every row is readable."""


def pages(scanned: Iterable[KeyedRow]) -> Iterator[list[KeyedRow]]:
    """Yield scanned rows in pages of one kind: PAGE_ROWS, or LARGE_ROWS for contents and event bodies."""
    for kind, rows in groupby(scanned, key=lambda keyed: keyed[0][:2]):
        size = LARGE_ROWS if kind in _LARGE else PAGE_ROWS
        while page := list(islice(rows, size)):
            yield page


class FactCollector:
    """Collects facts of rows for one scan; contents and horizons are cached as first read."""

    def __init__(self, table: Table, *, once: bool = False) -> None:
        self._table = table
        self._runs = RunRowChecker(EventMerger(table), once=once)
        self._endpoints = EndpointCache(table, self._horizons)
        self._horizons_ms: LRUCache[Dataset, int] = LRUCache(CACHED_CONTENTS_MAX)

    def collect(self, page: Sequence[KeyedRow], facts: RowFacts) -> None:
        """Add the facts of all rows of a page of one kind to `facts`; an unreadable row adds a finding."""
        self._collect(page, self._load(page), facts)

    def collect_each(self, page: Sequence[KeyedRow]) -> dict[bytes, RowFacts]:
        """Return the facts of each row by key, of rows of any kinds; an unreadable row has a finding."""
        endpoints = self._load(page)
        facts = {key: RowFacts() for key, _ in page}
        for key, row in page:
            self._collect([(key, row)], endpoints, facts[key])
        return facts

    def _collect(self, page: Sequence[KeyedRow], endpoints: Endpoints, facts: RowFacts) -> None:
        """Add the facts of the rows of a page of one kind to `facts`."""
        collect = _PAGE_COLLECTORS.get(page[0][0][:2])
        if collect is not None:
            collect(page, facts)
            return
        for key, row in page:
            self._collect_row(key, row, endpoints, facts)

    def _collect_row(self, key: bytes, row: Row, endpoints: Endpoints, facts: RowFacts) -> None:
        """Add the facts of a row to `facts`; an unreadable row becomes a finding there."""
        try:
            collector = _COLLECTORS.get(key[:2])
            if collector is not None:
                collector(key, row, facts)
            elif key.startswith(layout.RUNS):
                self._runs.collect(key, row, endpoints, facts)
            else:
                raise CorruptRow("no kind of row has this prefix")
        except CorruptRow as error:
            # Continue the audit: one unreadable row must not hide the other findings.
            facts.findings.append(Finding(Kind.UNREADABLE, key, str(error)))

    def _load(self, page: Sequence[KeyedRow]) -> Endpoints:
        """Cache the event bodies of the runs of a page; return the endpoints of their readable contents."""
        runs = [row for key, row in page if key.startswith(layout.RUNS)]
        self._runs.load_event_bodies(runs)
        checksums = {
            cell[0][: layout.CHECKSUM_DIGITS]
            for row in runs
            for column, cell in row.items()
            if column.startswith(layout.COMMIT)
        }
        # One read covers the page. Unreadable contents are findings of their own rows.
        read = self._endpoints.read(layout.CONTENTS + checksum for checksum in checksums)
        return {key: keys for key, keys in read.items() if not isinstance(keys, CorruptRow)}

    def _horizons(self, datasets: Collection[Dataset]) -> dict[Dataset, int]:
        """Return the horizons of datasets in milliseconds since 1970 (0 without one), through a cache."""
        missing = {
            layout.dataset_row(dataset): dataset for dataset in datasets if dataset not in self._horizons_ms
        }
        rows = read_rows(self._table, missing, columns=(layout.LIGHT,))
        read = {dataset: _horizon_ms(rows.get(dataset, {})) for dataset in missing.values()}
        # Done before the update, which may evict them.
        cached = {dataset: self._horizons_ms[dataset] for dataset in datasets if dataset not in read}
        self._horizons_ms.update(read)
        return {**cached, **read}


def _horizon_ms(row: Row) -> int:
    """Return the latest horizon in a dataset's row in milliseconds since 1970, or 0 without one.

    The row is a catalogue row or a horizon row among the ways. Malformed horizons are ignored.
    """
    # Each purge puts its own cell; the latest is valid. `collect_dataset` reports malformed ones.
    horizons = []
    for column in row:
        if column.startswith(layout.HORIZON):
            with suppress(CorruptRow):
                horizons.append(layout.parse_horizon(column))
    return max(horizons, default=0)
