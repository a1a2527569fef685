"""Is a table that was written properly clean, and is any damage found, told by name, and mended?"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulation.world import STARTS_MS
from strategies import recorded_runs

from fll_hbase.keys import layout
from fll_hbase.model import run_events
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.run_events import EventRunFacts
from fll_hbase.model.run_events import EventType as Told
from fll_hbase.model.window import DAY_MS, Direction
from fll_hbase.store import run_rows
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit.findings import Kind, Repair
from fll_hbase.store.write.batching import RunInput
from fll_hbase.tables import CellKey, Put, Table, open_table

from .auditing import confirmed, differing, findings, repaired, wrong
from .test_events import ALIAS, NOW_MS, SOURCE, TARGET, part
from .test_sweep import HORIZONS, documents, recorded, swept

LATER_MS = 4_000_000_000_000

_parts = st.sampled_from([part("a"), part("a", "b"), part("b", aliases=(ALIAS,))])
told_events = st.builds(
    run_events.make_event,
    st.sampled_from(["run", "other|run"]),
    st.sampled_from(STARTS_MS),
    st.sampled_from(Told),
    _parts,
    st.just(EventRunFacts()),
)
HISTORIES = st.lists(documents() | told_events | recorded_runs, min_size=1, max_size=8)


def made(history: Sequence[RunInput]) -> Table:
    table = open_table("sqlite:///:memory:")
    LineageStore(table).record(history)
    return table


def cells(table: Table) -> dict[CellKey, bytes]:
    scanned = table.scan(b"", b"\xff")
    return {CellKey(key, column): cell.value for key, row in scanned for column, cell in row.items()}


def essential(table: Table) -> dict[CellKey, bytes]:
    """All cells, of truths the one that holds, of witnesses only that they are there."""
    kept = {}
    for key, row in table.scan(b"", b"\xff"):
        for column, cell in row.items():
            if not column.startswith(layout.COMMIT):
                kept[CellKey(key, column)] = b"" if key.startswith(b"i|") else cell.value
        if key.startswith(b"r|"):
            kept[CellKey(key, layout.COMMIT)] = run_rows.commit_value(row) or b""
    return kept


def put(table: Table, cell: CellKey, value: bytes) -> None:
    table.write([[Put(*cell, value)]])


def delete(table: Table, *gone: CellKey) -> None:
    table.delete(gone, until_ms=LATER_MS)


@given(history=HISTORIES)
def test_what_was_recorded_is_clean(history: list[RunInput]) -> None:
    found = findings(made(history))
    assert not wrong(found)
    assert not any(one.kind is Kind.UNFINISHED for one in found)


@given(history=st.lists(documents(), min_size=1, max_size=8), horizons=HORIZONS)
def test_a_purge_and_a_sweep_leave_nothing_to_find(
    history: list[RunInput], horizons: RetentionPolicy
) -> None:
    table, _ = recorded(history)  # type: ignore[arg-type]
    swept(table, horizons)
    assert findings(table) == []


def once(history: Sequence[RunInput]) -> list[RunInput]:
    """Each run told by one document or one event."""
    return [
        replace(one, run=replace(one.run, run=f"run {number}"))
        if not isinstance(one, run_events.IncomingEvent)
        else run_events.IncomingEvent(f"told {number}", one.event, one.bodies)
        for number, one in enumerate(history)
    ]


_ABOUT_SCHEMAS = (b"e|", b"a|")


@given(history=HISTORIES.map(once), data=st.data())
def test_a_cell_that_is_gone_is_found_and_mended_or_said_to_be_lost(
    history: list[RunInput], data: st.DataObject
) -> None:
    table = made(history)
    before, whole = cells(table), essential(table)
    gone = data.draw(st.sampled_from(sorted(before)))
    delete(table, gone)
    found = findings(table)
    if gone.row.startswith(_ABOUT_SCHEMAS) and not found:
        return
    assert wrong(found) or Kind.UNFINISHED in {one.kind for one in found}
    left = repaired(table)
    if wrong(left):
        assert gone.row.startswith((b"c|", b"p|", b"r|"))
    else:
        assert essential(table) == whole


@given(history=HISTORIES.map(once), data=st.data())
def test_a_cell_that_says_something_else_is_found(history: list[RunInput], data: st.DataObject) -> None:
    table = made(history)
    whole = essential(table)
    altered = data.draw(st.sampled_from(sorted(cells(table))))
    if altered.row.startswith(b"a|"):
        return
    put(table, altered, data.draw(st.sampled_from([b"", b"x", b"[]", b"{}", b"\xff", b"1|2|3"])))
    if essential(table) == whole:
        return
    kinds = {one.kind for one in findings(table)}
    assert Kind.OTHER_PROGRAM in kinds or wrong(findings(table))
    if not wrong(repaired(table)):
        assert essential(table) == whole


def keys(table: Table, letter: bytes) -> list[CellKey]:
    return [cell for cell in cells(table) if cell.row.startswith(letter)]


@pytest.fixture
def table() -> Table:
    """Two runs told by events, of one content, with a further name."""
    said = part("a", "b", aliases=(ALIAS,))
    told = [
        run_events.make_event(run, NOW_MS + later_ms, kind, said, EventRunFacts())
        for run in ("one", "two")
        for later_ms, kind in ((0, Told.START), (5, Told.COMPLETE))
    ]
    return made(told)


@pytest.mark.parametrize(
    ("letter", "column", "kind"),
    [
        (b"b|", b"", Kind.MISSING_REFERENCE),
        (b"f|", b"", Kind.MISSING_REFERENCE),
        (b"i|", b"", Kind.MISSING_INDEX),
        (b"e|", b"d:e", Kind.MISSING_CATALOGUE),
        (b"a|", b"", Kind.MISSING_ALIAS),
        (b"c|", layout.FIELD_MAP, Kind.WRONG_CELLS),
        (b"c|", layout.SOURCES, Kind.WRONG_CELLS),
        (b"r|", layout.COMMIT, Kind.UNFINISHED),
    ],
)
def test_what_can_be_made_again_is(table: Table, letter: bytes, column: bytes, kind: Kind) -> None:
    whole = essential(table)
    cell = next(c for c in keys(table, letter) if c.column.startswith(column) and b"hive" not in c.row)
    delete(table, cell)
    assert kind in {one.kind for one in findings(table)}
    assert repaired(table) == []
    assert essential(table) == whole


def test_a_content_that_events_tell_of_is_made_of_them_again(table: Table) -> None:
    whole = essential(table)
    delete(table, *keys(table, b"c|"))
    (found,) = [one for one in findings(table) if one.kind.is_error]
    assert found.kind is Kind.MISSING_CONTENT
    assert repaired(table) == []
    assert essential(table) == whole


def test_a_part_that_is_gone_is_lost(table: Table) -> None:
    said = next(c for c in keys(table, b"p|") if b"orders" in cells(table)[c])
    delete(table, said)
    (found,) = findings(table)
    assert (found.kind, found.row, found.repair) == (Kind.MISSING_PART, said.row, Repair())
    assert repaired(table) == [found]


def test_operations_of_another_checksum_are_never_put_again(table: Table) -> None:
    operation = next(c for c in keys(table, b"c|") if c.column.startswith(layout.OPERATION))
    delete(table, operation)
    before = cells(table)
    assert wrong(repaired(table)) == {Kind.WRONG_CHECKSUM}
    assert cells(table) == before


def test_what_was_said_and_was_altered_is_never_made_true(table: Table) -> None:
    (event, *_) = [c for c in keys(table, b"r|") if c.column.startswith(layout.EVENT)]
    value = cells(table)[event].replace(b"START", b"FAIL")
    put(table, event, value)
    before = cells(table)
    assert wrong(repaired(table)) == {Kind.ALTERED}
    assert cells(table) == before


def test_rows_that_begin_like_no_other_are_told(table: Table) -> None:
    put(table, CellKey(b"zebra", b"d:x"), b"")
    put(table, CellKey(b"\n", b"d:x"), b"")
    assert [(one.kind, one.row) for one in findings(table)] == [
        (Kind.UNREADABLE, b"\n"),
        (Kind.UNREADABLE, b"zebra"),
    ]


@pytest.mark.parametrize(
    ("row", "column"),
    [
        (b"r|00|one", b"d:z|00000001|" + b"0" * 32),
        (b"e|a b|c", b"d:e"),
        (b"e|db|daily", b"d:h|12"),
        (b"i|b|db|daily|00000000", b"d:w"),
        (b"i|q|db|daily|00000000|" + b"0" * 32, b"d:w"),
        (b"b|db|daily", b"d:c|" + b"0" * 32),
        (b"b|db|daily|zz|one", b"d:c|" + b"0" * 32),
        (b"f|db|da ily|0000000000000000|one", b"d:c|" + b"0" * 32),
        (b"f|db|daily|0000000000000000|one", b"d:c|0"),
        (b"c|12", b"d:v"),
        (b"p|" + b"0" * 32, b"d:x"),
        (b"a|a b|c", b"d:a|d|e"),
    ],
)
def test_a_key_or_column_that_nothing_writes_is_unreadable(table: Table, row: bytes, column: bytes) -> None:
    put(table, CellKey(row, column), b"")
    assert (Kind.UNREADABLE, row) in [(one.kind, one.row) for one in findings(table)]
    assert Kind.UNREADABLE in wrong(repaired(table))


def test_what_a_replaced_run_leaves_is_noted_by_name() -> None:
    first, second = part("a"), part("a", "b")
    table = made([run_events.make_event("run", NOW_MS, Told.START, first, EventRunFacts())])
    LineageStore(table).record(
        [run_events.make_event("run", NOW_MS - DAY_MS, Told.START, second, EventRunFacts())]
    )
    assert {one.kind for one in findings(table)} == {
        Kind.REFERENCE_STALE,
        Kind.INDEX_WITHOUT_RUN,
    }
    delete(table, *keys(table, b"r|"))
    assert {one.kind for one in findings(table)} == {
        Kind.REFERENCE_WITHOUT_RUN,
        Kind.INDEX_WITHOUT_RUN,
        Kind.CONTENT_WITHOUT_RUN,
        Kind.PART_WITHOUT_EVENT,
    }
    delete(table, *keys(table, b"c|"))
    kinds = {one.kind for one in findings(table)}
    assert Kind.CONTENT_WITHOUT_RUN not in kinds
    assert not wrong(findings(table))


def test_a_reference_that_names_another_program_is_noted_and_put_right(table: Table) -> None:
    whole = essential(table)
    put(table, keys(table, b"b|")[0], b"app|1|t|p")
    assert [one.kind for one in findings(table)] == [Kind.OTHER_PROGRAM]
    assert repaired(table) == []
    assert essential(table) == whole


def test_references_from_before_a_horizon_may_be_there_or_not(table: Table) -> None:
    end = layout.dataset_row(TARGET)
    put(table, CellKey(end, layout.horizon_column(NOW_MS + 1)), b"")
    delete(table, *[c for c in keys(table, b"b|") if c.row.endswith(b"one")])
    assert findings(table) == []
    delete(table, *[c for c in keys(table, b"f|") if c.row.endswith(b"one")])
    assert wrong(findings(table)) == {Kind.MISSING_REFERENCE}


def test_two_truths_of_one_count_are_settled(table: Table) -> None:
    truth = next(c for c in keys(table, b"r|") if c.column.startswith(layout.COMMIT))
    value = cells(table)[truth].replace(b"COMPLETE", b"FAIL")
    number = int(truth.column[4:12], 16)
    table.write([[run_rows.commit_put(truth.row, number, value)]])
    assert wrong(findings(table)) <= {Kind.COMMITS_CONFLICT, Kind.COMMIT_MISMATCH}
    assert wrong(findings(table))
    assert repaired(table) == []


def test_what_is_mended_meanwhile_is_not_told(table: Table) -> None:
    gone = [*keys(table, b"b|"), *keys(table, b"i|"), *keys(table, b"e|")]
    before = cells(table)
    delete(table, *gone)
    marks = differing(table)
    assert marks.missing
    table.write([[Put(*cell, before[cell]) for cell in gone]])
    assert confirmed(table, marks) == []


class Between:
    """A table in which something happens between two calls, once."""

    def __init__(self, table: Table, after: int, happens: object) -> None:
        self._table, self._after, self._happens = table, after, happens

    def __getattr__(self, name: str) -> object:
        self._after -= 1
        if self._after == 0:
            self._happens()  # type: ignore[operator]
        return getattr(self._table, name)


@pytest.mark.parametrize("after", range(1, 12))
def test_a_run_that_is_recorded_while_it_is_looked_at_is_no_fault(table: Table, after: int) -> None:
    def happens() -> None:
        told = run_events.make_event("one", NOW_MS - DAY_MS, Told.START, part("z"), EventRunFacts())
        LineageStore(table).record([told])

    changing = Between(table, after, happens)
    assert not wrong(confirmed(changing, differing(changing)))  # type: ignore[arg-type]


def test_writers_at_work_cause_no_alarm() -> None:
    table = open_table("sqlite:///:memory:")
    done = threading.Event()

    def write() -> None:
        for number in range(150):
            said = part(*"abc"[: number % 3 + 1])
            told = run_events.make_event(
                f"run {number % 20}", NOW_MS - number, Told.RUNNING, said, EventRunFacts()
            )
            LineageStore(table).record([told])
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    looks = 0
    while not done.is_set() or not looks:
        assert not wrong(findings(table))
        looks += 1
    writer.join()
    assert not wrong(findings(table))


def test_the_source_and_the_direction_are_told_in_words(table: Table) -> None:
    gone = next(c for c in keys(table, b"f|"))
    delete(table, gone)
    (found,) = findings(table)
    assert found.row.startswith(layout.reference_prefix(Direction.FORWARD, SOURCE))
    assert found.detail.startswith(gone.column.decode())
