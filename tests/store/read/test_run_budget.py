"""One question reads `runs_max` runs of days that are not sealed, the newest first, and says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.operations import InputField, Read, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import DAY_MS, Direction, Window
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.query_parameters import ReachQuery
from fll_hbase.store.read import run_times
from fll_hbase.tables import open_table
from tests.support.sealing import seal_all

SOURCES = [Dataset("ns", f"source {number}") for number in range(3)]
TARGET = Dataset("ns", "target")
FIELD = DatasetField(TARGET, "x")
DAYS, RUNS_A_DAY = 3, 8
RUNS = DAYS * RUNS_A_DAY
WINDOW = Window(0, DAYS * DAY_MS)


def copy(number: int) -> RecordedRun:
    """A run that copies one field from a source to the target."""
    source = SOURCES[number % len(SOURCES)]
    operations = [
        Read("read", "", source, "", (Field("x"),)),
        Write("write", "", TARGET, "", (InputField("read", "x"),)),
    ]
    start_ms = number // RUNS_A_DAY * DAY_MS + number % RUNS_A_DAY
    run = ProgramRun("ns", "app", "", "spark", source.name, f"run {number:02}", start_ms)
    return RecordedRun(run, lineage.build_lineage(operations))


@pytest.fixture(params=[1, 3, 1_000], ids="pages of {}".format)
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[LineageStore]:
    monkeypatch.setattr(run_times, "PAGE_REFERENCES_MAX", request.param)
    with closing(LineageStore(open_table("sqlite:///:memory:"))) as store:
        store.record([copy(number) for number in range(RUNS)])
        yield store


def bounded(store: LineageStore, runs_max: int) -> LineageStore:
    return LineageStore(store.table, replace(store.settings, runs_max=runs_max))


def limits(runs_max: int) -> tuple[str, ...]:
    return (f"runs_max={runs_max}",) if runs_max < RUNS else ()


@pytest.mark.parametrize("runs_max", [1, 2, RUNS_A_DAY, RUNS_A_DAY + 1, RUNS - 1, RUNS, RUNS + 1])
def test_the_newest_runs_count(store: LineageStore, runs_max: int) -> None:
    cut = bounded(store, runs_max)
    newest = [copy(number) for number in reversed(range(RUNS))][:runs_max]

    counts = cut.run_counts(TARGET, WINDOW, buckets=DAYS)
    due = [sum(item.run.start_ms // DAY_MS == day for item in newest) for day in range(DAYS)]
    assert [bucket.complete for bucket in counts.buckets] == due
    assert counts.truncated_by == limits(runs_max)

    programs = cut.programs(TARGET, WINDOW)
    assert sum(usage.runs for usage in programs.programs) == len(newest)
    assert programs.programs[0].last.run == newest[0].run.run
    assert programs.truncated_by == limits(runs_max)

    performed = cut.field_programs.read(FIELD, WINDOW, Direction.BACKWARD)
    assert len(performed.performed) == min(len(newest), len(SOURCES))
    assert performed.truncated_by == limits(runs_max)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("runs_max", [1, 2, RUNS - 1, RUNS])
def test_reach_counts_the_newest_runs(store: LineageStore, runs_max: int, *, causal: bool) -> None:
    query = ReachQuery(FIELD, WINDOW, level=5, causal=causal)
    complete, cut = store.reach(query), bounded(store, runs_max).reach(query)
    assert complete.truncated_by == ()
    assert cut.truncated_by == limits(runs_max)
    assert sum(edge.span.runs for edge in cut.edges if edge.span) == min(runs_max, RUNS)
    assert {edge.source for edge in cut.edges} <= {edge.source for edge in complete.edges}


def test_sealed_days_are_not_read(store: LineageStore) -> None:
    seal_all(store.table)
    answer = bounded(store, 1).run_counts(TARGET, WINDOW, buckets=DAYS)
    assert [bucket.complete for bucket in answer.buckets] == [RUNS_A_DAY] * DAYS
    assert answer.truncated_by == ()
