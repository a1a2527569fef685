"""Many clients that ask and record without a pause, and probes of health, with the times of all answers."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from tests.faults.caller import Answer, Caller
from tests.faults.ledger import NAMESPACE, SINK, Version

NAMESPACE_OF_CROWD = "crowd"
"""Datasets of their own: the ledger accounts for those of the other clients."""

EVER = "start=0&end=9999999999"
PROBES = ("/healthz", "/readyz")
PROBE_PAUSE_SECONDS = 0.05


@dataclass
class Times:
    """Statuses of answers, and the longest time that one took."""

    statuses: Counter[int] = field(default_factory=Counter)
    longest_seconds: float = 0.0

    def add(self, status: int, seconds: float) -> None:
        self.statuses[status] += 1
        self.longest_seconds = max(self.longest_seconds, seconds)

    def __str__(self) -> str:
        return f"{dict(sorted(self.statuses.items()))} in {1000 * self.longest_seconds:.0f} ms at most"


class Crowd:
    """Threads that send one request after the other, with `wait_seconds` in the Prefer header."""

    def __init__(self, port: int, *, clients: int, wait_seconds: int, patience_seconds: float) -> None:
        self._port = port
        self._clients = clients
        self._headers = {"Prefer": f"wait={wait_seconds}"}
        self._patience_seconds = patience_seconds
        self._ended = threading.Event()
        self._failures: list[BaseException] = []
        self._numbers = count()
        self._lock = threading.Lock()
        self.times: dict[str, Times] = {kind: Times() for kind in ("questions", "documents", *PROBES)}

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Send requests until the end of the context. Raises what went wrong in a thread."""
        work: list[Callable[[Caller], None]] = [self._probe]
        work += [self._ask if number % 2 else self._record for number in range(self._clients)]
        threads = [threading.Thread(target=self._run, args=(turn,), daemon=True) for turn in work]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in threads:
                thread.join(2 * self._patience_seconds)
        if self._failures:
            raise self._failures[0]

    def _run(self, turn: Callable[[Caller], None]) -> None:
        caller = Caller(self._port, patience_seconds=self._patience_seconds)
        try:
            while not self._ended.is_set():
                turn(caller)
        except BaseException as error:  # noqa: BLE001 (raised at the end of `at_work`)
            self._failures.append(error)
            self._ended.set()

    def _ask(self, caller: Caller) -> None:
        path = f"/v3/namespaces/{NAMESPACE}/endpoints/{SINK}/fields/lineage?{EVER}&level=2"
        self._note("questions", caller, caller.call("GET", path, headers=self._headers))

    def _record(self, caller: Caller) -> None:
        number = next(self._numbers)
        document = Version(f"crowd{number}", number, number % 10).document()
        path = f"/v3/namespaces/{NAMESPACE_OF_CROWD}/lineage"
        self._note("documents", caller, caller.call("POST", path, document, headers=self._headers))

    def _probe(self, caller: Caller) -> None:
        for path in PROBES:
            self._note(path, caller, caller.call("GET", path))
        time.sleep(PROBE_PAUSE_SECONDS)

    def _note(self, kind: str, caller: Caller, answer: Answer) -> None:
        with self._lock:
            self.times[kind].add(answer.status, caller.tally.last_seconds)
