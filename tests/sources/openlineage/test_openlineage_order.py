"""Events of a run in any order, late or repeated, lead to the same state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.keys import calendars, layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.run_events import IncomingEvent
from fll_hbase.model.runs import State
from fll_hbase.model.window import START_LIMIT_MS, Window
from fll_hbase.queries.lineage import Pair, lineage_entry
from fll_hbase.queries.run_details import Run
from fll_hbase.queries.runs import listed_run
from fll_hbase.runtime.errors import NotFound
from fll_hbase.sources import openlineage
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.rows import run_rows
from fll_hbase.tables import Table, open_table
from tests.support.openlineage_events import DATASETS, RUNS, run_events

ALWAYS = Window(0, START_LIMIT_MS)
NOW_MS = 1_800_000_000_000


def reported(document: Any) -> IncomingEvent:
    event = openlineage.read(document).event
    assert event is not None
    return event


@contextmanager
def stores() -> Iterator[tuple[Table, tuple[LineageStore, LineageStore]]]:
    """Two writers over one empty table."""
    with closing(open_table("sqlite:///:memory:")) as table:
        yield table, (LineageStore(table), LineageStore(table))


def seen(table: Table) -> dict[str, Any]:
    """All that can be asked, by a reader that has seen nothing before."""
    store = LineageStore(table)
    result: dict[str, Any] = {}
    for run in RUNS:
        result[f"truth of {run}"] = run_rows.commit_value(table.get(layout.run_row(run, "jobs")))
        if result[f"truth of {run}"] is not None:
            result[run] = Run(run).answer(store, now_ms=NOW_MS).body
    for end_point in (Dataset(*name) for name in DATASETS):
        try:
            listed = store.runs(end_point, ALWAYS, limit=9).runs
            for failed in (False, True):
                result[f"lineage of {end_point}, {failed}"] = [
                    lineage_entry(entry)
                    for entry in store.lineage(end_point, replace(ALWAYS, failed=failed), level=3).entries
                ]
            fields = store.catalogue.fields(end_point) or ()
            result[f"fields of {end_point}"] = [(field.name, field.read, field.written) for field in fields]
            result[f"runs of {end_point}"] = [listed_run(first, now_ms=NOW_MS) for first in listed]
        except NotFound:
            result[f"runs of {end_point}"] = None
    return result


def cells(table: Table) -> dict[bytes, dict[bytes, bytes]]:
    """All that is stored, whenever it was put; of tokens of days, which are random, that they are there."""
    return {
        key: {column: b"" if column in calendars.TOKENS else cell.value for column, cell in row.items()}
        for key, row in table.scan(b"", b"\xff")
    }


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[list[IncomingEvent], list[list[IncomingEvent]]]:
    """Events of up to two runs; and calls that bring each at least once, in any order."""
    events = [
        reported(document)
        for run in RUNS
        for document in draw(st.lists(run_events(run), min_size=run == RUNS[0], max_size=5))
    ]
    again = draw(st.lists(st.sampled_from(events), max_size=4))
    order = draw(st.permutations([*events, *again]))
    cuts = sorted(draw(st.sets(st.integers(1, len(order)), max_size=4)))
    calls = [order[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(order)], strict=True)]
    return events, [call for call in calls if call]


@given(deliveries(), st.randoms(use_true_random=False))
def test_the_order_the_calls_and_the_writers_do_not_matter(
    delivery: tuple[list[IncomingEvent], list[list[IncomingEvent]]], choice: Any
) -> None:
    events, calls = delivery
    with stores() as (table, (store, _)):
        store.record(events)
        due = seen(table)
    with stores() as (table, writers):
        for call in calls:
            writer = choice.choice(writers)
            if len(call) == 1:
                writer.record_one(call[0])
            else:
                assert not [answer for answer in writer.record(call) if isinstance(answer, Exception)]
        assert seen(table) == due


@given(st.lists(run_events(), min_size=1, max_size=4), st.data())
def test_what_was_sent_before_is_recognised(documents: Sequence[Any], data: st.DataObject) -> None:
    events = [reported(document) for document in documents]
    with stores() as (table, (store, other)):
        store.record(events)
        previous = cells(table)
        again = data.draw(st.lists(st.sampled_from(events), min_size=1))
        assert not any(answer.recorded for answer in other.record(again))  # type: ignore[union-attr]
        assert cells(table) == previous


def document(kind: str, second: int, **members: Any) -> dict[str, Any]:
    return {
        "eventTime": f"2026-03-01T00:00:{second:02}Z",
        "eventType": kind,
        "run": {"runId": RUNS[0]},
        "job": {"namespace": "jobs", "name": "app"},
        **members,
    }


OUTPUT = {"namespace": "db", "name": "orders"}
LINEAGE = {"fields": {"x": {"inputFields": [{"namespace": "db", "name": "customers", "field": "y"}]}}}
WRITES = {"outputs": [{**OUTPUT, "facets": {"columnLineage": LINEAGE}}]}

ENDS = {
    "fail then complete, as the Spark agent sends it": (["START", "FAIL", "COMPLETE"], State.FAIL),
    "complete then fail": (["START", "COMPLETE", "FAIL"], State.FAIL),
    "abort then complete": (["START", "ABORT", "COMPLETE"], State.ABORT),
    "abort then fail": (["START", "ABORT", "FAIL"], State.FAIL),
    "start after complete": (["COMPLETE", "START"], State.COMPLETE),
    "complete alone": (["COMPLETE"], State.COMPLETE),
    "never ended": (["START", "RUNNING", "OTHER"], State.RUNNING),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_run_ends_the_same_however_its_events_come(case: str) -> None:
    kinds, state = ENDS[case]
    events = [reported(document(kind, second, **WRITES)) for second, kind in enumerate(kinds)]
    starts = [second for second, kind in enumerate(kinds) if kind == "START"] or [0]
    for order in permutations(events):
        with stores() as (table, writers):
            for number, event in enumerate(order):
                writers[number % 2].record_one(event)
            run = LineageStore(table).run(RUNS[0]).committed.run
        assert (run.state, run.start_ms % 60_000) == (state, starts[0] * 1000)


def test_an_event_without_a_facet_takes_nothing_away_and_the_last_facet_holds() -> None:
    other = {"fields": {"x": {"inputFields": [{"namespace": "db", "name": "customers", "field": "z"}]}}}
    events = [
        reported(document("START", 0, **WRITES)),
        reported(document("RUNNING", 1, outputs=[{**OUTPUT, "facets": {"columnLineage": other}}])),
        reported(document("COMPLETE", 2, outputs=[OUTPUT])),
    ]
    for order in permutations(events):
        with stores() as (table, (store, _)):
            for event in order:
                store.record_one(event)
            (entry,) = LineageStore(table).lineage(Dataset("db", "orders"), ALWAYS).entries
            (cached,) = store.lineage(Dataset("db", "orders"), ALWAYS).entries
            assert lineage_entry(cached).fieldmap == (Pair(source="z", destination="x"),)
            assert entry.relation.source == Dataset("db", "customers")


def test_what_a_later_event_takes_back_was_still_heard_of() -> None:
    """Whether the first event made it into a pass of its own does not show."""
    other = {"fields": {"x": {"inputFields": [{"namespace": "db", "name": "orders_old", "field": "z"}]}}}
    events = [
        reported(document("START", 0, **WRITES)),
        reported(document("COMPLETE", 1, outputs=[{**OUTPUT, "facets": {"columnLineage": other}}])),
    ]
    for calls in ([events], [events[:1], events[1:]], [events[1:], events[:1]]):
        with stores() as (_, (store, _)):
            for call in calls:
                store.record(call)
            assert store.lineage(Dataset("db", "customers"), ALWAYS).entries == ()
            fields = store.catalogue.fields(Dataset("db", "customers"))
            assert [(field.name, field.read) for field in fields or ()] == [("y", True)]


def test_the_order_within_an_event_does_not_matter() -> None:
    used = [
        {
            "namespace": "db",
            "name": name,
            "field": "y",
            "transformations": [{"type": "DIRECT"}, {"type": "INDIRECT"}],
        }
        for name in ("customers", "orders_old")
    ]
    turned = [{**first, "transformations": first["transformations"][::-1]} for first in used[::-1]]

    def event(inputs: list[Any], columns: list[str], sources: list[str]) -> IncomingEvent:
        created = {"fields": {name: {"inputFields": inputs} for name in columns}, "dataset": inputs}
        return reported(
            document(
                "COMPLETE",
                1,
                inputs=[{"namespace": "db", "name": name} for name in sources],
                outputs=[{**OUTPUT, "facets": {"columnLineage": created}}],
            )
        )

    first = event(used, ["a", "b"], ["customers", "orders_old"])
    assert first == event(turned, ["b", "a"], ["orders_old", "customers"])
