"""Migration of a table of an earlier release: the ways and calendars of its runs, then the mark.

Changes nothing that queries of the earlier release read, and deletes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from cachetools import LRUCache

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.keys.codec import day_of
from fll_hbase.keys.row_kinds import kind_name
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.copying.progress import check_not_copying
from fll_hbase.store.endpoints import readable_endpoints
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.maintenance.garbage_collection import Report
from fll_hbase.store.rows import calendar_mark, calendar_rows, run_rows
from fll_hbase.store.rows.calendar_rows import ContentDay
from fll_hbase.tables import Put, Row, Sync, Table

CACHED_MAX = 200_000
"""Maximum number of cached days, and of cached ways, that were already put."""


@dataclass(slots=True)
class MigrationReport:
    """Numbers of rows read and put by a migration, or `was_marked` for a table that already had calendars.

    `unreadable` runs have an unreadable commit record or content; an audit names them.
    """

    was_marked: bool = False
    runs: int = 0
    ways: int = 0
    days: int = 0
    horizons: int = 0
    unreadable: int = 0

    def summary(self) -> dict[str, Any]:
        """Return the report as JSON members."""
        numbers = asdict(self)
        return {"migrated": not numbers.pop("was_marked"), **numbers}

    def __str__(self) -> str:
        """Return the report as text of one line, with a second line if runs are unreadable."""
        if self.was_marked:
            return "nothing to do: the store has its calendars"
        if not self.runs:
            return "the store has no runs: this release can use it as it is"
        done = f"{self.ways:,} ways, {self.days:,} days and {self.horizons:,} horizons put"
        lines = [f"migrated: {self.runs:,} runs read; {done}"]
        if self.unreadable:
            lines.append(f"{self.unreadable:,} runs cannot be read: `fll spark check` names them")
        return "\n".join(lines)


def migrate(table: Table, *, report: Report) -> MigrationReport:
    """Put the ways and days of all committed runs and the horizons of all datasets, then mark the table.

    Does nothing if the table is marked. Safe while writers of this release are running. Stop older ones
    first, because they put no ways. After an interruption, the next call begins again. Raises
    StoreUnavailable, CorruptRow for a damaged file, and ConfigurationError for an incomplete copy.
    """
    # No progress is stored, because the mark is right only if one pass saw every run. A resumed pass would
    # miss runs recorded in the meantime by a forgotten writer of the earlier release. Starting again is
    # cheap: each run row is read once, and one cell is put for each day of a content.
    check_not_copying(table)
    if calendars.MARK_COLUMN in table.get(calendars.MARK_ROW):
        return MigrationReport(was_marked=True)
    migration = _Migration(table)
    for prefix, put_page in ((layout.DATASETS, migration.put_horizons), (layout.RUNS, migration.put_runs)):
        for page in garbage_collection.pages(table, *ranges.prefix_range(prefix)):
            put_page(page)
            migration.rows += len(page)
            report(kind_name(prefix), migration.rows)
    # This makes all earlier puts durable, too.
    calendar_mark.mark_complete(table)
    return migration.done


@dataclass(slots=True)
class _Migration:
    """Puts what pages of rows need, and counts it. For one thread."""

    table: Table
    rows: int = 0
    done: MigrationReport = field(default_factory=MigrationReport)
    # Evicted days and ways are put a second time, which changes nothing.
    days: LRUCache[ContentDay, bool] = field(default_factory=lambda: LRUCache(CACHED_MAX))
    ways: LRUCache[tuple[str, int], bool] = field(default_factory=lambda: LRUCache(CACHED_MAX))

    def put_horizons(self, page: Mapping[bytes, Row]) -> None:
        """Put the horizons of a catalogue page where queries read them."""
        puts = [
            # Use the escaped names: a malformed key belongs to no dataset and does no harm.
            Put(calendars.HORIZONS + key[len(layout.DATASETS) :], column, b"")
            for key, row in page.items()
            for column in row
            if column.startswith(layout.HORIZON)
        ]
        self._write(puts)
        self.done.horizons += len(puts)

    def put_runs(self, page: Mapping[bytes, Row]) -> None:
        """Put the ways and days of a page of run rows, except those already put by this migration."""
        days = list(self._days(page))
        new_days = {day for day in days if day not in self.days}
        new_ways = {(day.checksum, calendars.period_of(day.day)) for day in new_days} - self.ways.keys()
        checksums = {checksum for checksum, _ in new_ways}
        endpoints = readable_endpoints(self.table, checksums)
        missing = checksums - endpoints.keys()
        ways = sorted(way for way in new_ways if way[0] in endpoints)
        way_puts = [put for way in ways for put in calendar_rows.way_puts(*way, endpoints[way[0]])]
        # Put a new token even if there is one: after a return to the earlier release, seals may exist that do
        # not count its runs. A day that a writer touches meanwhile gets a new token in any case.
        self._write([*way_puts, *calendar_rows.touch_puts(sorted(new_days), calendar_rows.new_token())])
        # Leave out missing contents, because each of their runs is counted.
        self.days.update(dict.fromkeys((day for day in new_days if day.checksum not in missing), True))
        self.ways.update(dict.fromkeys(ways, True))
        self.done.runs += len(page)
        self.done.ways += len(way_puts)
        self.done.days += len(new_days)
        self.done.unreadable += sum(day.checksum in missing for day in days)

    def _days(self, page: Mapping[bytes, Row]) -> Iterator[ContentDay]:
        """Yield the day of each committed run of a page; count unreadable runs instead."""
        for row in page.values():
            value = run_rows.commit_value(row)
            if value is None:
                continue
            try:
                head = run_rows.decode_head(value)
                yield ContentDay(layout.decode_checksum(head.checksum.encode()), day_of(head.start_ms))
            except CorruptRow:
                # One damaged row must not block the migration of a whole table.
                self.done.unreadable += 1

    def _write(self, puts: list[Put]) -> None:
        """Write cells without making them durable (`Sync.LATER`); do nothing for an empty list."""
        if puts:
            self.table.write([puts], sync=Sync.LATER)
