"""A properly written table is clean; any damage is reported by kind, and repaired where possible."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.keys import calendars, layout
from fll_hbase.model import run_events
from fll_hbase.model.checksum import canonical, checksum_of_texts
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.operations import Field, Read
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.run_events import EventRunFacts, EventType
from fll_hbase.model.window import DAY_MS, Direction
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit.findings import EXPECTED, Kind, Repair
from fll_hbase.store.rows import run_rows
from fll_hbase.store.rows.run_rows import CELL_BYTES_MAX
from fll_hbase.store.write.batching import RunInput
from fll_hbase.tables import CellKey, Put, Table, open_table
from tests.support.audit_histories import HISTORIES, essential
from tests.support.audit_runner import confirm, findings, mismatches, repaired, wrong
from tests.support.event_runs import ALIAS, NOW_MS, SOURCE, TARGET, part
from tests.support.retained_histories import HORIZONS, documents, recorded, swept

LATER_MS = 4_000_000_000_000


def recorded_table(history: Sequence[RunInput]) -> Table:
    table = open_table("sqlite:///:memory:")
    LineageStore(table).record(history)
    return table


def cells(table: Table) -> dict[CellKey, bytes]:
    scanned = table.scan(b"", b"\xff")
    return {CellKey(key, column): cell.value for key, row in scanned for column, cell in row.items()}


def put(table: Table, cell: CellKey, value: bytes) -> None:
    table.write([[Put(*cell, value)]])


def delete(table: Table, *deleted: CellKey) -> None:
    table.delete(deleted, until_ms=LATER_MS)


@given(history=HISTORIES)
def test_what_was_recorded_is_clean(history: list[RunInput]) -> None:
    findings_now = findings(recorded_table(history))
    assert not wrong(findings_now)
    assert not any(finding.kind is Kind.UNFINISHED for finding in findings_now)


@given(history=st.lists(documents(), min_size=1, max_size=8), horizons=HORIZONS)
def test_a_purge_and_a_sweep_leave_nothing_to_find(
    history: list[RunInput], horizons: RetentionPolicy
) -> None:
    table, _ = recorded(history)  # type: ignore[arg-type]
    swept(table, horizons)
    assert findings(table) == []


def one_input_per_run(history: Sequence[RunInput]) -> list[RunInput]:
    """Give each document or event a run of its own."""
    return [
        replace(run_input, run=replace(run_input.run, run=f"run {number}"))
        if not isinstance(run_input, run_events.IncomingEvent)
        else run_events.IncomingEvent(f"run of events {number}", run_input.event, run_input.bodies)
        for number, run_input in enumerate(history)
    ]


_ABOUT_SCHEMAS = (b"e|", b"a|")


@pytest.mark.slow
@given(history=HISTORIES.map(one_input_per_run), data=st.data())
def test_a_deleted_cell_is_repaired_or_reported_as_lost(history: list[RunInput], data: st.DataObject) -> None:
    table = recorded_table(history)
    cells_before, intact = cells(table), essential(table)
    deleted = data.draw(st.sampled_from(sorted(cells_before)))
    delete(table, deleted)
    findings_now = findings(table)
    if deleted.row.startswith((*_ABOUT_SCHEMAS, layout.RUN_INDEX, layout.PROPERTIES)) and not findings_now:
        # Of the run index only what a replaced run left: see `test_derived_cells_are_repaired`. The mark is a
        # property of the table, which only the job puts.
        return
    assert wrong(findings_now) or Kind.UNFINISHED in {finding.kind for finding in findings_now}
    left = repaired(table)
    if wrong(left):
        assert deleted.row.startswith((b"c|", b"p|", b"r|"))
    else:
        assert essential(table) == intact


DEEP = b"[" * 100_000
"""JSON beyond what a parser recurses into."""


@pytest.mark.slow
@given(history=HISTORIES.map(one_input_per_run), data=st.data())
def test_an_altered_cell_is_reported(history: list[RunInput], data: st.DataObject) -> None:
    table = recorded_table(history)
    intact = essential(table)
    altered = data.draw(st.sampled_from(sorted(cells(table))))
    if altered.row.startswith(b"a|"):
        return
    put(table, altered, data.draw(st.sampled_from([b"", b"x", b"[]", b"{}", b"\xff", b"1|2|3", DEEP])))
    if essential(table) == intact:
        return
    kinds = {finding.kind for finding in findings(table)}
    assert Kind.OTHER_PROGRAM in kinds or wrong(findings(table))
    if not wrong(repaired(table)):
        assert essential(table) == intact


def keys(table: Table, letter: bytes) -> list[CellKey]:
    return [cell for cell in cells(table) if cell.row.startswith(letter)]


@pytest.fixture
def table() -> Table:
    """Two runs of events, of one content, with an alias."""
    lineage = part("a", "b", aliases=(ALIAS,))
    events = [
        run_events.make_event(run, NOW_MS + later_ms, kind, lineage, EventRunFacts())
        for run in ("one", "two")
        for later_ms, kind in ((0, EventType.START), (5, EventType.COMPLETE))
    ]
    return recorded_table(events)


@pytest.mark.parametrize(
    ("letter", "column", "kind"),
    [
        (b"b|", b"", Kind.MISSING_REFERENCE),
        (b"f|", b"", Kind.MISSING_REFERENCE),
        (b"w|b", b"", Kind.MISSING_WAY),
        (b"w|f", b"", Kind.MISSING_WAY),
        (b"u|", calendars.TOKEN, Kind.MISSING_DAY),
        (b"n|", b"", Kind.MISSING_RUN_INDEX),
        (b"e|", b"d:e", Kind.MISSING_CATALOGUE),
        (b"a|", b"", Kind.MISSING_ALIAS),
        (b"c|", layout.FIELD_MAP, Kind.WRONG_CELLS),
        (b"c|", layout.SOURCES, Kind.WRONG_CELLS),
        (b"r|", layout.COMMIT, Kind.UNFINISHED),
    ],
)
def test_derived_cells_are_repaired(table: Table, letter: bytes, column: bytes, kind: Kind) -> None:
    intact = essential(table)
    cell = next(c for c in keys(table, letter) if c.column.startswith(column) and b"hive" not in c.row)
    delete(table, cell)
    assert kind in {finding.kind for finding in findings(table)}
    assert repaired(table) == []
    assert essential(table) == intact


def test_a_content_of_events_is_merged_again(table: Table) -> None:
    intact = essential(table)
    delete(table, *keys(table, b"c|"))
    (findings_now,) = [finding for finding in findings(table) if finding.kind.is_error]
    assert findings_now.kind is Kind.MISSING_CONTENT
    assert repaired(table) == []
    assert essential(table) == intact


def test_a_deleted_event_body_is_lost(table: Table) -> None:
    lineage = next(c for c in keys(table, b"p|") if b"orders" in cells(table)[c])
    delete(table, lineage)
    (loss,) = findings(table)
    assert (loss.kind, loss.row, loss.repair) == (
        Kind.MISSING_PART,
        lineage.row,
        Repair(),
    )
    assert repaired(table) == [loss]


def test_operations_of_another_checksum_are_never_put_again(table: Table) -> None:
    operation = next(c for c in keys(table, b"c|") if c.column.startswith(layout.OPERATION))
    delete(table, operation)
    cells_before = cells(table)
    assert wrong(repaired(table)) == {Kind.WRONG_CHECKSUM}
    assert cells(table) == cells_before


def test_an_altered_input_is_never_committed(table: Table) -> None:
    (event, *_) = [c for c in keys(table, b"r|") if c.column.startswith(layout.EVENT)]
    value = cells(table)[event].replace(b"START", b"FAIL")
    put(table, event, value)
    cells_before = cells(table)
    assert wrong(repaired(table)) == {Kind.ALTERED}
    assert cells(table) == cells_before


def test_a_content_with_another_key_is_an_error_without_a_run_too(table: Table) -> None:
    (content, *_) = keys(table, b"c|")
    for column, cell in table.get(content.row).items():
        put(table, CellKey(b"c|" + b"5" * 32, column), cell.value)
    assert {finding.kind for finding in findings(table)} == {Kind.WRONG_CHECKSUM, Kind.CONTENT_WITHOUT_RUN}
    assert wrong(repaired(table)) == {Kind.WRONG_CHECKSUM}


def test_garbage_may_lack_what_is_collected_before_it(table: Table) -> None:
    delete(table, *keys(table, b"r|"), *keys(table, b"e|"))
    assert not wrong(findings(table))
    assert Kind.CONTENT_WITHOUT_RUN in {finding.kind for finding in findings(table)}


def test_a_dataset_that_no_content_names_is_noted(table: Table) -> None:
    stray = layout.dataset_row(Dataset("db", "nobody"))
    put(table, CellKey(stray, layout.EXISTS), b"")
    assert findings(table) == []
    put(table, CellKey(stray, layout.field_column(Direction.BACKWARD, "id")), b"")
    assert [(finding.kind, finding.row) for finding in findings(table)] == [
        (Kind.DATASET_WITHOUT_CONTENT, stray)
    ]
    put(table, CellKey(stray, layout.declared_field_column("id")), b"")
    assert findings(table) == []


@pytest.mark.slow
def test_an_operation_beyond_the_limit_of_a_cell_is_reported(table: Table) -> None:
    text = canonical(Read("x", "long" * CELL_BYTES_MAX, SOURCE, "", (Field("id"),)))
    content = layout.content_row(checksum_of_texts({"x": text}))
    put(table, CellKey(content, layout.operation_column("x")), text.encode())
    assert wrong(findings(table)) == {Kind.UNREADABLE}


@pytest.mark.parametrize("column", [layout.SOURCES, layout.DESTINATIONS, layout.FIELD_MAP])
def test_json_that_is_too_deep_ends_no_audit(table: Table, column: bytes) -> None:
    (content, *_) = keys(table, b"c|")
    put(table, CellKey(content.row, column), DEEP)
    assert wrong(findings(table)) == {Kind.WRONG_CELLS}
    assert repaired(table) == []


def test_rows_with_unknown_prefixes_are_reported(table: Table) -> None:
    put(table, CellKey(b"zebra", b"d:x"), b"")
    put(table, CellKey(b"\n", b"d:x"), b"")
    assert [(finding.kind, finding.row) for finding in findings(table)] == [
        (Kind.UNREADABLE, b"\n"),
        (Kind.UNREADABLE, b"zebra"),
    ]


@pytest.mark.parametrize(
    ("row", "column"),
    [
        (b"r|00|one", b"d:z|00000001|" + b"0" * 32),
        (b"e|a b|c", b"d:e"),
        (b"e|db|daily", b"d:h|12"),
        (b"w|b|db|daily|0000000", b"d:w"),
        (b"w|q|db|daily|0000000|" + b"0" * 32, b"d:w"),
        (b"w|b|db|daily|fffffff|" + b"0" * 32, b"d:w"),
        (b"w|b|db|daily|0000000|" + b"0" * 32, b"d:h|" + b"0" * 16),
        (b"w|h|db|daily", b"d:w"),
        (b"w|h|db|daily", b"d:h|12"),
        (b"w|h|db|daily|0000000", b"d:h|" + b"0" * 16),
        (b"u|12|0000000", b"d:z00"),
        (b"u|" + b"0" * 32 + b"|fffffff", b"d:z00"),
        (b"u|" + b"0" * 32 + b"|0000000", b"d:z20"),
        (b"u|" + b"0" * 32 + b"|0000000", b"d:z"),
        (b"v|another", b"d:v"),
        (b"v|copy", b"d:x"),
        (b"b|db|daily", b"d:c|" + b"0" * 32),
        (b"b|db|daily|zz|one", b"d:c|" + b"0" * 32),
        (b"f|db|da ily|0000000000000000|one", b"d:c|" + b"0" * 32),
        (b"f|db|daily|0000000000000000|one", b"d:c|0"),
        (b"c|12", b"d:v"),
        (b"p|" + b"0" * 32, b"d:x"),
        (b"a|a b|c", b"d:a|d|e"),
        (b"a|b|c", b"d:a|d"),
        (b"v|retention", b"d:p|x"),
    ],
)
def test_a_key_or_column_that_nothing_writes_is_unreadable(table: Table, row: bytes, column: bytes) -> None:
    put(table, CellKey(row, column), b"")
    assert (Kind.UNREADABLE, row) in [(finding.kind, finding.row) for finding in findings(table)]
    assert Kind.UNREADABLE in wrong(repaired(table))


def test_what_a_replaced_run_leaves_is_noted_by_name() -> None:
    first, second = part("a"), part("a", "b")
    table = recorded_table([run_events.make_event("run", NOW_MS, EventType.START, first, EventRunFacts())])
    LineageStore(table).record(
        [run_events.make_event("run", NOW_MS - DAY_MS, EventType.START, second, EventRunFacts())]
    )
    assert {finding.kind for finding in findings(table)} == {
        Kind.REFERENCE_STALE,
        Kind.WAY_WITHOUT_RUN,
        Kind.DAY_WITHOUT_RUN,
        Kind.RUN_INDEX_WITHOUT_RUN,
    }
    delete(table, *keys(table, b"r|"))
    assert {finding.kind for finding in findings(table)} == {
        Kind.REFERENCE_WITHOUT_RUN,
        Kind.WAY_WITHOUT_RUN,
        Kind.DAY_WITHOUT_RUN,
        Kind.RUN_INDEX_WITHOUT_RUN,
        Kind.CONTENT_WITHOUT_RUN,
        Kind.PART_WITHOUT_EVENT,
    }
    delete(table, *keys(table, b"c|"))
    kinds = {finding.kind for finding in findings(table)}
    assert Kind.CONTENT_WITHOUT_RUN not in kinds
    assert not wrong(findings(table))


def test_a_reference_that_names_another_program_is_noted_and_put_right(table: Table) -> None:
    intact = essential(table)
    put(table, keys(table, b"b|")[0], b"app|1|t|p")
    assert [finding.kind for finding in findings(table)] == [Kind.OTHER_PROGRAM]
    assert repaired(table) == []
    assert essential(table) == intact


def test_references_from_before_a_horizon_may_be_there_or_not(table: Table) -> None:
    dataset_row = layout.dataset_row(TARGET)
    put(table, CellKey(dataset_row, layout.horizon_column(NOW_MS + 1)), b"")
    delete(table, *[c for c in keys(table, b"b|") if b"|one+" in c.row])
    assert findings(table) == []
    delete(table, *[c for c in keys(table, b"f|") if b"|one+" in c.row])
    assert wrong(findings(table)) == {Kind.MISSING_REFERENCE}


def test_two_commits_of_one_count_are_repaired(table: Table) -> None:
    commit = next(c for c in keys(table, b"r|") if c.column.startswith(layout.COMMIT))
    value = cells(table)[commit].replace(b"COMPLETE", b"FAIL")
    number = int(commit.column[4:12], 16)
    table.write([[run_rows.commit_put(commit.row, number, value)]])
    assert wrong(findings(table)) <= {Kind.COMMITS_CONFLICT, Kind.COMMIT_MISMATCH}
    assert wrong(findings(table))
    assert repaired(table) == []


def test_a_fault_that_disappears_meanwhile_is_not_reported(table: Table) -> None:
    deleted = [*keys(table, b"b|"), *keys(table, b"w|"), *keys(table, b"u|"), *keys(table, b"e|")]
    cells_before = cells(table)
    delete(table, *deleted)
    hashes = mismatches(table)
    assert EXPECTED in hashes.values()
    table.write([[Put(*cell, cells_before[cell]) for cell in deleted]])
    assert confirm(table, hashes) == []


class Between:
    """A table at which something happens between two calls, once."""

    def __init__(self, table: Table, call_number: int, happens: object) -> None:
        self._table, self._calls_left, self._happens = table, call_number, happens

    def __getattr__(self, name: str) -> object:
        self._calls_left -= 1
        if self._calls_left == 0:
            self._happens()  # type: ignore[operator]
        return getattr(self._table, name)


@pytest.mark.parametrize("call_number", range(1, 12))
def test_a_run_that_is_recorded_while_it_is_looked_at_is_no_fault(table: Table, call_number: int) -> None:
    def happens() -> None:
        events = run_events.make_event("one", NOW_MS - DAY_MS, EventType.START, part("z"), EventRunFacts())
        LineageStore(table).record([events])

    changing = Between(table, call_number, happens)
    assert not wrong(confirm(changing, mismatches(changing)))  # type: ignore[arg-type]


@pytest.mark.slow
def test_writers_at_work_cause_no_alarm() -> None:
    table = open_table("sqlite:///:memory:")
    done = threading.Event()

    def write() -> None:
        for number in range(150):
            lineage = part(*"abc"[: number % 3 + 1])
            events = run_events.make_event(
                f"run {number % 20}", NOW_MS - number, EventType.RUNNING, lineage, EventRunFacts()
            )
            LineageStore(table).record([events])
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    looks = 0
    while not done.is_set() or not looks:
        assert not wrong(findings(table))
        looks += 1
    writer.join()
    assert not wrong(findings(table))


def test_a_finding_has_the_dataset_and_the_column(table: Table) -> None:
    deleted = next(c for c in keys(table, b"f|"))
    delete(table, deleted)
    (findings_now,) = findings(table)
    assert findings_now.row.startswith(layout.reference_prefix(Direction.FORWARD, SOURCE))
    assert findings_now.detail.startswith(deleted.column.decode())
