"""A copy has the cells and answers of its source, wherever it was interrupted and whoever wrote meanwhile."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.keys import calendars, layout
from fll_hbase.keys.row_kinds import COPY_ORDER, EVERYTHING
from fll_hbase.model.datasets import Dataset, DatasetMetadata, Field
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.runtime.errors import ConfigurationError, StoreUnavailable
from fll_hbase.store.copying import progress
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.rows import calendar_rows
from fll_hbase.store.rows.calendar_rows import ContentDay
from fll_hbase.tables import CellKey, Put, Row, Table
from tests.support.retained_histories import HISTORIES, HORIZONS, recorded, swept
from tests.support.run_keys import committed_run
from tests.support.small_world import CONTENTS, STARTS_MS
from tests.support.store_copies import (
    SOURCE,
    Failing,
    answers,
    copied,
    in_memory,
    read_everything,
    stamped_catalogue,
    stored,
)
from tests.support.strategies import recorded_runs

UNKNOWN = [Put(b"k|token", b"d:k", b"hash"), Put(b"z", b"d:x", b"1"), Put(b"A", b"o:x", b"")]
"""Rows of kinds that this release does not know."""


def test_the_kinds_are_all_keys_once() -> None:
    bounds = sorted(bounds for kind in COPY_ORDER for bounds in kind.key_ranges)
    assert bounds[0][0] == EVERYTHING[0]
    assert bounds[-1][1] == EVERYTHING[1]
    assert all(left[1] == right[0] for left, right in pairwise(bounds))


def test_what_runs_rely_on_stands_before_them() -> None:
    prefixes = [kind.prefix for kind in COPY_ORDER]
    hints = (*layout.REFERENCES, layout.WAYS, layout.CALENDARS)
    order = (layout.DATASETS, layout.CONTENTS, layout.EVENT_BODIES, *hints, layout.RUNS, layout.PROPERTIES)
    positions = [prefixes.index(prefix) for prefix in order]
    assert positions == sorted(positions)
    assert prefixes.index(layout.TAG_INDEX) < prefixes.index(layout.TAGS)


@pytest.mark.slow
@given(runs=st.lists(recorded_runs, min_size=1, max_size=5))
def test_a_copy_has_every_cell_and_answer(runs: list[RecordedRun]) -> None:
    source, target = in_memory(), in_memory()
    LineageStore(source).record(runs)
    source.write([UNKNOWN])
    report = copied(source, target)
    assert report.is_complete
    assert stored(target) == stored(source)
    assert stamped_catalogue(target) == stamped_catalogue(source)
    assert answers(target) == answers(source)
    assert all(result.source == result.target for result in report.kinds.values())
    assert sum(result.source.cells for result in report.kinds.values()) == len(stored(source))


@pytest.mark.slow
@given(history=HISTORIES, horizons=HORIZONS, writes=st.integers(0, 60))
def test_a_copy_that_is_killed_goes_on(
    history: list[RecordedRun], horizons: RetentionPolicy, writes: int
) -> None:
    source, store = recorded(history[:6])
    source.write([UNKNOWN])
    target = in_memory()
    try:
        copied(source, Failing(target, writes))  # type: ignore[arg-type]
    except StoreUnavailable:
        read_everything(target)
    # What happened between the kill and the next start.
    store.record(history[6:])
    swept(source, horizons)
    try:
        copied(source, Failing(target, writes // 2), update=True)  # type: ignore[arg-type]
    except StoreUnavailable:
        read_everything(target)
    assert copied(source, target, update=True).is_complete
    assert stored(target) == stored(source)
    assert answers(target) == answers(source)


class Recording:
    """A source that records a run, or loses one, before every page that is read of it."""

    def __init__(self, table: Table, runs: Iterator[RecordedRun]) -> None:
        self._table = table
        self._store = LineageStore(table)
        self._runs = runs

    def __getattr__(self, name: str) -> object:
        return getattr(self._table, name)

    def scan(self, start: bytes, stop: bytes, **options: int) -> Iterator[tuple[bytes, Row]]:
        run = next(self._runs, None)
        if run is not None:
            self._store.record([run])
        return self._table.scan(start, stop, **options)


@pytest.mark.slow
@given(history=HISTORIES, later=st.lists(recorded_runs, max_size=20))
def test_a_copy_beside_writers_shows_only_runs_that_it_has(
    history: list[RecordedRun], later: list[RecordedRun]
) -> None:
    source, _ = recorded(history)
    target = in_memory()

    class Watched:
        """The target, read after every write."""

        def __getattr__(self, name: str) -> object:
            return getattr(target, name)

        def write(self, batches: list[list[Put]]) -> None:
            for batch in batches:
                target.write([batch])
                read_everything(target)

    writing = Recording(source, iter(later))
    report = copied(writing, Watched(), passes_max=10)  # type: ignore[arg-type]
    assert report.is_complete
    assert report.passes > 1
    assert stored(target) == stored(source)


def test_what_is_written_all_the_time_is_not_complete() -> None:
    source, target = in_memory(), in_memory()
    runs = (
        RecordedRun(ProgramRun("n", "app", "1", "t", "p", str(number), 5), CONTENTS[0])
        for number in range(1_000)
    )
    report = copied(Recording(source, runs), target, passes_max=3)  # type: ignore[arg-type]
    assert (report.is_complete, report.passes) == (False, 3)
    assert copied(source, target).is_complete
    assert stored(target) == stored(source)


def test_a_run_recorded_after_a_kill_has_its_content(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pass goes on a day later: runs recorded since it began are young, however old they are by then."""
    source, store = recorded([RecordedRun(ProgramRun("n", "a", "", "t", "p", "1", 5), CONTENTS[0])])
    target = _interrupted_at(source, "run index rows")
    store.record([RecordedRun(ProgramRun("n", "a", "", "t", "p", "2", 5), CONTENTS[1])])
    monkeypatch.setattr("fll_hbase.runtime.clock.now_ms", lambda: 4_000_000_000_000)
    # The first writes are those of the kind at which it goes on, then come the runs.
    for writes in range(1, 20):
        with pytest.raises(StoreUnavailable):
            copied(source, Failing(target, writes))  # type: ignore[arg-type]
        if target.get(layout.run_row("2", "n")):
            break
    assert target.get(layout.run_row("2", "n"))
    read_everything(target)


