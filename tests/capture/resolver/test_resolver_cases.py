"""Spark SQL cases by their recorded dumps: exact, direct and indirect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.capture.expected_cases import differences
from tests.support.capture.golden_dumps import recorded, resolve

CASES = Path(__file__).parents[2] / "cases" / "spark_sql.json"
ALL: dict[str, dict[str, Any]] = {case["id"]: case for case in json.loads(CASES.read_text(encoding="utf-8"))}
ICEBERG = {"r01_merge_update_insert", "r02_merge_star", "r03_update"}

DUMPS = [
    pytest.param(case, lines, id=f"{version}-{case}")
    for version in ("3.5", "4.3")
    for case, lines in recorded(f"cases-{version}.ndjson").items()
    if case in ALL
]


@pytest.mark.parametrize(("case", "lines"), DUMPS)
def test_a_case_is_exact(case: str, lines: list[bytes]) -> None:
    assert differences(ALL[case], resolve(lines)) == []


def test_every_case_is_recorded() -> None:
    """Iceberg has no release for Spark 4.3, and Spark 3.5 no syntax of pipes."""
    assert set(recorded("cases-4.3.ndjson")) == set(ALL) - ICEBERG | {"application"}
    assert set(recorded("cases-3.5.ndjson")) == set(ALL) - {"z02_pipe_syntax"} | {"application"}


@pytest.mark.parametrize(
    "case", [case for case in ALL.values() if "expected_nested" in case], ids=lambda c: c["id"]
)
def test_paths_in_structs(case: dict[str, Any]) -> None:
    """An input in a struct is named by its path; outputs stay columns."""
    (event,) = resolve(recorded("cases-4.3.ndjson")[case["id"]])
    fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    for column, sources in case["expected_nested"].items():
        inputs = fields[column.partition(".")[0]]["inputFields"]
        paths = {f"{item['name'].rpartition('/')[2]}.{item['field']}" for item in inputs}
        assert set(sources) <= paths


def test_masking() -> None:
    case = ALL["p12_masking_functions"]
    (event,) = resolve(recorded("cases-4.3.ndjson")[case["id"]])
    fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    masked = {
        name: [f"cust.{source['field']}" for source in item["inputFields"]]
        for name, item in fields.items()
        if all(kind["masking"] for source in item["inputFields"] for kind in source["transformations"])
    }
    assert masked == case["expected_masking"]
