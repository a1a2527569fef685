"""A sweep deletes all but what an answer needs, and a purge the runs that are too old."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from fll_hbase.keys import calendars, layout
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import DAY_MS, Direction, Window
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.rows import calendar_rows
from fll_hbase.tables import open_table
from fll_hbase.tables.base import StampedPut
from tests.support.journals import Journal
from tests.support.retained_histories import (
    HISTORIES,
    HORIZONS,
    LATER_MS,
    cells,
    listed,
    recorded,
    related,
    swept,
)
from tests.support.run_keys import committed_run
from tests.support.small_world import CONTENTS, DATASETS, STARTS_MS

EVER = Window(0, LATER_MS)


@given(history=HISTORIES)
def test_no_answer_changes_by_a_sweep(history: list[RecordedRun]) -> None:
    table, store = recorded(history)
    answers_before = [(listed(store, name), related(store, name)) for name in DATASETS]
    swept(table)
    fresh = LineageStore(table)
    assert [(listed(fresh, name), related(fresh, name)) for name in DATASETS] == answers_before


@given(history=HISTORIES)
def test_what_is_left_is_what_recording_the_last_documents_alone_makes(history: list[RecordedRun]) -> None:
    """Compare all but run rows, which have earlier documents, and the catalogue.

    Its rows are deleted with the last content of a dataset.
    """
    table, _ = recorded(history)
    swept(table)
    only, _ = recorded(list({document.run.run: document for document in history}.values()))
    hidden = (layout.RUNS, layout.DATASETS)
    left = {cell for cell in cells(table) if not cell[0].startswith(hidden)}
    assert left == {cell for cell in cells(only) if not cell[0].startswith(hidden)}


@given(history=HISTORIES, horizons=HORIZONS)
def test_a_purge_takes_what_started_before_its_horizon_and_no_more(
    history: list[RecordedRun], horizons: RetentionPolicy
) -> None:
    table, store = recorded(history)
    wanted = {name: listed(store, name, Window(horizons.cutoff_ms(name), LATER_MS)) for name in DATASETS}
    swept(table, horizons)
    fresh = LineageStore(table)
    assert {name: listed(fresh, name) for name in DATASETS} == wanted


@given(history=HISTORIES, horizons=HORIZONS)
def test_sweeping_twice_takes_no_more(history: list[RecordedRun], horizons: RetentionPolicy) -> None:
    table, _ = recorded(history)
    swept(table, horizons)
    once = list(cells(table))
    swept(table, horizons)
    assert list(cells(table)) == once


@given(history=HISTORIES)
def test_a_purge_of_everything_leaves_nothing(history: list[RecordedRun]) -> None:
    table, _ = recorded(history)
    swept(table, RetentionPolicy(LATER_MS))
    assert {cell[0] for cell in cells(table)} <= {calendars.MARK_ROW}


def test_what_is_young_stays(tmp_path: Path) -> None:
    table, _ = recorded([RecordedRun(ProgramRun("n", "a", "", "t", "p", "run", 5), CONTENTS[0])])
    answers_before = set(cells(table))
    until_ms = garbage_collection.safe_until_ms(1, 0)
    assert (
        garbage_collection.purge(table, RetentionPolicy(LATER_MS), until_ms=until_ms, grace_ms=0)
        == garbage_collection.NONE_REMOVED
    )
    garbage = garbage_collection.find_garbage(table, RetentionPolicy(LATER_MS), until_ms=until_ms)
    garbage_collection.remove(table, garbage, RetentionPolicy(LATER_MS), until_ms=until_ms)
    noted = {cell for cell in cells(table) if cell[1].startswith(layout.HORIZON)}
    assert set(cells(table)) - noted == answers_before


def test_an_end_point_whose_past_was_cut_says_so() -> None:
    early, late = STARTS_MS[0], STARTS_MS[-1]
    source, destination = CONTENTS[0].sources[0], CONTENTS[0].destinations[0]
    runs = [ProgramRun("n", "a", "", "t", "p", str(start), start) for start in (early, late)]
    table, _ = recorded([RecordedRun(run, CONTENTS[0]) for run in runs])
    swept(table, RetentionPolicy(datasets_ms={source: late}))
    for key in (layout.dataset_row(source), calendars.horizon_row(source)):
        assert layout.horizon_column(late) in table.get(key)
    assert not table.get(calendars.horizon_row(destination))
    fresh = LineageStore(table)
    assert len(listed(fresh, source)) == 1
    assert len(listed(fresh, destination)) == 2
    swept(table, RetentionPolicy(LATER_MS))
    assert {cell[0] for cell in cells(table)} == {calendars.MARK_ROW}


def test_a_run_recorded_again_before_the_horizon_stays_hidden() -> None:
    """In counts, in lists of runs, and in the first and the last start of the dataset."""
    source, destination = CONTENTS[0].sources[0], CONTENTS[0].destinations[0]
    runs = [
        RecordedRun(ProgramRun("n", "a", "", "t", "p", f"{n}", n * DAY_MS), CONTENTS[0]) for n in (1, 2, 3)
    ]
    table, _ = recorded(runs)
    swept(table, RetentionPolicy(datasets_ms={source: 2 * DAY_MS}))
    store = LineageStore(table)
    store.record(runs[:1])
    for dataset, first in ((source, 2), (destination, 1)):
        counted = sum(bucket.complete for bucket in store.run_counts(dataset, EVER, buckets=1).buckets)
        assert counted == len(listed(store, dataset)) == 4 - first
        _, bounds = store.dataset(dataset)
        assert (bounds.first_start_ms, bounds.last_start_ms) == (first * DAY_MS, 3 * DAY_MS)


def test_a_horizon_is_put_before_references_are_deleted() -> None:
    source = CONTENTS[0].sources[0]
    table, _ = recorded([RecordedRun(ProgramRun("n", "a", "", "t", "p", "1", STARTS_MS[0]), CONTENTS[0])])
    journal = Journal(table)
    swept(journal, RetentionPolicy(datasets_ms={source: STARTS_MS[-1]}))  # type: ignore[arg-type]
    steps = [(step.act, cell.row) for step in journal.steps for cell in step.cells]
    horizon = steps.index(("write", calendars.horizon_row(source)))
    reference = layout.reference_prefix(Direction.FORWARD, source)
    deletes = [n for n, (act, row) in enumerate(steps) if act == "delete" and row.startswith(reference)]
    assert len(deletes) == 1
    assert horizon < deletes[0]


def test_a_way_and_a_day_stay_as_long_as_a_run_needs_them() -> None:
    """Two runs of one period on two days: the day of the older one goes, with its seal, and the way stays."""
    day = 100 * calendars.PERIOD_DAYS
    early, late = day * DAY_MS, (day + 1) * DAY_MS
    runs = [ProgramRun("n", "a", "", "t", "p", str(start), start) for start in (early, late)]
    table, _ = recorded([RecordedRun(run, CONTENTS[0]) for run in runs])
    committed = [committed_run(CONTENTS[0].checksum, run) for run in runs]
    for run in committed:
        key = calendar_rows.day_of_run(run)
        table.write([calendar_rows.seal_puts(key, calendar_rows.new_token(), [run])])
    ways = {cell for cell in cells(table) if cell[0].startswith(layout.WAYS)}
    swept(table, RetentionPolicy(late))
    assert {cell for cell in cells(table) if cell[0].startswith(layout.WAYS)} == ways
    kinds = (calendars.TOKEN, calendars.SEAL)
    calendar = table.get(calendars.calendar_row(CONTENTS[0].checksum, calendars.period_of(day)))
    assert calendar.keys() == {calendars.day_column(kind, day + 1) for kind in kinds}


def test_what_a_run_was_until_lately_stays() -> None:
    """A reader that read calendars before the run changed finds it by its former reference."""
    old = RecordedRun(ProgramRun("n", "a", "", "t", "p", "run", 5), CONTENTS[0])
    recorded_table, _ = recorded([old])
    table = open_table("sqlite:///:memory:")
    table.put_stamped(
        [
            StampedPut(key, column, cell.value, 1_000)
            for key, row in recorded_table.scan(b"", b"\xff")
            for column, cell in row.items()
        ]
    )
    cells_before = set(cells(table))
    LineageStore(table).record([RecordedRun(replace(old.run, start_ms=9 * DAY_MS), CONTENTS[1], True)])
    garbage_collection.remove(
        table,
        garbage_collection.find_garbage(table, RetentionPolicy(), until_ms=2_000),
        RetentionPolicy(),
        until_ms=2_000,
    )
    assert cells_before <= set(cells(table)), "the change is younger than what may be deleted"
    garbage_collection.remove(
        table,
        garbage_collection.find_garbage(table, RetentionPolicy(), until_ms=LATER_MS),
        RetentionPolicy(),
        until_ms=LATER_MS,
    )
    left = {cell[0] for cell in cells_before & set(cells(table))}
    assert not {key for key in left if key.startswith(garbage_collection.HINTS)}


def test_sizes_are_returned(tmp_path: Path) -> None:
    with closing(open_table(f"sqlite:///{tmp_path / 'a.db'}")) as table:
        run = ProgramRun("n", "a", "", "t", "p", "run", 5)
        LineageStore(table).record([RecordedRun(run, CONTENTS[0])])
        row = table.get(layout.run_row("run", "n"))
        removed = garbage_collection.purge(table, RetentionPolicy(6), until_ms=LATER_MS, grace_ms=0)
        assert removed.rows == 1
        assert removed.cells == len(row)
        assert removed.bytes > sum(len(cell.value) for cell in row.values())


@pytest.mark.parametrize("touch", [RecordedRun(ProgramRun("n", "a", "", "t", "p", "run", 5), CONTENTS[1])])
def test_a_run_that_is_touched_while_it_is_purged_stays(touch: RecordedRun) -> None:
    table, store = recorded([RecordedRun(ProgramRun("n", "a", "", "t", "p", "run", 5), CONTENTS[0])])

    class Touching:
        """The run is recorded again between the read of its row and the delete."""

        def __getattr__(self, name: str) -> object:
            return getattr(table, name)

        def delete(self, keys: Sequence[object], *, until_ms: int) -> None:
            if keys:
                store.record([touch])
            table.delete(keys, until_ms=old_ms)  # type: ignore[arg-type]

    old_ms = max(cell.stamp_ms for cell in table.get(layout.run_row("run", "n")).values())
    while store.components.committer._clock() <= old_ms + 1:
        continue
    keys = [layout.run_row("run", "n")]
    garbage_collection.remove_runs(Touching(), keys, until_ms=LATER_MS, grace_ms=0)  # type: ignore[arg-type]
    assert store.run("run").committed.checksum == touch.info.checksum
    document_columns = [c for c in table.get(layout.run_row("run", "n")) if c.startswith(layout.DOCUMENT)]
    assert len(document_columns) == 2
