"""Field reach equals a brute-force oracle over temporal paths, at a cost that follows edges and levels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given

from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField, DatasetMetadata, Field
from fll_hbase.model.lineage import build_lineage
from fll_hbase.model.operations import InputField, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded, NotFound
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.query_parameters import ReachQuery
from fll_hbase.store.results import Reach
from fll_hbase.tables import open_table
from tests.support import reach_oracle
from tests.support.reach_histories import (
    LEVEL_MAX,
    NOON_MS,
    chain_field,
    copy_chain,
    histories,
    queries,
    store_of,
)
from tests.support.reach_oracle import Edge, Run
from tests.support.table_calls import CountingTable, stopped_clock
from tests.support.work import count_calls


def answer(store: LineageStore, query: ReachQuery) -> Reach:
    try:
        return store.reach(query)
    except NotFound:
        return Reach({query.field: 0}, ())


@given(history=histories, query=queries)
def test_reach_equals_every_path_of_runs(history: list[Run], query: ReachQuery) -> None:
    assert query.level is not None
    expected = reach_oracle.reach({run.name: run for run in history}, query, level=query.level)
    with store_of(history) as store:
        actual = answer(store, query)
    assert actual.hops == expected.hops
    assert not actual.truncated_by
    for reached, path in actual.paths.items():
        assert is_path(path.fields(), query, {run.name: run for run in history}.values())
        assert path.field == reached
    assert {
        (edge.source, edge.destination): (
            edge.direct,
            edge.span
            and (edge.span.runs, edge.span.failed, edge.span.first_start_ms, edge.span.last_start_ms),
        )
        for edge in actual.edges
    } == {
        key: (
            key in expected.direct,
            (
                len(counted),
                sum(run.failed for run in counted),
                min(run.start_ms for run in counted),
                max(run.start_ms for run in counted),
            ),
        )
        for key, counted in expected.runs.items()
    }


def is_path(fields: Sequence[DatasetField], query: ReachQuery, recorded: Iterable[Run]) -> bool:
    """Return whether a value can go from each field of a path to the next: in runs of the right order."""
    level = len(fields) - 1
    expected = reach_oracle.reach_along(fields, list(recorded), query)
    assert level <= 2 * (query.level or LEVEL_MAX)
    return expected


@given(history=histories, query=queries)
def test_without_counts_everything_else_is_equal(history: list[Run], query: ReachQuery) -> None:
    with store_of(history) as store:
        counted, uncounted = answer(store, query), answer(store, replace(query, counts=False))
    assert uncounted == replace(
        counted, edges=tuple(edge._replace(span=None, checksums=()) for edge in counted.edges)
    )


@given(history=histories, query=queries)
def test_forward_is_the_inverse_of_backward(history: list[Run], query: ReachQuery) -> None:
    query = replace(query, field=query.field._replace(name="x"), level=None)
    opposite = Direction.FORWARD if query.direction is Direction.BACKWARD else Direction.BACKWARD
    with store_of(history) as store:
        for end in answer(store, query).hops:
            inverse = answer(store, replace(query, field=end, direction=opposite)).hops
            # The dataset as a whole leads to each of its fields, which are listed only where they lead on.
            assert query.field in inverse or query.field._replace(name=WHOLE_DATASET) in inverse


def ladder(depth: int, width: int) -> list[Run]:
    """Every field of a level leads to every field of the next: `width` ** `depth` paths."""
    return [
        Run(
            f"run{level}",
            NOON_MS + level,
            tuple(
                Edge(
                    DatasetField(Dataset("ns", f"level{level}"), f"f{source}"),
                    DatasetField(Dataset("ns", f"level{level + 1}"), f"f{to}"),
                    True,
                )
                for source in range(width)
                for to in range(width)
            ),
        )
        for level in range(depth)
    ]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("direction", Direction)
def test_cost_follows_edges_and_levels_not_paths(direction: Direction, *, causal: bool) -> None:
    history = ladder(30, 10)
    first = DatasetField(Dataset("ns", "level0" if direction is Direction.FORWARD else "level30"), "f0")
    window = reach_oracle.window(history)
    with closing(open_table("sqlite:///:memory:")) as table:
        LineageStore(table).record([run.recorded() for run in history])
        counting = CountingTable(table)
        result = LineageStore(counting, clock=stopped_clock).reach(
            ReachQuery(first, window, direction, causal=causal)
        )
    assert len(result.edges) == 10 + 29 * 100
    assert max(result.hops.values()) == 30
    # Ten calls a level at most, however many fields, edges and paths it has.
    assert counting.calls.total() <= 10 * 31


class TestLimits:
    HISTORY = copy_chain(5)
    WINDOW = Window(NOON_MS, NOON_MS + 5)

    def forward(self, level: int | None = None) -> ReachQuery:
        return ReachQuery(chain_field(0), self.WINDOW, Direction.FORWARD, level=level)

    def test_the_cap_of_levels_is_named_where_it_cuts(self) -> None:
        with store_of(self.HISTORY, level_max=3) as store:
            for query in (self.forward(), self.forward(4)):
                assert store.reach(query).truncated_by == ("level_max=3",)
            assert store.reach(self.forward(3)).truncated_by == ()
            assert max(store.reach(self.forward()).hops.values()) == 3
        with store_of(self.HISTORY, level_max=6) as store:
            assert store.reach(self.forward()).truncated_by == ()

    def test_so_many_edges_and_no_more(self) -> None:
        with store_of(self.HISTORY, connections_max=2) as store:
            result = store.reach(self.forward())
        assert (len(result.edges), result.truncated_by) == (2, ("connections_max=2",))
        with store_of(self.HISTORY, connections_max=5) as store:
            assert store.reach(self.forward()).truncated_by == ()

    def test_without_time_nothing_is_returned_and_later_what_was_reached(self) -> None:
        with store_of(self.HISTORY) as store:
            with deadline.limited(0.0), pytest.raises(DeadlineExceeded):
                store.reach(self.forward())
            with deadline.limited(60.0):
                assert len(store.reach(self.forward()).edges) == 5

    def test_names_that_were_never_recorded(self) -> None:
        missing = DatasetField(Dataset("ns", "level0"), "other"), DatasetField(Dataset("ns", "other"), "*")
        with store_of(self.HISTORY) as store:
            for field in missing:
                with pytest.raises(NotFound):
                    store.reach(replace(self.forward(), field=field))


def test_a_dataset_under_two_names_is_walked_as_one() -> None:
    first, alias, last = (DatasetField(Dataset("ns", name), "f") for name in ("first", "alias", "last"))
    history = [
        Run("1", NOON_MS, (Edge(first, alias, True),)),
        Run("2", NOON_MS + 1, (Edge(DatasetField(Dataset("ns", "table"), "f"), last, True),)),
    ]
    table = Dataset("ns", "table")
    with store_of(history) as store:
        store.put_metadata(
            [
                DatasetMetadata(table, aliases=(alias.dataset,)),
                DatasetMetadata(alias.dataset, aliases=(table,)),
            ]
        )
        result = store.reach(ReachQuery(first, reach_oracle.window(history), Direction.FORWARD))
        assert result.hops == {first: 0, alias: 1, last: 2}
        assert [(edge.source, edge.destination) for edge in result.edges] == [(alias, last), (first, alias)]
        assert [edge.span and edge.span.runs for edge in result.edges] == [1, 1]


def test_datasets_without_known_fields_are_listed_apart() -> None:
    first, other = Dataset("ns", "first"), Dataset("ns", "other")
    operations = [Read("read", "", first, "", (Field("f"),)), Write("write", "", other, "", ())]
    run = RecordedRun(ProgramRun("ns", "app", "", "spark", "p", "1", NOON_MS), build_lineage(operations))
    with store_of([]) as store:
        store.record([run])
        result = store.reach(
            ReachQuery(DatasetField(first, "f"), Window(NOON_MS, NOON_MS + 1), Direction.FORWARD)
        )
    assert (result.edges, result.unknown) == ((), ((first, other),))


@pytest.mark.slow
@pytest.mark.parametrize("direction", Direction)
def test_one_field_of_a_wide_transform(direction: Direction) -> None:
    """A transform of 3,000 by 3,000 fields has nine million pairs, and a field of it 3,000 edges."""
    calls = []
    for width in (300, 3_000):
        start, run = mixing(direction, width)
        query = ReachQuery(start, Window(NOON_MS, NOON_MS + 1), direction)
        with store_of([]) as store:
            store.record([run])
            assert len(store.reach(query).edges) == width
            calls.append(count_calls(lambda: store.reach(query)))  # noqa: B023 (called at once)
    assert calls[1] <= 15 * calls[0]


def mixing(direction: Direction, width: int) -> tuple[DatasetField, RecordedRun]:
    """A run in which every source field leads to every destination field, and one of the fields."""
    source, destination = Dataset("ns", "source"), Dataset("ns", "destination")
    names = [f"f{number}" for number in range(width)]
    operations = [
        Read("read", "", source, "", tuple(map(Field, names))),
        Transform("mix", "", tuple(InputField("read", name) for name in names), tuple(map(Field, names))),
        Write("write", "", destination, "", tuple(InputField("mix", name) for name in names)),
    ]
    run = RecordedRun(ProgramRun("ns", "app", "", "spark", "p", "1", NOON_MS), build_lineage(operations))
    return DatasetField(source if direction is Direction.FORWARD else destination, "f7"), run
