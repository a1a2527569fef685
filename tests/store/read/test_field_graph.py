"""The graph has the edges of field maps, whatever was asked before, and one node for each field."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model import field_relations, lineage
from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import Influence
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import Direction
from fll_hbase.runtime import deadline
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.components import StoreComponents, build_components
from fll_hbase.store.endpoints import ContentEndpoints
from fll_hbase.store.read import field_graph
from fll_hbase.store.read.field_graph import Node, Steps
from fll_hbase.tables import open_table
from tests.support import strategies

Edge = tuple[DatasetField, DatasetField | None, Influence | None]
"""The field at which an edge was looked up, that at its other end, None if it was dropped, and how."""


def due(
    info: FieldLineageInfo, direction: Direction, dataset: Dataset, names: frozenset[str] | None
) -> Counter[Edge]:
    """The edges at fields of a dataset, by looking at all edges."""
    listed: Counter[Edge] = Counter()
    for edge in field_relations.iter_edges(info.field_map):
        source = (
            None if edge.source is None else DatasetField(edge.source, edge.source_field or WHOLE_DATASET)
        )
        destination = None
        if edge.destination is not None:
            destination = DatasetField(edge.destination, edge.destination_field or WHOLE_DATASET)
        near, far = (destination, source) if direction is Direction.BACKWARD else (source, destination)
        if near is None or near.dataset != dataset or source is None:
            continue
        if names is None or near.name in names:
            listed[near, far, edge.influence if far else None] = 1
    return listed


def edges(steps: Iterable[tuple[Node, Steps]]) -> Counter[Edge]:
    listed: Counter[Edge] = Counter()
    for near, (direct, indirect, unknown, is_dropped) in steps:
        listed.update((near.field, far.field, Influence.DIRECT) for far in direct)
        listed.update((near.field, far.field, Influence.INDIRECT) for far in indirect)
        listed.update((near.field, far.field, None) for far in unknown)
        if is_dropped:
            listed[near.field, None, None] = 1
    return listed


def recorded(info: FieldLineageInfo) -> StoreComponents:
    components = build_components(open_table("sqlite:///:memory:"), Settings())
    components.committer.record([RecordedRun(ProgramRun("ns", "app", "", "type", "p", "run", 1), info)])
    return components


@pytest.mark.parametrize("edges_max", [field_graph.EDGES_MAX, 3])
@given(info=strategies.infos(), data=st.data())
def test_steps_are_the_edges_of_the_field_map(
    info: FieldLineageInfo, data: st.DataObject, edges_max: int
) -> None:
    components = recorded(info)
    ends = list(ContentEndpoints(info.checksum, info.sources, info.destinations).by_direction())
    with pytest.MonkeyPatch.context() as patch, closing(components.table):
        patch.setattr(field_graph, "EDGES_MAX", edges_max)
        for direction, dataset in data.draw(st.lists(st.sampled_from(ends), min_size=1, max_size=6)):
            fields = {edge[0].name for edge in due(info, direction, dataset, None)} | {WHOLE_DATASET, "other"}
            names = data.draw(st.none() | st.frozensets(st.sampled_from(sorted(fields)), min_size=1))
            nodes = names and [components.graph.node(DatasetField(dataset, name)) for name in sorted(names)]
            steps = components.graph.steps(info.checksum, direction, dataset, nodes)
            assert edges(steps) == due(info, direction, dataset, names)


def test_a_field_has_one_node_as_long_as_something_refers_to_it() -> None:
    components = recorded(lineage.build_lineage(strategies.chain(3)))
    with closing(components.table):
        graph, field = components.graph, DatasetField(Dataset("ns", "t"), "x")
        node = graph.node(field)
        assert graph.node(field) is node
        assert graph.node(DatasetField(field.dataset, WHOLE_DATASET)) is node.dataset_node
        del node
        gc.collect()
        assert not graph.nodes


def test_steps_end_at_the_deadline() -> None:
    info = lineage.build_lineage(strategies.chain(3))
    components = recorded(info)
    with closing(components.table), deadline.limited(0.0), pytest.raises(DeadlineExceeded):
        components.graph.steps(info.checksum, Direction.BACKWARD, info.destinations[0], None)
