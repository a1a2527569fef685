"""Edges of a field map are the pairs of its dataset relations."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given

from fll_hbase.model import field_relations, lineage
from fll_hbase.model.dataset_lineage import DatasetLineage
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.field_relations import FieldEdge
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import Influence, Read, Write
from tests.support.strategies import FEW_END_POINTS, infos


def edges_of(relations: Iterable[DatasetLineage]) -> set[FieldEdge]:
    """Convert relations to edges."""
    actual = set()
    for first in relations:
        for pairs, influence in ((first.direct, Influence.DIRECT), (first.indirect, Influence.INDIRECT)):
            actual |= {
                FieldEdge(first.source, start, first.destination, end, influence) for start, end in pairs
            }
        actual |= {
            FieldEdge(first.source, name, first.destination, None, Influence.INDIRECT)
            for name in first.dataset_wide
        }
        if first.unknown:
            actual.add(FieldEdge(first.source, None, first.destination, None, None))
    return actual


def related(info: FieldLineageInfo, end_point: Dataset, *, backward: bool) -> set[FieldEdge]:
    actual = field_relations.dataset_relations(info.field_map, end_point, backward=backward, pairs_max=10**9)
    return edges_of(actual.by_datasets.values())


@given(infos())
def test_edges_at_an_end_point_are_its_relations(info: FieldLineageInfo) -> None:
    for end_point in FEW_END_POINTS:
        into = list(field_relations.edges_into(info.field_map, end_point))
        assert len(set(into)) == len(into)
        assert set(into) == related(info, end_point, backward=True)
        out = list(field_relations.edges_out_of(info.field_map, end_point))
        assert len(set(out)) == len(out)
        assert set(out) == related(info, end_point, backward=False)


@given(infos())
def test_every_edge_is_yielded_once(info: FieldLineageInfo) -> None:
    actual = list(field_relations.iter_edges(info.field_map))
    assert len(set(actual)) == len(actual)
    assert set(actual) == {
        edge
        for backward in (True, False)
        for end_point in FEW_END_POINTS
        for edge in related(info, end_point, backward=backward)
    }


def test_ends_that_are_related_nobody_knows_how() -> None:
    first, other = FEW_END_POINTS[:2]
    info = lineage.build_lineage([Read("r", "", first, "", (Field("x"),)), Write("w", "", other, "", ())])
    assert list(field_relations.iter_edges(info.field_map)) == [FieldEdge(first, None, other, None, None)]


def test_nothing_ends_where_nothing_is_written() -> None:
    first, other = FEW_END_POINTS[:2]
    info = lineage.build_lineage([Read("r", "", first, "", ()), Write("w", "", first, "", ())])
    assert list(field_relations.edges_into(info.field_map, other)) == []
    assert list(field_relations.edges_out_of(info.field_map, other)) == []
