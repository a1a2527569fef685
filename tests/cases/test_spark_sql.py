"""Does the SQL source read the Spark SQL cases as they were worked out, and are those it does not told?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from . import spark_sql
from .spark_sql import ALL, PLAIN, case_id, direct, expected, indirect

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sources" / "sql.md").read_text(encoding="utf-8")

EXACT = 70
DIFFERENT = {"r03_update"}
"""Cases whose direct lineage is not as expected; the page says why."""

DIFFERENT_INDIRECT = {"x01_pivot", "m08_multi_insert"}
"""Cases in which more columns shape the result than expected."""


def as_expected(case: dict[str, Any]) -> bool:
    return direct(spark_sql.read(case), sinks=set(expected(case))) == expected(case)


def test_exactly_so_many_are_exact() -> None:
    different = {case["id"] for case in PLAIN if not as_expected(case)}
    assert different == DIFFERENT
    assert len(PLAIN) - len(different) == EXACT >= 0.9 * len(PLAIN)


def test_the_page_tells_the_others() -> None:
    told = set(re.findall(r"^\| `([a-z]\d\d_\w+)` \|", PAGE, re.MULTILINE))
    sessions = {case["id"] for case in ALL} - {case["id"] for case in PLAIN}
    assert told == DIFFERENT | DIFFERENT_INDIRECT
    assert f"{EXACT} of {len(PLAIN)}" in PAGE
    assert f"{len(sessions)} need a session" in PAGE


@pytest.mark.parametrize("case", PLAIN, ids=case_id)
def test_nothing_is_left_unresolved(case: dict[str, Any]) -> None:
    assert spark_sql.read(case).warnings == ()


@pytest.mark.parametrize("case", PLAIN, ids=case_id)
def test_what_shapes_rows_and_columns(case: dict[str, Any]) -> None:
    """Every column expected is there with one of the kinds expected, and none is there that is not."""
    whole, columns = indirect(spark_sql.read(case), sinks=set(expected(case)))
    said = case["expected_indirect"]
    assert lacking(whole, said["dataset"]) == {}
    for name, shaping in said["columns"].items():
        assert lacking(columns.get(name, {}), shaping) == {}
    either = said.get("either_scope", {})
    more = [beyond(whole, said["dataset"], said.get("optional_dataset", {}), either)]
    more += [beyond(found, said["columns"].get(name, {}), either) for name, found in columns.items()]
    assert any(more) == (case["id"] in DIFFERENT_INDIRECT)


@pytest.mark.parametrize("case", PLAIN, ids=case_id)
def test_what_may_be_told_of_either_is_told(case: dict[str, Any]) -> None:
    whole, columns = indirect(spark_sql.read(case), sinks=set(expected(case)))
    for source, kinds in case["expected_indirect"].get("either_scope", {}).items():
        found = whole.get(source, set()).union(*(shaping.get(source, set()) for shaping in columns.values()))
        assert found & set(kinds)


def lacking(found: dict[str, set[str]], said: dict[str, list[str]]) -> dict[str, list[str]]:
    """What is expected and not found, in any of its kinds."""
    return {source: kinds for source, kinds in said.items() if not found.get(source, set()) & set(kinds)}


def beyond(found: dict[str, set[str]], *said: dict[str, list[str]]) -> dict[str, set[str]]:
    """What is found and not expected."""
    allowed = {source: {kind for one in said for kind in one.get(source, ())} for source in found}
    return {source: kinds - allowed[source] for source, kinds in found.items() if kinds - allowed[source]}
