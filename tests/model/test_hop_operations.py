"""Hops of one content have exactly the transforms on their ways, and say whether by copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given

from fll_hbase.model import operation_graph
from fll_hbase.model.hop_operations import HopOperations
from fll_hbase.model.operations import Influence, InputField, Operation
from tests.support.graph_ends import read_fields, start_nodes, start_writes, written_fields
from tests.support.graph_paths import could_have_run, paths
from tests.support.sized_operations import copy, names, read, rename, write
from tests.support.strategies import FEW_END_POINTS, operation_sets
from tests.support.work import count_calls

SOURCE, DESTINATION = FEW_END_POINTS[:2]


@given(operation_sets())
def test_the_operations_are_those_on_the_ways(operations: tuple[Operation, ...]) -> None:
    hops = HopOperations(operations)
    by_name = {operation.name: operation for operation in operations}
    for target in written_fields(operations):
        full = operation_graph.upstream_graph(operations, target)
        ends = start_writes(operations, target).keys()
        for source in read_fields(operations):
            starts = set(start_nodes(operations, source))
            ways = [way for start in starts for end in ends for way in paths(full, start, end) if way]
            direct = [way for way in ways if all(kind is Influence.DIRECT for _, kind in way)]
            is_copied = bool(starts & ends)
            listed = {name for way in direct or ([] if is_copied else ways) for name, _ in way}
            hop = hops.between([source.dataset], source.name, [target.dataset], target.name)
            if hop is None:
                assert (listed, is_copied) == (set(), False)
                continue
            between = tuple(operation.name for operation in hop.operations)
            assert (set(between), hop.is_copied) == (listed, is_copied)
            assert could_have_run(by_name, between)


def between(operations: Sequence[Operation], source: str, destination: str) -> tuple[list[str], bool] | None:
    hop = HopOperations(operations).between([SOURCE], source, [DESTINATION], destination)
    return None if hop is None else ([operation.name for operation in hop.operations], hop.is_copied)


def test_an_influence_on_all_rows_ends_with_the_write() -> None:
    joined = InputField("read", "f00000", Influence.INDIRECT)
    operations = [read(2), write([InputField("read", "f00001"), joined])]
    assert between(operations, "f00000", "*") == (["write"], False)
    assert between(operations, "f00001", "f00001") == ([], True)
    assert between(operations, "f00001", "*") is None
    assert between(operations, "f00000", "f00001") is None


def test_a_field_that_is_written_may_also_decide_which_rows_are() -> None:
    both = [InputField("read", "f00000"), InputField("read", "f00000", Influence.INDIRECT)]
    operations = [read(1), write(both)]
    assert between(operations, "f00000", "*") == (["write"], False)
    assert between(operations, "f00000", "f00000") == ([], True)


@pytest.mark.parametrize(("make", "factor"), [(copy, 1), (rename, 7)], ids=["copied", "renamed"])
def test_all_hops_of_a_wide_content_cost_what_their_operations_do(
    make: Callable[[int], list[Operation]], factor: int
) -> None:
    def work(count: int) -> int:
        operations = make(count)

        def explain() -> None:
            hops = HopOperations(operations)
            for number, source in enumerate(names(count)):
                destination = f"f{factor * number % count:05}"
                assert hops.between([SOURCE], source, [DESTINATION], destination) is not None

        return count_calls(explain)

    assert work(800) < 10 * work(100)
