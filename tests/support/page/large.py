"""Large and odd graphs: 5,000 pairs, 1,000 nested fields, a cycle, and a dataset that is made of itself."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import requests

from bench.layers import LARGE, NAMESPACE
from fll_hbase.runtime.json_types import Json
from tests.support.page.site import Site

WIDE_FIELDS = [f"parent_{number % 40:02}/column_{number:04}" for number in range(1_000)]
"""The fields of `wide1`, `wide2` and `wide3`, each a copy of the one before."""

CYCLE = {"circle1": "circle2", "circle2": "circle3", "circle3": "circle1", "loop": "loop"}
"""From each dataset to the one that is made of it."""


def record(site: Site) -> None:
    """Record all of it, a minute ago."""
    start_ms = int(time.time() * 1000) - 60_000
    copies = {"wide1": "wide2", "wide2": "wide3"}
    documents = [
        *LARGE.documents(start_ms),
        *(_copy(source, target, WIDE_FIELDS, start_ms) for source, target in copies.items()),
        *(_copy(source, target, ["turning"], start_ms) for source, target in CYCLE.items()),
    ]
    response = requests.post(
        f"{site.url}/v3/namespaces/{NAMESPACE}/lineage/batch",
        b"\n".join(documents),
        headers={"Content-Type": "application/x-ndjson"},
        timeout=300,
    )
    assert response.text.count('"status":201') == len(documents), response.text[:500]


def _copy(source: str, destination: str, fields: list[str], start_ms: int) -> bytes:
    """A run that copies fields from one dataset to another."""
    program = f"{source} to {destination}"
    run = {"application": "copy", "type": "spark", "program": program, "run": program, "startTime": start_ms}
    return json.dumps({"run": run, "operations": list(_operations(source, destination, fields))}).encode()


def _operations(source: str, destination: str, fields: list[str]) -> Iterator[Json]:
    yield {"type": "READ", "name": "read", "source": {"name": source}, "outputs": fields}
    yield {
        "type": "WRITE",
        "name": "write",
        "destination": {"name": destination},
        "inputs": [{"origin": "read", "name": name} for name in fields],
    }
