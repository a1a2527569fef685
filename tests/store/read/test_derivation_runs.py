"""Derivations gained and lost are those that one of two windows has alone, with all of their runs in it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model import lineage
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.derivation_parts import field_digest
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.runs import RecordedRun, State
from fll_hbase.model.window import DAY_MS, Window
from fll_hbase.runtime import deadline
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.results import DerivationRuns, FieldDiff
from fll_hbase.store.rights.store_view import StoreView
from fll_hbase.tables import open_table
from tests.support.cancellation import cancelled_after
from tests.support.field_histories import (
    EVER,
    FIELD,
    NAMES,
    STARTS,
    Recorded,
    program_run,
    record_documents,
    recorded_store,
    windows,
    worlds,
)
from tests.support.sealing import seal_all
from tests.support.strategies import FEW_END_POINTS
from tests.support.table_calls import CountingTable, stopped_clock

A, B, OTHER = FEW_END_POINTS
EARLY, LATE = Window(0, STARTS[3]), Window(STARTS[3], EVER.stop_ms)


def digests_of(operations: Sequence[Operation], *, indirect: bool) -> list[str]:
    """The digests of how operations derive the field, under each name of its dataset."""
    names = (DatasetField(name, FIELD.name) for name in NAMES)
    return [digest for name in names if (digest := field_digest(operations, name, indirect=indirect))]


def ways_of(
    documents: Sequence[Recorded],
    versions: Sequence[tuple[Operation, ...]],
    window: Window,
    *,
    indirect: bool,
) -> dict[str, DerivationRuns]:
    """The ways of all runs of a window, from the documents."""
    latest = {document.run: document for document in documents}
    runs: dict[str, list[Recorded]] = {}
    for document in latest.values():
        if document.start_ms in window and (window.failed or not document.state.failed):
            for digest in digests_of(versions[document.version], indirect=indirect):
                runs.setdefault(digest, []).append(document)
    ways = {}
    for digest, listed in runs.items():
        starts = [document.start_ms for document in listed]
        # Of runs that start at once any may be the newest here: see `without_checksum`.
        ways[digest] = DerivationRuns(digest, "", len(listed), min(starts), max(starts))
    return ways


def without_checksum(listed: Sequence[DerivationRuns]) -> set[DerivationRuns]:
    return {item._replace(checksum="") for item in listed}


@given(worlds(), windows, windows, st.booleans(), st.booleans(), st.integers(0, 12))
def test_derivations_of_one_window_alone(
    world: tuple[list[tuple[Operation, ...]], list[Recorded]],
    window: Window,
    base: Window,
    indirect: bool,
    failed: bool,
    sealed: int,
) -> None:
    versions, documents = world
    store = recorded_store(versions, documents[:sealed])
    seal_all(store.table)
    record_documents(store, versions, documents[sealed:])
    window, base = replace(window, failed=failed), replace(base, failed=failed)
    diff = store.diff(FIELD, window, base, indirect=indirect)
    ours, theirs = (ways_of(documents, versions, bounds, indirect=indirect) for bounds in (window, base))
    assert without_checksum(diff.gained_derivations) == {
        ours[digest] for digest in ours.keys() - theirs.keys()
    }
    assert without_checksum(diff.lost_derivations) == {
        theirs[digest] for digest in theirs.keys() - ours.keys()
    }
    for listed in (diff.gained_derivations, diff.lost_derivations):
        starts = [item.last_start_ms for item in listed if item.last_start_ms is not None]
        assert starts == sorted(starts, reverse=True)
        for item in listed:
            operations = store.content(item.checksum).operations
            assert item.digest in digests_of(operations, indirect=indirect)
    assert is_empty(diff) is (ours.keys() == theirs.keys())
    reverse = store.diff(FIELD, base, window, indirect=indirect)
    assert (reverse.gained_derivations, reverse.lost_derivations) == (
        diff.lost_derivations,
        diff.gained_derivations,
    )


def is_empty(diff: FieldDiff) -> bool:
    """Whether nothing was gained or lost: parts differ only where derivations do."""
    has_ways = bool(diff.gained_derivations or diff.lost_derivations)
    parts = [part for part in (diff.gained, diff.lost) if part is not None]
    assert has_ways or not any(part.operations or part.edges or part.sources for part in parts)
    return not has_ways


@given(worlds(), windows, windows, st.booleans())
def test_they_are_the_derivations_of_each_window_asked_alone(
    world: tuple[list[tuple[Operation, ...]], list[Recorded]], window: Window, base: Window, failed: bool
) -> None:
    store = recorded_store(*world)
    window, base = replace(window, failed=failed), replace(base, failed=failed)
    ours, theirs = (
        {
            DerivationRuns(digest, "", item.run_count, item.first_start_ms, item.last_start_ms)
            for item in store.field_derivations(FIELD, bounds).derivations
            for digest in digests_of(item.operations, indirect=True)
        }
        for bounds in (window, base)
    )
    digests = {item.digest for item in theirs}
    diff = store.diff(FIELD, window, base)
    assert without_checksum(diff.gained_derivations) == {item for item in ours if item.digest not in digests}
    stretches = store.history(FIELD, window).stretches
    assert bool(ours) is bool(stretches)


def making(name: str, *sources: str, dataset: Dataset = OTHER) -> tuple[Operation, ...]:
    """Operations that make the field of these fields by a step of this name."""
    return (
        Read("read", "", dataset, "", tuple(map(Field, sources))),
        Transform(name, "", tuple(InputField("read", source) for source in sources), (Field("x"),)),
        Write("write", "", A, "", (InputField(name, "x"),)),
    )


def nightly(versions: Sequence[int]) -> list[Recorded]:
    """One run a minute with these versions, the oldest first."""
    return [
        Recorded(f"run {number:06}", number * 60_000, State.COMPLETE, version)
        for number, version in enumerate(versions)
    ]


def test_a_way_whose_parts_all_occur_in_others_is_a_change() -> None:
    """The base window made the field in two ways; the window in both of them, joined."""
    steps = dict.fromkeys((*making("a", "y"), *making("b", "y")))
    both = (
        *(item for item in steps if not isinstance(item, Write)),
        Write("write", "", A, "", (InputField("a", "x"), InputField("b", "x"))),
    )
    store = recorded_store([making("a", "y"), making("b", "y"), both], nightly([0, 1, 0, 2]))
    diff = store.diff(FIELD, Window(3 * 60_000, EVER.stop_ms), Window(0, 3 * 60_000))
    assert diff.gained is not None
    assert diff.gained == type(diff.gained)()
    assert [item.runs for item in diff.gained_derivations] == [1]
    assert [(item.runs, item.last_start_ms) for item in diff.lost_derivations] == [(2, 120_000), (1, 60_000)]
    (field,) = store.dataset_diff(A, Window(3 * 60_000, EVER.stop_ms), Window(0, 3 * 60_000)).fields
    assert field.diff == diff


def test_contents_of_one_way_are_one_derivation() -> None:
    """A column beside the field makes another content; the newest of the two is the one that is named."""
    beside = (*making("a", "y"), Write("beside", "", A, "", (InputField("read", "y"),)))
    versions = [making("b", "y"), making("a", "y"), beside]
    store = recorded_store(versions, nightly([0, 1, 2, 2, 1]))
    diff = store.diff(FIELD, Window(60_000, EVER.stop_ms), Window(0, 60_000))
    (gained,) = diff.gained_derivations
    newest = lineage.build_lineage(versions[1]).checksum
    assert gained[1:] == (newest, 4, 60_000, 240_000)
    assert [item.runs for item in diff.lost_derivations] == [1]


@pytest.mark.parametrize("runs_max", [1, 3, 6])
def test_the_bound_of_runs_leaves_counts_smaller_and_ways_as_they_are(runs_max: int) -> None:
    documents = nightly([0, 0, 1, 1, 2, 2])
    versions = [making(name, "y") for name in "abc"]
    store = recorded_store(versions, documents, Settings(runs_max=runs_max))
    diff = store.diff(FIELD, EVER, Window(0, 0))
    assert len({item.digest for item in diff.gained_derivations}) == 3
    assert sum(item.runs for item in diff.gained_derivations) == runs_max
    assert diff.truncated_by == (() if runs_max == 6 else (f"runs_max={runs_max}",))
    starts = [item.last_start_ms is None for item in diff.gained_derivations]
    assert starts == [item.runs == 0 for item in diff.gained_derivations]
    assert starts == sorted(starts)


def test_the_bound_of_lists() -> None:
    documents = nightly([0, 1, 2])
    versions = [making(name, "y") for name in "abc"]
    store = recorded_store(versions, documents, Settings(list_limit_max=2))
    diff = store.diff(FIELD, EVER, Window(0, 0))
    assert [item.last_start_ms for item in diff.gained_derivations] == [120_000, 60_000]
    assert diff.truncated_by == ("list_limit_max=2",)


def test_a_diff_that_is_cut_claims_no_way_that_may_be_in_both() -> None:
    versions = [making(str(number), "y") for number in range(6)]
    store = recorded_store(versions, nightly([*range(6), *range(3, 6)]))
    window, base = Window(6 * 60_000, EVER.stop_ms), Window(0, 6 * 60_000)
    complete = store.diff(FIELD, window, base)
    assert not complete.gained_derivations
    lengths = set()
    for checks in range(80):
        with deadline.limited(60, is_cancelled=cancelled_after(checks)), suppress(DeadlineExceeded):
            diff = store.diff(FIELD, window, base)
            lengths.add(len(diff.lost_derivations))
            assert not diff.gained_derivations
            lost = {item.digest for item in diff.lost_derivations}
            assert lost <= {item.digest for item in complete.lost_derivations}
            assert (diff == complete) is (not diff.truncated_by)
    assert {0, 3} <= lengths


@pytest.mark.parametrize("size", [12, 1_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_runs_of_sealed_days_and_of_other_ways_are_not_read(size: int) -> None:
    """Reading follows the contents that differ: not their runs, nor runs of contents in both windows."""
    table = open_table("sqlite:///:memory:")
    infos = [lineage.build_lineage(making(name, "y")) for name in "abc"]
    step_ms = 2 * DAY_MS // size
    LineageStore(table).record(
        [
            RecordedRun(
                program_run(Recorded(f"run {number:06}", number * step_ms, State.COMPLETE, 0)),
                infos[0 if number % 2 else 1 + number * 2 // size],
            )
            for number in range(size)
        ]
    )
    seal_all(table)
    store = LineageStore(counting := CountingTable(table), clock=stopped_clock)
    diff = store.diff(FIELD, Window(DAY_MS, 2 * DAY_MS), Window(0, DAY_MS))
    assert [item.runs for item in diff.gained_derivations] == [size // 4]
    assert [item.runs for item in diff.lost_derivations] == [size // 4]
    assert counting.calls.total() <= 14
    assert counting.items.total() <= 40


def test_digests_of_what_is_hidden_do_not_depend_on_its_name() -> None:
    reader = Principal("reader", (Grant(Role.READER, A.namespace),))
    shown = set()
    for name in ("secret", "other secret"):
        versions = [making("b", "y", dataset=B), making("a", "y", dataset=Dataset("hidden", name))]
        store = recorded_store(versions, nightly([0, 1]))
        (gained,) = StoreView(store, reader).diff(FIELD, EVER, Window(0, 60_000)).gained_derivations
        (complete,) = store.diff(FIELD, EVER, Window(0, 60_000)).gained_derivations
        assert gained[2:] == complete[2:]
        assert gained.digest != complete.digest
        assert gained.checksum != complete.checksum
        shown.add(gained)
    assert len(shown) == 1
