"""Days are sealed once nothing can change them that is under way, and never by what is left of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from fll_hbase.keys import calendars, layout
from fll_hbase.keys.codec import day_of
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.runs import RecordedRun
from fll_hbase.model.window import DAY_MS, Direction, Window
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import CorruptRow, StoreUnavailable
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.rows import calendar_rows
from fll_hbase.store.write import sealing
from fll_hbase.store.write.sealing import GRACES, BackgroundSealer, DaySealer, SealRequest
from fll_hbase.tables import Batch, Put, Table, open_table
from tests.support.copy_runs import DESTINATION, copying
from tests.support.passing_table import Through
from tests.support.sealing import seal_all
from tests.support.waiting import eventually

GRACE_MS = 1_000
DAY = 3
RUN = copying("one", start_ms=DAY * DAY_MS + 5)
CHECKSUM = RUN.info.checksum
REQUEST = SealRequest(Direction.BACKWARD, DESTINATION, DAY, frozenset([CHECKSUM]))


@pytest.fixture
def table() -> Table:
    opened = open_table("sqlite:///:memory:")
    LineageStore(opened).record([RUN])
    return opened


def sealer(table: Table, *, later_ms: int = GRACES * GRACE_MS + 1_000) -> DaySealer:
    return DaySealer(table, EventMerger(table), clock=lambda: now_ms() + later_ms, grace_ms=GRACE_MS)


def sealed_runs(table: Table, checksum: str = CHECKSUM, day: int = DAY) -> list[str] | None:
    row = table.get(calendars.calendar_row(checksum, calendars.period_of(day)))
    sealed = calendar_rows.sealed_day(row, day)
    return None if sealed is None else [run.run for part in sealed for run in part.runs]


def test_a_day_is_sealed_after_twice_the_grace_period(table: Table) -> None:
    assert sealer(table, later_ms=GRACES * GRACE_MS - 500).seal([REQUEST]) == 0
    assert sealed_runs(table) is None
    assert sealer(table).seal([REQUEST]) == 1
    assert sealed_runs(table) == ["one"]
    assert sealer(table).seal([REQUEST]) == 0, "it is sealed already"


def test_columns_of_a_later_release_are_no_days(table: Table) -> None:
    row = calendars.calendar_row(CHECKSUM, calendars.period_of(DAY))
    table.write([[Put(row, b"d:new", b"x")]])
    assert seal_all(table) == 1
    assert sealed_runs(table) == ["one"]


def test_a_run_that_is_recorded_later_breaks_the_seal(table: Table) -> None:
    sealer(table).seal([REQUEST])
    LineageStore(table).record([copying("two", start_ms=DAY * DAY_MS + 9)])
    assert sealed_runs(table) is None
    assert sealer(table).seal([REQUEST]) == 1
    assert sealed_runs(table) == ["two", "one"]


@pytest.mark.parametrize(
    "moved",
    [copying("one", start_ms=(DAY + 1) * DAY_MS), copying("one", start_ms=DAY * DAY_MS + 5, field="g")],
    ids=["another day", "another content"],
)
def test_a_run_that_moves_breaks_the_seal_of_where_it_was(table: Table, moved: RecordedRun) -> None:
    sealer(table).seal([REQUEST])
    LineageStore(table).record([moved])
    assert sealed_runs(table) is None
    day = day_of(moved.run.start_ms)
    elsewhere = REQUEST._replace(day=day, checksums=frozenset([moved.info.checksum]))
    assert sealer(table).seal([REQUEST, elsewhere]) == 2
    assert sealed_runs(table) == []
    assert sealed_runs(table, moved.info.checksum, day) == ["one"]


class _Touching(Through):
    """A table in which a day is touched while its references are read."""

    def scan(self, *args: object, **options: object) -> object:
        key = calendar_rows.ContentDay(CHECKSUM, DAY)
        self._table.write([calendar_rows.touch_puts([key], calendar_rows.new_token())])
        return super().scan(*args, **options)  # type: ignore[arg-type]


def test_a_day_that_is_touched_meanwhile_is_not_sealed(table: Table) -> None:
    assert sealer(_Touching(table)).seal([REQUEST]) == 1
    assert sealed_runs(table) is None


def test_a_dataset_whose_references_may_be_purged_seals_nothing(table: Table) -> None:
    row = calendars.horizon_row(DESTINATION)
    for horizon_ms, count in ((DAY * DAY_MS + 1, 0), (DAY * DAY_MS, 1)):
        table.delete(
            [(row, column) for column in table.get(row)],  # type: ignore[list-item]
            until_ms=2**62,
        )
        table.write([[Put(row, layout.horizon_column(horizon_ms), b"")]])
        assert sealer(table).seal([REQUEST]) == count


def test_days_of_too_many_runs_stay_unsealed(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    LineageStore(table).record([copying("two", start_ms=DAY * DAY_MS + 9)])
    monkeypatch.setattr(sealing, "RUNS_MAX", 1)
    assert sealer(table).seal([REQUEST]) == 0
    monkeypatch.setattr(sealing, "RUNS_MAX", 2)
    assert sealer(table).seal([REQUEST]) == 1


def test_unknown_contents_and_days_without_runs_are_left_alone(table: Table) -> None:
    rows_before = list(table.scan(b"", b"\xff"))
    other = REQUEST._replace(dataset=Dataset("no", "such"), checksums=frozenset(["0" * 32]))
    assert sealer(table).seal([other, REQUEST._replace(day=DAY + 1)]) == 0
    assert list(table.scan(b"", b"\xff")) == rows_before


def store_of(table: Table, *, later_ms: int = GRACES * GRACE_MS + 1_000) -> LineageStore:
    return LineageStore(table, Settings(grace_ms=GRACE_MS), clock=lambda: now_ms() + later_ms)


def background(store: LineageStore) -> BackgroundSealer:
    sealer_of_store = store.components.sealer
    assert isinstance(sealer_of_store, BackgroundSealer)
    return sealer_of_store


def wait(store: LineageStore) -> None:
    """Wait until the sealer has tried all that is queued, after which it has no thread."""
    eventually(lambda: background(store)._thread is None, "the sealer has ended")


def test_a_question_seals_what_it_found_unsealed(table: Table) -> None:
    store = store_of(table)
    window = Window(0, 10 * DAY_MS)
    first = store.lineage(DESTINATION, window)
    wait(store)
    assert sealed_runs(table) == ["one"]
    assert store.lineage(DESTINATION, window) == first
    store.close()


def sealer_threads() -> set[threading.Thread]:
    """The threads of all sealers, also of stores that other tests have left open."""
    return {thread for thread in threading.enumerate() if thread.name == "fll-sealer"}


def test_a_question_about_a_young_day_starts_no_thread(table: Table) -> None:
    others = sealer_threads()
    store = store_of(table, later_ms=0)
    store.lineage(DESTINATION, Window(0, 10 * DAY_MS))
    assert sealer_threads() <= others
    store.close()


class _Failing(Through):
    """A table that takes no seals."""

    def write(self, batches: object, **options: object) -> None:
        raise StoreUnavailable("read only")


@pytest.mark.parametrize(("pause_seconds", "attempts"), [(0, 3), (600, 1)])
def test_a_sealer_that_fails_is_logged_and_rests(
    table: Table,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    pause_seconds: int,
    attempts: int,
) -> None:
    monkeypatch.setattr(sealing, "PAUSE_SECONDS", pause_seconds)
    store = store_of(_Failing(table))
    for _ in range(3):
        assert store.lineage(DESTINATION, Window(0, 10 * DAY_MS)).entries
        wait(store)
    assert sealed_runs(table) is None
    assert caplog.text.count("were not sealed: read only") == attempts
    store.close()


def test_a_day_whose_rows_cannot_be_read_is_tried_once(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    LineageStore(table).record([copying("two", start_ms=(DAY + 1) * DAY_MS)])
    key = layout.run_row("one", "ns")
    (commit,) = (column for column in table.get(key) if column.startswith(layout.COMMIT))
    table.write([[Put(key, commit, b"damaged")]])
    store = store_of(table)
    for _ in range(3):
        with suppress(CorruptRow):
            store.lineage(DESTINATION, Window(0, 10 * DAY_MS))
        wait(store)
    assert caplog.text.count("were not sealed") == 1
    assert sealed_runs(table, day=DAY + 1) == ["two"]
    store.close()


class _Waiting(Through):
    """A table that holds the first seal until it is let go."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.begun, self.go, self.ended = threading.Event(), threading.Event(), threading.Event()

    def write(self, batches: list[Batch], **options: object) -> None:
        self.begun.set()
        assert self.go.wait(60)
        super().write(batches, **options)
        self.ended.set()


