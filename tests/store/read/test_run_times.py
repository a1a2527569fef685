"""Times of contents by calendars equal the runs themselves, whichever days are sealed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.keys.codec import day_of
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.runs import ProgramRun, RecordedRun, RunKey, State, run_key
from fll_hbase.model.window import DAY_MS, START_LIMIT_MS, Direction, Window
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import DEFAULTS
from fll_hbase.runtime.errors import CorruptRow, NotFound
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.read.run_times import RunTimes, bound_of
from fll_hbase.store.results import RunSpan
from fll_hbase.store.rows import calendar_rows
from fll_hbase.store.write.sealing import GRACES, DaySealer, SealRequest
from fll_hbase.tables import CellKey, Put, Row, Table, open_table
from fll_hbase.tables.base import Columns
from tests.support.passing_table import Through
from tests.support.sealing import seal_all
from tests.support.small_world import CONTENTS, DATASETS

PERIOD_MS = calendars.PERIOD_DAYS * DAY_MS
PERIODS = 3
EDGES_MS = sorted(
    {
        edge + offset
        for period in range(PERIODS + 1)
        for edge in (period * PERIOD_MS, period * PERIOD_MS + 5 * DAY_MS)
        for offset in (-1, 0, 1, DAY_MS // 2, DAY_MS)
        if edge + offset >= 0
    }
)
"""Edges of periods and of days within, with their neighbours, so that runs and windows meet there."""

STARTS = st.sampled_from(EDGES_MS) | st.integers(0, PERIODS * PERIOD_MS)
RUNS = st.builds(
    RecordedRun,
    st.builds(
        ProgramRun,
        st.sampled_from(["n", "m"]),
        st.just("app"),
        st.just("1"),
        st.just("t"),
        st.sampled_from(["p", "q|%"]),
        st.sampled_from([f"run {number}" for number in range(8)]),
        STARTS,
        st.sampled_from([State.COMPLETE, State.COMPLETE, State.FAIL]),
    ),
    st.sampled_from(CONTENTS[:5]),
    st.just(True),
)
WINDOWS = st.tuples(STARTS, STARTS).map(lambda edges: Window(min(edges), max(edges)))


def recorded(runs: Sequence[RecordedRun]) -> tuple[Table, dict[RunKey, RecordedRun]]:
    """Record runs one after the other; return the table, and what each run is in the end."""
    table = open_table("sqlite:///:memory:")
    store = LineageStore(table)
    for run in runs:
        store.record([run])
    return table, {key_of(run): run for run in runs}


def key_of(item: RecordedRun) -> RunKey:
    return run_key(item.run.run, item.run.namespace)


def run(number: int, start_ms: int, content: int = 0, state: State = State.COMPLETE) -> RecordedRun:
    program = ProgramRun("n", "app", "1", "t", "p", f"run {number:04}", start_ms, state)
    return RecordedRun(program, CONTENTS[content], True)


def seal_days(table: Table, days: Collection[int]) -> int:
    """Seal these days by the first dataset of each content, hours later."""
    later_ms = now_ms() + GRACES * DEFAULTS.grace_ms + 1
    sealer = DaySealer(table, EventMerger(table), clock=lambda: later_ms, grace_ms=DEFAULTS.grace_ms)
    return sealer.seal(
        SealRequest(Direction.BACKWARD, info.destinations[0], day, frozenset([info.checksum]))
        for info in CONTENTS[:5]
        if info.destinations
        for day in days
    )


def queries(window: Window) -> list[WindowQuery]:
    return [
        WindowQuery(direction, dataset, replace(window, failed=failed))
        for dataset in DATASETS
        for direction in Direction
        for failed in (False, True)
    ]


def expected(
    runs: Collection[RecordedRun], query: WindowQuery, *, within: Window
) -> dict[str, list[RecordedRun]]:
    """Return the runs of a query by content, the last first."""
    by_content: dict[str, list[RecordedRun]] = {}
    for item in sorted(runs, key=lambda item: (-item.run.start_ms, key_of(item))):
        backward = query.direction is Direction.BACKWARD
        datasets = item.info.destinations if backward else item.info.sources
        counts = query.window.failed or not item.run.state.failed
        if query.dataset in datasets and counts and item.run.start_ms in within:
            by_content.setdefault(item.info.checksum, []).append(item)
    return by_content


def span_of(runs: Sequence[RecordedRun]) -> RunSpan:
    failed = sum(item.run.state.failed for item in runs)
    return RunSpan(len(runs), failed, runs[-1].run.start_ms, runs[0].run.start_ms, key_of(runs[0]))


def times_of(store: LineageStore, query: WindowQuery, bound_ms: int | None = None) -> dict[str, RunTimes]:
    reader = store.components.times
    ((_, times),) = reader.times([query], reader.budget())[0].items()
    if bound_ms is not None:
        reader.complete([(query, times, bound_of(query.direction, bound_ms))])
    return times


def check(table: Table, runs: Collection[RecordedRun], window: Window, bound_ms: int) -> None:
    """Compare every answer about a window with the runs themselves."""
    store = LineageStore(table)
    windows = store.components.windows
    every_query = queries(window)
    everything = {query: expected(runs, query, within=window) for query in every_query}
    shown = windows.checksums_by_name(every_query)
    assert [names[query.dataset] for query, names in zip(every_query, shown, strict=True)] == [
        frozenset(everything[query]) for query in every_query
    ]
    assert windows.newest_references(everything) == [
        {
            checksum: layout.reference_tail(listed[0].run.start_ms, *key_of(listed[0]))
            for checksum, listed in everything[query].items()
        }
        for query in every_query
    ]
    for query in every_query:
        times = times_of(store, query, bound_ms)
        everywhere = bound_of(query.direction, window.stop_ms if query.direction is Direction.BACKWARD else 0)
        assert {checksum: item.span(query.direction, everywhere) for checksum, item in times.items()} == {
            checksum: span_of(listed) for checksum, listed in everything[query].items()
        }
        backward = query.direction is Direction.BACKWARD
        part = Window(0, bound_ms + 1) if backward else Window(bound_ms, START_LIMIT_MS)
        overlap = Window(
            min(max(part.start_ms, window.start_ms), window.stop_ms),
            max(min(part.stop_ms, window.stop_ms), window.start_ms),
        )
        admitted = expected(runs, query, within=overlap if not overlap.empty else Window(0, 0))
        bound = bound_of(query.direction, bound_ms)
        for checksum, item in times.items():
            listed = admitted.get(checksum)
            assert item.span(query.direction, bound) == (span_of(listed) if listed else None)
            end = None if not listed else listed[0 if backward else -1].run.start_ms
            latest = item.latest_bound(query.direction, bound)
            assert latest == (None if end is None else bound_of(query.direction, end))


def check_statistics(table: Table, runs: Collection[RecordedRun], window: Window, buckets: int) -> None:
    """Compare programs and counts of a dataset, in both directions, with the runs themselves."""
    store = LineageStore(table)
    for dataset in DATASETS:
        used = [item for item in runs if _directions(item, dataset) and item.run.start_ms in window]
        newest_first = sorted(used, key=lambda item: (-item.run.start_ms, key_of(item)))
        for failed in (False, True):
            complete: dict[tuple[str, str], list[RecordedRun]] = {}
            failures: dict[tuple[str, str], list[RecordedRun]] = {}
            for item in newest_first:
                by_program = failures if item.run.state.failed else complete
                by_program.setdefault((item.run.namespace, item.run.program), []).append(item)
            failed_only = {program: listed for program, listed in failures.items() if program not in complete}
            programs = {**complete, **(failed_only if failed else {})}
            shown = answer_or_nothing(
                lambda d=dataset, f=failed: store.programs(d, replace(window, failed=f)).programs
            )
            assert [
                (
                    (usage.last.namespace, usage.last.program),
                    (usage.last.run, usage.last.start_ms, usage.first_start_ms, usage.runs, usage.failed),
                    usage.directions,
                )
                for usage in shown
            ] == [
                (
                    program,
                    (
                        *(listed[0].run.run, listed[0].run.start_ms, listed[-1].run.start_ms),
                        *(len(complete.get(program, ())), len(failures.get(program, ()))),
                    ),
                    frozenset().union(*(_directions(item, dataset) for item in listed)),
                )
                for program, listed in programs.items()
            ]
        counted = answer_or_nothing(lambda d=dataset: store.run_counts(d, window, buckets=buckets).buckets)
        starts_ms = [bucket.start_ms for bucket in counted]
        for number, bucket in enumerate(counted):
            stop_ms = (*starts_ms, window.stop_ms)[number + 1]
            within = [item for item in used if bucket.start_ms <= item.run.start_ms < stop_ms]
            failed_count = sum(item.run.state.failed for item in within)
            assert (bucket.complete, bucket.failed) == (len(within) - failed_count, failed_count)
        assert sum(bucket.complete + bucket.failed for bucket in counted) == len(used)


def answer_or_nothing(ask: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Return an answer; nothing of a dataset that no run ever used."""
    try:
        return ask()
    except NotFound:
        return ()


