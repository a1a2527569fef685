"""Owners of run ids: the program that recorded a run, which other programs must not replace by accident."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fll_hbase.keys import layout
from fll_hbase.model.runs import ProgramId, RecordedRun, RunKey, run_key
from fll_hbase.runtime.errors import RunIdConflict
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.rows import run_rows
from fll_hbase.tables import Row, Table


def owner_of(run: RunKey, commit_value: bytes | None) -> ProgramId | None:
    """Return the program of a commit value, None for None and for a run of events. Raises CorruptRow."""
    # Run ids of events are UUIDs, and a document may describe a run that an agent reports under other names.
    if commit_value is None or run_rows.is_head_only(commit_value):
        return None
    return run_rows.decode_run(run, commit_value).run.program_id


def conflict(run: str, owner: ProgramId | None) -> RunIdConflict:
    """Return the error for a document whose run id another program owns."""
    return RunIdConflict(
        f"run {run!r} was recorded by program {owner}; nothing was stored. Give the run another id, or"
        " replace that run by this one with replace=true (on the command line --replace)"
    )


def stored_rows(
    table: Table, events: EventMerger, runs: Collection[RunKey]
) -> dict[RunKey, tuple[RunKey, Row]]:
    """Return by key where each run is stored, and its row, in one call, leaving out runs without a row.

    The key of a run that an earlier release stored is its former one. Raises StoreUnavailable and CorruptRow.
    """
    rows = run_rows.read_run_rows(table, {key for run in runs for key in (run, RunKey(run.run))})
    stored = {}
    for run in runs:
        former = RunKey(run.run)
        key = former if is_former(run, rows.get(former, {}), events) else run
        if key in rows:
            stored[run] = key, rows[key]
    return stored


def is_former(run: RunKey, row: Row, events: EventMerger) -> bool:
    """Return whether an earlier release recorded a run in this row of its id, and no repair has moved it.

    Raises StoreUnavailable and CorruptRow, because the program of events is read from their bodies.
    """
    if not row or not run.namespace or layout.MOVED in row or not run_rows.input_count(row):
        return False
    return namespace_of(RunKey(run.run), row, events) == run.namespace


def namespace_of(key: RunKey, row: Row, events: EventMerger) -> str:
    """Return the namespace of the program of a run row with inputs, committed or not.

    Raises StoreUnavailable and CorruptRow.
    """
    latest = run_rows.latest_document(row)
    if latest is not None:
        return run_rows.decode_run(key, latest.value).run.namespace
    return events.merge(key, run_rows.decode_events(row), {}).committed.run.namespace


def find_conflicts(
    table: Table, events: EventMerger, runs: Sequence[RecordedRun]
) -> list[RunIdConflict | None]:
    """Return for each run, in order, the conflict that recording all of them would cause, else None.

    Reads once for all runs and stores nothing. Raises StoreUnavailable and CorruptRow.
    """
    keys = [run_key(recorded.run.run, recorded.run.namespace) for recorded in runs]
    rows = stored_rows(table, events, keys)
    owners = {key: owner_of(stored, run_rows.commit_value(row)) for key, (stored, row) in rows.items()}
    conflicts: list[RunIdConflict | None] = []
    for recorded in runs:
        run = recorded.run
        key = run_key(run.run, run.namespace)
        owner = owners.get(key) or run.program_id
        is_refused = owner != run.program_id and not recorded.replaces_others
        conflicts.append(conflict(run.run, owner) if is_refused else None)
        # Each of several documents of one run is compared with its predecessors.
        owners[key] = owner if is_refused else run.program_id
    return conflicts
