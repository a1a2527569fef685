"""The recorded events, and the ways in which they are sent to a server."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from flask.testing import FlaskClient

Event: TypeAlias = dict[str, Any]

FOLDER = Path(__file__).parents[1] / "cases" / "openlineage"
BATCH_EVENTS = 400
DIRECT_SUBTYPES = frozenset({"IDENTITY", "TRANSFORMATION", "AGGREGATION"})
EMPTY = ("(generated)", "(nothing)")
"""Instead of inputs, for a field and for all rows of an output."""


def events() -> list[Event]:
    """All events, in the order in which they arrived."""
    with gzip.open(FOLDER / "events.ndjson.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def expected() -> list[dict[str, Any]]:
    """The lineage worked out by hand, an item for each field of an output."""
    text = (FOLDER / "expected.txt").read_text(encoding="utf-8")
    return [item for output in text.strip().split("\n\n") for item in _fields(*output.split("\n"))]


def _fields(output: str, *lines: str) -> Iterator[dict[str, Any]]:
    """The fields of one output, `job: dataset` or `job days first-last: dataset`."""
    job, dataset = output.split(": ")
    job, _, days = job.partition(" days ")
    item: dict[str, Any] = {"job": job, "output_dataset": dataset}
    if days:
        item["days"] = [int(day) for day in days.split("-")]
    for line in lines:
        name, sources = line.split(" <- ")
        groups = [] if sources in EMPTY else sources.split(" | ")
        yield item | {
            "output_field": name,
            "inputs": [source for group in groups for source in _inputs(group)],
        }


def _inputs(group: str) -> Iterator[dict[str, str]]:
    """The inputs of one subtype, which comes first unless it is IDENTITY."""
    first, _, names = group.partition(" ")
    subtype, names = ("IDENTITY", group) if "." in first else (first.upper(), names)
    type_ = "DIRECT" if subtype in DIRECT_SUBTYPES else "INDIRECT"
    for name in names.split(", "):
        dataset, _, field = name.rpartition(".")
        yield {"dataset": dataset, "field": field, "type": type_, "subtype": subtype}


def post(client: FlaskClient, sent: Sequence[Event]) -> None:
    """Send events in batches; every one of them must be taken."""
    for batch in _batches(sent):
        answer = client.post("/api/v1/lineage/batch", json=batch)
        assert answer.status_code == 200, answer.text
        assert answer.json["status"] == "success", answer.json["failed_events"][:3]
        assert answer.json["summary"]["successful"] == len(batch)


def datasets(event: Event) -> Iterator[tuple[str, Event]]:
    """The datasets of an event, with the name of their list."""
    for name in ("inputs", "outputs"):
        for dataset in event.get(name) or ():
            yield name, dataset


def by_run(events_given: Iterable[Event]) -> dict[str, list[Event]]:
    """The events of each run."""
    events_by_run: dict[str, list[Event]] = {}
    for event in events_given:
        events_by_run.setdefault(event["run"]["runId"], []).append(event)
    return events_by_run


def _batches(sent: Sequence[Event]) -> Iterator[Sequence[Event]]:
    for start in range(0, len(sent), BATCH_EVENTS):
        yield sent[start : start + BATCH_EVENTS]
