"""Parts and digests of derivations differ exactly where their signatures do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.datasets import DatasetField, Field
from fll_hbase.model.derivation_parts import ContentDerivations, DerivationParts, field_digest
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from tests.support.derivation_signature import derivation_signature
from tests.support.graph_ends import written_fields
from tests.support.sized_operations import copy, fan_out, rename
from tests.support.strategies import FEW_END_POINTS, two_versions
from tests.support.work import count_calls

A, B, _ = FEW_END_POINTS
TARGET = DatasetField(B, "x")


def parts(operations: tuple[Operation, ...], target: DatasetField, *, indirect: bool) -> DerivationParts:
    complete, is_cut = ContentDerivations(operations, indirect=indirect).parts(target, connections_max=10**9)
    assert not is_cut
    return complete


@given(two_versions(), st.booleans())
def test_parts_and_digests_are_equal_where_signatures_are(
    versions: tuple[tuple[Operation, ...], tuple[Operation, ...]], indirect: bool
) -> None:
    first, second = versions
    for target in written_fields(first) & written_fields(second):
        signatures = [derivation_signature(version, target, indirect=indirect) for version in versions]
        is_same = signatures[0] == signatures[1]
        digests = [field_digest(version, target, indirect=indirect) for version in versions]
        assert (digests[0] == digests[1]) is is_same
        assert (
            parts(first, target, indirect=indirect) == parts(second, target, indirect=indirect)
        ) is is_same


def wide(fields: int, *, beside: str = "") -> tuple[Operation, ...]:
    """One operation that makes x of every field that is read, and a WRITE of as many others."""
    names = [f"f{number}" for number in range(fields)]
    read = tuple(InputField("read", name) for name in names)
    added = (InputField("read", beside),) if beside else ()
    return (
        Read("read", "", A, "", tuple(map(Field, [*names, *([beside] if beside else [])]))),
        Transform("sum", "", read, (Field("x"),)),
        Write("write", "", B, "", (*read, InputField("sum", "x"), *added)),
    )


def test_a_column_added_beside_is_no_change() -> None:
    assert parts(wide(3), TARGET, indirect=True) == parts(wide(3, beside="new"), TARGET, indirect=True)
    versions = wide(3), wide(3, beside="new")
    assert len({field_digest(version, TARGET, indirect=True) for version in versions}) == 1


def test_a_field_that_is_written_as_it_was_read_has_an_edge() -> None:
    operations = (Read("r", "", A, "", (Field("x"),)), Write("w", "", B, "", (InputField("r", "x"),)))
    (edge,) = parts(operations, TARGET, indirect=True).edges
    assert (edge.start, edge.end, edge.operation) == (("r", "x"), ("w", "x"), "w")


@pytest.mark.parametrize("fields", [500, 5_000])
def test_the_work_follows_the_inputs(fields: int) -> None:
    def work(size: int) -> int:
        operations = wide(size)
        return count_calls(
            lambda: (
                parts(operations, TARGET, indirect=True),
                field_digest(operations, TARGET, indirect=True),
            )
        )

    assert work(fields) < 1.5 * fields / 50 * work(50)


@pytest.mark.parametrize("shape", [copy, rename, fan_out])
def test_the_work_for_all_fields_follows_the_operations(shape: Callable[[int], list[Operation]]) -> None:
    def work(count: int) -> int:
        operations = shape(count)

        def read_all() -> None:
            derivations = ContentDerivations(operations, indirect=True)
            for target in written_fields(operations):
                derivations.parts(target, connections_max=10**9)

        return count_calls(read_all)

    assert work(2_000) < 15 * work(200)