def _directions(item: RecordedRun, dataset: Dataset) -> frozenset[Direction]:
    ends = {Direction.BACKWARD: item.info.destinations, Direction.FORWARD: item.info.sources}
    return frozenset(direction for direction, datasets in ends.items() if dataset in datasets)


@given(runs=st.lists(RUNS, max_size=14), window=WINDOWS, buckets=st.integers(1, 9), data=st.data())
def test_programs_and_counts_are_those_of_the_runs_whatever_is_sealed(
    runs: list[RecordedRun], window: Window, buckets: int, data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calendar_rows, "INLINE_RUNS_MAX", data.draw(st.sampled_from([0, 2, 64])))
        table, last = recorded(runs)
        days = sorted({day_of(item.run.start_ms) for item in runs})
        if days:
            seal_days(table, data.draw(st.sets(st.sampled_from(days))))
        check_statistics(table, last.values(), window, buckets)


@given(runs=st.lists(RUNS, max_size=14), window=WINDOWS, bound_ms=STARTS, data=st.data())
def test_answers_are_those_of_the_runs_whatever_is_sealed(
    runs: list[RecordedRun], window: Window, bound_ms: int, data: st.DataObject
) -> None:
    table, last = recorded(runs)
    days = sorted({day_of(item.run.start_ms) for item in runs})
    if days:
        seal_days(table, data.draw(st.sets(st.sampled_from(days))))
    check(table, last.values(), window, bound_ms)


