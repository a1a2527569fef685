"""Runs of an earlier release, whose keys have no namespace, moved to where this release stores them.

A run is complete in its new row, but for the commit record, before one write puts that record and a mark into
the old row: readers ignore a row with the mark, and writers that find it begin anew in the new one. So it can
be ended anywhere and beside writers; the next call goes on. Only a query that has read references of the old
row when the run moves may miss the run. The old row goes with retention.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.model.runs import RunKey, run_key
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.components import StoreComponents
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.rows import calendar_mark, run_rows
from fll_hbase.store.write import run_owner
from fll_hbase.tables import Put, Row

ROUNDS_MAX = 50
"""How often a run is moved again because a writer that began before has added to its old row."""


def move_former_runs(store: StoreComponents) -> int:
    """Move all runs that an earlier release recorded; return how many were moved.

    In bounded memory; repeating it is safe. Once none is left, the table is marked, and nothing is read.
    Those that cannot be read stay: a check names them. Raises StoreUnavailable.
    """
    if not calendar_mark.has_former_runs(store.table):
        return 0
    moved, is_complete = 0, True
    for page in garbage_collection.pages(store.table, *ranges.prefix_range(layout.RUNS)):
        former = dict(_unmoved(page))
        moved_now = _move(store, former)
        moved += moved_now
        is_complete = is_complete and moved_now == len(former)
    if is_complete:
        store.table.write([[Put(calendars.MARK_ROW, calendars.RUN_KEYS_COLUMN, b"")]])
    return moved


def _unmoved(page: Mapping[bytes, Row]) -> Iterable[tuple[RunKey, Row]]:
    """Yield the runs of a page whose key lacks a namespace that it should have, with their rows."""
    for key, row in page.items():
        with suppress(CorruptRow):
            run = ranges.run_of(key)
            is_former = not run.namespace and run != run_key(run.run, "-")
            if is_former and layout.MOVED not in row and run_rows.input_count(row):
                yield run, row


def _move(store: StoreComponents, rows: Mapping[RunKey, Row]) -> int:
    """Move runs, given with their rows; return the number of those that could be read and moved."""
    namespaces: dict[RunKey, str] = {}
    for run, row in rows.items():
        try:
            namespaces[run] = run_owner.namespace_of(run, row, store.events) or ""
        except CorruptRow:
            continue
    pending = {run: rows[run] for run, namespace in namespaces.items() if namespace}
    failed: set[RunKey] = set()
    for _ in range(ROUNDS_MAX):
        if not pending:
            break
        moves = {RunKey(run.run, namespaces[run]): row for run, row in pending.items()}
        failed |= {RunKey(run.run) for run in store.committer.move(moves)}
        # A writer that read the old row before the mark may have put its input there until now.
        current = run_rows.read_run_rows(store.table, pending)
        pending = {
            run: row
            for run, row in current.items()
            if run not in failed and run_rows.input_count(row) != run_rows.input_count(pending[run])
        }
    return len(namespaces) - len(failed)
