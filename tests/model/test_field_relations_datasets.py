"""Fields of datasets, related fields and operations of one field are those of pairs and graphs."""

from __future__ import annotations

from hypothesis import given

from fll_hbase.model import field_relations, lineage, operation_graph
from fll_hbase.model.dataset_lineage import FieldPair
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.field_relations import (
    operations_from,
    operations_into,
    read_fields,
    related_fields,
    written_fields,
)
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import inputs_of
from tests.support.strategies import FEW_END_POINTS, all_to_all, infos
from tests.support.work import count_calls


def pairs(
    info: FieldLineageInfo, dataset: Dataset, *, backward: bool
) -> set[tuple[Dataset | None, FieldPair]]:
    """Direct and indirect pairs of a dataset, each with the dataset at its other end."""
    related = field_relations.dataset_relations(info.field_map, dataset, backward=backward, pairs_max=10**9)
    return {
        (source if backward else destination, pair)
        for (source, destination), relation in related.by_datasets.items()
        for pair in relation.direct | relation.indirect
    }


@given(infos())
def test_fields_and_related_fields_are_those_of_the_pairs(info: FieldLineageInfo) -> None:
    for dataset in FEW_END_POINTS:
        for backward in (True, False):
            listed = pairs(info, dataset, backward=backward)
            fields = {pair[1] if backward else pair[0] for _, pair in listed}
            if backward:
                assert written_fields(info.field_map, dataset) == fields
            else:
                assert read_fields(info.field_map, dataset) >= fields
            for name in fields:
                expected = {
                    DatasetField(other, field)
                    for other, pair in listed
                    if pair[1 if backward else 0] == name
                    and (field := pair[0 if backward else 1]) is not None
                    and other is not None
                }
                assert name is not None
                field = DatasetField(dataset, name)
                assert set(related_fields(info.field_map, field, backward=backward)) == expected


@given(infos())
def test_operations_of_a_field_are_those_of_its_graph_in_an_order_that_can_run(
    info: FieldLineageInfo,
) -> None:
    for dataset in FEW_END_POINTS:
        for name in written_fields(info.field_map, dataset):
            field = DatasetField(dataset, name)
            operations = operations_into(info.operations, field)
            graph = operation_graph.upstream_graph(info.operations, field)
            assert {operation.name for operation in operations} == set(graph.operations)
            ranks = {operation.name: rank for rank, operation in enumerate(operations)}
            assert all(
                ranks[item.origin] < ranks[operation.name]
                for operation in operations
                for item in inputs_of(operation)
                if item.origin in ranks
            )
        for name in read_fields(info.field_map, dataset):
            field = DatasetField(dataset, name)
            graph = operation_graph.downstream_graph(info.operations, field)
            names = {operation.name for operation in operations_from(info.operations, field)}
            assert names == set(graph.operations)


def test_a_field_of_many_costs_its_operations_and_not_their_pairs() -> None:
    calls = []
    for fields in (100, 400):
        info = lineage.build_lineage(all_to_all(5, fields))
        (source,), (destination,) = info.sources, info.destinations
        name = min(written_fields(info.field_map, destination))

        def read(
            info: FieldLineageInfo = info,
            source: Dataset = source,
            to: Dataset = destination,
            name: str = name,
        ) -> None:
            assert len(set(related_fields(info.field_map, DatasetField(to, name), backward=True))) > 1
            assert len(operations_into(info.operations, DatasetField(to, name))) == 7
            first = min(read_fields(info.field_map, source))
            assert len(operations_from(info.operations, DatasetField(source, first))) == 7

        calls.append(count_calls(read))
    assert calls[1] < 5 * calls[0]
