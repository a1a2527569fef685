"""Runs of an earlier release: read and changed where they are, and moved to keys with their namespace."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import pytest
from msgspec import json

from fll_hbase.keys import layout, ranges
from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.runs import RecordedRun, RunKey
from fll_hbase.model.tags import AgePolicy, parse_max_age
from fll_hbase.model.window import Direction
from fll_hbase.queries.history import History
from fll_hbase.queries.reach import Reach
from fll_hbase.queries.run_details import RunOfNamespace
from fll_hbase.queries.runs import AllRuns, NamespaceRuns, Runs
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit.former_runs import move_former_rows
from fll_hbase.store.results import CommitResult
from fll_hbase.store.rows import calendar_mark
from fll_hbase.store.write.sealing import DaySealer, SealRequest
from fll_hbase.tables import Batch, CellKey, Put, Sync, Table, open_table
from tests.support.audit_runner import findings
from tests.support.copy_runs import DESTINATION, copying
from tests.support.former_runs import earlier_release
from tests.support.passing_table import Through
from tests.support.table_cells import LATER_MS

UUID = "0187c3b8-5f0a-7d1e-9c3f-5d2e1f0a9b8c"
WINDOW = {"start": 0, "end": 100}
QUESTIONS = (
    AllRuns(**WINDOW),
    NamespaceRuns("ns", **WINDOW),
    Runs("ns", "destination", **WINDOW),
    Reach("ns", "destination", "f", **WINDOW, counts=True),
    History("ns", "destination", "f", **WINDOW),
    RunOfNamespace("ns", "2026-01-01"),
)


def in_namespace(run: RecordedRun, namespace: str) -> RecordedRun:
    return replace(run, run=replace(run.run, namespace=namespace))


RUNS = [
    copying("2026-01-01"),
    in_namespace(copying("2026-01-02", start_ms=6), "other"),
    copying("2026-01-03", start_ms=7, field="g"),
    copying(UUID, start_ms=8),
    copying("a+b|ns", start_ms=9),
]


def answers(table: Table) -> list[str]:
    """JSON, without the namespaces beside ids: an earlier key has none."""
    store = LineageStore(table)
    bodies = [question.answer(store, now_ms=1_000_000).body for question in QUESTIONS]
    return [re.sub(r',"(first|last)RunNamespace":"ns"', "", json.encode(body).decode()) for body in bodies]


def former_store(runs: Sequence[RecordedRun] = RUNS) -> Table:
    table = open_table("sqlite:///:memory:")
    with earlier_release(table):
        LineageStore(table).record(runs)
    return table


def keys(table: Table) -> set[RunKey]:
    """Return the runs that are committed, by row."""
    rows = table.scan(*ranges.prefix_range(layout.RUNS))
    return set(LineageStore(table).components.events.committed_runs({ranges.run_of(k): r for k, r in rows}))


def move(table: Table) -> int:
    return move_former_rows(LineageStore(table))


MOVED = {
    RunKey("2026-01-01", "ns"),
    RunKey("2026-01-02", "other"),
    RunKey("2026-01-03", "ns"),
    RunKey(UUID),
    RunKey("a+b|ns", "ns"),
}


@pytest.fixture(scope="module")
def expected() -> list[str]:
    table = open_table("sqlite:///:memory:")
    LineageStore(table).record(RUNS)
    assert keys(table) == MOVED
    return answers(table)


def test_an_earlier_store_answers_alike_before_and_after(expected: list[str]) -> None:
    table = former_store()
    assert all(not key.namespace for key in keys(table))
    assert answers(table) == expected
    assert move(table) == 4
    assert keys(table) == MOVED
    assert answers(table) == expected
    assert not [item for item in findings(table) if item.kind.name != "REFERENCE_STALE"]
    assert move(table) == 0, "the table is marked"
    assert not calendar_mark.has_former_runs(table)


def test_a_run_whose_content_cannot_be_read_stays_and_the_others_move() -> None:
    table = former_store()
    content = layout.content_row(RUNS[2].info.checksum)
    sources = table.get(content)[layout.SOURCES].value
    table.write([[Put(content, layout.SOURCES, b"damaged")]])
    assert move(table) == 3
    assert keys(table) == MOVED - {RunKey("2026-01-03", "ns")} | {RunKey("2026-01-03")}
    table.write([[Put(content, layout.SOURCES, sources)]])
    assert move(table) == 1
    assert keys(table) == MOVED


def test_a_change_finds_the_earlier_run_and_another_namespace_does_not() -> None:
    table = former_store()
    store = LineageStore(table)
    again, changed, theirs = store.record(
        [
            copying("2026-01-01"),
            copying("2026-01-03", start_ms=7, field="h"),
            in_namespace(copying("2026-01-01"), "b"),
        ]
    )
    assert isinstance(again, CommitResult)
    assert isinstance(changed, CommitResult)
    assert isinstance(theirs, CommitResult)
    assert (again.recorded, changed.replaced, theirs.recorded, theirs.replaced) == (False, True, True, False)
    assert keys(table) == {*(RunKey(run.run.run) for run in RUNS), RunKey("2026-01-01", "b")}
    assert move(table) == 4
    assert keys(table) == MOVED | {RunKey("2026-01-01", "b")}


class Interrupted(Exception):
    pass


class AtWrite(Through):
    """A table before whose nth write something happens."""

    def __init__(self, table: Table, number: int, happens: Callable[[], None]) -> None:
        super().__init__(table)
        self.number, self.happens = number, happens

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        self.number -= 1
        if self.number == 0:
            self.happens()
        return batches


class AtBatch(AtWrite):
    """A table before whose nth batch something happens: HBase writes each batch by itself."""

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        for batch in batches:
            super().write([batch], sync=sync)


def interrupt() -> None:
    raise Interrupted


def test_a_move_that_ends_anywhere_is_completed_by_the_next(expected: list[str]) -> None:
    number, is_done = 1, False
    while not is_done:
        table = former_store()
        try:
            move(AtWrite(table, number, interrupt))  # type: ignore[arg-type]
            is_done = True
        except Interrupted:
            assert answers(table) == expected, f"before write {number}"
        move(table)
        assert keys(table) == MOVED
        assert answers(table) == expected
        number += 1
    assert number > 3


def test_a_writer_beside_a_move_loses_nothing_and_makes_no_second_run() -> None:
    sent, number, happened = copying("2026-01-01", field="h"), 1, [True]
    while happened:
        table, happened = former_store(), []
        writer = LineageStore(table)

        def record(writer: LineageStore = writer, happened: list[bool] = happened) -> None:
            writer.record([sent])
            happened.append(True)

        move(AtWrite(table, number, record))  # type: ignore[arg-type]
        assert {key for key in keys(table) if key.run == "2026-01-01"} == {RunKey("2026-01-01", "ns")}
        if happened:
            stored = LineageStore(table).run("2026-01-01", "ns")
            assert stored.committed.checksum == sent.info.checksum, f"before write {number}"
        number += 1
    assert number > 3


def test_a_move_that_ends_beside_a_writer_is_completed_by_the_next() -> None:
    sent, ends = copying("2026-01-01", field="h"), 1
    undisturbed = former_store()
    LineageStore(undisturbed).record([sent])
    move(undisturbed)
    expected = answers(undisturbed)
    is_done = False
    while not is_done:
        for number in range(1, ends + 1):
            table = former_store()
            writer = LineageStore(table)
            interrupted = AtBatch(table, ends, interrupt)
            beside = AtBatch(interrupted, number, lambda writer=writer: writer.record([sent]))  # type: ignore[arg-type, misc]
            try:
                move(beside)  # type: ignore[arg-type]
                is_done = True
            except Interrupted:
                assert {key.run for key in keys(table)} == {key.run for key in MOVED}
                move(table)
            if not is_done or beside.number <= 0:
                assert keys(table) == MOVED
                assert answers(table) == expected, (number, ends)
        ends += 1
    assert ends > 6


def test_a_move_beside_a_writer_loses_nothing_and_makes_no_second_run() -> None:
    sent, number, happened = copying("2026-01-01", field="h"), 1, [True]
    while happened:
        table, happened = former_store(), []

        def move_all(table: Table = table, happened: list[bool] = happened) -> None:
            assert move(table) == 4
            happened.append(True)

        (result,) = LineageStore(AtWrite(table, number, move_all)).record([sent])  # type: ignore[arg-type]
        assert isinstance(result, CommitResult)
        stored = LineageStore(table).run("2026-01-01", "ns")
        assert stored.committed.checksum == sent.info.checksum, f"before write {number}"
        move(table)
        assert keys(table) == MOVED
        number += 1
    assert number > 2


def test_policies_on_fields_are_moved_with_the_runs() -> None:
    table = former_store()
    field = DatasetField(DESTINATION, "f")
    name, tag = "gdpr", AgePolicy("gdpr", parse_max_age("2d"), "PII", None, "", 0)
    stored, _ = LineageStore(table).policies.put(AgePolicy(name, parse_max_age("1d"), "", field, "", 0))
    moved, former = layout.policy_row(name, field.dataset.namespace), layout.policy_row(name)
    table.write([[Put(former, layout.POLICY, table.get(moved)[layout.POLICY].value)]])
    table.delete([CellKey(moved, layout.POLICY)], until_ms=LATER_MS)
    policies = LineageStore(table).policies
    assert list(policies.policies()) == [stored]
    assert move(table) == 5
    assert layout.POLICY in table.get(moved)
    assert list(policies.policies()) == [stored]
    policies.put(tag)
    assert [policy.max_age.text for policy in policies.policies()] == ["2d", "1d"]


def test_a_seal_of_the_day_does_not_outlive_the_move() -> None:
    table = former_store()
    events = LineageStore(table).components.events
    request = SealRequest(Direction.BACKWARD, DESTINATION, 0, frozenset({RUNS[0].info.checksum}))
    assert DaySealer(table, events, clock=lambda: 2**42, grace_ms=1).seal([request])
    expected = answers(table)
    move(table)
    assert answers(table) == expected
    assert not [item for item in findings(table) if item.kind.name != "REFERENCE_STALE"]
