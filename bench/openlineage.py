"""OpenLineage events over HTTP: real ones of an agent, again and again as a nightly job sends them."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from bench.report import said
from bench.server import Server, call, connect

EVENTS = Path(__file__).parents[1] / "tests/cases/openlineage/events.ndjson.gz"
PATH = "/api/v1/lineage"
CLIENTS = 4
BATCH_EVENTS = 100
DAILY_JOB = "retail_daily_ingest_customers.execute_insert"
DAILY_KINDS = ("START", "RUNNING", "RUNNING", "COMPLETE")
FLAT_EVENTS = 100_000


def bench(sizes: Sequence[int]) -> None:
    """Events one by one from several clients, large ones, and what a daily job takes on disk."""
    events = _events()
    with tempfile.TemporaryDirectory() as folder:
        _singles(f"sqlite:///{folder}/singles.db", events)
        _daily(f"sqlite:///{folder}/daily.db", events, min(sizes[-1], 10_000))
        _flat(f"sqlite:///{folder}/flat.db", events, min(sizes[-1], FLAT_EVENTS))


def _singles(store: str, events: Sequence[Any]) -> None:
    server = Server(store)
    try:
        with multiprocessing.Pool(CLIENTS) as pool:
            for again in range(2):
                shares = [_bodies(events, 10 * again + client) for client in range(CLIENTS)]
                began = time.perf_counter()
                times = pool.map(partial(_send, server.port), shares)
                took = time.perf_counter() - began
                every = sorted(taken for client in times for taken in client)
                title = "seen before" if again else "new"
                said(
                    f"events one by one, {CLIENTS} clients, lineage {title}",
                    len(every) / took,
                    "/s",
                    "at least 1,000",
                )
                said("half of them answered in", 1000 * every[len(every) // 2], "ms")
                said("99 of 100 answered in", 1000 * every[len(every) * 99 // 100], "ms")
            bodies = [_batched(_bodies(events, 20 + client)) for client in range(CLIENTS)]
            began = time.perf_counter()
            pool.map(partial(_send_batches, server.port), bodies)
            took = time.perf_counter() - began
            rate = CLIENTS * len(events) / took
            said(f"events by {BATCH_EVENTS}, {CLIENTS} clients", rate, "/s", "at least 1,000")
        for title in ("first", "again"):
            body = _large(title)
            took = _send(server.port, [body])[0]
            said(f"an event of {len(body) / 2**20:.1f} MB, {title}", 1000 * took, "ms")
    finally:
        server.stop()


def _daily(store: str, events: Sequence[Any], runs: int) -> None:
    """One run a day of a job that sends four events of 6 kB, always with the same lineage, each in a call of
    its own.
    """
    server = Server(store)
    try:
        bodies = list(islice(_daily_events(events), 4 * runs))
        for kind in range(4):
            for begin in range(kind, len(bodies), 8_000):
                _post(server, bodies[begin : begin + 8_000 : 4])
    finally:
        server.stop()
    size = sum(map(len, bodies)) / len(bodies)
    said(
        f"bytes a run of 4 events of {size:,.0f} bytes, {runs:,} runs",
        server.stored_bytes() / runs,
        "B",
        "at most 2,500",
    )


def _flat(store: str, events: Sequence[Any], count: int) -> None:
    server = Server(store, workers=1)
    try:
        resident = []
        for number in range(-(-count // len(events))):
            bodies = _bodies(events, number)
            for begin in range(0, len(bodies), 1_000):
                _post(server, bodies[begin : begin + 1_000])
            resident.append(server.resident_bytes() / 2**20)
        tenth = max(len(resident) // 10, 1)
        said(f"memory after a tenth of {count:,} events", resident[tenth - 1], "MiB")
        said("memory after all of them", resident[-1], "MiB")
        said("memory after all over memory after a tenth", resident[-1] / resident[tenth - 1], "x")
    finally:
        server.stop()


def _events() -> list[Any]:
    with gzip.open(EVENTS) as lines:
        return [json.loads(line) for line in lines]


def _bodies(events: Sequence[Any], number: int) -> list[bytes]:
    """All events as though sent so many days later, by other runs."""
    return [_moved(event, number) for event in events]


def _moved(event: Any, number: int) -> bytes:
    run = str(uuid.uuid5(uuid.UUID(event["run"]["runId"]), str(number)))
    time_ = datetime.fromisoformat(event["eventTime"]) - timedelta(days=number)
    facets = event["run"]["facets"]
    parent = facets["parent"]
    its_run = str(uuid.uuid5(uuid.UUID(parent["run"]["runId"]), str(number)))
    facets = {**facets, "parent": {**parent, "run": {"runId": its_run}}}
    moved = {**event, "run": {"runId": run, "facets": facets}, "eventTime": time_.isoformat()}
    return json.dumps(moved).encode()


def _daily_events(events: Sequence[Any]) -> Iterator[bytes]:
    of_job = [event for event in events if event["job"]["name"].startswith(DAILY_JOB)]
    complete = next(event for event in of_job if event["eventType"] == "COMPLETE")
    number = 0
    while True:
        for later, kind in enumerate(DAILY_KINDS):
            time_ = datetime.fromisoformat(complete["eventTime"]) + timedelta(seconds=later)
            yield _moved({**complete, "eventType": kind, "eventTime": time_.isoformat()}, number)
        number += 1


def _large(title: str) -> bytes:
    """3 MB: 2,000 columns, each made of 10, in the layout that names datasets again and again."""
    taken = [
        {
            "namespace": "file",
            "name": "/warehouse/wide/source",
            "field": f"column_{number}",
            "transformations": [{"type": "DIRECT", "subtype": "TRANSFORMATION"}],
        }
        for number in range(10)
    ]
    fields = {f"made_{number}": {"inputFields": taken} for number in range(2_000)}
    facet = {"columnLineage": {"fields": fields}}
    return json.dumps(
        {
            "eventType": "COMPLETE",
            "eventTime": "2026-01-01T00:00:00Z",
            "run": {"runId": str(uuid.uuid5(uuid.NAMESPACE_URL, title))},
            "job": {"namespace": "bench", "name": "wide"},
            "outputs": [{"namespace": "file", "name": "/warehouse/wide/made", "facets": facet}],
        }
    ).encode()


def _batched(bodies: Sequence[bytes]) -> list[bytes]:
    """Arrays of events."""
    starts = range(0, len(bodies), BATCH_EVENTS)
    return [b"[" + b",".join(bodies[start : start + BATCH_EVENTS]) + b"]" for start in starts]


def _send_batches(port: int, batches: Sequence[bytes]) -> None:
    connection = connect(port)
    for body in batches:
        status, answer = call(connection, "POST", f"{PATH}/batch", body)
        if status != 200 or json.loads(answer)["refused"]:
            raise RuntimeError(f"a batch of events was answered {status}: {answer[:500]!r}")


def _post(server: Server, bodies: Sequence[bytes]) -> None:
    _send_batches(server.port, [b"[" + b",".join(bodies) + b"]"])


def _send(port: int, bodies: Sequence[bytes]) -> list[float]:
    connection = connect(port)
    times = []
    for body in bodies:
        began = time.perf_counter()
        status, _ = call(connection, "POST", PATH, body)
        times.append(time.perf_counter() - began)
        if status != 201:
            raise RuntimeError(f"an event was answered {status}")
    return times
