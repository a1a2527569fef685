"""Field lineage of the jobs of the warehouse: expected by hand, as captured, and as the agent has it.

    PYTHONPATH=tests python -m capture.expected_jobs

prints the table of docs/record/clients.md. Expectations and events of the OpenLineage agent are in
`tests/cases/openlineage`. An edge is a column of an output (`*` for all of its rows), the dataset and field
that it depends on, and the type and subtype of OpenLineage.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tests.support.capture.golden_dumps import recorded, resolve, resolver
from tests.support.recorded_events import expected as expected_fields

Json = dict[str, Any]
Output: TypeAlias = tuple[str, str]
"""The name of a job, with its first day if it is a daily one, and the dataset that it writes."""


class Edge(NamedTuple):
    """A dependency of a column."""

    column: str
    dataset: str
    field: str
    type: str
    subtype: str


Outputs: TypeAlias = Mapping[Output, tuple[set[str], set[Edge]]]
"""The columns of each output, and their edges."""

FOLDER = Path(__file__).parents[2] / "cases" / "openlineage"
FIRST_DAY = date(2026, 1, 2)
"""When the daily jobs of the agent ran for their first day."""

# The README of the shared events: a filter on a row number may be WINDOW or FILTER.
_EITHER = {("/warehouse/silver.db/inventory_latest", "FILTER"): "WINDOW"}


def expected_outputs() -> Outputs:
    """Return what was worked out by hand."""
    outputs: dict[Output, tuple[set[str], set[Edge]]] = {}
    for item in expected_fields():
        job = f"{item['job']} {item['days'][0]}" if "days" in item else item["job"]
        columns, edges = outputs.setdefault((job, item["output_dataset"]), (set(), set()))
        column = item["output_field"]
        columns.add(column)
        edges |= {
            Edge(column, source["dataset"], source["field"], source["type"], source["subtype"])
            for source in item["inputs"]
        }
    return outputs


def captured_outputs(name: str) -> Outputs:
    """Return what recorded dumps give; of several writes of a job the last."""
    resolving = resolver()
    events = ((job, event) for job, lines in recorded(name).items() for event in resolve(lines, by=resolving))
    return dict(output for job, event in events for output in _outputs(job, event))


def agent_outputs() -> Outputs:
    """Return what the recorded events of the agent give; of several events of an output the last."""
    with gzip.open(FOLDER / "events.ndjson.gz", "rt", encoding="utf-8") as lines:
        events = [event for event in map(json.loads, lines) if event["eventType"] == "COMPLETE"]
    return dict(output for event in events for output in _outputs(_job(event), event))


def differences(expected: set[Edge], actual: set[Edge]) -> tuple[set[Edge], set[Edge]]:
    """Return the edges that are missing, and those that are too much.

    A filter on a key of a join is not counted: the agent has those that the optimiser adds, `IS NOT NULL`.
    """
    keys = {edge[:3] for edge in expected if edge.subtype == "JOIN"}
    extra = {edge for edge in actual - expected if edge.subtype != "FILTER" or edge[:3] not in keys}
    return expected - actual, extra


def score(outputs: Outputs) -> list[int]:
    """Count outputs that are exact; DIRECT missing, extra, of another subtype; INDIRECT missing, extra."""
    counts = [0] * 6
    for output, (columns, expected) in expected_outputs().items():
        missing, extra = differences(expected, outputs.get(output, (columns, set()))[1])
        counts[0] += not missing and not extra
        direct = [{edge[:3] for edge in edges if edge.type == "DIRECT"} for edges in (missing, extra)]
        counts[1] += len(direct[0] - direct[1])
        counts[2] += len(direct[1] - direct[0])
        counts[3] += len(direct[0] & direct[1])
        counts[4] += sum(edge.type == "INDIRECT" for edge in missing)
        counts[5] += sum(edge.type == "INDIRECT" for edge in extra)
    return counts


def _job(event: Json) -> str:
    job = str(event["job"]["name"]).partition(".")[0]
    if not job.startswith("retail_daily_"):
        return job
    day = (date.fromisoformat(event["eventTime"][:10]) - FIRST_DAY).days
    return f"{job} {max(first for first in (0, 17, 34) if first <= day)}"


def _outputs(job: str, event: Json) -> Iterator[tuple[Output, tuple[set[str], set[Edge]]]]:
    for output in event.get("outputs") or ():
        lineage = output.get("facets", {}).get("columnLineage")
        if lineage:
            inputs = {name: field["inputFields"] for name, field in lineage["fields"].items()}
            edges = {name: set(_edges(output["name"], name, items)) for name, items in inputs.items()}
            rows = set(_edges(output["name"], "*", lineage.get("dataset", ())))
            yield (job, output["name"]), ({*inputs, "*"}, _merged(edges, rows))


def _merged(edges: dict[str, set[Edge]], rows: set[Edge]) -> set[Edge]:
    """Return all edges; what shapes the rows is repeated for every field in the old layout of the agent."""
    indirect = [
        {edge._replace(column="*") for edge in items if edge.type == "INDIRECT"} for items in edges.values()
    ]
    common = set.intersection(*indirect) if len(indirect) > 1 and not rows else set()
    others = {edge for items in edges.values() for edge in items if edge._replace(column="*") not in common}
    return others | rows | common


def _edges(output: str, column: str, items: list[Json]) -> Iterator[Edge]:
    for item in items:
        for kind in item["transformations"]:
            # The expectations name columns, and call a field of a struct a transformation of its column.
            field, _, path = item["field"].partition(".")
            subtype = "TRANSFORMATION" if path and kind["subtype"] == "IDENTITY" else kind["subtype"]
            subtype = _EITHER.get((output, subtype), subtype)
            yield Edge(column, item["name"], field, kind["type"], subtype)


if __name__ == "__main__":
    print("capture", *score(captured_outputs("warehouse-4.3.ndjson")))
    print("agent", *score(agent_outputs()))
