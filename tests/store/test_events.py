"""Runs told in events: what is answered, what is refused, and what of it is stored."""

from __future__ import annotations

import pytest

from fll_hbase.errors import ChecksumConflict, CorruptRow, TooLarge
from fll_hbase.keys import layout
from fll_hbase.model import event_operations, lineage, run_events
from fll_hbase.model.dataset_metadata import Schema
from fll_hbase.model.operations import Dataset, DatasetField, Field
from fll_hbase.model.run_events import Column, Facts, Kind, Mention, Part, Taken, ToldEvent
from fll_hbase.model.runs import DAY_MS, ProgramRun, RecordedRun, State, Window
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.run_rows import CELL_BYTES_MAX
from fll_hbase.store.write.commit import Recorded
from fll_hbase.tables import Put, open_table

SOURCE, TARGET, ALIAS = Dataset("db", "orders"), Dataset("db", "daily"), Dataset("hive", "daily")
NOW_MS = 20_000 * DAY_MS
WINDOW = Window(NOW_MS, NOW_MS + DAY_MS)


def part(*fields: str, job: str = "nightly", aliases: tuple[Dataset, ...] = ()) -> Part:
    """Each field of the target is made of that of the source."""
    columns = tuple(Column(name, (Taken(1, name, True, "", "IDENTITY"),)) for name in sorted(fields))
    named = tuple((alias.namespace, alias.name) for alias in aliases)
    written = Mention(0, True, fields=tuple((name, "int") for name in fields), columns=columns, aliases=named)
    return Part("jobs", job, "SPARK", (("db", "daily"), ("db", "orders")), (written, Mention(1, False)))


def event(kind: Kind, said: Part, *, run: str = "run", later_ms: int = 0) -> ToldEvent:
    return run_events.told(run, NOW_MS + later_ms, kind, said, Facts())


@pytest.fixture
def store() -> LineageStore:
    return LineageStore(open_table("sqlite:///:memory:"))


def pairs(store: LineageStore, end_point: Dataset, *, failed: bool = False) -> set[object]:
    answer = store.lineage(end_point, WINDOW, failed=failed)
    return {pair for entry in answer.entries for pair in entry.relation.direct}


def test_answers_are_in_the_order_sent_whatever_run_they_are_of(store: LineageStore) -> None:
    sent = [
        event(Kind.START, part("a"), run="one"),
        event(Kind.START, part("a"), run="two"),
        event(Kind.COMPLETE, part("a", "b"), run="one", later_ms=5),
        event(Kind.START, part("a"), run="two"),
        event(Kind.COMPLETE, part("a"), run="two", later_ms=5),
    ]
    answers = store.record(sent)
    told_of = [(a.run, a.recorded) for a in answers if isinstance(a, Recorded)]
    assert told_of == [("one", True), ("two", True), ("one", True), ("two", False), ("two", True)]
    assert [a.recorded for a in store.record(sent) if isinstance(a, Recorded)] == [False] * 5


def test_a_document_between_events_says_all_of_its_run(store: LineageStore) -> None:
    info = lineage.partial(event_operations.operations(part("z")))
    document = RecordedRun(ProgramRun("jobs", "a", "", "t", "p", "run", NOW_MS), info)
    store.record([event(Kind.START, part("a")), document, event(Kind.FAIL, part("b"), later_ms=1)])
    assert pairs(store, TARGET) == {("z", "z")}
    assert store.run("run").truth.run == document.run


@pytest.mark.parametrize("last", [Kind.COMPLETE, Kind.RUNNING, Kind.START])
def test_a_failure_holds_whatever_follows_it(store: LineageStore, last: Kind) -> None:
    for kind, later_ms in ((Kind.START, 0), (Kind.FAIL, 1), (last, 10)):
        store.record_one(event(kind, part("a"), later_ms=later_ms))
    assert store.run("run").truth.run.state is State.FAIL
    assert pairs(store, TARGET) == set()
    assert pairs(store, TARGET, failed=True) == {("a", "a")}


def test_a_run_starts_at_its_first_start_even_where_it_comes_last(store: LineageStore) -> None:
    store.record_one(event(Kind.COMPLETE, part("a"), later_ms=DAY_MS))
    assert store.run("run").truth.run.start_ms == NOW_MS + DAY_MS
    store.record_one(event(Kind.START, part("a")))
    assert store.run("run").truth.run.start_ms == NOW_MS
    assert pairs(store, TARGET) == {("a", "a")}


