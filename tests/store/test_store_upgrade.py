"""A store of the release before run index and calendars: refused, migrated, asked, written to, repaired.

`frozen/before_run_index.ndjson` has the cells that processes of that release wrote: those numbered 2 are of
one that was still running when the others had ended.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset, DatasetField, DatasetMetadata, Field
from fll_hbase.model.lineage import FieldLineageInfo, build_lineage
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.model.window import BOTH, DAY_MS, Window
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import migration
from fll_hbase.store.maintenance.audit.findings import Kind
from fll_hbase.store.query_parameters import RunsQuery
from fll_hbase.store.rows import calendar_mark
from fll_hbase.store.rows.row_view import view_row
from fll_hbase.tables import StampedPut, Table, open_table
from tests.support import content_form_1 as form_1
from tests.support.audit_runner import findings, repaired, wrong
from tests.support.retained_histories import listed

FROZEN = Path(__file__).parent / "frozen" / "before_run_index.ndjson"
LONG_AGO_MS = 1_710_000_000_000
BASE_MS = 1_700_000_000_000
RAW, PEOPLE, MART, HIVE = (
    Dataset("ns1", "raw"),
    Dataset("ns1", "people"),
    Dataset("m|n", "mart/a b"),
    Dataset("hive", "people"),
)
ALL = (RAW, PEOPLE, MART, HIVE)
UUID = "0187c3b8-5f0a-7d1e-9c3f-5d2e1f0a9b8c"
YEAR = Window(BASE_MS - DAY_MS, BASE_MS + 365 * DAY_MS)


def content(source: Dataset, target: Dataset, *others: InputField) -> FieldLineageInfo:
    operations: list[Operation] = [
        Read("read", "Reads", source, "", (Field("id", "int"), Field("mail"))),
        Transform("mask", "Masks", (InputField("read", "mail"),), (Field("mail", "string"),)),
        Write(
            "write",
            "Writes",
            target,
            "People we know",
            (InputField("read", "id"), InputField("mask", "mail"), *others),
        ),
    ]
    return build_lineage(operations)


FIRST = content(RAW, PEOPLE)
SECOND = content(PEOPLE, MART)
THIRD = content(RAW, PEOPLE, InputField("read", "id", Influence.INDIRECT, "filter"))


def document(
    run: str, info: FieldLineageInfo, day: int, state: State = State.COMPLETE, program: str = "nightly"
) -> RecordedRun:
    start_ms = BASE_MS + day * DAY_MS + (5 if run == "r3" else 0)
    return RecordedRun(ProgramRun("ns1", "shop", "1.4", "spark", program, run, start_ms, state), info)


EARLIER = [
    document("r1", FIRST, 0),
    document("r2", FIRST, 1),
    document("r3", SECOND, 1),
    document("r4", FIRST, 40, State.FAIL),
    document(UUID, THIRD, 90),
    document("r2", THIRD, 2),
]
BESIDE = [document("r6", SECOND, 3, program="weekly"), document("r1", SECOND, 4)]
NEW = [document("r5", SECOND, 5), document(UUID, FIRST, 91)]


def put_frozen(table: Table, number: int) -> None:
    lines = map(json.loads, FROZEN.read_text(encoding="utf-8").splitlines())
    puts = [
        StampedPut(key.encode(), column.encode(), value.encode(), LONG_AGO_MS + number)
        for phase, key, column, value in lines
        if phase == number
    ]
    assert puts
    table.put_stamped(puts)


def expected(*histories: list[RecordedRun]) -> LineageStore:
    """A store that this release alone recorded."""
    store = LineageStore(open_table("sqlite:///:memory:"))
    for run in (run for history in histories for run in history):
        store.record([run])
    store.put_metadata(
        [
            DatasetMetadata(
                PEOPLE, description="Known people", fields=(Field("id", "bigint"),), aliases=(HIVE,)
            )
        ]
    )
    return store


def answers(store: LineageStore) -> list[object]:
    results: list[object] = []
    for dataset in ALL:
        for window in (YEAR, Window(BASE_MS, BASE_MS + 2 * DAY_MS)):
            results += [
                listed(store, dataset, window),
                store.lineage(dataset, replace(window, failed=True), level=3),
            ]
            for name in ("id", "mail"):
                field = DatasetField(dataset, name)
                results += [store.field_lineage(field, window, direction=direction) for direction in BOTH]
        names = store.catalogue.fields(dataset) or ()
        results.append([(entry.name, entry.read, entry.written) for entry in names])
    return results


@pytest.fixture
def table() -> Table:
    table = open_table("sqlite:///:memory:")
    put_frozen(table, 1)
    prefixes = {key[:2] for key, _ in table.scan(b"", b"\xff")}
    assert not prefixes & {layout.RUN_INDEX, layout.WAYS, layout.CALENDARS, layout.PROPERTIES}
    assert prefixes & set(layout.INDEXES_BEFORE_CALENDARS)
    return table


def migrate(table: Table) -> None:
    migration.migrate(table, report=lambda *_: None)


def test_it_is_refused_until_it_is_migrated(table: Table) -> None:
    with pytest.raises(ConfigurationError, match="run `fll store migrate`"):
        calendar_mark.require(table)
    migrate(table)
    calendar_mark.require(table)


def test_it_is_asked_after_a_migration(table: Table) -> None:
    migrate(table)
    assert answers(LineageStore(table)) == answers(expected(EARLIER))
    assert wrong(findings(table)) == {Kind.MISSING_RUN_INDEX}
    rows = [
        keyed for keyed in table.scan(b"", b"\xff") if keyed[0][:2] not in layout.INDEXES_BEFORE_CALENDARS
    ]
    assert all(view_row(key, row).is_readable for key, row in rows)


@pytest.mark.slow
def test_it_is_asked_with_contents_of_form_1(table: Table) -> None:
    migrate(table)
    for info in (FIRST, SECOND, THIRD):
        cells = table.get(layout.content_row(info.checksum))
        table.delete(
            [(layout.content_row(info.checksum), column) for column in cells],  # type: ignore[list-item]
            until_ms=2**62,
        )
        table.write([form_1.puts_1(info)])
        rest = [column for column in cells if column.startswith((layout.OPERATION, b"o:n", b"d:s", b"d:t"))]
        table.put_stamped(
            [
                StampedPut(layout.content_row(info.checksum), column, cells[column].value, LONG_AGO_MS)
                for column in rest
            ]
        )
    assert answers(LineageStore(table)) == answers(expected(EARLIER))
    assert Kind.OLD_FORM in {finding.kind for finding in findings(table)}
    repaired(table)
    assert answers(LineageStore(table)) == answers(expected(EARLIER))


def test_what_was_recorded_until_the_migration_is_there(table: Table) -> None:
    put_frozen(table, 2)
    migrate(table)
    LineageStore(table).record(NEW)
    assert answers(LineageStore(table)) == answers(expected(EARLIER, BESIDE, NEW))


def test_a_repair_puts_what_a_forgotten_process_recorded_later(table: Table) -> None:
    migrate(table)
    LineageStore(table).record(NEW[:1])
    put_frozen(table, 2)
    LineageStore(table).record(NEW[1:])
    assert wrong(findings(table)) == {Kind.MISSING_RUN_INDEX, Kind.MISSING_DAY}
    assert not wrong(repaired(table))
    wanted = expected(EARLIER, NEW[:1], BESIDE, NEW[1:])
    store = LineageStore(table)
    assert answers(store) == answers(wanted)
    query = RunsQuery("ns1", YEAR)
    assert store.namespace_runs(query, limit=100).runs == wanted.namespace_runs(query, limit=100).runs


def test_a_repair_puts_everything_without_a_migration(table: Table) -> None:
    assert wrong(findings(table)) == {Kind.MISSING_RUN_INDEX, Kind.MISSING_WAY, Kind.MISSING_DAY}
    assert not wrong(repaired(table))
    assert answers(LineageStore(table)) == answers(expected(EARLIER))
