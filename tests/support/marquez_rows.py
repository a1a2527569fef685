"""Rows of Marquez's table `lineage_events`, of varied OpenLineage events."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

ENDS = ("COMPLETE", "COMPLETE", "COMPLETE", "FAIL", "ABORT")
DATABASE, LAKE = "postgres://db:5432", "s3://lake"
TABLES = [(DATABASE, f"shop.public.t{number}") for number in range(8)]
TABLES += [(LAKE, f"t{number}") for number in range(8)]
COLUMNS = ("id", "name", "amount", 'odd "n\\ame"')
START_S = 1_772_323_200
"""2026-03-01."""


def events(count: int, seed: int = 7) -> Iterator[dict[str, Any]]:
    """So many events: those of a run are out of order and repeated, others are of jobs and datasets."""
    chance = random.Random(seed)
    window: list[dict[str, Any]] = []
    number = 0
    while number < count:
        # A shuffled window mixes the events of several runs, in bounded memory.
        while len(window) < 50:
            window += _group(chance)
        event = window.pop(chance.randrange(len(window)))
        yield event
        number += 1
        if number < count and chance.random() < 0.05:
            yield event
            number += 1


def row(event: dict[str, Any]) -> dict[str, Any]:
    """The row that Marquez inserts for an event: null where the event has no such member."""
    job, run = event.get("job", {}), event.get("run", {})
    kind = "RUN_EVENT" if run else "JOB_EVENT" if job else "DATASET_EVENT"
    return {
        "event_time": event["eventTime"].replace("Z", "+00:00"),
        "event": event,
        "event_type": event.get("eventType"),
        "job_name": job.get("name"),
        "job_namespace": job.get("namespace"),
        "producer": event["producer"],
        "run_uuid": run.get("runId"),
        "created_at": "2026-03-02T00:00:00",
        "_event_type": kind,
    }


def ndjson(count: int, seed: int = 7) -> tuple[bytes, bytes]:
    """So many events and their rows, as NDJSON."""
    pairs = [(json.dumps(event), json.dumps(row(event))) for event in events(count, seed)]
    texts = zip(*pairs, strict=True)
    lines, rows = ("".join(f"{text}\n" for text in texts_of_one).encode() for texts_of_one in texts)
    return lines, rows


def _group(chance: random.Random) -> list[dict[str, Any]]:
    start_s = START_S + chance.randrange(86_400 * 30)
    job = {"namespace": "shop", "name": f"job{chance.randrange(20)}"}
    drawn = chance.random()
    if drawn < 0.05:
        return [_event(start_s, dataset=_dataset(chance, TABLES[0], TABLES[1]))]
    read, written = chance.sample(TABLES, 2)
    sets = {"inputs": [_dataset(chance, read)], "outputs": [_dataset(chance, written, read)]}
    if drawn < 0.1:
        return [_event(start_s, job=job, **sets)]
    run = {"runId": str(uuid.UUID(int=chance.getrandbits(128), version=4))}
    sent = [_event(start_s, eventType="START", run=run, job=job, inputs=sets["inputs"], outputs=[])]
    sent += [_event(start_s + 5, eventType="RUNNING", run=run, job=job)] * chance.randrange(2)
    if chance.random() < 0.9:
        sent.append(_event(start_s + 9, eventType=chance.choice(ENDS), run=run, job=job, **sets))
    return sent


def _event(time_s: int, **members: Any) -> dict[str, Any]:
    time = datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "eventTime": time,
        "producer": "https://example.org/p",
        "schemaURL": "https://example.org",
    } | members


def _dataset(
    chance: random.Random, name: tuple[str, str], source: tuple[str, str] | None = None
) -> dict[str, Any]:
    fields = [{"name": column, "type": "text"} for column in COLUMNS]
    facets: dict[str, Any] = {"schema": {"fields": fields}}
    if source is not None:
        used = {"namespace": source[0], "name": source[1], "field": chance.choice(COLUMNS)}
        kind = {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": "a\nb", "masking": False}
        lineage = {column: {"inputFields": [used | {"transformations": [kind]}]} for column in COLUMNS}
        facets["columnLineage"] = {"fields": lineage}
    return {"namespace": name[0], "name": name[1], "facets": facets}