def _interrupted_at(source: Table, kind: str) -> Table:
    for writes in range(100):
        target = in_memory()
        with pytest.raises(StoreUnavailable):
            copied(source, Failing(target, writes))  # type: ignore[arg-type]
        current = progress.read_progress(target)
        if current is not None and current.kind == kind:
            return target
    raise AssertionError(f"never interrupted at {kind}")


class TestSeals:
    """A copy leaves seals where they are, and makes those of days whose runs it changes invalid."""

    key = ContentDay(CONTENTS[0].checksum, 0)
    runs = tuple(
        RecordedRun(ProgramRun("n", "a", "", "t", "p", name, 5), CONTENTS[0]) for name in ("one", "two")
    )

    def calendar(self, table: Table) -> Row:
        return table.get(calendars.calendar_row(self.key.checksum, 0))

    def token(self, table: Table) -> bytes:
        token = calendar_rows.token_of(self.calendar(table), self.key.day)
        assert token is not None
        return token

    def seal(self, table: Table, *runs: RecordedRun) -> None:
        committed = [committed_run(self.key.checksum, run.run) for run in runs]
        table.write([calendar_rows.seal_puts(self.key, self.token(table), committed)])
        assert calendar_rows.sealed_day(self.calendar(table), self.key.day) is not None

    def test_they_are_neither_copied_nor_compared_nor_deleted(self) -> None:
        source, _ = recorded(self.runs[:1])
        self.seal(source, self.runs[0])
        target = in_memory()
        assert copied(source, target).is_complete
        assert self.calendar(target).keys() == {calendars.day_column(calendars.TOKEN, 0)}
        self.seal(target, self.runs[0])
        sealed = self.calendar(target)
        report = copied(source, target, update=True)
        assert (report.is_complete, report.put, report.deleted) == (True, 0, 0)
        assert self.calendar(target) == sealed

    @pytest.mark.parametrize("numbers", [(0,), (0, 1)])
    def test_they_do_not_hold_once_the_copy_changed_a_run_of_their_day(
        self, numbers: tuple[int, ...]
    ) -> None:
        """Also where the token was copied earlier than the run that its writer put after it."""
        source, store = recorded([self.runs[number] for number in numbers])
        target = in_memory()
        assert copied(source, target).is_complete
        token = self.token(source)
        # The same token on both sides, as after a copy that read it just before the run was committed.
        target.write([calendar_rows.touch_puts({self.key}, token)])
        self.seal(target, *(self.runs[number] for number in numbers))
        if numbers == (0,):
            store.record([self.runs[1]])
        else:
            key = layout.run_row("two", "n")
            source.delete([CellKey(key, column) for column in source.get(key)], until_ms=4_000_000_000_000)
        source.write([calendar_rows.touch_puts({self.key}, token)])
        assert copied(source, target, update=True).is_complete
        assert calendar_rows.sealed_day(self.calendar(target), self.key.day) is None
        assert bool(target.get(layout.run_row("two", "n"))) == (numbers == (0,))


