"""Simple views have the ends of the full graph and all transforms between; derivation signatures."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model import operation_graph, simple_view
from fll_hbase.model.datasets import DatasetField, Field
from fll_hbase.model.operation_graph import NodeId, OperationGraph, OperationPath
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write
from tests.support.graph_ends import read_fields, start_nodes, start_writes, written_fields
from tests.support.graph_paths import could_have_run, paths
from tests.support.sized_operations import all_to_all as all_fields_to_all
from tests.support.sized_operations import copy, fan_out, rename, running_total
from tests.support.strategies import FEW_END_POINTS, all_to_all, chain, operation_sets
from tests.support.work import count_calls

A, B, C = FEW_END_POINTS


def way(graph: OperationGraph, start: NodeId, end: NodeId) -> tuple[set[str], Influence] | None:
    """All operations on any path, and whether one path is direct from end to end; None without a path."""
    between = list(paths(graph, start, end))
    if not between:
        return None
    direct = any(all(influence is Influence.DIRECT for _, influence in path) for path in between)
    operations = {operation for path in between for operation, _ in path}
    return operations, Influence.DIRECT if direct else Influence.INDIRECT


def expected(
    full: OperationGraph, starts: set[NodeId], ends: set[NodeId]
) -> dict[tuple[NodeId, NodeId], object]:
    graph = {(s, e): way(full, s, e) for s in starts for e in ends if s != e}
    return {between: expected_path for between, expected_path in graph.items() if expected_path}


def path_sets(simple: OperationGraph) -> dict[tuple[NodeId, NodeId], tuple[set[str], Influence]]:
    return {ends: (set(graph.operations), graph.influence) for ends, graph in simple.paths.items()}


@given(operation_sets(), st.booleans())
def test_simple_backward_keeps_sources_and_all_on_any_way(
    operations: tuple[Operation, ...], indirect: bool
) -> None:
    for target in written_fields(operations):
        full = operation_graph.upstream_graph(operations, target, indirect=indirect)
        simple = simple_view.upstream_simple_view(operations, target, indirect=indirect)
        targets = set(start_writes(operations, target))
        sources = {node.id for node in full.nodes.values() if node.source}
        assert path_sets(simple) == expected(full, sources, targets)
        assert simple.nodes == {node_id: full.nodes[node_id] for node_id in sources | targets}
        assert simple.operations == full.operations
        assert not simple.connections
        assert all(could_have_run(simple.operations, graph.operations) for graph in simple.paths.values())


@given(operation_sets(), st.booleans())
def test_simple_forward_keeps_destinations_and_all_on_any_way(
    operations: tuple[Operation, ...], indirect: bool
) -> None:
    for origin in read_fields(operations):
        full = operation_graph.downstream_graph(operations, origin, indirect=indirect)
        simple = simple_view.downstream_simple_view(operations, origin, indirect=indirect)
        targets = set(start_nodes(operations, origin))
        written = {node.id for node in full.nodes.values() if node.destinations}
        assert path_sets(simple) == expected(full, targets, written)
        assert simple.nodes == {node_id: full.nodes[node_id] for node_id in written | targets}
        assert simple.operations == full.operations
        assert not simple.connections
        assert all(could_have_run(simple.operations, graph.operations) for graph in simple.paths.values())


def test_a_field_that_was_only_used_to_filter_is_there_without_indirect_steps_too() -> None:
    filtering = (InputField("r", "unlisted", Influence.INDIRECT, "filter"),)
    operations = [Read("r", "", A, "", ()), Write("w", "", B, "", filtering)]
    origin = DatasetField(A, "unlisted")
    full = operation_graph.downstream_graph(operations, origin, indirect=False)
    assert list(full.nodes) == [("r", "unlisted")]
    assert simple_view.downstream_simple_view(operations, origin, indirect=False).nodes == full.nodes


def test_a_read_wired_to_a_write_is_one_node_and_no_way() -> None:
    operations = [Read("r", "", A, "", (Field("x"),)), Write("w", "", B, "", (InputField("r", "x"),))]
    for simple in (
        simple_view.upstream_simple_view(operations, DatasetField(B, "x")),
        simple_view.downstream_simple_view(operations, DatasetField(A, "x")),
    ):
        assert (list(simple.nodes), simple.paths) == ([("r", "x")], {})
        assert simple.nodes["r", "x"].destinations == {B}


@pytest.mark.slow
def test_a_chain_of_ten_thousand_operations_is_no_recursion() -> None:
    operations = chain(10_000)
    ends = ("t0", "x"), ("t9998", "x")
    back = simple_view.upstream_simple_view(operations, DatasetField(B, "x"))
    forth = simple_view.downstream_simple_view(operations, DatasetField(A, "x"))
    assert (
        back.paths
        == forth.paths
        == {ends: OperationPath(tuple(f"t{n}" for n in range(1, 9_999)), Influence.DIRECT)}
    )


@pytest.mark.slow
def test_five_hundred_all_to_all_transforms_are_no_explosion() -> None:
    operations = all_to_all(500, 100)
    simple = simple_view.upstream_simple_view(operations, DatasetField(B, "f0"))
    assert len(simple.paths) == 100
    assert {len(graph.operations) for graph in simple.paths.values()} == {500}
    assert len(simple_view.downstream_simple_view(operations, DatasetField(A, "f0")).paths) == 100


ENDS = ("read", "x"), ("write", "x")


def graph_of_path(influence: Influence, *names: str) -> OperationGraph:
    """A simple view with one path; operations of one name are the same."""
    return OperationGraph(
        {name: Transform(name, "", (), ()) for name in names}, {}, {}, {ENDS: OperationPath(names, influence)}
    )


def merged_path(*graphs: OperationGraph) -> OperationPath:
    """The path of graphs that are given newest first."""
    return operation_graph.merge([(f"{number:032x}", graph) for number, graph in enumerate(graphs)]).paths[
        ENDS
    ]


def test_merging_ways_keeps_an_order_that_could_have_run() -> None:
    newer = graph_of_path(Influence.INDIRECT, *"acd")
    older = graph_of_path(Influence.DIRECT, *"abce")
    assert merged_path(newer, older) == OperationPath(tuple("abcde"), Influence.DIRECT)
    assert merged_path(newer, newer) == merged_path(newer) == OperationPath(tuple("acd"), Influence.INDIRECT)
    oldest = graph_of_path(Influence.INDIRECT, *"xyazbw")
    assert merged_path(newer, older, oldest) == OperationPath(tuple("xyazbcdew"), Influence.DIRECT)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1_000, 20_000])
def test_merging_ways_takes_work_for_each_content(count: int) -> None:
    def merge_versions(number_of_contents: int) -> None:
        """Each content has one transform of its own between two that all have."""
        graphs = [graph_of_path(Influence.DIRECT, "a", f"v{n}", "c") for n in range(number_of_contents)]
        assert len(merged_path(*graphs).operations) == number_of_contents + 2

    calls = count_calls(lambda: merge_versions(10)) / 10
    assert count_calls(lambda: merge_versions(count)) / count < 1.5 * calls


@pytest.mark.parametrize("count", [10, 1_000, 50_000])
def test_merging_long_ways_takes_work_for_each_operation(count: int) -> None:
    names = [f"t{number}" for number in range(count)]
    graphs = [graph_of_path(Influence.DIRECT, *chosen) for chosen in (names[::2], names)]
    assert merged_path(*graphs).operations == tuple(names)
    assert count_calls(lambda: merged_path(*graphs)) < 20 * count + 100


def test_merging_ways_stops_before_the_content_that_names_too_many_operations() -> None:
    graphs = [
        (f"{n:08x}" + "0" * 24, graph_of_path(Influence.DIRECT, "a", f"v{n}", f"w{n}")) for n in range(5)
    ]
    cut = operation_graph.merge(graphs, connections_max=5)
    assert cut.truncated_by == {"connections_max=5"}
    assert set(cut.paths[ENDS].operations) == {"a", "v0", "w0", "v1", "w1"}
    assert not operation_graph.merge(graphs, connections_max=11).truncated
    assert len(operation_graph.merge(graphs, connections_max=0).paths[ENDS].operations) == 3


def written_chain(count: int) -> list[Operation]:
    """A chain of transforms, the field of each of which is written."""
    names = [f"t{number:05}" for number in range(count)]
    transforms = [
        Transform(name, "", (InputField(previous, previous),), (Field(name),))
        for previous, name in pairwise(["read", *names])
    ]
    inputs = tuple(InputField(name, name) for name in names)
    return [Read("read", "", A, "", (Field("read"),)), *transforms, Write("write", "", B, "", inputs)]


def written_often(count: int) -> list[Operation]:
    """As many transforms of no source, each of which uses the one before and is written to one field."""
    names = [f"t{number:05}" for number in range(count)]
    transforms = [Transform(names[0], "", (), (Field("x"),))]
    transforms += [
        Transform(name, "", (InputField(previous, "x"),), (Field("x"),)) for previous, name in pairwise(names)
    ]
    writes = [Write(f"w{name}", "", B, "", (InputField(name, "x"),)) for name in names]
    return [Read("read", "", A, "", ()), *transforms, *writes]


CONNECTIONS_MAX, STEPS_MAX = 50_000, 100_000
Shape = Callable[[int], list[Operation]]


def simple_views(operations: list[Operation]) -> list[OperationGraph]:
    """Both views of the first field read and of the last field written, as far as there are any."""
    limits = {"connections_max": CONNECTIONS_MAX, "steps_max": STEPS_MAX}
    read, write = operations[0], operations[-1]
    assert isinstance(read, Read)
    assert isinstance(write, Write)
    target = DatasetField(write.destination, write.inputs[-1].name)
    views = [simple_view.upstream_simple_view(operations, target, **limits)]
    for output in read.outputs[:1]:
        origin = DatasetField(read.source, output.name)
        views.append(simple_view.downstream_simple_view(operations, origin, **limits))
    return views


SHAPES = [written_chain, running_total, all_fields_to_all, fan_out, rename, copy]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "count"),
    [
        *((shape, count) for shape in SHAPES for count in (10, 1_000)),
        (written_chain, 10_000),
        *(pytest.param(shape, 10_000, marks=pytest.mark.long) for shape in SHAPES[1:]),
        pytest.param(written_chain, 50_000, marks=pytest.mark.long),
    ],
)
def test_simple_views_take_work_for_operations_and_for_what_they_list(shape: Shape, count: int) -> None:
    operations = shape(count)
    views: list[OperationGraph] = []
    calls = count_calls(lambda: views.extend(simple_views(operations)))
    listed = sum(len(path.operations) for view in views for path in view.paths.values())
    assert listed <= len(views) * CONNECTIONS_MAX
    assert calls < 250 * count + 6 * listed + 1_000


@pytest.mark.parametrize("count", [10, 1_000, 10_000])
def test_simple_views_that_list_little_take_a_number_of_steps(count: int) -> None:
    operations = written_often(count)
    views: list[OperationGraph] = []
    assert count_calls(lambda: views.extend(simple_views(operations))) < 200 * count + 15 * STEPS_MAX
    assert views[0].truncated_by == (set() if count == 10 else {f"steps_max={STEPS_MAX}"})


@pytest.mark.parametrize(
    ("shape", "truncated"), [(written_chain, (False, True)), (running_total, (True, False))]
)
def test_simple_views_that_are_cut_have_whole_ways(shape: Shape, truncated: tuple[bool, bool]) -> None:
    views, complete = simple_views(shape(1_000)), simple_views(shape(300))
    for view, small, is_truncated in zip(views, complete, truncated, strict=True):
        assert view.truncated_by == ({f"connections_max={CONNECTIONS_MAX}"} if is_truncated else set())
        assert not small.truncated
        assert {node for ends in view.paths for node in ends} == view.nodes.keys()
        assert all(could_have_run(view.operations, path.operations) for path in view.paths.values())
        listed = sum(len(path.operations) for path in view.paths.values())
        assert CONNECTIONS_MAX - 1_000 < listed <= CONNECTIONS_MAX or not is_truncated


def test_one_way_is_complete_however_long() -> None:
    operations = chain(100)
    for connections_max, steps_max in ((5, 10**9), (10**9, 5)):
        view = simple_view.downstream_simple_view(
            operations, DatasetField(A, "x"), connections_max=connections_max, steps_max=steps_max
        )
        assert len(view.paths) == 1
        assert not view.truncated
