"""Owners of run ids: the program that recorded a run, which no other program replaces unintentionally."""

from __future__ import annotations

from collections.abc import Sequence

from fll_hbase.model.runs import ProgramId, ProgramRun, RecordedRun
from fll_hbase.runtime.errors import RunIdConflict
from fll_hbase.store.rows import run_rows
from fll_hbase.tables import Table


def require_owner(run: ProgramRun, commit_value: bytes | None) -> None:
    """Raise RunIdConflict if the commit value is of another program, CorruptRow if it is invalid."""
    owner = owner_of(run.run, commit_value)
    if owner not in (None, run.program_id):
        raise conflict(run.run, owner)


def owner_of(run: str, commit_value: bytes | None) -> ProgramId | None:
    """Return the program of a commit value; None for a run that is not committed or recorded by events."""
    # Ids of events are UUIDs, and a document may describe a run that an agent reports under other names.
    if commit_value is None or run_rows.is_head_only(commit_value):
        return None
    return run_rows.decode_run(run, commit_value).run.program_id


def conflict(run: str, owner: ProgramId | None) -> RunIdConflict:
    """Return the error for a document of another program than the owner of its run id."""
    return RunIdConflict(
        f"run {run!r} was recorded by program {owner}; nothing was stored. Give the run another id, or"
        " replace that run by this one with replace=true (on the command line --replace)"
    )


def find_conflicts(table: Table, runs: Sequence[RecordedRun]) -> list[RunIdConflict | None]:
    """Return for each run, in order, the error that recording all of them would have for it, else None.

    One read for all runs; nothing is stored. Raises StoreUnavailable and CorruptRow.
    """
    rows = run_rows.read_run_rows(table, (recorded.run.run for recorded in runs))
    owners = {run: owner_of(run, run_rows.commit_value(row)) for run, row in rows.items()}
    conflicts: list[RunIdConflict | None] = []
    for recorded in runs:
        run = recorded.run
        owner = owners.get(run.run) or run.program_id
        is_refused = owner != run.program_id and not recorded.replaces_others
        conflicts.append(conflict(run.run, owner) if is_refused else None)
        # Of several documents of one run, each is compared with those before it.
        owners[run.run] = owner if is_refused else run.program_id
    return conflicts
