"""OpenLineage events over HTTP: real events of an agent, repeated as by a nightly job."""

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
from itertools import count, islice
from pathlib import Path
from typing import Any

from bench.report import print_figure
from bench.server import Server, call, connect
from fll_hbase.tables import open_table

EVENTS = Path(__file__).parents[1] / "tests/cases/openlineage/events.ndjson.gz"
PATH = "/api/v1/lineage"
CLIENTS = 4
RATE = "at least 1,000"
BATCH_EVENTS = 100
DAILY_JOB = "retail_daily_ingest_customers.execute_insert"
DAILY_KINDS = ("START", "RUNNING", "RUNNING", "COMPLETE")
MEMORY_EVENTS = 100_000


def bench(sizes: Sequence[int]) -> None:
    """Measure single events from several clients, large events, bytes on disk, and memory."""
    events = _events()
    with tempfile.TemporaryDirectory() as folder:
        _singles(f"sqlite:///{folder}/singles.db", events)
        _daily(f"sqlite:///{folder}/daily.db", events, min(sizes[-1], 10_000))
        _memory(f"sqlite:///{folder}/memory.db", events, min(sizes[-1], MEMORY_EVENTS))


def _singles(store: str, events: Sequence[Any]) -> None:
    server = Server(store)
    try:
        with multiprocessing.Pool(CLIENTS) as pool:
            for repeated in range(2):
                shares = [_bodies(events, 10 * repeated + client) for client in range(CLIENTS)]
                started = time.perf_counter()
                times = pool.map(partial(_send, server.port), shares)
                elapsed = time.perf_counter() - started
                _print_singles(sorted(seconds for client in times for seconds in client), elapsed, repeated)
            bodies = [_join(_bodies(events, 20 + client)) for client in range(CLIENTS)]
            started = time.perf_counter()
            pool.map(partial(_send_batches, server.port), bodies)
            rate = CLIENTS * len(events) / (time.perf_counter() - started)
            print_figure(f"events in batches of {BATCH_EVENTS}, {CLIENTS} clients", rate, "/s", target=RATE)
        for title in ("first", "again"):
            body = _large_event(title)
            seconds = _send(server.port, [body])[0]
            print_figure(f"an event of {len(body) / 2**20:.1f} MB, {title}", 1000 * seconds, "ms")
    finally:
        server.stop()


def _print_singles(seconds: Sequence[float], elapsed: float, repeated: int) -> None:
    lineage = "repeated lineage" if repeated else "new lineage"
    rate = len(seconds) / elapsed
    print_figure(f"single events, {CLIENTS} clients, {lineage}", rate, "/s", target=RATE)
    print_figure("single events, p50", 1000 * seconds[len(seconds) // 2], "ms")
    print_figure("single events, p99", 1000 * seconds[len(seconds) * 99 // 100], "ms")


def _daily(store: str, events: Sequence[Any], runs: int) -> None:
    """Store runs of a job that sends four events of 6 kB a day, always with the same lineage.

    Each event is a separate request. Several clients send their runs one after another.
    """
    server = Server(store)
    try:
        bodies = list(islice(_daily_events(events), 4 * runs))
        kinds = len(DAILY_KINDS)
        shares = [
            [
                body
                for start in range(client, runs, CLIENTS)
                for body in bodies[kinds * start : kinds * (start + 1)]
            ]
            for client in range(CLIENTS)
        ]
        with multiprocessing.Pool(CLIENTS) as pool:
            pool.map(partial(_send, server.port), shares)
    finally:
        server.stop()
    # A server that is stopped leaves the log of SQLite behind: its pages are moved when the store is opened.
    open_table(store, create=False).close()
    size_bytes = sum(map(len, bodies)) / len(bodies)
    run_bytes = server.stored_bytes() / runs
    label = f"bytes per run of 4 events of {size_bytes:,.0f} bytes, {runs:,} runs"
    print_figure(label, run_bytes, "B", target="at most 2,500")


def _memory(store: str, events: Sequence[Any], count: int) -> None:
    """Measure whether the memory of a worker grows with the number of events."""
    server = Server(store, workers=1)
    try:
        resident = []
        for number in range(-(-count // len(events))):
            bodies = _bodies(events, number)
            for start in range(0, len(bodies), 1_000):
                _post(server, bodies[start : start + 1_000])
            resident.append(server.resident_bytes() / 2**20)
        tenth = max(len(resident) // 10, 1)
        print_figure(f"memory after a tenth of {count:,} events", resident[tenth - 1], "MiB")
        print_figure("memory after all events", resident[-1], "MiB")
        print_figure("memory after all events / after a tenth", resident[-1] / resident[tenth - 1], "x")
    finally:
        server.stop()


def _events() -> list[Any]:
    with gzip.open(EVENTS) as lines:
        return [json.loads(line) for line in lines]


def real_events() -> Iterator[bytes]:
    """Events of the agent without end, day by day."""
    events = _events()
    for number in count():
        yield from _bodies(events, number)


def _bodies(events: Sequence[Any], number: int) -> list[bytes]:
    """All events as if sent `number` days earlier, by other runs."""
    return [_shift(event, number) for event in events]


def _shift(event: Any, number: int) -> bytes:
    run = str(uuid.uuid5(uuid.UUID(event["run"]["runId"]), str(number)))
    event_time = datetime.fromisoformat(event["eventTime"]) - timedelta(days=number)
    facets = event["run"]["facets"]
    parent = facets["parent"]
    parent_run = str(uuid.uuid5(uuid.UUID(parent["run"]["runId"]), str(number)))
    facets = {**facets, "parent": {**parent, "run": {"runId": parent_run}}}
    shifted = {**event, "run": {"runId": run, "facets": facets}, "eventTime": event_time.isoformat()}
    return json.dumps(shifted).encode()


def _daily_events(events: Sequence[Any]) -> Iterator[bytes]:
    job_events = [event for event in events if event["job"]["name"].startswith(DAILY_JOB)]
    complete = next(event for event in job_events if event["eventType"] == "COMPLETE")
    number = 0
    while True:
        for seconds, kind in enumerate(DAILY_KINDS):
            event_time = datetime.fromisoformat(complete["eventTime"]) + timedelta(seconds=seconds)
            yield _shift({**complete, "eventType": kind, "eventTime": event_time.isoformat()}, number)
        number += 1


def _large_event(title: str) -> bytes:
    """3 MB: 2,000 columns with 10 inputs each, in the layout that repeats the dataset for each input."""
    inputs = [
        {
            "namespace": "file",
            "name": "/warehouse/wide/source",
            "field": f"column_{number}",
            "transformations": [{"type": "DIRECT", "subtype": "TRANSFORMATION"}],
        }
        for number in range(10)
    ]
    fields = {f"made_{number}": {"inputFields": inputs} for number in range(2_000)}
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


def _join(bodies: Sequence[bytes]) -> list[bytes]:
    """JSON arrays of BATCH_EVENTS events."""
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
        started = time.perf_counter()
        status, _ = call(connection, "POST", PATH, body)
        times.append(time.perf_counter() - started)
        if status != 201:
            raise RuntimeError(f"an event was answered {status}")
    return times
