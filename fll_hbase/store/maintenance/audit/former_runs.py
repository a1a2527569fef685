"""Move of runs and policies of an earlier release, whose keys have no namespace, to their new keys.

A run is complete in its new row, commit record included, before a mark is put into the old row. Readers
ignore a row with the mark, and writers that find it start again in the new row. Until then the run is in both
rows. The move can therefore run while others write, and be interrupted anywhere; the next call continues.
Only a query that reads references of the old row during the move may miss the run. Retention removes the old
row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.model.runs import RunKey, is_uuid
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.components import StoreComponents
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.rows import calendar_mark, run_rows
from fll_hbase.store.write import run_owner
from fll_hbase.tables import Put, Row

ROUNDS_MAX = 50
"""Maximum number of moves of one run, which is moved again if an earlier writer adds to its old row."""


def move_former_rows(store: LineageStore) -> int:
    """Move all runs and field policies that an earlier release recorded; return how many were moved.

    Uses bounded memory, and is safe to repeat. Runs stay if they or their contents are unreadable, which an
    audit reports. Once no run is left, the table is marked, and later calls read only the mark. Raises
    StoreUnavailable.
    """
    if not calendar_mark.has_former_runs(store.table):
        return 0
    return store.policies.move_former() + _move_runs(store.components)


def _move_runs(store: StoreComponents) -> int:
    """Move all readable runs; return how many were moved. Marks the table if no run is left."""
    number, is_complete = 0, True
    for page in garbage_collection.pages(store.table, *ranges.prefix_range(layout.RUNS)):
        former = dict(_former(page))
        moved, left = _move(store, former)
        number += len(moved)
        is_complete = is_complete and not left
    if is_complete:
        store.table.write([[Put(calendars.MARK_ROW, calendars.RUN_KEYS_COLUMN, b"")]])
    return number


def _former(page: Mapping[bytes, Row]) -> Iterable[tuple[RunKey, Row]]:
    """Yield the runs of a page whose keys lack their namespace, with rows, if these have inputs."""
    for key, row in page.items():
        with suppress(CorruptRow):
            run = ranges.run_of(key)
            if not run.namespace and not is_uuid(run.run) and run_rows.input_count(row):
                yield run, row


def _move(store: StoreComponents, rows: Mapping[RunKey, Row]) -> tuple[set[RunKey], set[RunKey]]:
    """Move runs, given with their rows; return the moved ones, and those that could not be moved."""
    targets: dict[RunKey, RunKey] = {}
    for run, row in rows.items():
        with suppress(CorruptRow):
            targets[run] = RunKey(run.run, run_owner.namespace_of(run, row, store.events))
    moved: set[RunKey] = set()
    failed = rows.keys() - targets.keys()
    for _ in range(ROUNDS_MAX):
        # Repeat: a writer that read an old row before its mark may have put its input there since.
        unmoved = _unmoved(store, {run: targets[run] for run in targets.keys() - failed})
        if not unmoved:
            return moved - failed, failed
        rejected = store.committer.move({targets[run]: row for run, row in unmoved.items()})
        failed |= {RunKey(run.run) for run in rejected}
        moved |= unmoved.keys()
    return moved - failed, failed | unmoved.keys()


def _unmoved(store: StoreComponents, targets: Mapping[RunKey, RunKey]) -> dict[RunKey, Row]:
    """Return, by run, the rows without a mark, or with inputs that the new rows do not count."""
    rows = run_rows.read_run_rows(store.table, [*targets, *targets.values()])
    return {
        run: row
        for run, target in targets.items()
        if (row := rows.get(run)) and not (layout.MOVED in row and _counts(rows.get(target, {}), row))
    }


def _counts(current: Row, former: Row) -> bool:
    """Return whether a run's row has all inputs of its former row, and is committed with them."""
    return run_rows.is_finished(current) and current.keys() >= set(run_rows.input_columns(former))
