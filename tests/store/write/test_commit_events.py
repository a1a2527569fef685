"""Runs of events: results, rejections, and what is stored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fll_hbase.keys import layout
from fll_hbase.model import event_operations, lineage
from fll_hbase.model.datasets import Dataset, DatasetField, DatasetMetadata, Field
from fll_hbase.model.run_events import (
    DatasetMention,
    EventLineage,
    EventType,
    InputColumn,
    OutputColumn,
)
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.model.window import DAY_MS, Window
from fll_hbase.runtime.errors import ChecksumConflict, CorruptRow, TooLarge
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.results import CommitResult
from fll_hbase.store.rows.run_rows import CELL_BYTES_MAX
from fll_hbase.tables import Put, open_table
from tests.support.event_runs import ALIAS, NOW_MS, SOURCE, TARGET, event, part

WINDOW = Window(NOW_MS, NOW_MS + DAY_MS)


@pytest.fixture
def store() -> LineageStore:
    return LineageStore(open_table("sqlite:///:memory:"))


def pairs(store: LineageStore, end_point: Dataset, *, failed: bool = False) -> set[object]:
    answer = store.lineage(end_point, replace(WINDOW, failed=failed))
    return {pair for entry in answer.entries for pair in entry.relation.direct}


def test_answers_are_in_the_order_sent_whatever_run_they_are_of(store: LineageStore) -> None:
    sent = [
        event(EventType.START, part("a"), run="one"),
        event(EventType.START, part("a"), run="two"),
        event(EventType.COMPLETE, part("a", "b"), run="one", later_ms=5),
        event(EventType.START, part("a"), run="two"),
        event(EventType.COMPLETE, part("a"), run="two", later_ms=5),
    ]
    answers = store.record(sent)
    results = [(a.run, a.recorded) for a in answers if isinstance(a, CommitResult)]
    assert results == [("one", True), ("two", True), ("one", True), ("two", False), ("two", True)]
    assert [a.recorded for a in store.record(sent) if isinstance(a, CommitResult)] == [False] * 5


def test_a_document_between_events_says_all_of_its_run(store: LineageStore) -> None:
    info = lineage.build_lineage_lenient(event_operations.build_operations(part("z")))
    document = RecordedRun(ProgramRun("jobs", "a", "", "t", "p", "run", NOW_MS), info)
    store.record([event(EventType.START, part("a")), document, event(EventType.FAIL, part("b"), later_ms=1)])
    assert pairs(store, TARGET) == {("z", "z")}
    assert store.run("run").committed.run == document.run


@pytest.mark.parametrize("last", [EventType.COMPLETE, EventType.RUNNING, EventType.START])
def test_a_failure_holds_whatever_follows_it(store: LineageStore, last: EventType) -> None:
    for kind, later_ms in ((EventType.START, 0), (EventType.FAIL, 1), (last, 10)):
        store.record_one(event(kind, part("a"), later_ms=later_ms))
    assert store.run("run").committed.run.state is State.FAIL
    assert pairs(store, TARGET) == set()
    assert pairs(store, TARGET, failed=True) == {("a", "a")}


def test_a_run_starts_at_its_first_start_even_where_it_comes_last(store: LineageStore) -> None:
    store.record_one(event(EventType.COMPLETE, part("a"), later_ms=DAY_MS))
    assert store.run("run").committed.run.start_ms == NOW_MS + DAY_MS
    store.record_one(event(EventType.START, part("a")))
    assert store.run("run").committed.run.start_ms == NOW_MS
    assert pairs(store, TARGET) == {("a", "a")}


def test_an_end_point_answers_to_each_of_its_names(store: LineageStore) -> None:
    store.record_one(event(EventType.COMPLETE, part("a"), run="by-path"))
    store.record_one(event(EventType.COMPLETE, part("b", aliases=(ALIAS,)), run="both-names", later_ms=1))
    by_alias = store.lineage(ALIAS, WINDOW)
    assert pairs(store, ALIAS) == pairs(store, TARGET) == {("a", "a"), ("b", "b")}
    assert {entry.relation.destination for entry in by_alias.entries} == {ALIAS}
    assert [run.run.run for run in store.runs(ALIAS, WINDOW, limit=5).runs] == ["both-names", "by-path"]
    assert [field.name for field in store.catalogue.fields(ALIAS) or ()] == ["a", "b"]
    for field in ("a", "b"):
        graphs = [store.field_lineage(DatasetField(name, field), WINDOW).graph for name in (ALIAS, TARGET)]
        assert graphs[0] == graphs[1]
        assert graphs[0].connections
    downstream = EventLineage(
        "jobs",
        "later",
        "SPARK",
        (("db", "report"), ("hive", "daily")),
        (
            DatasetMention(0, True, columns=(OutputColumn("a", (InputColumn(1, "a", True, "", ""),)),)),
            DatasetMention(1, False),
        ),
    )
    store.record_one(event(EventType.COMPLETE, downstream, run="downstream", later_ms=2))
    two_hops = store.lineage(Dataset("db", "report"), WINDOW, level=2)
    assert SOURCE in {entry.relation.source for entry in two_hops.entries}


def test_what_is_known_without_a_run_is_in_the_catalogue(store: LineageStore) -> None:
    store.put_metadata([DatasetMetadata(TARGET, (Field("a", "int"),), "sums of a day", (ALIAS,))])
    for name in (TARGET, ALIAS):
        (field,) = store.catalogue.fields(name) or ()
        assert (field.name, field.type, field.read, field.written) == ("a", "int", False, False)
    assert store.lineage(TARGET, WINDOW).entries == ()
    assert [end.description for end in store.catalogue.datasets("db")] == ["sums of a day"]


def test_an_event_that_no_cell_holds_leaves_nothing() -> None:
    table = open_table("sqlite:///:memory:")
    large = part("x" * (CELL_BYTES_MAX + 1))
    good = event(EventType.START, part("a"), run="good")
    refused, recorded = LineageStore(table).record([event(EventType.START, large), good])
    assert isinstance(refused, TooLarge)
    assert isinstance(recorded, CommitResult)
    assert {key for key, _ in table.scan(b"p|", b"r~")} == {
        *(layout.event_body_row(digest) for digest in good.bodies),
        layout.run_row("good", "jobs"),
    }


def test_a_missing_event_body_fails_its_run_alone() -> None:
    table, missing_body = open_table("sqlite:///:memory:"), open_table("sqlite:///:memory:")
    lost = event(EventType.START, part("a"), run="lost")
    LineageStore(table).record_one(lost)
    for key, row in table.scan(b"", b"\x7f"):
        if key != layout.event_body_row(lost.event.lineage_digest):
            missing_body.write([[Put(key, column, cell.value) for column, cell in row.items()]])
    later = event(EventType.COMPLETE, part("b"), run="lost", later_ms=1)
    missing, other = LineageStore(missing_body).record(
        [later, event(EventType.COMPLETE, part("b"), run="other")]
    )
    assert isinstance(missing, CorruptRow)
    assert f"p|{lost.event.lineage_digest}" in str(missing)
    assert isinstance(other, CommitResult)


def test_two_parts_under_one_digest_are_never_merged() -> None:
    table = open_table("sqlite:///:memory:")
    sent = [event(EventType.START, part("a"), run=run) for run in ("one", "two")]
    table.write([[Put(layout.event_body_row(sent[0].event.lineage_digest), layout.EVENT_BODY, b"[]")]])
    rows_before = list(table.scan(b"", b"\x7f"))
    assert all(isinstance(answer, ChecksumConflict) for answer in LineageStore(table).record(sent))
    assert list(table.scan(b"", b"\x7f")) == rows_before


def test_operations_never_share_a_name() -> None:
    columns = tuple(OutputColumn(name, ()) for name in ("a", "a#2"))
    ends = (("one", "t"), ("two", "t"))
    mentions = tuple(DatasetMention(position, True, columns=columns) for position in (0, 1))
    names = [
        operation.name
        for operation in event_operations.build_operations(EventLineage("j", "j", "", ends, mentions))
    ]
    assert len(names) == len(set(names)) == 6
