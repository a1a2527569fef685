"""The programs of runs that calendars count: seals have them, run rows those of runs that are not sealed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fll_hbase import deadline
from fll_hbase.model.runs import ProgramRun
from fll_hbase.store import calendar_rows
from fll_hbase.store.calendar_rows import DayRuns
from fll_hbase.store.read.window_query import WindowReader

BATCH_RUNS = 1000
"""Run rows of one call."""


def by_program(windows: WindowReader, runs: Sequence[DayRuns]) -> Iterator[tuple[DayRuns, ProgramRun]]:
    """Yield runs of one program each, with the newest of them; those of sealed days first.

    Raises DeadlineExceeded; what was yielded until then is valid.
    """
    for day_runs in runs:
        if day_runs.program:
            newest = calendar_rows.decode_program(day_runs.program, day_runs.runs[0])
            yield day_runs, windows.shown_program(newest)
    unsealed = [(run, day_runs.failed) for day_runs in runs if not day_runs.program for run in day_runs.runs]
    for begin in range(0, len(unsealed), BATCH_RUNS):
        deadline.check()
        batch = unsealed[begin : begin + BATCH_RUNS]
        committed = windows.committed_runs([run.run for run, _ in batch])
        for run, failed in batch:
            # A run that was purged meanwhile is left out.
            if run.run in committed:
                # With the start that was counted, should the run have moved since.
                counted_run = replace(committed[run.run].run, start_ms=run.start_ms)
                yield DayRuns(b"", failed, [run], 1), counted_run
