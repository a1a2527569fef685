"""Passes of different runs are committed side by side on an engine that gains by it, with the same result."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

import pytest

from fll_hbase.keys import layout
from fll_hbase.model.runs import RecordedRun
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import StoreUnavailable
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.results import CommitResult
from fll_hbase.store.write.batching import RUNS_PER_PASS_MAX, RUNS_PER_PASS_MIN
from fll_hbase.tables import Batch, Row, Sync
from fll_hbase.tables.base import Columns
from fll_hbase.tables.sqlite import SqliteTable
from tests.support.copy_runs import DAY, DESTINATION, copying

PARALLEL = 3
WAIT_SECONDS = 120.0


class ParallelTable(SqliteTable):
    """A table in memory that allows several calls at a time, and notes how many run rows each one reads."""

    parallel_calls = PARALLEL

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.sizes: list[int] = []
        self.seconds_left: list[float] = []

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        if run_rows := sum(key.startswith(b"r|") for key in keys):
            self.sizes.append(run_rows)
        self.seconds_left.append(deadline.seconds_left(WAIT_SECONDS))
        return super().rows(keys, columns=columns)


class MeetingTable(ParallelTable):
    """A table whose first reads return when all passes have begun."""

    def __init__(self) -> None:
        super().__init__()
        self._meeting = threading.Barrier(PARALLEL)
        self._arrived = threading.local()

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        if not hasattr(self._arrived, "once"):
            self._arrived.once = True
            self._meeting.wait(WAIT_SECONDS)
        return super().rows(keys, columns=columns)


class FailingTable(ParallelTable):
    """A table that is not available for one of the runs, for as long as `is_failing`."""

    is_failing = True

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        batches = list(batches)
        if self.is_failing and any(b"failing" in put.row for batch in batches for put in batch):
            raise StoreUnavailable("the region of this run is away")
        super().write(batches, sync=sync)


def runs(count: int, *, field: str = "f") -> list[RecordedRun]:
    return [copying(f"run{number:05}", field=field) for number in range(count)]


def cells(table: SqliteTable) -> dict[bytes, dict[bytes, bytes]]:
    """Every row without timestamps, and without the tokens of days, which are random."""
    return {
        key: {column: b"" if key.startswith(layout.CALENDARS) else cell.value for column, cell in row.items()}
        for key, row in table.scan(b"", b"\x7f")
    }


def test_passes_wait_for_the_table_at_the_same_time() -> None:
    table = MeetingTable()
    results = LineageStore(table).record(runs(PARALLEL * RUNS_PER_PASS_MIN))
    assert [result.run for result in results if isinstance(result, CommitResult)] == [
        run.run.run for run in runs(PARALLEL * RUNS_PER_PASS_MIN)
    ]


def marked_store(table: ParallelTable) -> LineageStore:
    """A store that knows that its table has no runs of an earlier release; the first one marks the table."""
    store = LineageStore(table)
    for _ in range(2):
        store.record(runs(1))
    table.sizes.clear()
    return store


@pytest.mark.parametrize(
    ("count", "passes"),
    [
        (4, [4]),
        (RUNS_PER_PASS_MIN + 1, [RUNS_PER_PASS_MIN, 1]),
        (2_000, [667, 667, 666]),
        (2 * PARALLEL * RUNS_PER_PASS_MAX, [RUNS_PER_PASS_MAX] * 2 * PARALLEL),
    ],
)
def test_sizes_of_passes(count: int, passes: list[int]) -> None:
    table = ParallelTable()
    store = marked_store(table)
    store.record(runs(count))
    reads_of_a_pass = 3
    assert sorted(table.sizes) == sorted(passes * reads_of_a_pass)


def test_where_writers_take_turns_each_pass_is_short() -> None:
    table = ParallelTable()
    table.parallel_calls = 1
    marked_store(table).record(runs(2 * RUNS_PER_PASS_MIN + 1))
    assert set(table.sizes) == {RUNS_PER_PASS_MIN, 1}


@pytest.mark.slow
def test_documents_of_one_run_stay_in_order() -> None:
    table, sequential = ParallelTable(), SqliteTable(":memory:")
    sent = [run for field in ("f", "g", "f", "h") for run in runs(1_000, field=field)]
    for store in (LineageStore(table), LineageStore(sequential)):
        results = store.record(sent)
        assert all(isinstance(result, CommitResult) and result.recorded for result in results)
        assert [result.recorded for result in store.record(sent) if isinstance(result, CommitResult)] == [
            False
        ] * len(sent)
    assert cells(table) == cells(sequential)
    listed = LineageStore(table).runs(DESTINATION, DAY, limit=10_000).runs
    assert {run.checksum for run in listed} == {copying("any", field="h").info.checksum}


def test_a_pass_that_fails_is_the_result_of_the_call_and_can_be_sent_again() -> None:
    sent = [*runs(PARALLEL * RUNS_PER_PASS_MIN - 1), copying("failing")]
    table = FailingTable()
    with pytest.raises(StoreUnavailable, match="the region of this run is away"):
        LineageStore(table).record(sent)
    table.is_failing = False
    results = LineageStore(table).record(sent)
    assert [result.run for result in results if isinstance(result, CommitResult)] == [
        run.run.run for run in sent
    ]


def test_passes_share_the_deadline_of_their_request() -> None:
    table = ParallelTable()
    with deadline.limited(WAIT_SECONDS / 2):
        LineageStore(table).record(runs(PARALLEL * RUNS_PER_PASS_MIN))
    assert len(table.seconds_left) >= PARALLEL
    assert max(table.seconds_left) <= WAIT_SECONDS / 2
