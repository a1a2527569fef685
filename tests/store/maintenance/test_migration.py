"""A store of an earlier release gets the ways, days and horizons that this one would have put."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.runs import RunKey
from fll_hbase.model.window import DAY_MS
from fll_hbase.runtime.errors import ConfigurationError, StoreUnavailable
from fll_hbase.store.copying import progress
from fll_hbase.store.copying.progress import Progress
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection, migration
from fll_hbase.store.maintenance.migration import MigrationReport
from fll_hbase.store.rows import calendar_mark
from fll_hbase.store.write.batching import RunInput
from fll_hbase.tables import CellKey, Put, Table, open_table
from tests.support.audit_histories import HISTORIES
from tests.support.audit_runner import findings, wrong
from tests.support.copy_runs import copying
from tests.support.earlier_release import make_earlier
from tests.support.retained_histories import HORIZONS, documents, recorded, swept
from tests.support.sealing import seal_all
from tests.support.store_copies import Failing, answers
from tests.support.table_cells import LATER_MS, cells


def migrated(table: Table) -> MigrationReport:
    return migration.migrate(table, report=lambda *_: None)


def recorded_table(history: Sequence[RunInput]) -> Table:
    table = open_table("sqlite:///:memory:")
    LineageStore(table).record(history)
    return table


def calendar_cells(table: Table) -> set[CellKey]:
    """The cells of ways and calendars."""
    return {cell for cell in cells(table) if cell.row.startswith((layout.WAYS, layout.CALENDARS))}


def runs_of_many_days(count: int = 30) -> list[RunInput]:
    fields = itertools.cycle("fgh")
    return [
        copying(f"run {number}", start_ms=number * DAY_MS * 5, field=field)
        for number, field in zip(range(count), fields, strict=False)
    ]


@pytest.fixture
def pages_of_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collection, "PAGE_ROWS", 4)


@given(history=HISTORIES)
def test_answers_are_those_of_a_store_of_this_release(history: list[RunInput]) -> None:
    table = recorded_table(history)
    wanted, put = answers(table), calendar_cells(table)
    make_earlier(table)
    migrated(table)
    assert answers(table) == wanted
    assert not wrong(findings(table))
    # Without what replaced runs left.
    assert calendar_cells(table) <= put


@given(history=st.lists(documents(), min_size=1, max_size=8), horizons=HORIZONS)
def test_horizons_are_where_queries_read_them(history: list[RunInput], horizons: RetentionPolicy) -> None:
    table, _ = recorded(history)  # type: ignore[arg-type]
    swept(table, horizons)
    wanted = {cell for cell in calendar_cells(table) if cell.row.startswith(calendars.HORIZONS)}
    make_earlier(table)
    migrated(table)
    assert {cell for cell in calendar_cells(table) if cell.row.startswith(calendars.HORIZONS)} == wanted
    assert not wrong(findings(table))


@pytest.mark.usefixtures("pages_of_four")
def test_many_pages_are_reported_as_they_are_read() -> None:
    table = recorded_table(runs_of_many_days())
    put = calendar_cells(table)
    make_earlier(table)
    reported: list[tuple[str, int]] = []
    report = migration.migrate(table, report=lambda kind, rows: reported.append((kind, rows)))
    assert calendar_cells(table) == put
    assert (report.runs, report.days, report.unreadable) == (30, 30, 0)
    assert reported[0] == ("datasets", 2)
    assert reported[-1] == ("runs", 32)
    assert len(reported) == 1 + 8


@pytest.mark.usefixtures("pages_of_four")
@pytest.mark.parametrize("writes", range(9))
def test_after_an_interruption_it_is_refused_until_a_second_call_ends(writes: int) -> None:
    table = recorded_table(runs_of_many_days())
    put = calendar_cells(table)
    make_earlier(table)
    with pytest.raises(StoreUnavailable, match="killed"):
        migrated(Failing(table, writes))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="fll store migrate"):
        calendar_mark.require(table)
    assert calendar_cells(table) <= put
    assert migrated(table).days == 30
    assert calendar_cells(table) == put
    calendar_mark.require(table)


def test_a_second_call_does_nothing() -> None:
    table = recorded_table(runs_of_many_days())
    make_earlier(table)
    assert str(migrated(table)).startswith("migrated: 30 runs read;")
    left = cells(table)
    report = migrated(table)
    assert (report.was_marked, str(report)) == (True, "nothing to do: the store has its calendars")
    assert cells(table) == left


def test_no_seal_holds_after_a_return_to_the_earlier_release() -> None:
    table = recorded_table(runs_of_many_days())
    assert seal_all(table) == 30
    table.delete([CellKey(calendars.MARK_ROW, calendars.MARK_COLUMN)], until_ms=LATER_MS)
    migrated(table)
    assert seal_all(table) == 30


def test_an_empty_table_is_marked() -> None:
    table = open_table("sqlite:///:memory:")
    assert "no runs" in str(migrated(table))
    assert cells(table).keys() == {CellKey(calendars.MARK_ROW, calendars.MARK_COLUMN)}


@pytest.mark.parametrize("size", [1, 2])
def test_evicted_days_and_ways_are_put_again(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    table = recorded_table(runs_of_many_days())
    put = calendar_cells(table)
    make_earlier(table)
    monkeypatch.setattr(migration, "CACHED_MAX", size)
    migrated(table)
    assert calendar_cells(table) == put


@pytest.mark.usefixtures("pages_of_four")
def test_damaged_runs_keep_no_store_from_its_release() -> None:
    table = recorded_table([*runs_of_many_days(), *(copying(f"lost {n}", field="lost") for n in range(20))])
    make_earlier(table)
    lost = copying("lost", field="lost").info.checksum
    content = layout.content_row(lost)
    table.delete([CellKey(content, column) for column in table.get(content)], until_ms=LATER_MS)
    key, row = next(
        (key, row)
        for key, row in table.scan(*ranges.prefix_range(layout.RUNS))
        if key.endswith(b"run%200+ns")
        for key, row in table.scan(*ranges.prefix_range(layout.RUNS))
        if key.endswith(b"run%200+ns")
    )
    commit = next(column for column in row if column.startswith(layout.COMMIT))
    table.write([[Put(key, commit, b"x")]])
    report = migrated(table)
    assert report.unreadable == 21
    assert "21 runs cannot be read: `fll spark check` names them" in str(report)
    calendar_mark.require(table)


def test_an_incomplete_copy_is_refused() -> None:
    table = recorded_table(runs_of_many_days(1))
    make_earlier(table)
    table.write([[progress.put_of(Progress("sqlite:////source.db", 0))]])
    with pytest.raises(ConfigurationError, match="incomplete copy"):
        migrated(table)


def test_writers_mark_new_tables_only() -> None:
    """A repair that is interrupted has put the calendars of some runs."""
    table = recorded_table(runs_of_many_days(2))
    assert calendar_mark.is_marked(table)
    make_earlier(table)
    LineageStore(table).components.committer.recommit([RunKey("run 0", "ns")])
    with pytest.raises(ConfigurationError, match="fll store migrate"):
        calendar_mark.require(table)
    assert not table.get(calendars.MARK_ROW)


def test_a_table_of_which_a_first_run_is_under_way_is_not_refused() -> None:
    table = recorded_table(runs_of_many_days(1))
    others = [cell for cell in cells(table) if not cell.row.startswith(layout.RUNS)]
    table.delete(others, until_ms=LATER_MS)
    calendar_mark.require(table)


@pytest.mark.parametrize("prefix", layout.REFERENCES)
def test_references_of_one_direction_are_enough_to_refuse(prefix: bytes) -> None:
    table = recorded_table(runs_of_many_days(1))
    make_earlier(table)
    table.delete([cell for cell in cells(table) if cell.row.startswith(prefix)], until_ms=LATER_MS)
    with pytest.raises(ConfigurationError, match="fll store migrate"):
        calendar_mark.require(table)