def test_the_newest_type_and_description_stay_the_newest() -> None:
    """Also under another name of the dataset, whose row is put at another time."""
    source, target = in_memory(), in_memory()
    store = LineageStore(source)
    first, second = Dataset("n", "one"), Dataset("n", "two")
    for number, (dataset, type_) in enumerate(
        [(second, "z"), (first, "y"), (second, "b"), (first, "a"), (second, "b")]
    ):
        fields = (Field("f", type_),)
        metadata = DatasetMetadata(
            dataset, description=f"{9 - number}", fields=fields, aliases=(first, second)
        )
        store.put_metadata([dataclasses.replace(metadata, aliases=tuple({first, second} - {dataset}))])
        _wait_a_moment(source)
    assert copied(source, target).is_complete
    for dataset in (first, second):
        summaries = [LineageStore(table).catalogue.summary(dataset) for table in (source, target)]
        assert summaries[0] == summaries[1]
        fields_of = [LineageStore(table).catalogue.fields(dataset) for table in (source, target)]
        assert fields_of[0] == fields_of[1]
        assert [field.type for field in fields_of[1] or ()] == ["b"]


def _wait_a_moment(table: Table) -> None:
    """Until puts have another time."""
    probe = Put(b"z|probe", b"d:x", b"")
    table.write([[probe]])
    first = table.get(probe.row)[probe.column].stamp_ms
    while table.get(probe.row)[probe.column].stamp_ms == first:
        table.write([[probe]])


def test_a_property_that_is_set_during_a_pass_waits_for_the_next() -> None:
    source, target = in_memory(), in_memory()

    class Marked:
        """The source gets a property after the first read."""

        def __getattr__(self, name: str) -> object:
            return getattr(source, name)

        def scan(self, start: bytes, stop: bytes, **options: int) -> Iterator[tuple[bytes, Row]]:
            rows = list(source.scan(start, stop, **options))
            source.write([[Put(b"v|new", b"d:v", b"")]])
            return iter(rows)

    assert not copied(Marked(), target, passes_max=1).is_complete  # type: ignore[arg-type]
    assert not target.get(b"v|new")
    assert copied(source, target).is_complete
    assert target.get(b"v|new")


class TestRefused:
    """Only an empty target, or a copy of the same source, is written to."""

    def test_a_store_with_rows(self) -> None:
        source, _ = recorded([RecordedRun(ProgramRun("n", "a", "", "t", "p", "1", 5), CONTENTS[0])])
        target, _ = recorded([RecordedRun(ProgramRun("n", "a", "", "t", "p", "2", 5), CONTENTS[0])])
        unchanged = stored(target)
        with pytest.raises(ConfigurationError, match="rows of its own"):
            copied(source, target)
        assert stored(target) == unchanged

    def test_a_copy_of_another_source(self) -> None:
        target = in_memory()
        target.write([[progress.put_of(progress.Progress("sqlite:////other.db", 1))]])
        with pytest.raises(ConfigurationError, match=r"copy of sqlite:////other\.db"):
            copied(in_memory(), target)

    def test_a_complete_copy(self) -> None:
        source, store = recorded([RecordedRun(ProgramRun("n", "a", "", "t", "p", "1", 5), CONTENTS[0])])
        target = in_memory()
        assert copied(source, target).is_complete
        LineageStore(target).record([RecordedRun(ProgramRun("n", "a", "", "t", "p", "new", 5), CONTENTS[1])])
        with pytest.raises(ConfigurationError, match="--update"):
            copied(source, target)
        assert target.get(layout.run_row("new", "n"))
        store.record([RecordedRun(ProgramRun("n", "a", "", "t", "p", "2", STARTS_MS[0]), CONTENTS[1])])
        assert copied(source, target, update=True).is_complete
        assert stored(target) == stored(source)

    def test_an_incomplete_copy_as_a_source(self) -> None:
        source = in_memory()
        source.write([[progress.put_of(progress.Progress(SOURCE, 1))]])
        with pytest.raises(ConfigurationError, match="incomplete copy"):
            copied(source, in_memory())
