"""Acknowledged events survive the end of every process, in whatever order they were sent."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from http.client import HTTPConnection, HTTPException
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support.server_process import Server
from tests.support.waiting import PATIENCE_SECONDS, eventually

SENDERS, ROUNDS, PROGRESS_EVENTS = 3, 3, 120
KINDS = ("START", "RUNNING", "RUNNING", "COMPLETE")
FIRST_SECOND = 1_770_000_000


class Sender(threading.Thread):
    """Tells of runs one after the other, event by event, the last first in every other run.

    An event is sent again until it is acknowledged; `acknowledged` has the events of each run.
    """

    def __init__(self, port: int, number: int) -> None:
        super().__init__(daemon=True)
        self._port = port
        self._number = number
        self._finishing = threading.Event()
        self.acknowledged: dict[str, list[tuple[int, str]]] = {}
        self.broken = 0
        self.wrong: BaseException | None = None

    def run(self) -> None:
        try:
            for run in count():
                if self._finishing.is_set():
                    return
                for event in _events(f"{self._number}-{run}", backward=run % 2 == 1):
                    self._send(event)
        except BaseException as error:  # noqa: BLE001 (told by `finish`)
            self.wrong = error

    def finish(self) -> None:
        """Let it come to the end of its run. Raises what went wrong in it."""
        self._finishing.set()
        self.join(2 * PATIENCE_SECONDS)
        assert not self.is_alive()
        if self.wrong is not None:
            raise self.wrong

    def _send(self, event: dict[str, Any]) -> None:
        status, answer, broken = insisting(self._port, "POST", "/api/v1/lineage", event)
        assert status == 201, answer
        self.broken += broken
        acknowledged = self.acknowledged.setdefault(event["run"]["runId"], [])
        acknowledged.append((_milliseconds(event), event["eventType"]))


@pytest.mark.slow
def test_killed_while_events_come(store: Path) -> None:
    with Server(store) as server:
        senders = [Sender(server.port, number) for number in range(SENDERS)]
        for sender in senders:
            sender.start()
        for _ in range(ROUNDS):
            wanted = _acknowledged(senders) + PROGRESS_EVENTS
            eventually(lambda wanted=wanted: _acknowledged(senders) >= wanted, "events come")
            server.kill()
            certain = [
                (run, list(acknowledged))
                for sender in senders
                for run, acknowledged in list(sender.acknowledged.items())
            ]
            server.start()
            for run, acknowledged in certain:
                assert set(acknowledged) <= _recorded_events(server.port, run), run
        for sender in senders:
            sender.finish()
        assert sum(sender.broken for sender in senders) >= ROUNDS
        server.wait_for_all_workers()
        runs = {run: acknowledged for sender in senders for run, acknowledged in sender.acknowledged.items()}
        listed = {run["run"]: run for run in _listed(server.port)}
        assert listed.keys() == runs.keys()
        for run, acknowledged in runs.items():
            assert len(acknowledged) == len(KINDS)
            assert _recorded_events(server.port, run) == set(acknowledged)
            assert listed[run]["state"] == "COMPLETE"
            assert listed[run]["startTime"] == min(moment for moment, _ in acknowledged)


def call(port: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """One request over a connection of its own."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    try:
        connection.request(
            method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"}
        )
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def insisting(port: int, method: str, path: str, body: Any = None) -> tuple[int, Any, int]:
    """A request that is sent again while connections break, as clients do; and how often they broke."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    for broken in count():
        try:
            return *call(port, method, path, body), broken
        except (OSError, HTTPException):
            assert time.monotonic() < deadline, "the server does not come back"
            time.sleep(0.05)
    raise AssertionError("it goes on for ever")


def _events(run: str, *, backward: bool) -> Iterator[dict[str, Any]]:
    numbered = list(enumerate(KINDS))
    for number, kind in reversed(numbered) if backward else numbered:
        yield {
            "eventType": kind,
            "eventTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(FIRST_SECOND + number)),
            "run": {"runId": run},
            "job": {"namespace": "jobs", "name": "nightly"},
            "inputs": [{"namespace": "db", "name": "orders"}],
            "outputs": [{"namespace": "db", "name": "daily", "facets": {"columnLineage": _LINEAGE}}],
        }


_LINEAGE = {"fields": {"a": {"inputFields": [{"namespace": "db", "name": "orders", "field": "a"}]}}}


def _milliseconds(event: dict[str, Any]) -> int:
    moment = datetime.fromisoformat(event["eventTime"])
    return 1_000 * int(moment.timestamp())


def _acknowledged(senders: list[Sender]) -> int:
    return sum(len(events) for sender in senders for events in list(sender.acknowledged.values()))


def _recorded_events(port: int, run: str) -> set[tuple[int, str]]:
    status, answer, _ = insisting(port, "GET", f"/v3/runs/{run}")
    assert status == 200, answer
    return {(event["eventTime"], event["eventType"]) for event in answer["events"]}


def _listed(port: int) -> list[dict[str, Any]]:
    path = "/v3/namespaces/db/endpoints/daily/runs?start=0&end=now&limit=10000"
    status, answer, _ = insisting(port, "GET", path)
    assert status == 200, answer
    runs: list[dict[str, Any]] = answer["runs"]
    return runs
