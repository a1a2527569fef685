"""A hop costs a number of table calls that does not follow the number of its datasets."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import cache

import pytest

from fll_hbase.keys import layout
from fll_hbase.keys.calendars import PERIOD_DAYS
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import InputField, Operation, Read, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.model.window import DAY_MS, Direction, Window
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import DATASETS_PER_READ, LineageStore
from fll_hbase.store.read.content_days import WAYS_MAX
from fll_hbase.store.results import DatasetLineageResult
from fll_hbase.tables import Put, Table, open_table
from fll_hbase.tables.hbase import SCANS_PER_CALL
from tests.support.engines import Hbase
from tests.support.sealing import seal_all
from tests.support.table_calls import NOON_MS, START, WINDOW, CountingTable, end, record, stopped_clock
from tests.support.thrift_calls import count_thrift_calls

SIZES, FEWER = (1, 100, 3_000), (1, 100, 600)

LOADS = 3
"""Calls for the contents of 128 datasets: 32, 64 and 32."""


def copying(
    run: str, source: Dataset, *destinations: Dataset, field: str = "x", start_ms: int = NOON_MS
) -> RecordedRun:
    """A run that copies a field from the source to each destination."""
    operations: list[Operation] = [Read("read", "", source, "", (Field(field),))]
    for number, destination in enumerate(destinations):
        operations.append(Write(f"write {number}", "", destination, "", (InputField("read", field),)))
    return RecordedRun(
        ProgramRun("ns", "app", "", "spark", "copy", run, start_ms), lineage.build_lineage(operations)
    )


def middle(number: int) -> Dataset:
    return Dataset("ns", f"middle{number:04}")


def alias(number: int) -> Dataset:
    return Dataset("file", f"/middle/{number:04}")


def fan_out(size: int) -> list[RecordedRun]:
    """One run that writes many datasets, which are read by a run each."""
    first = copying("first", START, *map(middle, range(size)))
    return [first, *(copying(f"run{number}", middle(number), end(number)) for number in range(size))]


def ask(store: LineageStore, level: int) -> DatasetLineageResult:
    return store.lineage(START, WINDOW, directions=(Direction.FORWARD,), level=level)


def calls_of_second_hop(table: Table, *, size: int, warm: bool = False) -> CountingTable:
    """Count what hop 2 adds to hop 1."""
    counts = []
    for level in (1, 2):
        counting = CountingTable(table)
        store = LineageStore(counting, clock=stopped_clock)
        if warm:
            ask(store, level)
            counting.calls.clear()
            counting.items.clear()
        answer = ask(store, level)
        assert len(answer.entries) == level * size
        assert not answer.truncated_by
        counts.append(counting)
    first, second = counts
    second.calls -= first.calls
    second.items -= first.items
    return second


def chunks_of(size: int) -> int:
    return -(-size // DATASETS_PER_READ)


@pytest.fixture
def table() -> Table:
    return open_table("sqlite:///:memory:")


@cache
def recorded(size: int) -> Table:
    """A table with the fan-out, which tests only read: to record thousands of runs takes seconds."""
    opened = open_table("sqlite:///:memory:")
    record(opened, fan_out(size))
    seal_all(opened)
    return opened


@pytest.mark.parametrize("size", SIZES)
def test_a_hop_with_an_empty_cache(size: int) -> None:
    table = recorded(size)
    counted = calls_of_second_hop(table, size=size)
    assert counted.calls["get"] == counted.calls["scan"] == 0
    assert counted.calls["scan_many"] == chunks_of(size)
    assert counted.calls["rows"] <= (2 + LOADS) * chunks_of(size)
    # For each dataset its ways, its aliases and horizon, one calendar and one content.
    assert counted.items == {"scan_many": size, "rows": 4 * size}


@pytest.mark.parametrize("size", SIZES)
def test_a_hop_whose_contents_are_cached(size: int) -> None:
    counted = calls_of_second_hop(recorded(size), size=size, warm=True)
    assert counted.calls == {"scan_many": chunks_of(size), "rows": 2 * chunks_of(size)}
    assert counted.items == {"scan_many": size, "rows": 3 * size}


@pytest.mark.parametrize("size", FEWER)
def test_a_hop_of_a_day_that_is_not_sealed(table: Table, size: int) -> None:
    """References of the day, of one row each, and their run rows beside those of a sealed day."""
    record(table, fan_out(size))
    counted = calls_of_second_hop(table, size=size, warm=True)
    assert counted.calls == {"scan_many": 2 * chunks_of(size), "rows": 3 * chunks_of(size)}
    assert counted.items == {"scan_many": 2 * size, "rows": 4 * size}


@pytest.mark.parametrize("size", FEWER)
def test_a_hop_whose_datasets_have_aliases(table: Table, size: int) -> None:
    """The runs of the second hop read the other name of each dataset."""
    first, *others = fan_out(size)
    record(
        table,
        [first, *(copying(run.run.run, alias(number), end(number)) for number, run in enumerate(others))],
    )
    table.write(
        [
            [
                Put(layout.alias_row(name), layout.alias_column(other), b"")
                for number in range(size)
                for name, other in (
                    (middle(number), alias(number)),
                    (alias(number), middle(number)),
                )
            ]
        ]
    )
    seal_all(table)
    counted = calls_of_second_hop(table, size=size, warm=True)
    assert counted.calls == {"scan_many": 2 * chunks_of(size), "rows": 3 * chunks_of(size)}
    assert counted.items == {"scan_many": 2 * size, "rows": 4 * size}


@pytest.mark.parametrize("size", FEWER)
def test_a_hop_whose_runs_were_replaced(table: Table, size: int) -> None:
    """Every run was replaced, so the first content of each day leads nowhere: all its references are read."""
    runs = fan_out(size)
    replaced = [copying(run.run.run, middle(n), end(n), field="old") for n, run in enumerate(runs[1:])]
    record(table, [*replaced, *runs])
    counted = calls_of_second_hop(table, size=size, warm=True)
    # Ways, then references of one row each, and, without an answer, of two.
    assert counted.calls["scan_many"] <= 3 * chunks_of(size)
    assert counted.calls["rows"] <= 4 * chunks_of(size)
    assert counted.calls["get"] == counted.calls["scan"] == 0


@pytest.mark.slow
def test_long_histories_are_read_one_by_one(table: Table) -> None:
    """More ways than are read beside other datasets; the newest and the oldest content show."""
    runs = [copying("first", START, *map(middle, range(3)))]
    for number in range(2):
        runs += [
            copying(
                f"{number}|{period}",
                middle(number),
                end(number),
                field="xy"[period == 0],
                start_ms=period * PERIOD_DAYS * DAY_MS,
            )
            for period in range(WAYS_MAX + 1)
        ]
    record(table, [*runs, copying("last", middle(2), end(2))])
    seal_all(table)
    counting = CountingTable(table)
    window = Window(0, 2 * WAYS_MAX * PERIOD_DAYS * DAY_MS)
    answer = LineageStore(counting, clock=stopped_clock).lineage(
        START, window, directions=(Direction.FORWARD,), level=2
    )
    pairs = {entry.relation.destination: entry.relation.direct for entry in answer.entries}
    assert pairs[end(0)] == pairs[end(1)] == {("x", "x"), ("y", "y")}
    assert pairs[end(2)] == {("x", "x")}
    assert counting.large_scans_max == 1


@pytest.mark.parametrize("periods", [1, 12, 120])
def test_one_calendar_says_that_a_content_ran(table: Table, periods: int) -> None:
    """Of a content that ran in each period of a window; the others are read if its newest runs failed."""
    runs = [
        copying(f"run {period}", START, end(0), start_ms=period * PERIOD_DAYS * DAY_MS)
        for period in range(periods)
    ]
    record(table, runs)
    seal_all(table)
    counting = CountingTable(table)
    window = Window(0, periods * PERIOD_DAYS * DAY_MS)
    answer = LineageStore(counting, clock=stopped_clock).lineage(START, window)
    assert len(answer.entries) == 1
    # Aliases and horizon of one dataset, and the calendar; the field map of the content.
    assert counting.items["rows"] <= 2 * 2 + 2
    record(table, [replace(run, run=replace(run.run, state=State.FAIL)) for run in runs[1:]])
    seal_all(table)
    assert LineageStore(table).lineage(START, window) == answer


@pytest.mark.parametrize(
    ("first", "last", "reads"),
    [(0, 100, False), (50, 100, False), (0, 50, False), (40, 60, True)],
    ids=["whole day", "its end", "its beginning", "between two listed runs"],
)
def test_an_end_of_a_day_with_many_runs_needs_no_reference(
    table: Table, first: int, last: int, reads: bool
) -> None:
    """Of two contents with 100 runs each. The seal of a day lists the newest and the oldest of them."""
    day_ms = NOON_MS // DAY_MS * DAY_MS
    minutes = [day_ms + number * 60_000 for number in range(100)]
    runs = [
        copying(f"{field} {start_ms}", START, end(0), field=field, start_ms=start_ms)
        for field in "xy"
        for start_ms in minutes
    ]
    record(table, runs)
    seal_all(table)
    counting = CountingTable(table)
    window = Window(minutes[first], minutes[last - 1] + 1)
    store = LineageStore(counting, clock=stopped_clock)
    (entry,) = store.lineage(START, window, directions=(Direction.FORWARD,)).entries
    assert entry.relation.direct == {("x", "x"), ("y", "y")}
    # Of the ways, and of the references of each content if the seals do not tell.
    assert counting.items["scan_many"] == 1 + 2 * reads


def test_a_question_on_hbase_waits_four_times(hbase: Hbase) -> None:
    """For aliases and horizon, the scanner of ways, its rows, and the calendar."""
    with closing(open_table(hbase.emptied())) as table:
        record(table, fan_out(1))
        seal_all(table)
        store = LineageStore(table)
        ask(store, 1)
        with count_thrift_calls() as counted:
            assert len(ask(store, 1).entries) == 1
    assert counted.calls == {
        "scannerOpenWithScan": 1,
        "scannerGetList": 1,
        "scannerClose": 1,
        "getRowsWithColumns": 2,
    }
    assert counted.waits == 4


def test_a_hop_on_hbase_waits_as_often_as_it_has_calls_of_scans(hbase: Hbase) -> None:
    with closing(open_table(hbase.emptied())) as table:
        record(table, fan_out(100))
        seal_all(table)
        store = LineageStore(table)
        ask(store, 2)
        with count_thrift_calls() as counted:
            assert len(ask(store, 2).entries) == 200
    assert counted.waits == 4 + 2 * -(-100 // SCANS_PER_CALL) + 2


def test_a_walk_that_is_cut_reads_little_beyond_the_cut() -> None:
    counting = CountingTable(recorded(3_000))
    store = LineageStore(counting, Settings(pairs_max=3_100), clock=stopped_clock)
    answer = ask(store, 2)
    assert answer.truncated_by == ("pairs_max=3100",)
    assert len(answer.entries) == 3_100
    assert counting.items["scan_many"] == 1 + DATASETS_PER_READ
