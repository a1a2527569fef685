"""Rows of the period index to put with a commit, and the mark of a table that has all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from fll_hbase.keys import layout, periods, ranges
from fll_hbase.keys.codec import day_of
from fll_hbase.store.run_rows import CommittedRun
from fll_hbase.store.write.freshness import FreshnessCache
from fll_hbase.tables import Put, Table

_Shared: TypeAlias = tuple[str, bool, int]
"""Content, failed or not, and period: runs that agree in them have the same rows in the period index."""


class PeriodIndexWriter:
    """The rows of the period index that step 5 of a commit puts. Threads may share it.

    Those that this writer put within `lifetime_ms`, half the grace period, are left out: garbage collection
    deletes none of them before the commit has ended, as for contents.
    """

    # Rows of the day index are put always, since readers cache them as stale by their timestamps. They do not
    # cache rows of the period index (decision 37).

    def __init__(self, table: Table, *, lifetime_ms: int) -> None:
        self._table = table
        self._lifetime_ms = lifetime_ms
        self._fresh: FreshnessCache[_Shared] = FreshnessCache()
        self._table_marked = False

    def runs_to_put(self, runs: Iterable[CommittedRun], began_ms: int) -> list[CommittedRun]:
        """Return one run for each set of rows that a pass that began at `began_ms` has to put."""
        samples = {_shared(run): run for run in runs}
        return [run for shared, run in samples.items() if not self._fresh.is_fresh(shared, began_ms)]

    def note_put(self, runs: Iterable[CommittedRun], began_ms: int) -> None:
        """Note that a pass that began at `began_ms` put the rows of what `runs_to_put` returned."""
        for run in runs:
            self._fresh.add(_shared(run), began_ms + self._lifetime_ms)

    def forget(self) -> None:
        """Put all rows again, whenever they were put."""
        self._fresh.clear()

    def mark_new_table(self) -> None:
        """Mark the table as one whose period index is complete if its day index is empty; once a writer."""
        if not self._table_marked:
            # Rows of the day index are put before all that makes a run visible, and outlive the run.
            if not any(self._table.scan(*ranges.prefix_range(layout.INDEX), limit=1)):
                mark_complete(self._table)
            self._table_marked = True


def mark_complete(table: Table) -> None:
    """Mark the period index of a table as complete, unless it is marked; from then on readers rely on it."""
    if not table.get(periods.COMPLETE_ROW):
        table.write([[Put(periods.COMPLETE_ROW, periods.COMPLETE_COLUMN, b"")]])


def _shared(run: CommittedRun) -> _Shared:
    return run.checksum, run.run.state.failed, periods.period_of(day_of(run.run.start_ms))
