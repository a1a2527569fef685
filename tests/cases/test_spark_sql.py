"""SQL source against the Spark SQL cases; spark_sql.md lists those with other results."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cases import spark_sql
from tests.cases.spark_sql import ALL, PLAIN, Kinds, case_id, direct, expected, indirect
from tests.support.capture.expected_cases import ARRAYS, CONDITIONS

PAGE = Path(__file__).with_name("spark_sql.md").read_text(encoding="utf-8")

EXACT = 70
DIFFERENT = {"r03_update"}
"""Cases whose direct lineage is not as expected; the page says why."""

DIFFERENT_INDIRECT = {"x01_pivot", "m08_multi_insert"}
"""Cases in which more columns shape the result than expected."""


def as_expected(case: dict[str, Any]) -> bool:
    return direct(spark_sql.read(case), sinks=set(expected(case))) == expected(case)


def test_number_of_exact_cases() -> None:
    different = {case["id"] for case in PLAIN if not as_expected(case)}
    assert different == DIFFERENT
    assert len(PLAIN) - len(different) == EXACT >= 0.9 * len(PLAIN)


def test_the_page_lists_the_others() -> None:
    listed = set(re.findall(r"^\| `([a-z]\d\d_\w+)` \|", PAGE, re.MULTILINE))
    sessions = {case["id"] for case in ALL} - {case["id"] for case in PLAIN}
    assert listed == DIFFERENT | DIFFERENT_INDIRECT
    assert f"{EXACT} of {len(PLAIN)}" in PAGE
    assert f"{len(sessions)} need a session" in PAGE


@pytest.mark.parametrize("case", PLAIN, ids=case_id)
def test_nothing_is_left_unresolved(case: dict[str, Any]) -> None:
    assert spark_sql.read(case).warnings == ()


@pytest.mark.parametrize("case", PLAIN, ids=case_id)
def test_indirect_influence(case: dict[str, Any]) -> None:
    """Every expected column is present with an expected kind, and no other is."""
    rows, columns = indirect(spark_sql.read(case), sinks=set(expected(case)))
    influence = case["expected_indirect"]
    assert missing(rows, influence["dataset"]) == {}
    for name, kinds in influence["columns"].items():
        assert missing(columns.get(name, {}), kinds) == {}
    either = influence.get("either_scope", {})
    arrays = {array: ["JOIN"] for array in ARRAYS.get(case["id"], ())}
    assert missing(rows, arrays) == {}
    excess = [unexpected(rows, influence["dataset"], influence.get("optional_dataset", {}), either, arrays)]
    for name, kinds in columns.items():
        may_be_tested = case["id"] in CONDITIONS - DIFFERENT_INDIRECT
        tested = {source: ["CONDITIONAL"] for source in kinds} if may_be_tested else {}
        excess.append(unexpected(kinds, influence["columns"].get(name, {}), either, tested))
    assert any(excess) == (case["id"] in DIFFERENT_INDIRECT)


@pytest.mark.parametrize("case", PLAIN, ids=case_id)
def test_influence_of_either_scope_is_present(case: dict[str, Any]) -> None:
    rows, columns = indirect(spark_sql.read(case), sinks=set(expected(case)))
    for source, kinds in case["expected_indirect"].get("either_scope", {}).items():
        by_column = (column.get(source, set()) for column in columns.values())
        assert rows.get(source, set()).union(*by_column) & set(kinds)


def missing(actual: Kinds, required: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the expected fields that are present in none of their kinds."""
    return {source: kinds for source, kinds in required.items() if not actual.get(source, set()) & set(kinds)}


def unexpected(actual: Kinds, *permitted: dict[str, list[str]]) -> Kinds:
    """Return the fields with kinds that are not expected."""
    allowed = {source: {kind for kinds in permitted for kind in kinds.get(source, ())} for source in actual}
    return {source: kinds - allowed[source] for source, kinds in actual.items() if kinds - allowed[source]}
