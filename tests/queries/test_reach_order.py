"""A causal walk reaches the fields and edges that are in order, in any history with any aliases."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.datasets import WHOLE_DATASET, DatasetField, DatasetMetadata
from fll_hbase.model.window import BOTH, Direction, Window
from fll_hbase.queries import reach_formats
from fll_hbase.queries.reach import ReachAnswer, reach_answer, read_reach
from fll_hbase.runtime.errors import NotFound
from fll_hbase.store.query_parameters import ReachQuery
from fll_hbase.store.results import Reach, ReachEdge
from tests.support.reach_histories import DATASETS, FIELDS, NOON_MS, histories, queries, store_of
from tests.support.reach_oracle import Edge, Run

aliases = st.lists(st.sampled_from(DATASETS), max_size=3, unique=True)


def edges(body: ReachAnswer) -> set[tuple[str, str, str | None]]:
    return {(str(edge.source), str(edge.destination), edge.direction) for edge in body.edges if edge.in_order}


def nodes(body: ReachAnswer) -> set[tuple[str, str]]:
    return {(node.name, node.field) for node in body.nodes if node.in_order}


@given(history=histories, query=queries, names=aliases)
def test_what_is_in_order_is_what_is_causal(history: list[Run], query: ReachQuery, names: list[Any]) -> None:
    with store_of(history) as store:
        if len(names) > 1:
            store.put_metadata([DatasetMetadata(names[0], aliases=tuple(names[1:]))])
        try:
            plain, causal = (
                read_reach(store, replace(query, causal=causal), BOTH) for causal in (False, True)
            )
        except NotFound:
            return
    assert all(item.in_order for item in (*causal.nodes, *causal.edges))
    assert edges(plain) == edges(causal)
    assert nodes(plain) == nodes(causal)


def test_a_field_that_has_one_direction_alone_is_in_order() -> None:
    """A field that no run has, of a dataset that is influenced as a whole: forward it is not recorded."""
    field = DatasetField(FIELDS[0].dataset, "other")
    influence = Edge(FIELDS[-1], DatasetField(field.dataset, WHOLE_DATASET), False)
    with store_of([Run("1", NOON_MS, (influence,))]) as store:
        body = read_reach(store, ReachQuery(field, Window(NOON_MS, NOON_MS + 1)), BOTH)
    assert nodes(body) == {(end.dataset.name, end.name) for end in (field, *influence[:2])}


def test_order_that_is_not_known_is_left_out_and_looks_like_order() -> None:
    """As where the time of the request ended before it was known."""
    source, destination = FIELDS[:2]
    result = Reach({destination: 0, source: 1}, (ReachEdge(source, destination, True, None),))
    body = reach_answer({Direction.BACKWARD: result})
    assert all(item.in_order is None for item in (*body.nodes, *body.edges))
    assert b"inOrder" not in msgspec.json.encode(body)
    (row,) = csv.DictReader(io.StringIO(reach_formats.to_csv(body)))
    assert row["inOrder"] == ""
    assert '<data key="edge-inOrder">' not in reach_formats.to_graphml(body)
    assert "not in order" not in reach_formats.to_mermaid(body)
