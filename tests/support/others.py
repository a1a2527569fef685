"""Those who record small documents and ask small questions while somebody attacks, and their times."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import count
from statistics import quantiles

from tests.support.lineage_documents import copying, run

SHOP = "shop"
"""Their namespace."""

PAUSE_SECONDS = 0.02
_HOME = f"/v3/namespaces/{SHOP}"
QUESTIONS = (
    f"{_HOME}/endpoints/d/fields/lineage?start=0",
    f"{_HOME}/endpoints/d/fields",
    f"{_HOME}/endpoints/d/runs?start=0&limit=10",
)


@dataclass(slots=True)
class Times:
    """Seconds of the answers of one kind, and how many there are by status."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def worst(self) -> float:
        """The 99th percentile."""
        return quantiles(self.seconds, n=100, method="inclusive")[98]

    @property
    def refused(self) -> int:
        """How many were not answered as they should be."""
        return sum(count for status, count in self.statuses.items() if status > 299)


@dataclass(slots=True)
class Others:
    """Two clients that record and two that ask, each on a connection of its own."""

    port: int
    token: str
    documents: Times = field(default_factory=Times)
    questions: Times = field(default_factory=Times)
    _is_over: threading.Event = field(default_factory=threading.Event)
    _numbers: Iterator[int] = field(default_factory=count)

    def run(self, seconds: float, *, requests: int = 0) -> None:
        """Record and ask for so long, and until each client has sent so many requests."""
        clients = [
            threading.Thread(target=client, args=(seconds, requests))
            for client in (self._record, self._ask) * 2
        ]
        for client in clients:
            client.start()
        for client in clients:
            client.join()

    def _record(self, seconds: float, requests: int) -> None:
        name = f"{time.time_ns()}-{threading.get_ident()}"
        bodies = (
            json.dumps(copying("c", "d", "y", run=run(f"{name}-{number}"))).encode() for number in count()
        )
        self._send(self.documents, ((f"{_HOME}/lineage", body) for body in bodies), seconds, requests)

    def _ask(self, seconds: float, requests: int) -> None:
        targets = ((QUESTIONS[number % len(QUESTIONS)], None) for number in count())
        self._send(self.questions, targets, seconds, requests)

    def _send(
        self, times: Times, sent: Iterator[tuple[str, bytes | None]], seconds: float, requests: int
    ) -> None:
        """Send one request after the other."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        ends_at = time.monotonic() + seconds
        for number, (target, body) in enumerate(sent):
            if time.monotonic() > ends_at and number >= requests:
                break
            began = time.monotonic()
            connection.request("GET" if body is None else "POST", target, body, headers)
            with connection.getresponse() as response:
                response.read()
            times.seconds.append(time.monotonic() - began)
            times.statuses[response.status] += 1
            time.sleep(PAUSE_SECONDS)
        connection.close()
