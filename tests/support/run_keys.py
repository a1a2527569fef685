"""Committed runs as their rows have them."""

from fll_hbase.model.runs import ProgramRun, run_key
from fll_hbase.store.rows.run_rows import CommittedRun


def committed_run(checksum: str, run: ProgramRun) -> CommittedRun:
    """Return a run of a content, stored where this release stores it."""
    return CommittedRun(checksum, run, run_key(run.run, run.namespace))
