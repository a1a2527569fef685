"""Golden cases of pipeline configs: what a document comes to, letter by letter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fll_hbase import answers
from fll_hbase.errors import FaultyInput
from fll_hbase.sources import pipeline_config

CASES = sorted((Path(__file__).parents[1] / "golden" / "pipeline").iterdir())


def told(document: Any) -> dict[str, Any]:
    """What the document comes to, as JSON: a dry run's answer, or what is wrong with it."""
    try:
        reading = pipeline_config.read(document, namespace="myns")
    except FaultyInput as error:
        return {"error": type(error).__name__, "faults": answers.faults(error.faults)}
    return answers.dry_run(reading.operations.info, reading.warnings)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden(case: Path) -> None:
    expected = json.loads((case / "expected.json").read_text())
    assert told(json.loads((case / "input.json").read_text())) == expected
