"""Runs of many fields, over the app with a SQLite file: recorded, and queried both ways."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from flask.testing import FlaskClient

from api import create_app
from bench.documents import DAY_MS, FIRST_DAY_MS
from bench.report import print_figure
from fll_hbase.runtime.config import Settings
from fll_hbase.store.factory import open_store

Json: TypeAlias = dict[str, Any]

FIELDS = 1_000, 50_000
WINDOW = {"start": FIRST_DAY_MS // 1000, "end": (FIRST_DAY_MS + DAY_MS) // 1000}
URL = "/v3/namespaces/wide"


def bench(sizes: Sequence[int]) -> None:
    """Measure each shape with few and with many fields; `sizes` has no effect."""
    for shape in (copy, rename, sums, all_to_all):
        for fields in FIELDS:
            with tempfile.TemporaryDirectory() as folder:
                settings = Settings(store=f"sqlite:///{folder}/wide.db", request_seconds=600)
                client = create_app(open_store(settings), settings).test_client()
                _measure(client, shape, fields)


def _measure(client: FlaskClient, shape: Callable[[int], list[Json]], fields: int) -> None:
    operations = shape(fields)
    run = {"application": "wide", "type": "spark", "program": "copy", "run": "r", "startTime": FIRST_DAY_MS}
    body = json.dumps({"run": run, "operations": operations})
    label = f"{shape.__name__}, {fields:,} fields"
    started = time.perf_counter()
    answer = client.post(f"{URL}/lineage", data=body, content_type="application/json")
    _print_seconds(f"{label}: recorded", started, answer.status_code == 201, "below 2")
    for name, direction in (("target", "backward"), ("source", "forward")):
        started = time.perf_counter()
        answer = client.get(
            f"{URL}/endpoints/{name}/fields/lineage", query_string={**WINDOW, "direction": direction}
        )
        _print_seconds(f"{label}: {direction}", started, bool(answer.json), "below 1")
        field = operations[-1]["inputs"][0]["name"] if name == "target" else "f00000"
        started = time.perf_counter()
        answer = client.get(
            f"{URL}/endpoints/{name}/fields/{field}/lineage", query_string={**WINDOW, "direction": direction}
        )
        _print_seconds(f"{label}: one field {direction}", started, bool(answer.json), "below 1")


def _print_seconds(label: str, started: float, is_answered: bool, target: str) -> None:
    seconds = time.perf_counter() - started
    if not is_answered:
        raise RuntimeError(f"{label}: no answer")
    print_figure(label, seconds, "s", target=target)


def copy(fields: int) -> list[Json]:
    """A table copied as it is."""
    return [_read(fields), _write([{"origin": "read", "name": name} for name in _names(fields)])]


def rename(fields: int) -> list[Json]:
    """Each field by an operation of its own, in another order."""
    return _derive_fields(fields, lambda names, n: [names[7 * n % fields]])


def sums(fields: int) -> list[Json]:
    """Each field from two."""
    return _derive_fields(fields, lambda names, n: [names[n], names[(n + fields // 3) % fields]])


def all_to_all(fields: int) -> list[Json]:
    """One operation that derives each field from every one."""
    inputs = [{"origin": "read", "name": name} for name in _names(fields)]
    transform = {"type": "TRANSFORM", "name": "all", "inputs": inputs, "outputs": _names(fields)}
    return [
        _read(fields),
        transform,
        _write([{"origin": "all", "name": name} for name in _names(fields)]),
    ]


def _derive_fields(fields: int, inputs: Callable[[list[str], int], list[str]]) -> list[Json]:
    names = _names(fields)
    transforms = [
        {
            "type": "TRANSFORM",
            "name": f"derive {name}",
            "inputs": [{"origin": "read", "name": used} for used in inputs(names, number)],
            "outputs": [name],
        }
        for number, name in enumerate(names)
    ]
    written = [{"origin": f"derive {name}", "name": name} for name in names]
    return [_read(fields), *transforms, _write(written)]


def _names(fields: int) -> list[str]:
    return [f"f{number:05}" for number in range(fields)]


def _read(fields: int) -> Json:
    source = {"namespace": "wide", "name": "source"}
    return {"type": "READ", "name": "read", "source": source, "outputs": _names(fields)}


def _write(inputs: list[Json]) -> Json:
    destination = {"namespace": "wide", "name": "target"}
    return {"type": "WRITE", "name": "write", "destination": destination, "inputs": inputs}
