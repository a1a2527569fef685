"""Both engines store the same bytes for the same runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fll_hbase import sample
from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.runs import RecordedRun
from fll_hbase.model.window import START_LIMIT_MS, Window
from fll_hbase.sources import openlineage
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.write.batching import RunInput
from fll_hbase.tables import Table, open_table
from tests.support.engines import Hbase
from tests.support.openlineage_events import run_events
from tests.support.recorded_events import events
from tests.support.strategies import recorded_runs

SAMPLE_END_MS = 1_700_000_000_000

Bytes = dict[bytes, dict[bytes, bytes]]


def bytes_of(table: Table) -> Bytes:
    """Every row, without the stamps, and without the tokens of days, which are random."""
    return {
        key: {column: b"" if key.startswith(layout.CALENDARS) else cell.value for column, cell in row.items()}
        for key, row in table.scan(b"", b"\xff")
    }


def stored(url: str, runs: Sequence[RunInput]) -> tuple[list[str], Bytes]:
    with closing(open_table(url)) as table:
        outcomes = [repr(outcome) for outcome in LineageStore(table).record(runs)]
        return outcomes, bytes_of(table)


@given(runs=st.lists(recorded_runs, max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_runs_are_the_same_rows(hbase: Hbase, runs: list[RecordedRun]) -> None:
    assert stored(hbase.emptied(), runs) == stored("sqlite:///:memory:", runs)


@given(sent=st.lists(run_events(), max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_events_are_the_same_rows(hbase: Hbase, sent: list[dict[str, Any]]) -> None:
    readings = [openlineage.read(event) for event in sent]
    lines = [reading.event for reading in readings if reading.event is not None]
    assert stored(hbase.emptied(), lines) == stored("sqlite:///:memory:", lines)


def test_what_an_agent_sent_is_the_same_rows_and_answers(hbase: Hbase) -> None:
    """Record one call after the other, as an agent sends them; only timestamps may differ."""
    lines = [reading.event for reading in map(openlineage.read, events()[:300]) if reading.event is not None]
    answers = []
    for url in (hbase.emptied(), "sqlite:///:memory:"):
        with closing(open_table(url)) as table:
            store = LineageStore(table)
            for event in lines:
                assert store.record_one(event).recorded
            dataset = Dataset("file", "/warehouse/silver/orders_enriched")
            answered = store.lineage(dataset, Window(0, START_LIMIT_MS), level=5)
            listed = store.runs(dataset, Window(0, START_LIMIT_MS), limit=1_000)
            answers.append((bytes_of(table), answered, listed))
    assert len(answers[0][1].entries) > 5
    assert len(answers[0][2].runs) > 5
    assert answers[0] == answers[1]


def test_the_sample_is_the_same_rows(hbase: Hbase) -> None:
    answers = []
    for url in (hbase.emptied(), "sqlite:///:memory:"):
        with closing(open_table(url)) as table:
            sample.load(LineageStore(table), SAMPLE_END_MS)
            answers.append(bytes_of(table))
    assert len(answers[0]) > 1_000
    assert answers[0] == answers[1]
