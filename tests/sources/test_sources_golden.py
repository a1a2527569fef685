"""Golden cases: exactly what a source reads from a document.

A case is a file `tests/golden/<source>/<case>.txt`, as golden_cases describes it. Another source plugs in
with one line in SOURCES: a function from a case to its lines. `pytest --update` rewrites them: read the diff.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from fll_hbase.sources import sql
from tests.support import (
    golden_cases,
    golden_datahub,
    golden_dbt,
    golden_openlineage,
    golden_openmetadata,
    golden_pipeline,
    golden_rows,
    golden_spline,
    golden_sql,
)
from tests.support.capture import golden_capture
from tests.support.golden_cases import Case

SOURCES: dict[str, Callable[[Case], Iterable[str]]] = {
    "bigquery": golden_rows.lines,
    "capture": golden_capture.lines,
    "databricks": golden_rows.lines,
    "datahub": golden_datahub.lines,
    "dbt": golden_dbt.lines,
    "openlineage": golden_openlineage.lines,
    "openmetadata": golden_openmetadata.lines,
    "pipeline": golden_pipeline.lines,
    "snowflake": golden_rows.lines,
    "spline": golden_spline.lines,
    "sql": golden_sql.lines,
    "trino": golden_rows.lines,
}
"""By source, a function from a case to the expected lines."""

CASES = [case for source in SOURCES for case in golden_cases.read_cases(source)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.source}-{case.name}")
def test_golden(case: Case, pytestconfig: pytest.Config) -> None:
    case.check(SOURCES[case.source](case), update=pytestconfig.getoption("update"))


def test_every_folder_has_a_source() -> None:
    others = {"http", "impact", "terminal"}  # answers of routes, dbt projects, and what commands draw
    assert {folder.name for folder in golden_cases.FOLDER.iterdir()} - others == set(SOURCES)


def test_every_dialect_has_cases() -> None:
    names = [case.members.get("dialect", "spark") for case in CASES if case.source == "sql"]
    dialects = [sql.DIALECT_ALIASES.get(name, name) for name in names]
    assert {dialect for dialect in dialects if dialects.count(dialect) >= 4} == set(sql.DIALECTS)