def test_requests_that_wait_are_bounded_and_each_is_once(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    LineageStore(table).record(
        [copying(f"run {day}", start_ms=day * DAY_MS) for day in range(DAY + 1, DAY + 10)]
    )
    monkeypatch.setattr(sealing, "QUEUED_MAX", 4)
    waiting = _Waiting(table)
    store = store_of(waiting)
    ask: Callable[[], object] = lambda: store.lineage(DESTINATION, Window(0, 20 * DAY_MS))  # noqa: E731
    ask()
    assert waiting.begun.wait(60)
    for _ in range(3):
        ask()
    assert len(background(store)._queue) <= 4
    waiting.go.set()
    wait(store)
    ask()
    wait(store)
    assert all(sealed_runs(table, day=day) is not None for day in (DAY, DAY + 1))
    store.close()


def test_a_sealer_ends_when_nothing_is_queued_and_starts_again(table: Table) -> None:
    others = sealer_threads()
    store = store_of(table)
    for day in (DAY, DAY + 1):
        LineageStore(table).record([copying(f"day {day}", start_ms=day * DAY_MS)])
        store.lineage(DESTINATION, Window(0, 10 * DAY_MS))
        wait(store)
        assert "day" in str(sealed_runs(table, day=day))
        eventually(lambda: sealer_threads() <= others, "the thread has ended")


def test_a_thread_that_cannot_start_fails_no_question(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_of(table)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", _refuse)
        assert store.lineage(DESTINATION, Window(0, 10 * DAY_MS)).entries
    # What was offered is still queued, and the next question starts a thread for it.
    LineageStore(table).record([copying("two", start_ms=(DAY + 1) * DAY_MS)])
    store.lineage(DESTINATION, Window(0, 10 * DAY_MS))
    wait(store)
    assert sealed_runs(table) == ["one"]
    store.close()


def _refuse(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_closing_a_store_waits_for_the_request_at_work(table: Table) -> None:
    others = sealer_threads()
    waiting = _Waiting(table)
    store = store_of(waiting)
    store.lineage(DESTINATION, Window(0, 10 * DAY_MS))
    assert waiting.begun.wait(60)
    threading.Timer(0.05, waiting.go.set).start()
    store.close()
    assert waiting.ended.is_set()
    assert sealer_threads() <= others


def test_a_run_of_another_program_is_counted_by_its_own(table: Table) -> None:
    """Two programs with one content share the day; the seal tells them apart."""
    other = replace(RUN, run=replace(RUN.run, run="other", program="another"))
    LineageStore(table).record([other])
    sealer(table).seal([REQUEST])
    row = table.get(calendars.calendar_row(CHECKSUM, 0))
    sealed = calendar_rows.sealed_day(row, DAY)
    assert sealed is not None
    programs = {
        calendar_rows.decode_program(part.program, part.runs[0]).program: [run.run for run in part.runs]
        for part in sealed
    }
    assert programs == {RUN.run.program: ["one"], "another": ["other"]}
