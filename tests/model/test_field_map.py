"""Field maps equal the naive lineage; forward is the inverse of backward."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model import field_relations, lineage
from fll_hbase.model.dataset_lineage import DatasetLineage, DatasetLineageSet, merge_lineages
from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.field_sets import FieldSet, FieldSetResolver
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write
from tests.support import naive_lineage as naive
from tests.support.strategies import FEW_END_POINTS, all_to_all, chain, few_end_points, infos, operation_sets

MANY = 10**9
A, B, C = FEW_END_POINTS


def relations_of(
    info: FieldLineageInfo, end_point: Dataset, *, backward: bool, pairs_max: int = MANY
) -> DatasetLineageSet:
    return field_relations.dataset_relations(
        info.field_map, end_point, backward=backward, pairs_max=pairs_max
    )


def all_relations(info: FieldLineageInfo, *, backward: bool) -> Iterator[DatasetLineage]:
    for end_point in FEW_END_POINTS:
        yield from relations_of(info, end_point, backward=backward).by_datasets.values()


def fields_of(field_map: FieldMap, number: int | None) -> tuple[set[DatasetField], set[DatasetField]]:
    """The direct and the indirect fields of a set; none without a set."""
    if number is None:
        return set(), set()
    members = FieldSetResolver(field_map.sets, range(len(field_map.fields))).members(number)
    assert not set(members.direct) & set(members.indirect)
    return {field_map.fields[n] for n in members.direct}, {field_map.fields[n] for n in members.indirect}


@given(operation_sets())
def test_the_field_map_is_the_sum_of_all_paths(operations: tuple[Operation, ...]) -> None:
    field_map, naive_lineage = lineage.build_lineage(operations).field_map, naive.naive_lineage(operations)
    direct, indirect = set(), set()
    for copy in field_map.copied:
        for name, position in zip(copy.fields, copy.positions, strict=True):
            direct.add((field_map.fields[position], DatasetField(copy.destination, name)))
    for entry in field_map.derived:
        targets = [DatasetField(entry.destination, name) for name in entry.fields]
        direct_fields, indirect_fields = fields_of(field_map, entry.number)
        direct.update(product(direct_fields, targets))
        indirect.update(product(indirect_fields, targets))
    assert direct == naive_lineage.direct
    assert indirect - direct == naive_lineage.indirect - naive_lineage.direct
    assert set(field_map.generated) == naive_lineage.generated
    assert fields_of(field_map, field_map.dropped) == (
        naive_lineage.dropped_direct,
        naive_lineage.dropped_indirect - naive_lineage.dropped_direct,
    )
    dataset_wide = {to: fields_of(field_map, number) for to, number in field_map.dataset_wide}
    assert all(not direct_fields for direct_fields, _ in dataset_wide.values())
    assert {(f, to) for to, (_, fields) in dataset_wide.items() for f in fields} == naive_lineage.dataset_wide


@given(operation_sets())
def test_the_field_map_names_all_ends_and_all_fields_read(operations: tuple[Operation, ...]) -> None:
    field_map = lineage.build_lineage(operations).field_map
    reads = [operation for operation in operations if isinstance(operation, Read)]
    writes = [operation for operation in operations if isinstance(operation, Write)]
    assert field_map.sources == tuple(sorted({read.source for read in reads}))
    assert field_map.destinations == tuple(sorted({write.destination for write in writes}))
    read_fields = {
        DatasetField(read.source, f) for read in reads for f in naive.outputs_of_operation(operations, read)
    }
    assert field_map.fields == tuple(sorted(read_fields))
    assert set(field_map.read_without_fields) == {
        read.source for read in reads if not naive.outputs_of_operation(operations, read)
    }
    assert set(field_map.written_without_fields) == {
        write.destination for write in writes if not write.inputs
    }


@given(infos())
def test_forward_is_the_inverse_of_backward(info: FieldLineageInfo) -> None:
    backward = {rel for rel in all_relations(info, backward=True) if rel.source is not None}
    forward = {rel for rel in all_relations(info, backward=False) if rel.destination is not None}
    assert backward == forward


@given(infos(), few_end_points)
def test_relations_of_an_end_point_are_those_of_its_paths(info: FieldLineageInfo, end_point: Dataset) -> None:
    naive_lineage = naive.naive_lineage(info.operations)
    for ends, relation in relations_of(info, end_point, backward=True).by_datasets.items():
        assert ends == (relation.source, end_point)
        if relation.source is None:
            assert relation.direct == {
                (None, f.name) for f in naive_lineage.generated if f.dataset == end_point
            }
            continue
        assert relation.direct == names_of(naive_lineage.direct, relation)
        assert (
            relation.indirect - relation.direct
            == names_of(naive_lineage.indirect, relation) - relation.direct
        )
        assert relation.dataset_wide == {
            f.name for f, to in naive_lineage.dataset_wide if (f.dataset, to) == (relation.source, end_point)
        }


def names_of(pairs: Iterable[naive.FieldPair], relation: DatasetLineage) -> set[tuple[str, str]]:
    return {
        (source.name, target.name)
        for source, target in pairs
        if (source.dataset, target.dataset) == (relation.source, relation.destination)
    }


@given(infos(), few_end_points)
def test_drops_are_reported_forward_alone(info: FieldLineageInfo, end_point: Dataset) -> None:
    naive_lineage = naive.naive_lineage(info.operations)
    dropped = {field.name for field in naive_lineage.dropped_direct if field.dataset == end_point}
    perhaps = {field.name for field in naive_lineage.dropped_indirect if field.dataset == end_point} - dropped
    actual = relations_of(info, end_point, backward=False).by_datasets.get(
        (end_point, None), DatasetLineage(end_point, None)
    )
    assert actual.direct == {(name, None) for name in dropped}
    assert actual.indirect == {(name, None) for name in perhaps}
    assert all(ends[1] is not None for ends in relations_of(info, end_point, backward=True).by_datasets)


@given(infos(), few_end_points, st.booleans())
def test_a_relation_is_unknown_only_where_it_has_nothing_to_say(
    info: FieldLineageInfo, end_point: Dataset, backward: bool
) -> None:
    field_map = info.field_map
    untold = {
        (source, to)
        for source, to in product(field_map.sources, field_map.destinations)
        if source in field_map.read_without_fields or to in field_map.written_without_fields
    }
    relations = relations_of(info, end_point, backward=backward).by_datasets
    for ends, relation in relations.items():
        is_stated = bool(relation.direct or relation.indirect or relation.dataset_wide)
        assert relation.unknown != is_stated
        assert not relation.unknown or ends in untold
    assert {ends for ends in untold if ends[1 if backward else 0] == end_point} <= relations.keys()


@given(infos(), infos(), infos(), few_end_points, st.booleans())
def test_merging_relations_is_union(
    first: FieldLineageInfo,
    two: FieldLineageInfo,
    three: FieldLineageInfo,
    end_point: Dataset,
    backward: bool,
) -> None:
    a, b, c = (relations_of(info, end_point, backward=backward) for info in (first, two, three))
    merged = merge_lineages([a, b])
    assert merged == merge_lineages([b, a])
    assert merge_lineages([merged, c]) == merge_lineages([a, merge_lineages([b, c])])
    assert merge_lineages([merged, c]) == merge_lineages([a, b, c])
    assert merge_lineages([a, a]) == merge_lineages([a]) == a
    assert merge_lineages([a, DatasetLineageSet({})]) == a
    for ends, relation in merged.by_datasets.items():
        parts = [actual.by_datasets[ends] for actual in (a, b) if ends in actual.by_datasets]
        assert relation.direct == frozenset().union(*(part.direct for part in parts))
        assert relation.indirect == frozenset().union(*(part.indirect for part in parts))
        assert relation.dataset_wide == frozenset().union(*(part.dataset_wide for part in parts))
        assert relation.unknown == any(part.unknown for part in parts)


@given(infos(), few_end_points, st.booleans())
def test_without_indirect_only_direct_pairs_are_left(
    info: FieldLineageInfo, end_point: Dataset, backward: bool
) -> None:
    actual = relations_of(info, end_point, backward=backward)
    left = actual.without_indirect().by_datasets
    assert left.keys() == {ends for ends, rel in actual.by_datasets.items() if rel.direct or rel.unknown}
    for ends, relation in left.items():
        assert (relation.direct, relation.unknown) == (
            actual.by_datasets[ends].direct,
            actual.by_datasets[ends].unknown,
        )
        assert not relation.indirect | relation.dataset_wide


@given(infos(), few_end_points, st.booleans(), st.integers(0, 6))
def test_pairs_are_bounded_and_truncation_is_reported(
    info: FieldLineageInfo, end_point: Dataset, backward: bool, pairs_max: int
) -> None:
    dataset_wide_pairs = relations_of(info, end_point, backward=backward)
    bounded = relations_of(info, end_point, backward=backward, pairs_max=pairs_max)
    assert count(bounded) <= pairs_max
    for ends, relation in bounded.by_datasets.items():
        assert relation.direct <= dataset_wide_pairs.by_datasets[ends].direct
        assert relation.indirect <= dataset_wide_pairs.by_datasets[ends].indirect
    assert bounded.truncated or bounded == dataset_wide_pairs
    assert not dataset_wide_pairs.truncated


def count(relations: DatasetLineageSet) -> int:
    return sum(len(relation.direct) + len(relation.indirect) for relation in relations.by_datasets.values())


def test_a_truncated_answer_stays_truncated_when_merged() -> None:
    info = lineage.build_lineage(all_to_all(1, 3))
    cut = relations_of(info, B, backward=True, pairs_max=8)
    assert cut.truncated
    assert count(cut) == 8
    assert merge_lineages([cut, DatasetLineageSet({})]).truncated_by == {"pairs_max=8"}
    assert merge_lineages([DatasetLineageSet({}), cut]).truncated_by == {"pairs_max=8"}
    assert not relations_of(info, B, backward=True, pairs_max=9).truncated


def test_a_read_wired_to_a_write_maps_each_field_to_itself() -> None:
    input_fields = (InputField("r", "x"), InputField("r", "y"))
    info = lineage.build_lineage(
        [Read("r", "", A, "", (Field("x"), Field("y"))), Write("w", "", B, "", input_fields)]
    )
    assert relations_of(info, B, backward=True).by_datasets[A, B].direct == {("x", "x"), ("y", "y")}


def test_a_transform_couples_every_output_with_every_input() -> None:
    info = lineage.build_lineage(all_to_all(1, 3))
    names = ["f0", "f1", "f2"]
    assert relations_of(info, B, backward=True).by_datasets[A, B].direct == set(product(names, names))


def test_one_indirect_step_makes_the_whole_way_indirect() -> None:
    info = lineage.build_lineage(
        [
            Read("r", "", A, "", (Field("x"), Field("y"))),
            Transform(
                "f",
                "",
                (InputField("r", "x", Influence.INDIRECT, "filter"), InputField("r", "y")),
                (Field("z"),),
            ),
            Write("w", "", B, "", (InputField("f", "z"), InputField("r", "x", Influence.INDIRECT, "sort"))),
        ]
    )
    relation = relations_of(info, B, backward=True).by_datasets[A, B]
    assert relation.direct == {("y", "z")}
    assert relation.indirect == {("x", "z")}
    assert relation.dataset_wide == {"x"}


def test_a_drop_whose_output_is_taken_unlisted_is_no_drop() -> None:
    info = lineage.build_lineage(
        [
            Read("r", "", A, "", (Field("x"),)),
            Transform("t", "", (InputField("r", "x"),), ()),
            Write("w", "", B, "", (InputField("t", "unlisted"),)),
        ]
    )
    assert set(relations_of(info, A, backward=False).by_datasets) == {(A, B)}


def test_a_field_dropped_directly_and_indirectly_is_dropped_directly() -> None:
    info = lineage.build_lineage(
        [
            Read("r", "", A, "", (Field("x"), Field("y"))),
            Transform("d1", "", (InputField("r", "x"),), ()),
            Transform(
                "d2",
                "",
                (InputField("r", "x", Influence.INDIRECT), InputField("r", "y", Influence.INDIRECT)),
                (),
            ),
            Write("w", "", B, "", ()),
        ]
    )
    dropped = relations_of(info, A, backward=False).by_datasets[A, None]
    assert (dropped.direct, dropped.indirect) == ({("x", None)}, {("y", None)})


def test_a_dropped_generated_field_has_no_pair() -> None:
    info = lineage.build_lineage(
        [
            Read("r", "", A, "", (Field("x"),)),
            Transform("g", "", (), (Field("made"),)),
            Transform("d", "", (InputField("g", "made"),), ()),
            Write("w", "", B, "", (InputField("r", "x"), InputField("g", "made"))),
        ]
    )
    assert relations_of(info, A, backward=False).by_datasets.keys() == {(A, B)}
    assert relations_of(info, B, backward=True).by_datasets[None, B].direct == {(None, "made")}


@pytest.mark.slow
def test_a_chain_of_ten_thousand_operations_is_no_recursion() -> None:
    info = lineage.build_lineage(chain(10_000))
    assert relations_of(info, B, backward=True).by_datasets == {
        (A, B): DatasetLineage(A, B, direct=frozenset({("x", "x")}))
    }


def test_five_hundred_all_to_all_transforms_are_no_explosion() -> None:
    info = lineage.build_lineage(all_to_all(500, 100))
    (entry,) = info.field_map.derived
    assert info.field_map.sets == (FieldSet(tuple(range(100))),)
    assert len(entry.fields) == 100
    assert len(relations_of(info, A, backward=False).by_datasets[A, B].direct) == 10_000


@given(operation_sets(), st.data())
def test_the_field_map_ignores_the_order_of_operations(
    operations: tuple[Operation, ...], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(operations))
    assert lineage.build_lineage(shuffled) == lineage.build_lineage(operations)


@given(infos())
def test_all_relations_are_those_of_each_end(info: FieldLineageInfo) -> None:
    expected = DatasetLineageSet({})
    for end_point in FEW_END_POINTS:
        for backward in (True, False):
            expected = merge_lineages([expected, relations_of(info, end_point, backward=backward)])
    assert field_relations.all_relations(info.field_map, pairs_max=MANY) == expected


@pytest.mark.parametrize("backward", [True, False])
def test_influences_on_whole_datasets_count_as_pairs(backward: bool) -> None:
    names = [f"f{number}" for number in range(20)]
    inputs = tuple(InputField("read", name, Influence.INDIRECT) for name in names)
    info = lineage.build_lineage(
        [
            Read("read", "", A, "", tuple(map(Field, names))),
            Write("write", "", B, "", (InputField("read", "f0"), *inputs)),
        ]
    )
    cut = relations_of(info, B if backward else A, backward=backward, pairs_max=5)
    assert (cut.truncated, cut.size) == (True, 5)
    assert cut.by_datasets.keys() == {(A, B)}
    only = relations_of(info, B if backward else A, backward=backward, pairs_max=1)
    assert (only.truncated, only.size) == (True, 1)
    assert not relations_of(info, B if backward else A, backward=backward, pairs_max=21).truncated


@given(infos(), st.integers(0, 6))
def test_a_relation_that_is_cut_has_the_first_pairs(info: FieldLineageInfo, pairs_max: int) -> None:
    for relation in all_relations(info, backward=True):
        cut = relation.cut(pairs_max)
        assert cut.size == min(relation.size, pairs_max)
        assert cut.direct <= relation.direct
        assert cut.indirect <= relation.indirect
        assert cut.dataset_wide <= relation.dataset_wide
        assert relation.cut(relation.size) == relation


class TestMayUseMore:
    """Whether further fields of a dataset may be read or written than those that the operations name."""

    READ_A = Read("a", "", A, "", (Field("x"),))
    READ_B = Read("b", "", B, "", ())
    WRITE_C = Write("c", "", C, "", (InputField("a", "x"),))

    def test_all_fields_are_known(self) -> None:
        field_map = lineage.build_lineage([self.READ_A, self.WRITE_C]).field_map
        assert not field_map.may_read_more(A)
        assert not field_map.may_write_more(C)

    def test_without_fields(self) -> None:
        field_map = lineage.build_lineage_lenient([self.READ_B]).field_map
        assert field_map.may_read_more(B)
        assert not field_map.may_read_more(A)
        assert lineage.build_lineage_lenient([Write("c", "", C, "", ())]).field_map.may_write_more(C)

    def test_with_a_destination_or_source_without_fields(self) -> None:
        unknown_columns = [self.READ_A, self.WRITE_C, Write("d", "", B, "", ())]
        assert lineage.build_lineage(unknown_columns).field_map.may_read_more(A)
        assert lineage.build_lineage([self.READ_A, self.READ_B, self.WRITE_C]).field_map.may_write_more(C)

    def test_stated_origins_alone_count(self) -> None:
        read_c = Read("more", "", C, "", (Field("y"),))
        write = Write("c", "", B, "", (InputField("a", "x"),), ("a",))
        field_map = lineage.build_lineage([self.READ_A, read_c, write]).field_map
        assert field_map.may_read_more(A)
        assert not field_map.may_read_more(C)
        assert field_map.may_write_more(B)