def test_an_end_point_answers_to_each_of_its_names(store: LineageStore) -> None:
    store.record_one(event(Kind.COMPLETE, part("a"), run="by-path"))
    store.record_one(event(Kind.COMPLETE, part("b", aliases=(ALIAS,)), run="told-both", later_ms=1))
    by_alias = store.lineage(ALIAS, WINDOW)
    assert pairs(store, ALIAS) == pairs(store, TARGET) == {("a", "a"), ("b", "b")}
    assert {entry.relation.destination for entry in by_alias.entries} == {ALIAS}
    assert [run.run.run for run in store.runs(ALIAS, WINDOW, limit=5).runs] == ["told-both", "by-path"]
    assert [field.name for field in store.catalogue.fields(ALIAS) or ()] == ["a", "b"]
    for field in ("a", "b"):
        graphs = [store.field_lineage(DatasetField(name, field), WINDOW).graph for name in (ALIAS, TARGET)]
        assert graphs[0] == graphs[1]
        assert graphs[0].connections
    downstream = Part(
        "jobs",
        "later",
        "SPARK",
        (("db", "report"), ("hive", "daily")),
        (
            Mention(0, True, columns=(Column("a", (Taken(1, "a", True, "", ""),)),)),
            Mention(1, False),
        ),
    )
    store.record_one(event(Kind.COMPLETE, downstream, run="downstream", later_ms=2))
    two_hops = store.lineage(Dataset("db", "report"), WINDOW, level=2)
    assert SOURCE in {entry.relation.source for entry in two_hops.entries}


def test_what_is_known_without_a_run_is_in_the_catalogue(store: LineageStore) -> None:
    store.describe([Schema(TARGET, (Field("a", "int"),), "sums of a day", (ALIAS,))])
    for name in (TARGET, ALIAS):
        (field,) = store.catalogue.fields(name) or ()
        assert (field.name, field.type, field.read, field.written) == ("a", "int", False, False)
    assert store.lineage(TARGET, WINDOW).entries == ()
    assert [end.description for end in store.catalogue.end_points("db")] == ["sums of a day"]


def test_an_event_that_no_cell_holds_leaves_nothing() -> None:
    table = open_table("sqlite:///:memory:")
    large = part("x" * (CELL_BYTES_MAX + 1))
    good = event(Kind.START, part("a"), run="good")
    refused, recorded = LineageStore(table).record([event(Kind.START, large), good])
    assert isinstance(refused, TooLarge)
    assert isinstance(recorded, Recorded)
    assert {key for key, _ in table.scan(b"p|", b"r~")} == {
        *(layout.part_row(digest) for digest in good.texts),
        layout.run_row("good"),
    }


def test_a_part_that_is_gone_is_told_to_its_run_alone() -> None:
    table, held = open_table("sqlite:///:memory:"), open_table("sqlite:///:memory:")
    lost = event(Kind.START, part("a"), run="lost")
    LineageStore(table).record_one(lost)
    for key, row in table.scan(b"", b"\x7f"):
        if key != layout.part_row(lost.event.part):
            held.write([[Put(key, column, cell.value) for column, cell in row.items()]])
    later = event(Kind.COMPLETE, part("b"), run="lost", later_ms=1)
    told_of, other = LineageStore(held).record([later, event(Kind.COMPLETE, part("b"), run="other")])
    assert isinstance(told_of, CorruptRow)
    assert f"p|{lost.event.part}" in str(told_of)
    assert isinstance(other, Recorded)


def test_two_parts_under_one_digest_are_never_merged() -> None:
    table = open_table("sqlite:///:memory:")
    sent = [event(Kind.START, part("a"), run=run) for run in ("one", "two")]
    table.write([[Put(layout.part_row(sent[0].event.part), layout.PART, b"[]")]])
    before = list(table.scan(b"", b"\x7f"))
    assert all(isinstance(answer, ChecksumConflict) for answer in LineageStore(table).record(sent))
    assert list(table.scan(b"", b"\x7f")) == before


def test_operations_never_share_a_name() -> None:
    columns = tuple(Column(name, ()) for name in ("a", "a#2"))
    ends = (("one", "t"), ("two", "t"))
    mentions = tuple(Mention(place, True, columns=columns) for place in (0, 1))
    names = [operation.name for operation in event_operations.operations(Part("j", "j", "", ends, mentions))]
    assert len(names) == len(set(names)) == 6