@given(
    runs=st.lists(RUNS, max_size=14),
    later=st.lists(RUNS, max_size=6),
    window=WINDOWS,
    bound_ms=STARTS,
    inline=st.sampled_from([0, 1, 2]),
)
def test_runs_of_sealed_days_change(
    runs: list[RecordedRun], later: list[RecordedRun], window: Window, bound_ms: int, inline: int
) -> None:
    """Seals of many runs, too, whose starts are in a cell of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calendar_rows, "INLINE_RUNS_MAX", inline)
        table, last = recorded(runs)
        seal_all(table)
        check(table, last.values(), window, bound_ms)
        store = LineageStore(table)
        for item in later:
            store.record([item])
            last[key_of(item)] = item
        check(table, last.values(), window, bound_ms)
        seal_all(table)
        check(table, last.values(), window, bound_ms)


@pytest.mark.parametrize("count", [1, 64, 65, 1_100, pytest.param(3_000, marks=pytest.mark.long)])
def test_a_day_of_many_runs_is_cut_anywhere(count: int) -> None:
    runs = [run(number, DAY_MS + 7 * (number // 2), number % 3 == 0) for number in range(count)]
    table = open_table("sqlite:///:memory:")
    LineageStore(table).record(runs)
    for is_sealed in (False, True):
        assert not is_sealed or seal_all(table) == min(count, 2)
        for window in (
            Window(0, 2 * DAY_MS),
            Window(DAY_MS + 7, DAY_MS + 7 * 20),
            Window(DAY_MS + 50, 3 * DAY_MS),
        ):
            check(table, runs, window, DAY_MS + 7 * 11)


def test_a_sealed_day_is_answered_without_its_references() -> None:
    table = open_table("sqlite:///:memory:")
    runs = [run(number, day * DAY_MS + number) for day in (1, 2) for number in range(3 * day)]
    runs = [run(number, item.run.start_ms) for number, item in enumerate(runs)]
    LineageStore(table).record(runs)
    seal_all(table)
    references = [
        CellKey(key, column)
        for prefix in layout.REFERENCES
        for key, row in table.scan(*ranges.prefix_range(prefix))
        for column in row
    ]
    table.delete(references, until_ms=now_ms() + DEFAULTS.grace_ms)
    check(table, runs, Window(0, 4 * DAY_MS), 2 * DAY_MS)


def test_a_seal_of_another_token_is_not_counted() -> None:
    table, last = recorded([run(0, DAY_MS), run(1, DAY_MS + 5)])
    key = calendar_rows.ContentDay(CONTENTS[0].checksum, 1)
    table.write([calendar_rows.seal_puts(key, b"0" * 16, ())])
    check(table, last.values(), Window(0, 3 * DAY_MS), DAY_MS)


@pytest.mark.parametrize("damaged", [b'["%b",[[1]]]', b'["%b",', b'["%b",[["n|a|v|t|p",0,[["x","r"]],0]]]'])
def test_a_damaged_seal_is_an_error(damaged: bytes) -> None:
    table, _ = recorded([run(0, DAY_MS)])
    seal_all(table)
    row = calendars.calendar_row(CONTENTS[0].checksum, 0)
    token = calendar_rows.token_of(table.get(row), 1)
    table.write([[Put(row, calendars.day_column(calendars.SEAL, 1), damaged % token)]])
    dataset: Dataset = CONTENTS[0].destinations[0]
    with pytest.raises(CorruptRow, match="is not a seal"):
        LineageStore(table).lineage(dataset, Window(0, 3 * DAY_MS))


class MovingTable(Through):
    """A table in which something happens before the first calendar is read."""

    def __init__(self, table: Table, event: Callable[[], None]) -> None:
        super().__init__(table)
        self._events = [event]

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        if self._events and any(key.startswith(layout.CALENDARS) for key in keys):
            self._events.pop()()
        return super().rows(keys, columns=columns)


@pytest.mark.parametrize("ends", [False, True])
def test_what_took_longer_than_the_grace_period_is_read_again(*, ends: bool) -> None:
    """Meanwhile the run moved to a way that was not there, and garbage collection took its reference."""
    (first, second), dataset = next(
        (pair, common.pop())
        for pair in combinations(CONTENTS[:5], 2)
        if (common := set(pair[0].destinations) & set(pair[1].destinations))
    )
    table, clock_ms = open_table("sqlite:///:memory:"), [now_ms()]
    program = run(0, 0).run
    LineageStore(table).record([RecordedRun(program, first, True)])
    references = list(table.scan(*ranges.prefix_range(layout.REFERENCES[0])))

    def move() -> None:
        moved = replace(program, start_ms=2 * PERIOD_MS)
        LineageStore(table).record([RecordedRun(moved, second, True)])
        table.delete([CellKey(key, column) for key, row in references for column in row], until_ms=2**60)
        clock_ms[0] += DEFAULTS.grace_ms + 1

    store = LineageStore(MovingTable(table, move), clock=lambda: clock_ms[0])
    query = WindowQuery(Direction.BACKWARD, dataset, Window(0, 3 * PERIOD_MS))
    if ends:
        (newest,) = store.components.windows.newest_references({query: [first.checksum, second.checksum]})
        assert newest.keys() == {second.checksum}
    else:
        assert store.components.windows.checksums_by_name([query]) == [{dataset: {second.checksum}}]
