"""Is every fault told, each at its place, and is nothing said of operations that make no lineage?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import FEW_END_POINTS, operation_sets

from fll_hbase.errors import InvalidLineage
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Field
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write, inputs_of, outputs_of

from . import naive

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
    ("operations", "at", "says"),
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
def test_a_fault_is_told_at_its_place(operations: list[Operation], at: str, says: str) -> None:
    ((place, detail),) = faults(operations)
    assert place == at
    assert says in detail


def test_all_faults_are_told_at_once() -> None:
    operations = [transform("a", "b"), transform("b", "a"), transform("b", "x", "y"), transform("c", "c")]
    assert sorted(at for at, _ in faults(operations)) == [
        "operations",
        "operations",
        "operations.0",
        "operations.2.inputs.0",
        "operations.2.inputs.1",
        "operations.2.name",
        "operations.3",
    ]


def test_nothing_at_all_has_no_read_and_no_write() -> None:
    assert [at for at, _ in faults([])] == ["operations", "operations"]


@given(operation_sets(), st.data())
def test_an_unknown_origin_anywhere_is_refused(
    operations: tuple[Operation, ...], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(operations)))
    broken = [*operations[:place], transform("\ue000", "\ue001"), *operations[place:]]
    assert faults(broken) == [
        (f"operations.{place}.inputs.0", "origin '\\ue001' is not an operation of this run")
    ]


@given(operation_sets())
def test_unlisted_inputs_are_told_each_at_its_place(operations: tuple[Operation, ...]) -> None:
    listed = {(op.name, output.name) for op in operations for output in outputs_of(op)}
    expected = [
        f"operations.{number}.inputs.{place}"
        for number, operation in enumerate(operations)
        for place, taken in enumerate(inputs_of(operation))
        if (taken.origin, taken.name) not in listed
    ]
    assert [fault.path for fault in lineage.undeclared_inputs(operations)] == expected


@given(operation_sets())
def test_with_unlisted_outputs_every_input_is_listed(operations: tuple[Operation, ...]) -> None:
    every = lineage.declare_missing_outputs(operations)
    assert every.keys() == {operation.name for operation in operations}
    assert list(lineage.undeclared_inputs(list(every.values()))) == []
    for operation in operations:
        listing = every[operation.name]
        listed = [field.name for field in outputs_of(operation)]
        assert outputs_of(listing)[: len(listed)] == outputs_of(operation)
        added = {field.name for field in outputs_of(listing)[len(listed) :]}
        assert added == naive.made_by(operations, operation) - set(listed)
        if not added:
            assert listing == operation
