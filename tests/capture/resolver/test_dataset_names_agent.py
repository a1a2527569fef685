"""Jobs under capture and under the OpenLineage agent at once: datasets have the same names."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.capture.golden_dumps import ROOT, Json, record, recorded, resolve, resolver

pytestmark = pytest.mark.java

JARS = ROOT / "tests" / "spark_agent" / "target" / "jars"

STREAMED = {("file", "/data/streamed")}
"""The agent does not see streams that write files."""

RDD_FILES = {("file", "/data/text_0"), ("file", "/data/text_1")}
"""Capture warns of RDDs that are written; the agent names their files, without fields."""

DERBY, AGENT_DERBY = ("file:/data/derby", "STOCK"), ("file:/data/metastore_db", "STOCK")
"""A table of Derby: in the directory of its database, where the agent has one name for all."""


def names(events: Iterable[Json]) -> set[tuple[str, str]]:
    return {
        (dataset["namespace"], dataset["name"])
        for event in events
        for dataset in (*event.get("inputs", ()), *event.get("outputs", ()))
    }


def symlinks(events: Iterable[Json]) -> dict[str, set[str]]:
    """Names in the catalogue by name of the written dataset."""
    tables: dict[str, set[str]] = {}
    for event in events:
        for output in event.get("outputs", ()):
            for alias in output.get("facets", {}).get("symlinks", {"identifiers": ()})["identifiers"]:
                tables.setdefault(output["name"], set()).add(f"{alias['namespace']} {alias['name']}")
    return tables


@pytest.mark.long
def test_names_are_those_of_the_agent(tmp_path: Path) -> None:
    (jar,) = JARS.glob("*.jar")
    target = tmp_path / "jobs.ndjson"
    record("jobs", target, str(jar))
    agent = [json.loads(line) for line in Path(f"{target}.agent").read_text("utf-8").splitlines()]
    resolving = resolver()
    captured = [event for lines in recorded(target).values() for event in resolve(lines, by=resolving)]
    assert names(captured) - STREAMED - {DERBY} == names(agent) - RDD_FILES - {AGENT_DERBY}
    assert DERBY in names(captured)
    assert AGENT_DERBY in names(agent)
    ours, theirs = symlinks(captured), symlinks(agent)
    # The agent leaves out the name of a table whose location is its own.
    assert set(ours) - set(theirs) == {"/data/elsewhere", "/data/c2_files"}
    assert {name: ours[name] for name in theirs} == theirs
