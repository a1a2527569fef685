"""Topological order and cycles, compared with a naive closure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model import topology
from fll_hbase.model.datasets import Field
from fll_hbase.model.operations import InputField, Operation, Transform, inputs_of
from fll_hbase.runtime.errors import InvalidLineage
from tests.support.strategies import chain, names, operation_sets


@st.composite
def tangles(draw: st.DrawFn) -> list[Operation]:
    """Transforms that take from any of them, themselves included, and from what is not there."""
    candidates = draw(st.lists(names, min_size=1, max_size=7, unique=True))
    origins = st.lists(st.sampled_from([*candidates, "nobody at all"]), max_size=3)
    return [
        Transform(name, "", tuple(InputField(origin, "x") for origin in draw(origins)), (Field("x"),))
        for name in candidates
    ]


def reached(operations: list[Operation]) -> dict[str, set[str]]:
    """Per operation all that feeds it, over any number of steps: a fixed point by hand."""
    candidates = {operation.name for operation in operations}
    feeds = {
        operation.name: {input_field.origin for input_field in inputs_of(operation)} & candidates
        for operation in operations
    }
    for _ in candidates:
        feeds = {
            name: reachable.union(*(feeds[origin] for origin in reachable))
            for name, reachable in feeds.items()
        }
    return feeds


@given(operation_sets(), st.data())
def test_every_operation_stands_after_its_origins(
    operations: tuple[Operation, ...], data: st.DataObject
) -> None:
    ordered = topology.sort_operations(operations)
    assert sorted(operation.name for operation in ordered) == sorted(op.name for op in operations)
    position = {operation.name: number for number, operation in enumerate(ordered)}
    for operation in operations:
        assert all(
            position[input_field.origin] < position[operation.name] for input_field in inputs_of(operation)
        )
    assert topology.sort_operations(data.draw(st.permutations(operations))) == ordered


@given(operation_sets(), st.data())
def test_origins_that_are_not_given_are_ignored(
    operations: tuple[Operation, ...], data: st.DataObject
) -> None:
    subset = data.draw(st.lists(st.sampled_from(operations), unique_by=lambda operation: operation.name))
    position = {operation.name: number for number, operation in enumerate(topology.sort_operations(subset))}
    assert position.keys() == {operation.name for operation in subset}
    for operation in subset:
        assert all(
            position.get(input_field.origin, -1) < position[operation.name]
            for input_field in inputs_of(operation)
        )


def test_where_the_order_is_free_it_is_by_name() -> None:
    operations = [Transform(name, "", (), ()) for name in ("z", "b", "y")]
    operations += [Transform(name, "", (InputField("b", "x"),), ()) for name in ("c", "a")]
    assert [operation.name for operation in topology.sort_operations(operations)] == ["b", "a", "c", "y", "z"]


@given(tangles())
def test_cycles_are_the_operations_that_feed_one_another(operations: list[Operation]) -> None:
    feeds = reached(operations)
    expected = {
        tuple(sorted(other for other in feeds if other in feeds[name] and name in feeds[other]))
        for name in feeds
        if name in feeds[name]
    }
    reachable = list(topology.cycles(topology.operation_origins(operations)))
    assert len(reachable) == len(set(reachable))
    assert set(reachable) == expected


@given(tangles())
def test_a_cycle_has_no_order(operations: list[Operation]) -> None:
    cycles = list(topology.cycles(topology.operation_origins(operations)))
    if not cycles:
        assert len(topology.sort_operations(operations)) == len(operations)
        return
    with pytest.raises(InvalidLineage) as caught:
        topology.sort_operations(operations)
    assert [fault.path for fault in caught.value.errors] == ["operations"] * len(cycles)
    for cycle_names, fault in zip(cycles, caught.value.errors, strict=True):
        assert all(repr(name) in fault.detail for name in cycle_names)


def test_ten_thousand_operations_are_no_recursion() -> None:
    operations = chain(10_000)
    assert topology.sort_operations(operations[::-1]) == tuple(operations)
    assert list(topology.cycles(topology.operation_origins(operations))) == []
    last = operations[-2].name
    closed = [Transform("t0", "", (InputField(last, "x"),), (Field("x"),)), *operations[1:-1]]
    (cycle,) = topology.cycles(topology.operation_origins(closed))
    assert len(cycle) == 9_999
