"""Answers of a server in the oracle's terms."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from flask.testing import FlaskClient

from tests.cases.openlineage.expected_lineage import DIRECT, INDIRECT, WHOLE_DATASET, Ends, Name, Related

Pairs = set[tuple[str | None, str, str]]
Answer = dict[Ends, tuple[Pairs, bool]]
"""By source and destination: the pairs, and whether more is related, not known how."""


def lineage(client: FlaskClient, name: Name, start_ms: int, stop_ms: int, direction: str) -> Answer:
    """The answer to the high-level question, one hop, failed runs included."""
    path = f"/v3/namespaces/{quote(name[0], safe='')}/endpoints/{quote(name[1], safe='')}/fields/lineage"
    window = f"start={seconds(start_ms)}&end={seconds(stop_ms)}"
    answer = client.get(f"{path}?{window}&direction={direction}&failed=true")
    assert answer.status_code == 200, answer.text
    assert "Truncated" not in answer.headers
    lineage_by_field: Answer = {}
    for entry in answer.json:
        assert (entry["direction"], entry["level"]) == (direction, 1)
        ends = _name(entry["source"]), _name(entry["destination"])
        assert ends not in lineage_by_field
        pairs = {(pair["from"], pair["to"], _influence(pair)) for pair in entry["fieldmap"]}
        assert len(pairs) == len(entry["fieldmap"])
        lineage_by_field[ends] = pairs, entry.get("unknown", False)
    return lineage_by_field


def due(related: dict[Ends, Related], name: Name, direction: str) -> Answer:
    """The same answer as the oracle has it."""
    backward = direction == "backward"
    return {
        (source, output): (between.pairs(), between.unknown)
        for (source, output), between in related.items()
        if (output if backward else source) == name
    }


def seconds(milliseconds: int) -> str:
    return f"{milliseconds // 1000}.{milliseconds % 1000:03}"


def _name(item: dict[str, Any] | None) -> Name | None:
    return None if item is None else (item["namespace"], item["name"])


def _influence(pair: dict[str, Any]) -> str:
    if pair.get("scope") == "dataset":
        assert (pair["to"], pair["influence"]) == ("*", "indirect")
        return WHOLE_DATASET
    return INDIRECT if pair.get("influence") == "indirect" else DIRECT
