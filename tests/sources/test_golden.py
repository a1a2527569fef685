"""Golden cases: the exact result of reading a document.

A case is a folder `tests/golden/<source>/<case>/` with `input.json` and `expected.json`. Another source plugs
in with one line in SOURCES: how it reads a document. Set GOLDEN=write to rewrite the expected files, then
review every difference.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fll_hbase import rest_json
from fll_hbase.errors import InputError
from fll_hbase.model.datasets import Dataset
from fll_hbase.sources import cdap, sql
from fll_hbase.sources.native.document import Reading
from sources import golden_datahub, golden_openlineage

GOLDEN = Path(__file__).parents[1] / "golden"

CATALOGUE = {"catalogued": ["amount", "day", "id"]}
"""Fields of datasets in the catalogue."""


def _columns(dataset: Dataset) -> list[str] | None:
    return CATALOGUE.get(dataset.name)


def _document(read: Callable[[Any], Reading]) -> Callable[[Any], dict[str, Any]]:
    """Return a function from a document to the answer of a dry run, or to its errors."""

    def result(document: Any) -> dict[str, Any]:
        try:
            reading = read(document)
        except InputError as error:
            return {"error": type(error).__name__, "faults": rest_json.field_errors(error.errors)}
        return rest_json.dry_run(reading.operations.info, reading.warnings)

    return result


SOURCES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "datahub": golden_datahub.reported,
    "openlineage": golden_openlineage.reported_by,
    "pipeline": _document(lambda document: cdap.read_document(document, namespace="myns")),
    "sql": _document(lambda document: sql.read_document(document, namespace="shop", columns=_columns)),
}
"""By source, a function from a case to its result as JSON."""

CASES = {source: sorted((GOLDEN / source).iterdir()) for source in SOURCES}


@pytest.mark.parametrize(
    "case",
    [case for cases in CASES.values() for case in cases],
    ids=lambda case: f"{case.parent.name}-{case.name}",
)
def test_golden(case: Path) -> None:
    result = SOURCES[case.parent.name](json.loads((case / "input.json").read_text(encoding="utf-8")))
    actual = json.loads(json.dumps(result))
    if os.environ.get("GOLDEN") == "write":
        text = json.dumps(actual, indent=1, ensure_ascii=False)
        (case / "expected.json").write_text(text + "\n", encoding="utf-8")
    assert actual == json.loads((case / "expected.json").read_text(encoding="utf-8"))


def test_every_folder_has_a_source() -> None:
    others = {"capture", "dbt"}  # in tests/capture and test_dbt_golden
    assert {folder.name for folder in GOLDEN.iterdir()} == set(SOURCES) | others


def test_every_dialect_has_cases() -> None:
    names = [json.loads((case / "input.json").read_text()).get("dialect", "spark") for case in CASES["sql"]]
    dialects = [sql.DIALECT_ALIASES.get(name, name) for name in names]
    assert {dialect for dialect in dialects if dialects.count(dialect) >= 4} == set(sql.DIALECTS)
