"""Operations of pipelines and lint of stages against the cases of the ancestor's tests."""

from __future__ import annotations

from typing import Any

import pytest

from fll_hbase.model import lineage
from fll_hbase.sources import cdap
from fll_hbase.sources.cdap import stage_operations
from tests.cases.ancestor import NO_NAMESPACE, case_id, cases, operations_of
from tests.cases.pipelines import document, stage_operations_of


@pytest.mark.parametrize("case", cases("stage_validate"), ids=case_id)
def test_stage(case: dict[str, Any]) -> None:
    result = stage_operations.lint(
        stage_operations_of(case["stage_operations"]), is_available=case["stage_inputs"].__contains__
    )
    expect = case["expect"]
    assert expect.keys() <= {"invalid", "redundant"}
    if "redundant" in expect:
        assert result.redundant_outputs == expect["redundant"]
    if "invalid" in expect:
        invalid = expect["invalid"] or {"inputs": {}, "outputs": {}}
        assert result.unknown_inputs == invalid["inputs"]
        assert invalid["outputs"] == {}, "an output is never invalid"


@pytest.mark.parametrize("case", cases("flatten"), ids=case_id)
def test_flatten(case: dict[str, Any]) -> None:
    reading = cdap.read_document(document(case), namespace=NO_NAMESPACE)
    expected = operations_of(case["expect"]["operations"])
    assert set(reading.operations.info.operations) == set(expected)
    assert reading.operations.info.checksum == lineage.build_lineage(expected).checksum
    undeclared = [name for name, operations in case["stages"].items() if not operations]
    assert len(reading.warnings) == len(undeclared)
