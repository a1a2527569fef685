"""Seals are counted again: one that holds and disagrees with the run rows is found, and ended by a touch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.runs import RecordedRun, State
from fll_hbase.model.window import DAY_MS, Direction
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit import check_seals
from fll_hbase.store.maintenance.audit.check_seals import wrong_seals
from fll_hbase.store.maintenance.audit.findings import Finding, Kind
from fll_hbase.store.rows import calendar_rows
from fll_hbase.store.rows.calendar_rows import ContentDay
from fll_hbase.store.write.batching import RunInput
from fll_hbase.tables import CellKey, Put, Table, open_table
from tests.support.audit_histories import HISTORIES
from tests.support.audit_runner import findings, repaired, wrong
from tests.support.copy_runs import DESTINATION, SOURCE, copying
from tests.support.retained_histories import HORIZONS, documents, listed, recorded, swept
from tests.support.run_keys import committed_run
from tests.support.sealing import seal_all
from tests.support.table_cells import ALWAYS, LATER_MS

DAY = 3
CHECKSUM = copying("any").info.checksum
SEALED = ContentDay(CHECKSUM, DAY)
KEY = calendars.calendar_row(CHECKSUM, 0)


def run(name: str, later_ms: int = 0, application: str = "app", state: State = State.COMPLETE) -> RecordedRun:
    document = copying(name, start_ms=DAY * DAY_MS + later_ms, application=application)
    return RecordedRun(replace(document.run, state=state), document.info)


def three_runs() -> list[RunInput]:
    return [run("one"), run("two", 1, application="other"), run("three", 2, state=State.FAIL)]


def many_runs() -> list[RunInput]:
    return [run(f"run {number:03d}", number) for number in range(calendar_rows.INLINE_RUNS_MAX + 6)]


def sealed_table(history: Sequence[RunInput]) -> Table:
    table = open_table("sqlite:///:memory:")
    LineageStore(table).record(history)
    assert seal_all(table)
    return table


def put_seal(table: Table, runs: Sequence[RecordedRun], day: ContentDay = SEALED) -> None:
    """Put a seal of these runs that holds."""
    token = calendar_rows.token_of(table.get(KEY), day.day)
    assert token is not None
    table.write(
        [calendar_rows.seal_puts(day, token, [committed_run(CHECKSUM, document.run) for document in runs])]
    )


def recounted(table: Table) -> list[Finding]:
    return list(wrong_seals(table, table.scan(*ranges.prefix_range(layout.CALENDARS))))


@given(history=HISTORIES)
def test_what_was_sealed_is_right(history: list[RunInput]) -> None:
    assert not wrong(findings(sealed_table(history)))


@given(history=st.lists(documents(), min_size=1, max_size=8), horizons=HORIZONS)
def test_what_was_sealed_before_a_purge_or_after_it_is_right(
    history: list[RunInput], horizons: RetentionPolicy
) -> None:
    table, _ = recorded(history)  # type: ignore[arg-type]
    seal_all(table)
    swept(table, horizons)
    assert not wrong(findings(table))
    seal_all(table)
    assert not wrong(findings(table))


@pytest.mark.parametrize("runs", [three_runs, many_runs])
@pytest.mark.parametrize(
    "damage",
    [
        lambda runs: runs[:-1],
        lambda runs: runs[1:],
        lambda runs: [*runs[:1], *runs[2:]],
        lambda runs: [*runs, run("unknown", 9)],
        lambda runs: [*runs[:1], run(runs[1].run.run, 77), *runs[2:]],
        lambda runs: [*runs[:1], run(runs[1].run.run, 1, application="wrong"), *runs[2:]],
        lambda runs: [*runs[:1], run(runs[1].run.run, 1, state=State.FAIL), *runs[2:]],
        lambda _: [],
    ],
    ids=["last", "first", "middle", "more", "start", "program", "state", "none"],
)
def test_a_wrong_seal_is_found_and_repaired(
    runs: Callable[[], list[RecordedRun]], damage: Callable[[list[RecordedRun]], list[RecordedRun]]
) -> None:
    table = sealed_table(runs())
    put_seal(table, damage(runs()))
    (finding,) = findings(table)
    assert (finding.kind, finding.row, finding.repair.row) == (Kind.WRONG_SEAL, KEY, KEY)
    assert finding.detail == f"day 03: not the {len(runs())} runs that the run rows have"
    assert repaired(table) == []
    assert calendar_rows.sealed_day(table.get(KEY), DAY) is None
    assert len(listed(LineageStore(table), SOURCE, ALWAYS)) == len(runs())


def test_the_list_of_many_runs_is_compared_with_them() -> None:
    table = sealed_table(many_runs())
    right = table.get(KEY)
    put_seal(table, [*many_runs()[:1], *many_runs()[2:], run("other", 50)])  # type: ignore[list-item]
    column = calendars.day_column(calendars.SEAL, DAY)
    table.write([[Put(KEY, column, right[column].value)]])
    assert [finding.kind for finding in recounted(table)] == [Kind.WRONG_SEAL]
    # It may be missing: then all runs are read from references.
    table.delete([CellKey(KEY, calendars.day_column(calendars.STARTS, DAY))], until_ms=LATER_MS)
    assert recounted(table) == []


def test_a_seal_of_another_token_is_none() -> None:
    table = sealed_table(three_runs())
    put_seal(table, [])
    table.write([calendar_rows.touch_puts([SEALED], calendar_rows.new_token())])
    assert findings(table) == []


class Changing:
    """A table that changes before the given call; the first one is that of `wrong_seals`."""

    def __init__(self, table: Table, call_number: int, change: Callable[[], None]) -> None:
        self._table, self._calls_left, self._change = table, call_number, change

    def __getattr__(self, name: str) -> object:
        self._calls_left -= 1
        if self._calls_left == 0:
            self._change()
        return getattr(self._table, name)


@pytest.mark.parametrize("call_number", range(1, 9))
@pytest.mark.parametrize("change", ["commit", "purge"])
def test_a_day_that_changes_meanwhile_is_no_error(change: str, call_number: int) -> None:
    table = sealed_table(three_runs())

    def happens() -> None:
        if change == "commit":
            LineageStore(table).record([run("late", 5)])
        else:
            swept(table, RetentionPolicy(0, {}, {SOURCE: LATER_MS // 2}))

    scanned = list(table.scan(*ranges.prefix_range(layout.CALENDARS)))
    changing = Changing(table, call_number, happens)
    assert list(wrong_seals(changing, scanned)) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("direction", list(Direction))
def test_a_day_is_counted_where_no_reference_was_purged(direction: Direction) -> None:
    table = sealed_table(three_runs())
    purged, other = (SOURCE, DESTINATION) if direction is Direction.FORWARD else (DESTINATION, SOURCE)
    swept(table, RetentionPolicy(0, {}, {purged: (DAY + 1) * DAY_MS}))
    assert not any(table.scan(*ranges.prefix_range(layout.reference_prefix(direction, purged))))
    assert not wrong(findings(table))
    put_seal(table, three_runs()[1:])  # type: ignore[arg-type]
    assert wrong(findings(table)) == {Kind.WRONG_SEAL}
    # Without the references of any dataset nothing can be counted.
    table.write([[Put(calendars.horizon_row(other), layout.horizon_column(DAY * DAY_MS + 1), b"")]])
    assert recounted(table) == []


@pytest.mark.parametrize(("rows", "runs"), [(1, 10_000), (1_000, 1), (2, 5)])
def test_calendars_are_recounted_in_pages(monkeypatch: pytest.MonkeyPatch, rows: int, runs: int) -> None:
    table = sealed_table(
        [
            copying(f"{field} {day}", start_ms=day * DAY_MS, field=field)
            for field in "fghij"
            for day in range(40)
        ]
    )
    monkeypatch.setattr(check_seals, "PAGE_ROWS", rows)
    monkeypatch.setattr(check_seals, "PAGE_RUNS", runs)
    assert recounted(table) == []
    wrong_rows = set()
    for key, row in list(table.scan(*ranges.prefix_range(layout.CALENDARS))):
        checksum, period = calendars.parse_calendar(key)
        day = period * calendars.PERIOD_DAYS + 5
        token = calendar_rows.token_of(row, day)
        assert token is not None
        table.write([calendar_rows.seal_puts(ContentDay(checksum, day), token, [])])
        wrong_rows.add(key)
    assert {finding.row for finding in recounted(table)} == wrong_rows
    assert len(wrong_rows) == 10


@pytest.mark.parametrize("kind", [calendars.SEAL, calendars.STARTS])
@pytest.mark.parametrize(
    "rest", [b'"', b'",7]', b'",[["a|b",0,[[0,"x"]]]]]', b'",[["%zz||||",0,[[0,"x"]]]]]']
)
def test_a_seal_that_holds_and_cannot_be_read_is_ended(kind: bytes, rest: bytes) -> None:
    table = sealed_table(three_runs())
    token = calendar_rows.token_of(table.get(KEY), DAY)
    assert token is not None
    table.write([[Put(KEY, calendars.day_column(kind, DAY), b'["' + token + rest)]])
    (finding,) = findings(table)
    assert (finding.kind, finding.row) == (Kind.UNREADABLE, KEY)
    assert repaired(table) == []
    assert len(listed(LineageStore(table), SOURCE, ALWAYS)) == 3


@pytest.mark.parametrize("token", [b"", b"x", b"0" * 15, b"A" * 16])
def test_a_token_of_another_form_is_replaced(token: bytes) -> None:
    table = sealed_table(three_runs())
    table.write([[Put(KEY, calendars.day_column(calendars.TOKEN, DAY), token)]])
    assert wrong(findings(table)) == {Kind.UNREADABLE}
    assert repaired(table) == []


def test_a_run_that_cannot_be_read_has_a_finding_of_its_own() -> None:
    table = sealed_table(three_runs())
    key = layout.run_row("one", "ns")
    commit = next(column for column in table.get(key) if column.startswith(layout.COMMIT))
    table.write([[Put(key, commit, b"x")]])
    assert recounted(table) == []
    assert Kind.COMMIT_MISMATCH in wrong(findings(table))
    assert repaired(table) == []
