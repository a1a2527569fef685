"""Are edges, one by one, the pairs that relations tell as sets?"""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from strategies import FEW_END_POINTS, infos

from fll_hbase.model import field_relations, lineage
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.field_relations import DatasetLineage, FieldEdge
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import Influence, Read, Write


def told(relations: Iterable[DatasetLineage]) -> set[FieldEdge]:
    """What relations say, as edges."""
    found = set()
    for one in relations:
        for pairs, influence in ((one.direct, Influence.DIRECT), (one.indirect, Influence.INDIRECT)):
            found |= {FieldEdge(one.source, start, one.destination, end, influence) for start, end in pairs}
        found |= {FieldEdge(one.source, name, one.destination, None, Influence.INDIRECT) for name in one.dataset_wide}
        if one.unknown:
            found.add(FieldEdge(one.source, None, one.destination, None, None))
    return found


def related(info: FieldLineageInfo, end_point: Dataset, *, backward: bool) -> set[FieldEdge]:
    found = field_relations.dataset_relations(info.field_map, end_point, backward=backward, pairs_max=10**9)
    return told(found.by_datasets.values())


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
def test_every_edge_is_told_once(info: FieldLineageInfo) -> None:
    found = list(field_relations.iter_edges(info.field_map))
    assert len(set(found)) == len(found)
    assert set(found) == {
        edge
        for backward in (True, False)
        for end_point in FEW_END_POINTS
        for edge in related(info, end_point, backward=backward)
    }


def test_ends_that_are_related_nobody_knows_how() -> None:
    one, other = FEW_END_POINTS[:2]
    info = lineage.build_lineage([Read("r", "", one, "", (Field("x"),)), Write("w", "", other, "", ())])
    assert list(field_relations.iter_edges(info.field_map)) == [FieldEdge(one, None, other, None, None)]


def test_nothing_ends_where_nothing_is_written() -> None:
    one, other = FEW_END_POINTS[:2]
    info = lineage.build_lineage([Read("r", "", one, "", ()), Write("w", "", one, "", ())])
    assert list(field_relations.edges_into(info.field_map, other)) == []
    assert list(field_relations.edges_out_of(info.field_map, other)) == []
