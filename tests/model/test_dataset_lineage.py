"""Lineages of many contents are merged at the cost of what each of them adds."""

from __future__ import annotations

import pytest

from fll_hbase.model import field_relations, lineage
from fll_hbase.model.dataset_lineage import DatasetLineage, DatasetLineageSet, LineageUnion, merge_lineages
from fll_hbase.model.datasets import Dataset
from tests.support.sized_operations import running_total
from tests.support.strategies import FEW_END_POINTS
from tests.support.work import count_calls

A, B, _ = FEW_END_POINTS


def contents(count: int) -> list[DatasetLineageSet]:
    """Lineages of contents that each read a dataset of their own, beside a common one."""
    common = DatasetLineage(A, B, direct=frozenset([("x", "x")]))
    lineages = []
    for number in range(count):
        source = Dataset("ns", f"source {number}")
        lineage = DatasetLineage(source, B, direct=frozenset([("x", "x")]))
        lineages.append(DatasetLineageSet({(A, B): common, (source, B): lineage}))
    return lineages


def merge_counting(lineages: list[DatasetLineageSet]) -> list[int]:
    """Merge as a query does, which compares the cost with a limit after each content."""
    union = LineageUnion()
    costs = []
    for lineages_of_content in lineages:
        union.add(lineages_of_content)
        costs.append(union.cost)
    assert union.build() == merge_lineages(lineages)
    return costs


def test_the_cost_is_that_of_the_union() -> None:
    assert merge_counting(contents(3)) == [2, 3, 4]


def test_a_relation_without_known_fields_costs_as_much_as_a_pair() -> None:
    """Or an answer about datasets alone would have no bound."""
    unknown = [
        DatasetLineageSet({(source, B): DatasetLineage(source, B, unknown=True)})
        for source in (Dataset("ns", f"source {number}") for number in range(3))
    ]
    assert merge_counting([*unknown, *unknown]) == [1, 2, 3, 3, 3, 3]
    direct = DatasetLineage(Dataset("ns", "source 0"), B, direct=frozenset([("x", "x"), ("y", "y")]))
    assert merge_counting([unknown[0], DatasetLineageSet({(direct.source, B): direct})]) == [1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1_000, 50_000])
def test_merging_takes_work_for_each_content(count: int) -> None:
    small, large = contents(10), contents(count)
    calls = count_calls(lambda: merge_counting(small)) / 10
    assert count_calls(lambda: merge_counting(large)) / count < 1.5 * calls


def test_the_limit_that_cut_a_relation_is_named() -> None:
    """Each field of a running total is in a set of its own, which includes the one before."""
    field_map = lineage.build_lineage(running_total(100)).field_map

    def truncated_by(*, pairs_max: int, steps_max: int) -> frozenset[str]:
        return field_relations.dataset_relations(
            field_map, B, backward=True, pairs_max=pairs_max, steps_max=steps_max
        ).truncated_by

    assert truncated_by(pairs_max=100, steps_max=100) == set()
    assert truncated_by(pairs_max=99, steps_max=100) == {"pairs_max=99"}
    assert truncated_by(pairs_max=100, steps_max=50) == {"steps_max=50"}
    assert truncated_by(pairs_max=99, steps_max=50) == {"pairs_max=99", "steps_max=50"}
