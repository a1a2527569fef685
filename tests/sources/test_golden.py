"""Golden cases: what a document comes to, letter by letter.

A case is a folder `tests/golden/<source>/<case>/` with `input.json` and `expected.json`. Another source plugs
in with one line in SOURCES: how it reads a document. Set GOLDEN=write to write what is expected anew, then
look at every difference.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fll_hbase import answers
from fll_hbase.errors import FaultyInput
from fll_hbase.model.operations import EndPoint
from fll_hbase.sources import sql
from fll_hbase.sources.document import Reading

GOLDEN = Path(__file__).parents[1] / "golden"

CATALOGUE = {"catalogued": ["amount", "day", "id"]}
"""What is known of end points without a word of the document."""


def _columns(end_point: EndPoint) -> list[str] | None:
    return CATALOGUE.get(end_point.name)


SOURCES: dict[str, Callable[[Any], Reading]] = {
    "sql": lambda document: sql.read(document, namespace="shop", columns=_columns),
}
"""How each source reads a document."""

CASES = sorted(case for source in SOURCES for case in (GOLDEN / source).iterdir())


def told(source: str, document: Any) -> dict[str, Any]:
    """What a document comes to, as JSON: a dry run's answer, or what is wrong with it."""
    try:
        reading = SOURCES[source](document)
    except FaultyInput as error:
        return {"error": type(error).__name__, "faults": answers.faults(error.faults)}
    return answers.dry_run(reading.operations.info, reading.warnings)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_golden(case: Path) -> None:
    found = told(case.parent.name, json.loads((case / "input.json").read_text(encoding="utf-8")))
    if os.environ.get("GOLDEN") == "write":
        text = json.dumps(found, indent=1, ensure_ascii=False)
        (case / "expected.json").write_text(text + "\n", encoding="utf-8")
    assert found == json.loads((case / "expected.json").read_text(encoding="utf-8"))


def test_every_dialect_has_cases() -> None:
    dialects = [json.loads((case / "input.json").read_text()).get("dialect", "spark") for case in CASES]
    assert {dialect for dialect in dialects if dialects.count(dialect) >= 4} == set(sql.DIALECTS)
