"""Events of real clients, recorded once (README.md), and what a server answers about them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import requests

FOLDER = Path(__file__).parent
CLIENTS = sorted(path.parent.name for path in FOLDER.glob("*/events.ndjson.gz"))
ALWAYS = {"start": "0", "end": "now+365d"}
TIMEOUT_SECONDS = 30
JSON = {"Content-Type": "application/json"}

Edge = list[str]
"""Source dataset, its field, field of the destination, and `direct` or `indirect`; `*` is every row."""


class Recording(NamedTuple):
    """The events of one client in the order in which it sent them, and what they say, by hand."""

    events: list[bytes]
    expected: dict[str, Any]


def read_recording(client: str) -> Recording:
    """Read the recording of a client."""
    lines = gzip.decompress((FOLDER / client / "events.ndjson.gz").read_bytes()).splitlines()
    return Recording(lines, json.loads((FOLDER / client / "expected.json").read_text(encoding="utf-8")))


def post_event(url: str, event: bytes, **headers: str) -> Any:
    """Post an event as a client does; return the answer, which is 201."""
    answer = requests.post(
        f"{url}/api/v1/lineage", event, headers={**JSON, **headers}, timeout=TIMEOUT_SECONDS
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


def get(url: str, *segments: str, **query: str) -> Any:
    """Return the answer to a GET below /v3, which is complete."""
    path = "/".join(quote(segment, safe="") for segment in segments)
    answer = requests.get(f"{url}/v3/{path}", query, timeout=TIMEOUT_SECONDS)
    assert answer.status_code == 200, answer.text
    assert "next" not in answer.links, f"{path} has more than one page"
    return answer.json()


def lineage_of(url: str, namespace: str, name: str) -> tuple[list[Edge], list[str]]:
    """Return the edges into a dataset, sorted, and the datasets it comes from without known fields."""
    edges, unknown = [], []
    query = {**ALWAYS, "direction": "backward", "failed": "true"}
    for entry in get(url, "namespaces", namespace, "endpoints", name, "fields", "lineage", **query):
        source = entry["source"]["name"] if entry["source"] else ""
        edges += [
            [source, pair.get("from") or "", pair["to"], pair.get("influence", "direct")]
            for pair in entry["fieldmap"]
        ]
        if entry.get("unknown"):
            unknown.append(source)
    return sorted(edges), sorted(unknown)


def datasets_of(url: str) -> list[tuple[str, str]]:
    """Return the namespace and name of every dataset of the catalogue."""
    return [
        (namespace, dataset["name"])
        for namespace in get(url, "namespaces")["namespaces"]
        for dataset in get(url, "namespaces", namespace, "endpoints")["endpoints"]
    ]


def whole_state(url: str) -> dict[str, Any]:
    """Return all that the server answers about datasets, fields, lineage and runs."""
    state: dict[str, Any] = {"runs": {}}
    for namespace, name in datasets_of(url):
        path = ("namespaces", namespace, "endpoints", name)
        listed = get(url, *path, "runs", **ALWAYS)["runs"]
        state[f"{namespace} {name}"] = {
            "fields": get(url, *path, "fields"),
            "lineage": get(url, *path, "fields", "lineage", **ALWAYS, direction="both", failed="true"),
            "runs": listed,
        }
        state["runs"] |= {run["run"]: get(url, "runs", run["run"]) for run in listed}
    return state
