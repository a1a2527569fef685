"""Age of the sample in a store: when the newest of its own runs started."""

from __future__ import annotations

from fll_hbase.errors import NotFound
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.runs import ProgramRun
from fll_hbase.model.window import DAY_MS, START_LIMIT_MS, Window
from fll_hbase.sample import bank
from fll_hbase.store.lineage_store import LineageStore

RUNS_READ_MAX = 1_000
"""Newest runs of a dataset of the sample among which its own are searched; others may record there, too."""

_DATASET = Dataset(bank.TRANSACTIONS["namespace"], bank.TRANSACTIONS["name"])


def is_aged(store: LineageStore, end_ms: int) -> bool:
    """Return whether a store has the sample, with no run of it in the day before `end_ms`."""
    newest_ms = newest_start_ms(store)
    return newest_ms is not None and newest_ms < end_ms - DAY_MS


def newest_start_ms(store: LineageStore) -> int | None:
    """Return the start of the newest run of the sample, None if there is none; one read of 1,000 runs."""
    try:
        page = store.runs(_DATASET, Window(0, START_LIMIT_MS), limit=RUNS_READ_MAX)
    except NotFound:
        return None
    starts = (listed.run.start_ms for listed in page.runs if _is_of_sample(listed.run))
    return next(starts, None)


def _is_of_sample(run: ProgramRun) -> bool:
    # Ids of the sample follow from program and start: an equal name alone does not make a run one of it.
    window = Window(run.start_ms, run.start_ms + 1)
    documents = (document for program in bank.PROGRAMS for _, document in program.documents(window))
    return any(document["run"]["run"] == run.run for document in documents)
