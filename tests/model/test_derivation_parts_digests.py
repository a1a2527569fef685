"""Digests of derivations differ exactly where their signatures do, at the price of the operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model import operation_graph
from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.derivation_parts import derivation_digests, field_digest
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write
from tests.support.derivation_signature import derivation_signature
from tests.support.graph_ends import written_fields
from tests.support.sized_operations import all_to_all, copy, fan_out, rename, running_total
from tests.support.strategies import FEW_END_POINTS, operation_sets, two_versions
from tests.support.work import count_calls

A, B, C = FEW_END_POINTS


def digests(operations: tuple[Operation, ...], *, indirect: bool) -> dict[DatasetField, str]:
    """The digest of every field that is written."""
    datasets: set[Dataset] = {field.dataset for field in written_fields(operations)}
    return {
        DatasetField(dataset, name): digest
        for dataset in datasets
        for name, digest in derivation_digests(operations, dataset, indirect=indirect).items()
    }


@given(two_versions(), st.booleans())
def test_digests_are_equal_where_signatures_are(
    versions: tuple[tuple[Operation, ...], tuple[Operation, ...]], indirect: bool
) -> None:
    first, second = (digests(version, indirect=indirect) for version in versions)
    for listed, operations in zip((first, second), versions, strict=True):
        assert listed.keys() == written_fields(operations)
    for field in first.keys() & second.keys():
        signatures = [derivation_signature(version, field, indirect=indirect) for version in versions]
        assert (first[field] == second[field]) is (signatures[0] == signatures[1])


@pytest.mark.parametrize("shape", [copy, rename, all_to_all, running_total, fan_out])
def test_the_work_follows_the_operations(shape: Callable[[int], list[Operation]]) -> None:
    def work(count: int) -> int:
        operations = shape(count)
        return count_calls(lambda: derivation_digests(operations, B, indirect=True))

    assert work(2_000) < 15 * work(200)


@given(operation_sets(), st.data())
def test_a_digest_ignores_the_order_of_operations(
    operations: tuple[Operation, ...], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(operations))
    for target in written_fields(operations):
        assert digest_of(shuffled, target) == digest_of(operations, target)


@given(operation_sets())
def test_a_digest_changes_with_what_leads_into_the_field_alone(operations: tuple[Operation, ...]) -> None:
    for target in written_fields(operations):
        digest = digest_of(operations, target)
        leading = operation_graph.upstream_graph(operations, target).operations
        for operation in operations:
            changed = digest_of(with_other(operations, operation.name, with_other_description), target)
            assert (changed != digest) == (operation.name in leading)
            beside = digest_of(with_other(operations, operation.name, with_a_column_more), target)
            assert beside == digest


def digest_of(operations: Sequence[Operation], target: DatasetField) -> str:
    return field_digest(operations, target, indirect=True)


def with_other(
    operations: tuple[Operation, ...], name: str, change: Callable[[Operation], Operation]
) -> list[Operation]:
    return [change(operation) if operation.name == name else operation for operation in operations]


def with_other_description(operation: Operation) -> Operation:
    return replace(operation, description=operation.description + "!")


def with_a_column_more(operation: Operation) -> Operation:
    """One more output, or one more field written."""
    if isinstance(operation, Write):
        return replace(operation, inputs=(*operation.inputs, *(more(t) for t in operation.inputs[:1])))
    return replace(operation, outputs=(*operation.outputs, Field("a column beside it")))


def more(input_field: InputField) -> InputField:
    return InputField(input_field.origin, "a column beside it")


def making(*input_field: InputField, end_point: object = A) -> list[Operation]:
    assert end_point in FEW_END_POINTS
    return [
        Read("r", "", A if end_point is A else C, "", (Field("x"), Field("y"))),
        Transform("t", "", input_field, (Field("z"),)),
        Write("w", "", B, "", (InputField("t", "z"),)),
    ]


X, Y = InputField("r", "x"), InputField("r", "y")
X_FILTERS = InputField("r", "x", Influence.INDIRECT, "filter")


@pytest.mark.parametrize(
    ("left", "other", "same"),
    [
        (making(X, Y), making(Y, X), True),
        (making(X, X), making(X), True),
        (making(X), making(Y), False),
        (making(X), making(X, Y), False),
        (making(X), making(X_FILTERS), False),
        (making(X_FILTERS, X), making(X), True),
        (making(X), making(X, end_point=C), False),
    ],
    ids=["order", "twice", "other field", "one more", "influence", "direct wins", "end point"],
)
def test_what_makes_a_way_another(left: list[Operation], other: list[Operation], same: bool) -> None:
    target = DatasetField(B, "z")
    assert (digest_of(left, target) == digest_of(other, target)) == same
