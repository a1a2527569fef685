"""The jobs of the shared agent events, written anew and recorded: outputs as the expectations by hand say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.capture.expected_jobs import (
    Output,
    agent_outputs,
    captured_outputs,
    expected_outputs,
    score,
)
from tests.support.capture.golden_dumps import FOLDER

VERSIONS = ("3.5", "4.3")
PAGE = Path(__file__).parents[3] / "docs" / "record" / "clients.md"

EXPECTED = expected_outputs()
UNKNOWN = {("feat_rdds", "/warehouse/feat/rdd_roundtrip"): {"a", "b"}}
"""Columns that have no source for the agent, since they come from an RDD; capture says that it is unknown."""
CAPTURED = {version: captured_outputs(f"warehouse-{version}.ndjson") for version in VERSIONS}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("output", EXPECTED, ids=" ".join)
def test_an_output_is_exact(version: str, output: Output) -> None:
    columns, edges = EXPECTED[output]
    assert CAPTURED[version][output] == (columns - UNKNOWN.get(output, set()), edges)


def test_the_page_has_the_figures_of_capture_and_of_the_agent() -> None:
    assert len(EXPECTED) == 43
    page = PAGE.read_text(encoding="utf-8")
    for name, outputs in (("capture", CAPTURED["4.3"]), ("OpenLineage agent 1.53", agent_outputs())):
        assert f"| {name} | {' | '.join(map(str, score(outputs)))} |" in page


@pytest.mark.parametrize("version", VERSIONS)
def test_dumps_have_neither_constants_nor_directories_of_a_machine(version: str) -> None:
    text = (FOLDER / f"warehouse-{version}.ndjson").read_text(encoding="utf-8")
    for secret in ("shipped", "CANCELLED", "unknown", "card", "4711", "sesame", "/tmp/"):
        assert secret not in text
