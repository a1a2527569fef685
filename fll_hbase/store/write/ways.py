"""Ways and touched days to put with a commit, and the mark of a table that has all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from fll_hbase.keys import calendars
from fll_hbase.store.endpoints import ContentEndpoints
from fll_hbase.store.rows import calendar_rows
from fll_hbase.store.rows.calendar_mark import mark, mark_complete
from fll_hbase.store.rows.calendar_rows import ContentDay
from fll_hbase.store.write.freshness import FreshnessCache
from fll_hbase.tables import Put, Table

_Way: TypeAlias = tuple[str, int]
"""Content and period."""


class WayWriter:
    """The ways that step 5 of a commit puts. Threads may share it.

    Those that this writer put within `lifetime_ms`, half the grace period, are left out: garbage collection
    deletes none of them before the commit has ended, as for contents.
    """

    def __init__(self, table: Table, *, lifetime_ms: int) -> None:
        self._table = table
        self._lifetime_ms = lifetime_ms
        self._fresh: FreshnessCache[_Way] = FreshnessCache()
        self._table_marked = self._is_mark_old = False

    def ways_to_put(self, days: Iterable[ContentDay], began_ms: int) -> set[_Way]:
        """Return the ways that a pass that began at `began_ms` has to put."""
        ways = {(checksum, calendars.period_of(day)) for checksum, day in days}
        if ways and not self._table_marked:
            self._table_marked = mark(self._table)
        elif ways and self._is_mark_old:
            # Contents are gone, and so is the mark, perhaps: of a table that was complete and was emptied.
            mark_complete(self._table)
            self._is_mark_old = False
        return {way for way in ways if not self._fresh.is_fresh(way, began_ms)}

    def note_put(self, ways: Iterable[_Way], began_ms: int) -> None:
        """Note that a pass that began at `began_ms` put what `ways_to_put` returned."""
        for way in ways:
            self._fresh.add(way, began_ms + self._lifetime_ms)

    def forget(self) -> None:
        """Put all ways again, whenever they were put, and the mark."""
        self._fresh.clear()
        self._is_mark_old = True


def puts_of(ways: Iterable[_Way], endpoints: Mapping[str, ContentEndpoints]) -> Iterator[Put]:
    """Yield the rows of ways."""
    for checksum, period in ways:
        yield from calendar_rows.way_puts(checksum, period, endpoints[checksum])
