"""History and diff of a field against an oracle in plain Python, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.keys.codec import escape
from fll_hbase.model import lineage
from fll_hbase.model.datasets import DatasetField, Field
from fll_hbase.model.derivation_parts import DerivationParts
from fll_hbase.model.operations import (
    Influence,
    InputField,
    Operation,
    Read,
    Transform,
    Write,
    dataset_of,
    inputs_of,
    type_of,
)
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.runs import RecordedRun, RunKey, State
from fll_hbase.model.window import DAY_MS, Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.query_parameters import ReachQuery
from fll_hbase.store.results import Stretch
from fll_hbase.store.rows import calendar_rows
from fll_hbase.tables import open_table
from tests.support.cancellation import cancelled_after
from tests.support.field_histories import (
    EVER,
    FIELD,
    NAMES,
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
Facts = frozenset[tuple[object, ...]]


def facts_of(operations: Sequence[Operation], indirect: bool) -> Facts:
    """Everything that leads into the field, under both names of its dataset."""
    by_name = {operation.name: operation for operation in operations}
    facts: set[tuple[object, ...]] = set()
    pending: list[tuple[str, str]] = []
    for operation in operations:
        for item in inputs_of(operation):
            is_written = isinstance(operation, Write) and operation.destination in NAMES
            if is_written and item.name == FIELD.name and item.influence is Influence.DIRECT:
                facts.add(_operation(operation))
                facts.add(("edge", (item.origin, item.name), (operation.name, item.name), Influence.DIRECT))
                pending.append((item.origin, item.name))
    visited: set[tuple[str, str]] = set()
    while pending:
        node = pending.pop()
        if node in visited:
            continue
        visited.add(node)
        operation = by_name[node[0]]
        facts.add(_operation(operation))
        if isinstance(operation, Read):
            facts.add(("source", operation.source, node[1]))
        followed = [item for item in inputs_of(operation) if indirect or item.influence is Influence.DIRECT]
        direct = {(item.origin, item.name) for item in followed if item.influence is Influence.DIRECT}
        for start in {(item.origin, item.name) for item in followed}:
            influence = Influence.DIRECT if start in direct else Influence.INDIRECT
            facts.add(("edge", start, node, influence))
            pending.append(start)
    return frozenset(facts)


def _operation(operation: Operation) -> tuple[object, ...]:
    return "operation", operation.name, type_of(operation), operation.description, dataset_of(operation)


def expected_stretches(
    documents: Sequence[Recorded],
    versions: Sequence[tuple[Operation, ...]],
    window: Window,
    *,
    indirect: bool,
) -> tuple[list[Stretch], int]:
    """Stretches of the latest document of each run, and how many runs are older and lack the field."""
    latest = {document.run: document for document in documents}
    runs = [
        document
        for document in latest.values()
        if document.start_ms in window
        and (window.failed or not document.state.failed)
        and any(isinstance(o, Write) and o.destination in NAMES for o in versions[document.version])
    ]
    runs.sort(key=lambda document: (-document.start_ms, escape(document.run)))
    facts = [facts_of(versions[document.version], indirect) for document in runs]
    stretches: list[Stretch] = []
    end = 0
    writers = [number for number, listed in enumerate(facts) if listed]
    for _, group in groupby(writers, key=lambda number: facts[number]):
        numbers = list(group)
        first, last = runs[numbers[-1]], runs[numbers[0]]
        missing_after = numbers[0] - end
        end = numbers[-1] + 1
        missing = numbers[-1] - numbers[0] + 1 - len(numbers)
        checksum = lineage.build_lineage(versions[last.version]).checksum
        times = first.start_ms, last.start_ms
        keys = RunKey(first.run, "ns"), RunKey(last.run, "ns")
        stretches.append(Stretch(checksum, *keys, *times, len(numbers), missing, missing_after))
    return stretches, len(runs) - end


@given(worlds(), windows, windows, st.booleans(), st.booleans(), st.integers(0, 12))
def test_history_and_diff_are_those_of_the_oracle(
    world: tuple[list[tuple[Operation, ...]], list[Recorded]],
    window: Window,
    base: Window,
    indirect: bool,
    failed: bool,
    sealed: int,
) -> None:
    versions, documents = world
    store = partly_sealed_store(versions, documents, sealed)
    window, base = replace(window, failed=failed), replace(base, failed=failed)
    history = store.history(FIELD, window, indirect=indirect)
    stretches, missing_before = expected_stretches(documents, versions, window, indirect=indirect)
    assert (list(history.stretches), history.missing_before) == (stretches, missing_before)
    check_laws(store, window, indirect=indirect)

    diff = store.diff(FIELD, window, base, indirect=indirect)
    ours, theirs = (all_facts(documents, versions, bounds, indirect=indirect) for bounds in (window, base))
    assert diff.gained is not None
    assert diff.lost is not None
    assert facts_of_parts(diff.gained) == ours - theirs
    assert facts_of_parts(diff.lost) == theirs - ours
    assert diff.common == sum(fact[0] != "source" for fact in ours & theirs)
    reverse = store.diff(FIELD, base, window, indirect=indirect)
    assert (reverse.gained, reverse.lost, reverse.common) == (diff.lost, diff.gained, diff.common)
    same = store.diff(FIELD, window, window, indirect=indirect)
    assert same.gained == same.lost
    assert facts_of_parts(same.gained) == frozenset()


def check_laws(store: LineageStore, window: Window, *, indirect: bool) -> None:
    """Stretches have the runs of the list of runs of the field, and neighbours differ."""
    stretches = store.history(FIELD, window, indirect=indirect).stretches
    page = store.runs(A, window, limit=100, field=FIELD.name)
    writers = [
        listed.run
        for listed in page.runs
        if Direction.BACKWARD in listed.directions and (window.failed or not listed.run.state.failed)
    ]
    assert sum(stretch.runs for stretch in stretches) == len(writers)
    begin = 0
    for stretch in stretches:
        members = writers[begin : begin + stretch.runs]
        assert (members[0].run, members[-1].run) == (stretch.last_run.run, stretch.first_run.run)
        begin += stretch.runs
    derivations = store.field_derivations(FIELD, window).derivations
    if indirect:
        assert {stretch.last_run for stretch in stretches} >= {listed.runs[0] for listed in derivations}


def all_facts(
    documents: Sequence[Recorded],
    versions: Sequence[tuple[Operation, ...]],
    window: Window,
    *,
    indirect: bool,
) -> Facts:
    """Everything that leads into the field in any run of a window."""
    latest = {document.run: document for document in documents}
    return frozenset(
        fact
        for document in latest.values()
        if document.start_ms in window and (window.failed or not document.state.failed)
        for fact in facts_of(versions[document.version], indirect)
    )


def facts_of_parts(parts: DerivationParts | None) -> Facts:
    """The parts of a diff as the oracle has them."""
    assert parts is not None
    operations = (("operation", *operation) for operation in parts.operations)
    edges = (("edge", edge.start, edge.end, edge.influence) for edge in parts.edges)
    sources = (("source", source.dataset, source.name) for source in parts.sources)
    return frozenset([*operations, *edges, *sources])


busy_days = st.lists(
    st.tuples(st.sampled_from([0, 1, 2, DAY_MS - 1, DAY_MS, DAY_MS + 1]), st.sampled_from([0, 0, 0, 1, 2])),
    min_size=8,
    max_size=24,
)
"""Starts and versions of runs of two days."""


@given(busy_days, st.integers(0, 24), st.integers(1, 8), st.sampled_from([EVER, Window(1, DAY_MS + 1)]))
def test_days_of_many_runs(runs: list[tuple[int, int]], sealed: int, runs_max: int, window: Window) -> None:
    """The history is that of the oracle; one that `runs_max` cuts is that of the newest runs."""
    documents = [
        Recorded(f"run {number:02}", start_ms, State.COMPLETE, version_number)
        for number, (start_ms, version_number) in enumerate(runs)
    ]
    store = partly_sealed_store(VERSIONS, documents, sealed)
    complete = store.history(FIELD, window)
    due = expected_stretches(documents, VERSIONS, window, indirect=True)
    assert (list(complete.stretches), complete.missing_before) == due
    cut = LineageStore(store.table, Settings(runs_max=runs_max)).history(FIELD, window)
    if not cut.truncated_by:
        assert cut == complete
        return
    assert cut.truncated_by == (f"runs_max={runs_max}",)
    last = len(cut.stretches) - 1
    for number, (ours, theirs) in enumerate(zip(cut.stretches, complete.stretches, strict=False)):
        if number < last:
            assert ours == theirs
        assert (ours.last_run, ours.checksum, ours.missing_after) == (
            theirs.last_run,
            theirs.checksum,
            theirs.missing_after,
        )
        assert ours.runs <= theirs.runs
    assert last < len(complete.stretches)


def test_a_name_that_was_purged_hides_no_run_of_another_name() -> None:
    """The dataset has two names; one content writes both."""
    operations = (
        Read("read", "", OTHER, "", (Field("x"),)),
        *(Write(f"write {name}", "", name, "", (InputField("read", "x"),)) for name in NAMES),
    )
    documents = [Recorded(f"run {day}", day * DAY_MS, State.COMPLETE, 0) for day in range(4)]
    for purged in NAMES:
        store = recorded_store([operations], documents)
        complete = store.history(FIELD, EVER)
        assert [stretch.runs for stretch in complete.stretches] == [4]
        assert set(run_counts(store)) == {4}
        policy = RetentionPolicy(datasets_ms={purged: 2 * DAY_MS})
        until_ms = now_ms() + 1
        garbage = garbage_collection.find_garbage(store.table, policy, until_ms=until_ms)
        garbage_collection.remove(store.table, garbage, policy, until_ms=until_ms)
        assert LineageStore(store.table).history(FIELD, EVER) == complete
        assert set(run_counts(LineageStore(store.table))) == {4}


def run_counts(store: LineageStore) -> Iterator[int]:
    """How many runs of the dataset answers count: programs, counts, reach, and the list of runs."""
    (usage,) = store.programs(A, EVER).programs
    yield usage.runs
    yield sum(bucket.complete for bucket in store.run_counts(A, EVER, buckets=3).buckets)
    (edge,) = store.reach(ReachQuery(FIELD, EVER)).edges
    yield edge.span.runs if edge.span else 0
    yield len(store.runs(A, EVER, limit=10).runs)


def partly_sealed_store(
    versions: Sequence[tuple[Operation, ...]], documents: Sequence[Recorded], sealed: int
) -> LineageStore:
    """A store whose days were sealed before the last documents; of three runs a seal has two."""
    store = recorded_store(versions, documents[:sealed])
    with pytest.MonkeyPatch.context() as bounds:
        bounds.setattr(calendar_rows, "INLINE_RUNS_MAX", 2)
        seal_all(store.table)
    record_documents(store, versions, documents[sealed:])
    return store


def version(number: int, *fields: str) -> tuple[Operation, ...]:
    """Operations that make each field by a step that has the number in its description."""
    return (
        Read("read", "", OTHER, "", (Field("y"),)),
        Transform("make", f"version {number}", (InputField("read", "y"),), tuple(map(Field, fields))),
        Write("write", "", A, "", tuple(InputField("make", name) for name in fields)),
    )


def nightly(versions: Sequence[int]) -> list[Recorded]:
    """One run a minute with these versions, the oldest first."""
    return [
        Recorded(f"run {number:06}", number * 60_000, State.COMPLETE, version_number)
        for number, version_number in enumerate(versions)
    ]


WITHOUT = 2
VERSIONS = [version(0, "x"), version(1, "x"), version(0, "z")]
"""Two ways of making x, and operations that write the dataset without it."""


def test_runs_without_the_field_are_counted_and_end_no_stretch() -> None:
    documents = nightly([WITHOUT, 0, WITHOUT, 0, WITHOUT, WITHOUT, 1, WITHOUT])
    history = recorded_store(VERSIONS, documents).history(FIELD, EVER)
    assert [(s.runs, s.missing, s.missing_after) for s in history.stretches] == [(1, 0, 1), (2, 1, 2)]
    assert history.missing_before == 1
    only_without = recorded_store(VERSIONS, nightly([WITHOUT, WITHOUT])).history(FIELD, EVER)
    assert (only_without.stretches, only_without.missing_before) == ((), 2)


def test_the_bound_of_runs_leaves_the_older_ones_out() -> None:
    documents = nightly([0, 0, 0, 1, 1])
    for runs_max, counts in ((5, [2, 3]), (4, [2, 2]), (2, [2]), (1, [1])):
        store = recorded_store(VERSIONS, documents, Settings(runs_max=runs_max))
        history = store.history(FIELD, EVER)
        assert [stretch.runs for stretch in history.stretches] == counts
        assert history.truncated_by == ((f"runs_max={runs_max}",) if runs_max < 5 else ())


def test_the_bound_of_stretches() -> None:
    documents = nightly([0, 1] * 4)
    for stretches_max in (8, 7, 1):
        store = recorded_store(VERSIONS, documents, Settings(list_limit_max=stretches_max))
        history = store.history(FIELD, EVER)
        assert [stretch.runs for stretch in history.stretches] == [1] * stretches_max
        is_cut = stretches_max < 8
        assert history.truncated_by == ((f"list_limit_max={stretches_max}",) if is_cut else ())


def test_a_history_that_is_cut_anywhere_says_so() -> None:
    versions = [version(number, "x") for number in range(6)]
    store = recorded_store(versions, nightly(range(6)))
    complete = store.history(FIELD, EVER).stretches
    lengths = set()
    for checks in range(60):
        with deadline.limited(60, is_cancelled=cancelled_after(checks)), suppress(DeadlineExceeded):
            history = store.history(FIELD, EVER)
            lengths.add(len(history.stretches))
            assert history.stretches == complete[: len(history.stretches)]
            is_cut = len(history.stretches) < len(complete)
            assert history.truncated_by == (("request_seconds=60",) if is_cut else ())
    assert lengths == set(range(1, 7))


def test_a_diff_that_is_cut_claims_nothing_that_may_be_in_both() -> None:
    versions = [version(number, "x") for number in range(6)]
    store = recorded_store(versions, nightly([*range(6), *range(3, 6)]))
    window, base = Window(6 * 60_000, EVER.stop_ms), Window(0, 6 * 60_000)
    complete = store.diff(FIELD, window, base)
    outcomes = set()
    for checks in range(60):
        with deadline.limited(60, is_cancelled=cancelled_after(checks)), suppress(DeadlineExceeded):
            diff = store.diff(FIELD, window, base)
            outcomes.add((diff.gained is None, diff.lost is None))
            assert diff.gained is None or facts_of_parts(diff.gained) <= facts_of_parts(complete.gained)
            assert diff.lost is None or facts_of_parts(diff.lost) <= facts_of_parts(complete.lost)
            has_all_runs = all(item.runs for item in (*diff.gained_derivations, *diff.lost_derivations))
            has_all = diff.gained is not None and diff.lost is not None and has_all_runs
            assert bool(diff.truncated_by) is not has_all
            assert diff.common <= complete.common
    assert {(False, False), (True, True)} <= outcomes


def test_the_bound_of_edges_cuts_the_larger_window_alone() -> None:
    versions = [
        (
            Read("read", "", OTHER, "", (Field("y"),)),
            Transform(f"t{number}", "", (InputField("read", "y"),), (Field("x"),)),
            Write("write", "", A, "", (InputField(f"t{number}", "x"),)),
        )
        for number in range(6)
    ]
    store = recorded_store(versions, nightly(range(6)), Settings(connections_max=4))
    small, large = Window(0, 60_000), Window(60_000, EVER.stop_ms)
    diff = store.diff(FIELD, large, small)
    assert diff.lost is None
    assert diff.gained is not None
    assert diff.truncated_by == ("connections_max=4",)
    reverse = store.diff(FIELD, small, large)
    assert (reverse.gained, reverse.lost, reverse.truncated_by) == (None, diff.gained, diff.truncated_by)


@pytest.mark.parametrize("size", [10, 1_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_what_they_read_from_the_table(size: int) -> None:
    """The history reads references and runs in pages; of sealed days the diff costs what one run costs."""
    table = open_table("sqlite:///:memory:")
    infos = [lineage.build_lineage(operations) for operations in VERSIONS[:2]]
    step_ms = DAY_MS // size
    documents = [
        Recorded(f"run {number:06}", number * step_ms, State.COMPLETE, number * 2 // size)
        for number in range(size)
    ]
    LineageStore(table).record([RecordedRun(program_run(item), infos[item.version]) for item in documents])
    store = LineageStore(counting := CountingTable(table), clock=stopped_clock)
    history = store.history(FIELD, EVER)
    assert [stretch.runs for stretch in history.stretches] == [size // 2] * 2
    pages = size // 1_000 + 2
    # Beside the pages: the ways, days and names, and for each content its field map and operations.
    # One more for the retention requests, which a process reads each ten seconds.
    assert counting.calls.total() <= 2 * pages + 4 + 3 * 2 + 1
    seal_all(table)
    store, middle = LineageStore(counting), (size // 2) * step_ms
    counting.calls.clear()
    counting.items.clear()
    diff = store.diff(FIELD, Window(middle, DAY_MS), Window(0, middle))
    assert diff.gained is not None
    assert [operation.description for operation in diff.gained.operations] == ["version 1"]
    assert counting.calls.total() <= 10
    assert counting.items.total() <= 20


def test_five_thousand_fields() -> None:
    fields = [f"f{number}" for number in range(5_000)]
    versions = [version(number, *fields) for number in range(2)]
    store = recorded_store(versions, nightly([0, 0, 1]))
    field = DatasetField(A, "f7")
    assert [stretch.runs for stretch in store.history(field, EVER).stretches] == [1, 2]
    diff = store.diff(field, Window(120_000, EVER.stop_ms), Window(0, 120_000))
    assert diff.gained is not None
    assert (len(diff.gained.operations), diff.gained.edges, diff.common) == (1, frozenset(), 4)
