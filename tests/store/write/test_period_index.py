"""The period index: the answers of the day index in long windows, at a cost that no day adds to."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.config import Settings
from fll_hbase.keys import layout, periods
from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.model.window import DAY_MS, Direction, Window
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.maintenance.audit.findings import Kind
from fll_hbase.store.read.index_rows import LONG_DAYS, MARK_MS
from fll_hbase.store.read.window_query import WindowQuery
from fll_hbase.store.write.period_index import mark_complete
from fll_hbase.tables import CellKey, Put, Row, Scan, Table, open_table
from fll_hbase.tables.sqlite import SqliteTable
from tests.support.audit_runner import findings, repaired, wrong
from tests.support.small_world import CONTENTS, DATASETS

PERIOD_MS = periods.PERIOD_DAYS * DAY_MS
PERIODS = 6
LATER_MS = 4_000_000_000_000
MARK = CellKey(periods.COMPLETE_ROW, periods.COMPLETE_COLUMN)
EDGES_MS = sorted(
    {
        edge + offset
        for period in range(PERIODS + 1)
        for edge in (period * PERIOD_MS, period * PERIOD_MS + 5 * DAY_MS)
        for offset in (-1, 0, 1, DAY_MS)
        if edge + offset >= 0
    }
)
"""Edges of periods and of days within, with their neighbours, so that runs and windows meet there."""

STARTS = st.sampled_from(EDGES_MS) | st.integers(0, PERIODS * PERIOD_MS)
RUNS = st.builds(
    RecordedRun,
    st.builds(
        ProgramRun,
        st.just("n"),
        st.just("app"),
        st.just("1"),
        st.just("t"),
        st.just("p"),
        st.sampled_from([f"run-{number}" for number in range(8)]),
        STARTS,
        st.sampled_from([State.COMPLETE, State.COMPLETE, State.FAIL]),
    ),
    st.sampled_from(CONTENTS[:5]),
)
WINDOWS = st.tuples(STARTS, STARTS).map(lambda edges: Window(min(edges), max(edges)))


class CountingTable(SqliteTable):
    """Counts the scans and the rows of each kind that it returns."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.rows_read: dict[bytes, int] = {}

    def scan_many(self, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
        """As the engine does, counted."""
        results = super().scan_many(scans)
        for scan, rows in zip(scans, results, strict=True):
            kind = scan.start[:2]
            self.rows_read[kind] = self.rows_read.get(kind, 0) + len(rows)
        return results


def recorded(runs: Sequence[RecordedRun], table: Table | None = None) -> Table:
    table = table or open_table("sqlite:///:memory:")
    store = LineageStore(table)
    for run in runs:
        store.record([run])
    return table


def run(number: int, start_ms: int, content: int = 0, state: State = State.COMPLETE) -> RecordedRun:
    return RecordedRun(
        ProgramRun("n", "app", "1", "t", "p", f"run-{number}", start_ms, state), CONTENTS[content]
    )


def cells(table: Table, prefix: bytes = b"") -> set[CellKey]:
    scanned = table.scan(prefix, prefix + b"\xff")
    return {CellKey(key, column) for key, row in scanned for column in row}


def delete(table: Table, deleted: Collection[CellKey]) -> None:
    table.delete(sorted(deleted), until_ms=LATER_MS)


def without_period_index(table: Table) -> Table:
    """Make the table one of an earlier release."""
    delete(table, {MARK, *cells(table, layout.PERIOD_INDEX)})
    return table


def queries(window: Window) -> list[WindowQuery]:
    return [
        WindowQuery(direction, dataset, window, failed)
        for dataset in DATASETS
        for direction in Direction
        for failed in (False, True)
    ]


def answers(table: Table, window: Window) -> list[object]:
    """Return the contents of the window for each query, and the newest and oldest run of each content."""
    windows = LineageStore(table)._windows
    every_query = queries(window)
    by_name = windows.checksums_by_name(every_query)
    contents = {query: names[query.dataset] for query, names in zip(every_query, by_name, strict=True)}
    return [
        by_name,
        windows.newest_references(contents),
        windows.newest_references(contents, oldest=True),
    ]


@given(runs=st.lists(RUNS, max_size=14), window=WINDOWS, data=st.data())
def test_long_windows_have_the_answers_of_the_day_index(
    runs: list[RecordedRun], window: Window, data: st.DataObject
) -> None:
    """Backfills, replaced and failed runs, and runs whose rows are missing, in windows with any edges."""
    table = recorded(runs)
    run_rows_stored = sorted({cell.row for cell in cells(table, layout.RUNS)})
    lost_rows = data.draw(st.sets(st.sampled_from(run_rows_stored), max_size=3)) if run_rows_stored else set()
    delete(table, {cell for cell in cells(table, layout.RUNS) if cell.row in lost_rows})
    by_period = answers(table, window)
    assert by_period == answers(without_period_index(table), window)


@pytest.mark.slow
@given(runs=st.lists(RUNS, min_size=1, max_size=10), dropped=st.sets(st.integers(0, 9)))
def test_an_old_table_is_repaired(runs: list[RecordedRun], dropped: set[int]) -> None:
    """Rows of the period index that an earlier release did not put are missing, and put by a repair."""
    table = recorded(runs)
    intact = cells(table, layout.PERIOD_INDEX)
    delete(table, {cell for number, cell in enumerate(sorted(intact)) if number in dropped})
    delete(table, {MARK})
    assert wrong(findings(table)) <= {Kind.MISSING_PERIOD_INDEX}
    assert not wrong(repaired(table))
    mark_complete(table)
    ever = Window(0, PERIODS * PERIOD_MS + 1)
    by_period = answers(table, ever)
    assert by_period == answers(without_period_index(table), ever)


@pytest.mark.parametrize("runs_per_day", [2, 8])
def test_a_year_costs_periods_and_not_days(runs_per_day: int) -> None:
    table = CountingTable()
    year = 12 * periods.PERIOD_DAYS
    runs = [
        run(number, number * DAY_MS // runs_per_day, content=number % 2)
        for number in range(year * runs_per_day)
    ]
    LineageStore(table).record(runs)
    store = LineageStore(table)
    window = Window(DAY_MS // 2, year * DAY_MS - 1)
    store.lineage(CONTENTS[0].destinations[0], window, directions=[Direction.BACKWARD])
    assert table.rows_read == {layout.PERIOD_INDEX: 2 * 12}
    table.rows_read.clear()
    store.field_lineage(DatasetField(CONTENTS[0].destinations[0], "x"), window)
    # The newest run of each: the days of one period, and one reference.
    assert table.rows_read[layout.PERIOD_INDEX] == 4 * 12
    assert table.rows_read[layout.INDEX] == 2 * 32
    assert table.rows_read[b"b|"] <= 3


def test_a_short_window_is_read_by_days() -> None:
    table = recorded([run(1, 5), run(2, LONG_DAYS * DAY_MS)], CountingTable())
    assert isinstance(table, CountingTable)
    store = LineageStore(table)
    for days, kind in ((LONG_DAYS, layout.INDEX), (LONG_DAYS + 1, layout.PERIOD_INDEX)):
        table.rows_read.clear()
        store.lineage(CONTENTS[0].destinations[0], Window(0, days * DAY_MS), directions=[Direction.BACKWARD])
        assert table.rows_read.keys() == {kind}


def test_a_new_table_is_marked_before_its_first_index_row() -> None:
    class Order(SqliteTable):
        """Notes the kinds of rows in the order in which they are put."""

        def write(self, batches: object, **options: object) -> None:
            """As the engine does, noted."""
            listed = [list(batch) for batch in batches]  # type: ignore[attr-defined]
            kinds.extend(put.row[:2] for batch in listed for put in batch)
            super().write(listed, **options)  # type: ignore[arg-type]

    kinds: list[bytes] = []
    recorded([run(1, 5)], Order(":memory:"))
    assert kinds.count(layout.PROPERTIES) == 1
    assert kinds.index(layout.PROPERTIES) < min(kinds.index(layout.INDEX), kinds.index(layout.PERIOD_INDEX))


def test_an_old_table_is_not_marked_by_recording() -> None:
    """Rows that an earlier release recorded have none in the period index, and are still found."""
    table = without_period_index(recorded([run(1, 5), run(2, 3 * PERIOD_MS, content=1)]))
    recorded([run(3, 4 * PERIOD_MS, content=2)], table)
    assert MARK not in cells(table)
    window = Window(0, PERIODS * PERIOD_MS)
    (by_name,) = LineageStore(table)._windows.checksums_by_name(
        [WindowQuery(Direction.BACKWARD, CONTENTS[0].destinations[0], window)]
    )
    assert set().union(*by_name.values()) == {content.checksum for content in CONTENTS[:3]}


def test_a_mark_is_noticed_within_a_minute() -> None:
    """A reader looks for the mark once a minute, whether it was there or not."""
    now_ms = [1_000_000]
    table = recorded([run(1, 5)], CountingTable())
    assert isinstance(table, CountingTable)
    delete(table, {MARK})
    store = LineageStore(table, clock=lambda: now_ms[0])

    def kinds_read() -> set[bytes]:
        table.rows_read.clear()
        window = Window(0, PERIODS * PERIOD_MS)
        store.lineage(CONTENTS[0].destinations[0], window, directions=[Direction.BACKWARD])
        return set(table.rows_read)

    assert kinds_read() == {layout.INDEX}
    mark_complete(table)
    now_ms[0] += MARK_MS - 1
    assert kinds_read() == {layout.INDEX}
    now_ms[0] += 1
    assert kinds_read() == {layout.PERIOD_INDEX}
    delete(table, {MARK})
    now_ms[0] += MARK_MS
    assert kinds_read() == {layout.INDEX}


def test_an_altered_mark_is_none() -> None:
    table = recorded([run(1, 5)], CountingTable())
    assert isinstance(table, CountingTable)
    table.write([[Put(*MARK, b"no")]])
    window = Window(0, PERIODS * PERIOD_MS)
    LineageStore(table).lineage(CONTENTS[0].destinations[0], window, directions=[Direction.BACKWARD])
    assert table.rows_read.keys() == {layout.INDEX}
    assert wrong(findings(table)) == {Kind.UNREADABLE}


def test_a_process_puts_a_row_again_after_half_the_grace_period() -> None:
    now_ms = [1_000_000]
    table = open_table("sqlite:///:memory:")
    limits = Settings(grace_ms=3_600_000)
    store = LineageStore(table, settings=limits, clock=lambda: now_ms[0])
    store.record([run(1, 5)])
    rows = cells(table, layout.PERIOD_INDEX)
    assert len(rows) == 2
    # Taken away by hand, which no process does: that a later run puts it shows when it is put.
    delete(table, rows)
    now_ms[0] += limits.grace_ms // 2 - 1
    store.record([run(2, 6)])
    assert not cells(table, layout.PERIOD_INDEX)
    store.record([run(3, 7, state=State.FAIL), run(4, PERIOD_MS), run(5, 8, content=1)])
    assert len(cells(table, layout.PERIOD_INDEX)) == 6
    now_ms[0] += 1
    store.record([run(6, 9)])
    assert cells(table, layout.PERIOD_INDEX) > rows


def test_a_row_goes_with_the_last_day_of_its_period() -> None:
    table = recorded([run(1, PERIOD_MS - 1), run(2, 5), run(3, PERIOD_MS)])
    tails = {cell.row.split(b"|")[4] for cell in cells(table, layout.PERIOD_INDEX)}
    assert tails == {periods.inverted_period(0), periods.inverted_period(1)}
    for cutoff_ms, left in ((6, {0, 1}), (PERIOD_MS - 1, {0, 1}), (PERIOD_MS, {1})):
        policy = RetentionPolicy(cutoff_ms)
        garbage_collection.purge(table, policy, until_ms=LATER_MS)
        garbage = garbage_collection.find_garbage(table, policy, until_ms=LATER_MS)
        garbage_collection.remove(table, garbage, policy, until_ms=LATER_MS)
        tails = {cell.row.split(b"|")[4] for cell in cells(table, layout.PERIOD_INDEX)}
        assert tails == {periods.inverted_period(period) for period in left}
        assert findings(table) == []
