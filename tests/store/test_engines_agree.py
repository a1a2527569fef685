"""Do both engines hold the very same bytes after the same runs?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

from cases.openlineage.recorded import events
from engines import Hbase
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sources.openlineage_events import run_events
from strategies import recorded_runs

from fll_hbase import sample
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.runs import RecordedRun
from fll_hbase.model.window import START_LIMIT_MS, Window
from fll_hbase.sources import openlineage
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.write.batching import RunInput
from fll_hbase.tables import Table, open_table

SAMPLE_END_MS = 1_700_000_000_000
EXAMPLES = 40

Bytes = dict[bytes, dict[bytes, bytes]]


def bytes_of(table: Table) -> Bytes:
    """Every row, without the stamps."""
    return {
        key: {column: cell.value for column, cell in row.items()} for key, row in table.scan(b"", b"\xff")
    }


def stored(url: str, runs: Sequence[RunInput]) -> tuple[list[str], Bytes]:
    with closing(open_table(url)) as table:
        outcomes = [repr(outcome) for outcome in LineageStore(table).record(runs)]
        return outcomes, bytes_of(table)


@given(runs=st.lists(recorded_runs, max_size=8))
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_runs_are_the_same_rows(hbase: Hbase, runs: list[RecordedRun]) -> None:
    assert stored(hbase.emptied(), runs) == stored("sqlite:///:memory:", runs)


@given(said=st.lists(run_events(), max_size=8))
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_events_are_the_same_rows(hbase: Hbase, said: list[dict[str, Any]]) -> None:
    readings = [openlineage.read(event) for event in said]
    told = [reading.event for reading in readings if reading.event is not None]
    assert stored(hbase.emptied(), told) == stored("sqlite:///:memory:", told)


def test_what_an_agent_sent_is_the_same_rows_and_answers(hbase: Hbase) -> None:
    """Recorded one call after the other, as an agent sends it, and told apart by nothing but stamps."""
    told = [reading.event for reading in map(openlineage.read, events()[:300]) if reading.event is not None]
    found = []
    for url in (hbase.emptied(), "sqlite:///:memory:"):
        with closing(open_table(url)) as table:
            store = LineageStore(table)
            for event in told:
                assert store.record_one(event).recorded
            asked = Dataset("file", "/warehouse/silver/orders_enriched")
            answered = store.lineage(asked, Window(0, START_LIMIT_MS), level=5)
            listed = store.runs(asked, Window(0, START_LIMIT_MS), limit=1_000)
            found.append((bytes_of(table), answered, listed))
    assert len(found[0][1].entries) > 5
    assert len(found[0][2].runs) > 5
    assert found[0] == found[1]


def test_the_sample_is_the_same_rows(hbase: Hbase) -> None:
    found = []
    for url in (hbase.emptied(), "sqlite:///:memory:"):
        with closing(open_table(url)) as table:
            sample.load(LineageStore(table), SAMPLE_END_MS)
            found.append(bytes_of(table))
    assert len(found[0]) > 1_000
    assert found[0] == found[1]
