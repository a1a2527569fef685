"""Digests of derivations differ exactly where their signatures do, at the price of the operations."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.derivation_digests import derivation_digests
from fll_hbase.model.operations import Operation
from fll_hbase.model.simple_view import derivation_signature
from tests.support.graph_ends import written_fields
from tests.support.sized_operations import B, all_to_all, copy, fan_out, rename, running_total
from tests.support.strategies import two_versions
from tests.support.work import count_calls


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
