"""The graph of a field is every naive path; its graph cells have the same operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model import lineage, operation_graph
from fll_hbase.model import operation_graph as operation_sets_module
from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.operation_graph import NodeId, OperationGraph, operations_by_field
from fll_hbase.model.operations import (
    Influence,
    InputField,
    Operation,
    Read,
    Transform,
    Write,
    inputs_of,
    outputs_of,
)
from tests.support import naive_lineage as naive
from tests.support.graph_ends import read_fields, start_nodes, start_writes, written_fields
from tests.support.strategies import FEW_END_POINTS, all_to_all, chain, operation_sets
from tests.support.work import count_calls

A, B, C = FEW_END_POINTS


def allowed_paths(paths: Iterable[naive.Path], *, indirect: bool) -> list[naive.Path]:
    """The paths without an indirect step, unless those are wanted too."""
    return [path for path in paths if indirect or all(step.direct for step in path)]


def consuming_writes(
    operations: Iterable[Operation], node: NodeId, *, indirect: bool
) -> Iterator[tuple[Write, InputField]]:
    for operation in operations:
        if isinstance(operation, Write):
            for input_field in operation.inputs:
                if naive.node_of(input_field) == node and (indirect or naive.is_direct(input_field)):
                    yield operation, input_field


def connections(paths: Iterable[naive.Path]) -> dict[tuple[NodeId, NodeId, str], Influence]:
    """Every step once; direct where one of its inputs is."""
    actual: dict[tuple[NodeId, NodeId, str], Influence] = {}
    for step in sorted((step for path in paths for step in path), key=lambda step: step.direct):
        actual[step[:3]] = Influence.DIRECT if step.direct else Influence.INDIRECT
    return actual


@given(operation_sets(), st.booleans())
def test_backward_is_every_path_into_the_field(operations: tuple[Operation, ...], indirect: bool) -> None:
    for target in written_fields(operations):
        writes_by_node = start_writes(operations, target)
        paths = allowed_paths(
            (path for node in writes_by_node for path in naive.paths_into(operations, node)),
            indirect=indirect,
        )
        actual = operation_graph.upstream_graph(operations, target, indirect=indirect)
        assert actual.connections == connections(paths)
        nodes = {*writes_by_node, *(node for path in paths for step in path for node in step[:2])}
        assert actual.nodes.keys() == nodes
        writes = {write.name for input_field in writes_by_node.values() for write in input_field}
        assert actual.operations.keys() == {origin for origin, _ in nodes} | writes
        for node in actual.nodes.values():
            assert node.destinations == ({target.dataset} if node.id in writes_by_node else frozenset())


@given(operation_sets(), st.booleans())
def test_forward_is_every_path_from_the_field(operations: tuple[Operation, ...], indirect: bool) -> None:
    for origin in read_fields(operations):
        writes_by_node = start_nodes(operations, origin)
        paths = allowed_paths(
            (path for node in writes_by_node for path in naive.paths_from(operations, node)),
            indirect=indirect,
        )
        actual = operation_graph.downstream_graph(operations, origin, indirect=indirect)
        assert actual.connections == connections(paths)
        nodes = {*writes_by_node, *(node for path in paths for step in path for node in step[:2])}
        assert actual.nodes.keys() == nodes
        reached = {origin for origin, _ in nodes}
        for node in nodes:
            consuming = list(consuming_writes(operations, node, indirect=indirect))
            reached.update(write.name for write, _ in consuming)
            written = {write.destination for write, input_field in consuming if naive.is_direct(input_field)}
            assert actual.nodes[node].destinations == written
            reached.update(consuming_drops(operations, node, indirect=indirect))
        assert actual.operations.keys() == reached


def consuming_drops(operations: tuple[Operation, ...], node: NodeId, *, indirect: bool) -> set[str]:
    return {
        operation.name
        for operation in operations
        if isinstance(operation, Transform) and not naive.outputs_of_operation(operations, operation)
        for input_field in operation.inputs
        if naive.node_of(input_field) == node and (indirect or naive.is_direct(input_field))
    }


@given(operation_sets())
def test_nodes_say_what_made_them_and_of_which_type(operations: tuple[Operation, ...]) -> None:
    by_name = {operation.name: operation for operation in operations}
    graphs = [operation_graph.upstream_graph(operations, field) for field in written_fields(operations)]
    for node in (node for actual in graphs for node in actual.nodes.values()):
        maker = by_name[node.id[0]]
        assert node.source == (maker.source if isinstance(maker, Read) else None)
        types = {output.type for output in outputs_of(maker) if output.name == node.id[1]}
        assert node.type in (types or {""})


@given(operation_sets())
def test_graph_cells_name_the_operations_of_the_walk(operations: tuple[Operation, ...]) -> None:
    info = lineage.build_lineage(operations)
    backward, forward = sets_by_field(info)
    assert backward.keys() == written_fields(operations)
    assert forward.keys() == read_fields(operations)
    for walk, cells in (
        (operation_graph.upstream_graph, backward),
        (operation_graph.downstream_graph, forward),
    ):
        for field, bits in cells.items():
            assert operations_of_bits(info, bits) == walk(operations, field).operations


@given(operation_sets(), st.booleans())
def test_the_operations_of_a_graph_cell_are_enough_to_walk(
    operations: tuple[Operation, ...], indirect: bool
) -> None:
    info = lineage.build_lineage(operations)
    backward, forward = sets_by_field(info)
    for walk, cells in (
        (operation_graph.upstream_graph, backward),
        (operation_graph.downstream_graph, forward),
    ):
        for field, bits in cells.items():
            operations_in_set = operations_of_bits(info, bits).values()
            assert walk(operations_in_set, field, indirect=indirect) == walk(
                operations, field, indirect=indirect
            )


def sets_by_field(
    info: lineage.FieldLineageInfo,
) -> tuple[dict[DatasetField, int], dict[DatasetField, int]]:
    """The operation sets of destination fields and of source fields."""
    backward, forward = (
        {
            DatasetField(dataset, field): bits
            for dataset, fields in sets.items()
            for field, bits in fields.items()
        }
        for sets in operations_by_field(info.operations)
    )
    return backward, forward


def operations_of_bits(info: lineage.FieldLineageInfo, bits: int) -> dict[str, Operation]:
    return {op.name: op for number, op in enumerate(info.operations) if bits >> number & 1}


@pytest.mark.parametrize("walk", [operation_graph.upstream_graph, operation_graph.downstream_graph])
def test_no_graph_of_a_field_that_nobody_names(walk: Callable[..., OperationGraph]) -> None:
    assert walk(chain(4), DatasetField(C, "x")) == OperationGraph({}, {}, {})
    assert walk(chain(4), DatasetField(A, "nowhere")) == OperationGraph({}, {}, {})


@given(operation_sets(), st.integers(0, 8))
def test_connections_are_bounded_and_truncation_is_reported(
    operations: tuple[Operation, ...], connections_max: int
) -> None:
    for target in written_fields(operations):
        full = operation_graph.upstream_graph(operations, target)
        operations_in_set = operation_graph.upstream_graph(
            operations, target, connections_max=connections_max
        )
        assert len(operations_in_set.connections) == min(len(full.connections), connections_max)
        assert operations_in_set.truncated == (len(full.connections) > connections_max)
        assert (
            operations_in_set.connections.items() <= full.connections.items() or operations_in_set.truncated
        )
        assert operations_in_set.nodes.keys() <= full.nodes.keys()


@pytest.mark.slow
def test_a_chain_of_ten_thousand_operations_is_no_recursion() -> None:
    operations = chain(10_000)
    info = lineage.build_lineage(operations)
    source, target = DatasetField(A, "x"), DatasetField(B, "x")
    backward, forward = sets_by_field(info)
    assert backward[target] == forward[source] == 2**10_000 - 1
    assert len(operation_graph.upstream_graph(operations, target).connections) == 9_998
    assert len(operation_graph.downstream_graph(operations, source).connections) == 9_998


@pytest.mark.slow
def test_beyond_a_number_of_operations_no_graph_cells_are_made() -> None:
    assert operations_by_field(lineage.build_lineage(chain(10_001)).operations) == ({}, {})


def test_operations_and_fields_together_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    operations = lineage.build_lineage(all_to_all(4, 10)).operations
    monkeypatch.setattr(operation_sets_module, "BITS_MAX", 6 * 30)
    assert all(operations_by_field(operations))
    monkeypatch.setattr(operation_sets_module, "BITS_MAX", 6 * 30 - 1)
    assert operations_by_field(operations) == ({}, {})


@pytest.mark.slow
def test_five_hundred_all_to_all_transforms_are_no_explosion() -> None:
    operations = all_to_all(500, 100)
    actual = operation_graph.upstream_graph(operations, DatasetField(B, "f0"), connections_max=50_000)
    assert actual.truncated
    assert len(actual.connections) == 50_000
    info = lineage.build_lineage(operations)
    backward, forward = sets_by_field(info)
    assert set(backward.values()) == set(forward.values()) == {2**502 - 1}


def renaming(end_point: Dataset, description: str) -> list[Operation]:
    return [
        Read("read", "", A, "", (Field("x"),)),
        Transform("rename", description, (InputField("read", "x"),), (Field("y"),)),
        Write("write", "", end_point, "", (InputField("rename", "y"),)),
    ]


NEWER, OLDER, OLDEST = "aaaaaaaa" + "0" * 24, "bbbbbbbb" + "0" * 24, "cccccccc" + "0" * 24


def test_merging_keeps_one_of_identical_operations() -> None:
    left = operation_graph.upstream_graph(renaming(B, "same"), DatasetField(B, "y"))
    other = operation_graph.upstream_graph(
        [*renaming(B, "same"), Transform("idle", "", (), ())], DatasetField(B, "y")
    )
    assert operation_graph.merge([(NEWER, left), (OLDER, other)]) == left
    assert operation_graph.merge([(NEWER, left)]) == left
    assert operation_graph.merge([]) == OperationGraph({}, {}, {})


def test_merging_gives_the_newest_the_plain_name() -> None:
    texts = ["new", "old", "oldest", "old"]
    graphs = [operation_graph.upstream_graph(renaming(B, text), DatasetField(B, "y")) for text in texts]
    merged = operation_graph.merge(list(zip([NEWER, OLDER, OLDEST, "d" * 32], graphs, strict=True)))
    descriptions = {name: operation.description for name, operation in merged.operations.items()}
    assert descriptions == {
        "read": "",
        "write": "",
        "rename": "new",
        "rename@bbbbbbbb": "old",
        "rename@cccccccc": "oldest",
    }
    assert merged.connections == {
        (("read", "x"), (name, "y"), name): Influence.DIRECT
        for name in descriptions
        if name.startswith("rename")
    }
    assert merged.nodes["rename@bbbbbbbb", "y"].id == ("rename@bbbbbbbb", "y")


def test_merging_joins_the_destinations_of_a_node() -> None:
    graphs = [
        operation_graph.downstream_graph(renaming(end_point, ""), DatasetField(A, "x"))
        for end_point in (B, C)
    ]
    merged = operation_graph.merge([(NEWER, graphs[0]), (OLDER, graphs[1])])
    assert merged.nodes["rename", "y"].destinations == {B, C}
    assert merged.operations.keys() == {"read", "rename", "write", "write@bbbbbbbb"}


def test_merging_reports_truncation_of_any_graph() -> None:
    full = operation_graph.upstream_graph(renaming(B, ""), DatasetField(B, "y"))
    cut = operation_graph.upstream_graph(renaming(B, ""), DatasetField(B, "y"), connections_max=0)
    assert (full.truncated, cut.truncated) == (False, True)
    assert operation_graph.merge([(NEWER, full), (OLDER, cut)]).truncated


def versions(count: int) -> list[tuple[str, OperationGraph]]:
    """Graphs of contents that differ in one operation, each with a checksum."""
    return [
        (
            f"{number:08x}" + "0" * 24,
            operation_graph.upstream_graph(renaming(B, str(number)), DatasetField(B, "y")),
        )
        for number in range(count)
    ]


def test_merging_stops_before_the_graph_that_exceeds_the_number_of_connections() -> None:
    graphs = versions(5)
    assert [len(graph.connections) for _, graph in graphs] == [1] * 5
    cut = operation_graph.merge(graphs, connections_max=3)
    assert cut.truncated_by == {"connections_max=3"}
    assert replace(cut, truncated_by=frozenset()) == operation_graph.merge(graphs[:3])
    assert not operation_graph.merge(graphs, connections_max=5).truncated
    assert not operation_graph.merge(graphs[:1] * 5, connections_max=1).truncated
    assert operation_graph.merge(graphs, connections_max=0).connections == graphs[0][1].connections


def test_merging_takes_work_for_each_content() -> None:
    small, large = versions(200), versions(5_000)
    calls = count_calls(lambda: operation_graph.merge(small)) / 200
    assert count_calls(lambda: operation_graph.merge(large)) / 5_000 < 1.5 * calls


@given(operation_sets(), operation_sets())
def test_merging_loses_nothing_and_adds_nothing(
    newer: tuple[Operation, ...], older: tuple[Operation, ...]
) -> None:
    for target in written_fields(newer) | written_fields(older):
        graphs = [operation_graph.upstream_graph(operations, target) for operations in (newer, older)]
        merged = operation_graph.merge([(NEWER, graphs[0]), (OLDER, graphs[1])])
        assert graphs[0].operations.items() <= merged.operations.items()
        identities = {identity(operation) for actual in graphs for operation in actual.operations.values()}
        assert {identity(operation) for operation in merged.operations.values()} == identities
        assert len(merged.operations) == len(identities)


def identity(operation: Operation) -> tuple[object, ...]:
    """Name, type, description, end point, inputs and outputs."""
    end = getattr(operation, "source", None) or getattr(operation, "destination", None)
    head = operation.name, type(operation), operation.description, end
    return (*head, inputs_of(operation), outputs_of(operation))


@pytest.mark.parametrize("walk", [operation_graph.upstream_graph, operation_graph.downstream_graph])
def test_an_input_that_is_listed_many_times_counts_once(walk: Callable[..., OperationGraph]) -> None:
    def repeated(times: int) -> list[Operation]:
        outputs = tuple(Field(f"o{number}") for number in range(100))
        return [
            Read("read", "", A, "", (Field("x"),)),
            Transform("t", "", (InputField("read", "x"),) * times, outputs),
            Write("write", "", B, "", tuple(InputField("t", output.name) for output in outputs)),
        ]

    field = DatasetField(B, "o1") if walk is operation_graph.upstream_graph else DatasetField(A, "x")
    once, often = repeated(1), repeated(1_000)
    assert walk(often, field).connections == walk(once, field).connections
    assert count_calls(lambda: walk(often, field)) < count_calls(lambda: walk(once, field)) + 10 * 1_000
