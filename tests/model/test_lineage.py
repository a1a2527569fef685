"""Validation: every error is reported with its path, and only for invalid lineage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model import lineage
from fll_hbase.model.datasets import Field
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write, inputs_of, outputs_of
from fll_hbase.runtime.errors import InvalidLineage
from tests.support import naive_lineage as naive
from tests.support.strategies import FEW_END_POINTS, operation_sets

A, B, _ = FEW_END_POINTS

READ = Read("read", "", A, "", (Field("x"),))
WRITE = Write("write", "", B, "", (InputField("read", "x"),))


def transform(name: str, *origins: str) -> Transform:
    return Transform(name, "", tuple(InputField(origin, "x") for origin in origins), (Field("x"),))


def faults(operations: list[Operation]) -> list[tuple[str, str]]:
    with pytest.raises(InvalidLineage) as caught:
        lineage.build_lineage(operations)
    return [(fault.path, fault.detail) for fault in caught.value.errors]


@given(operation_sets())
def test_valid_operations_are_sorted_by_name_and_kept_whole(operations: tuple[Operation, ...]) -> None:
    info = lineage.build_lineage(operations)
    assert info.operations == tuple(sorted(operations, key=lambda operation: operation.name))
    assert (info.sources, info.destinations) == (info.field_map.sources, info.field_map.destinations)
    assert list(lineage.find_errors(operations)) == []


@pytest.mark.parametrize(
    ("operations", "error_path", "says"),
    [
        ([WRITE, transform("read")], "operations", "no READ"),
        ([READ, transform("t", "read")], "operations", "no WRITE"),
        ([READ, WRITE, transform("read")], "operations.2.name", "'read' is also the name of operations.0"),
        (
            [READ, WRITE, transform("t", "read", "nobody")],
            "operations.2.inputs.1",
            "'nobody' is not an operation",
        ),
        ([READ, transform("t", "write"), WRITE], "operations.1.inputs.0", "'write' is a WRITE"),
        ([READ, WRITE, transform("t", "t")], "operations.2", "'t' feeds itself"),
        ([transform("b", "a"), READ, transform("a", "b"), WRITE], "operations.0", "a cycle: 'a', 'b'"),
    ],
    ids=["no read", "no write", "name twice", "unknown origin", "origin is a write", "self", "cycle"],
)
def test_an_error_is_reported_with_its_path(operations: list[Operation], error_path: str, says: str) -> None:
    ((path, detail),) = faults(operations)
    assert path == error_path
    assert says in detail


def test_all_errors_are_reported_at_once() -> None:
    operations = [transform("a", "b"), transform("b", "a"), transform("b", "x", "y"), transform("c", "c")]
    assert sorted(error_path for error_path, _ in faults(operations)) == [
        "operations",
        "operations",
        "operations.0",
        "operations.2.inputs.0",
        "operations.2.inputs.1",
        "operations.2.name",
        "operations.3",
    ]


def test_nothing_at_all_has_no_read_and_no_write() -> None:
    assert [error_path for error_path, _ in faults([])] == ["operations", "operations"]


@given(operation_sets(), st.data())
def test_an_unknown_origin_anywhere_is_refused(
    operations: tuple[Operation, ...], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(operations)))
    broken = [*operations[:index], transform("\ue000", "\ue001"), *operations[index:]]
    assert faults(broken) == [
        (f"operations.{index}.inputs.0", "origin '\\ue001' is not an operation of this run")
    ]


@given(operation_sets())
def test_undeclared_inputs_are_reported_with_their_paths(operations: tuple[Operation, ...]) -> None:
    listed = {(op.name, output.name) for op in operations for output in outputs_of(op)}
    expected = [
        f"operations.{number}.inputs.{index}"
        for number, operation in enumerate(operations)
        for index, input_field in enumerate(inputs_of(operation))
        if (input_field.origin, input_field.name) not in listed
    ]
    assert [fault.path for fault in lineage.undeclared_inputs(operations)] == expected


@given(operation_sets())
def test_with_unlisted_outputs_every_input_is_listed(operations: tuple[Operation, ...]) -> None:
    declared = lineage.declare_missing_outputs(operations)
    assert declared.keys() == {operation.name for operation in operations}
    assert list(lineage.undeclared_inputs(list(declared.values()))) == []
    for operation in operations:
        listing = declared[operation.name]
        listed = [field.name for field in outputs_of(operation)]
        assert outputs_of(listing)[: len(listed)] == outputs_of(operation)
        added = {field.name for field in outputs_of(listing)[len(listed) :]}
        assert added == naive.outputs_of_operation(operations, operation) - set(listed)
        if not added:
            assert listing == operation
