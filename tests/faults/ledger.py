"""The expected state of the server: every run sent and every run acknowledged."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

NAMESPACE, SOURCE, SINK = "ns", "source", "sink"
FIRST_START_MS = 1_700_000_000_000
STARTS, STEP_MS = 26_000, 10_000
"""Starts lie on a grid over three days: windows have ragged ends, and some runs share a millisecond."""

CONTENTS = 300
OFTEN, OFTEN_MS = 8, 1_800_000
"""Some short windows are asked again and again, so that an old answer given again is noticed."""


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """One document of a run; another document of the same run is another version."""

    run: str
    start_ms: int
    content: int

    def document(self) -> bytes:
        """The document, on one line."""
        destination, read = f"d{self.content}", f"s{self.content}"
        run = {"application": "shop", "type": "batch", "program": "nightly"}
        return json.dumps(
            {
                "run": {**run, "run": self.run, "startTime": self.start_ms},
                "operations": [
                    _read(read),
                    {
                        "type": "TRANSFORM",
                        "name": "make",
                        "inputs": [_input("read", read)],
                        "outputs": [destination],
                    },
                    _write(destination),
                ],
            }
        ).encode()


@dataclass(frozen=True, slots=True)
class Window:
    """A window on start times: start in, stop out."""

    start_ms: int
    stop_ms: int

    def __contains__(self, version: Version) -> bool:
        return self.start_ms <= version.start_ms < self.stop_ms


EVER = Window(FIRST_START_MS, FIRST_START_MS + STARTS * STEP_MS)


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of the ledger when a query was sent."""

    settled: dict[str, Version]
    possible: set[Version]
    sent: int


class Ledger:
    """Threads share it. A version is in it before it is sent, and acknowledged right after its answer.

    While another version of a run is under way, either may be the truth.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: list[Version] = []
        self._pending: dict[str, set[Version]] = {}
        self._acknowledged: dict[str, Version] = {}
        self.acknowledgements = 0

    def begin(self, versions: Iterable[Version]) -> None:
        with self._lock:
            for version in versions:
                self._sent.append(version)
                self._pending.setdefault(version.run, set()).add(version)

    def acknowledge(self, version: Version) -> None:
        with self._lock:
            self._pending.pop(version.run, None)
            self._acknowledged[version.run] = version
            self.acknowledgements += 1

    def now(self) -> Moment:
        """To be taken before a question."""
        with self._lock:
            settled = {
                run: version for run, version in self._acknowledged.items() if run not in self._pending
            }
            possible = {*self._acknowledged.values(), *chain(*self._pending.values())}
            return Moment(settled, possible, len(self._sent))

    def bounds(self, moment: Moment) -> tuple[list[Version], set[Version]]:
        """Return the versions that an answer since that moment must and may contain."""
        with self._lock:
            since = self._sent[moment.sent :]
        touched = {version.run for version in since}
        must = [version for run, version in moment.settled.items() if run not in touched]
        return must, moment.possible.union(since)

    def versions(self) -> list[Version]:
        """The last acknowledged version of each run."""
        with self._lock:
            return list(self._acknowledged.values())

    def under_way(self) -> int:
        """How many runs have a version that nobody acknowledged yet."""
        with self._lock:
            return len(self._pending)


def version(run: str, chance: random.Random) -> Version:
    """Some version of a run."""
    start_ms = FIRST_START_MS + STEP_MS * chance.randrange(STARTS)
    return Version(run, start_ms, chance.randrange(CONTENTS))


def window(versions: list[Version], chance: random.Random) -> Window:
    """A window of any length with ends at, or a millisecond beside, starts of runs; or one often asked."""
    if chance.random() < 0.3:
        start_ms = FIRST_START_MS + chance.randrange(OFTEN) * STEP_MS * STARTS // OFTEN
        return Window(start_ms, start_ms + OFTEN_MS)
    first, last = sorted(chance.choice(versions).start_ms + chance.choice((-1, 0, 1)) for _ in range(2))
    return Window(first, first + 1) if chance.random() < 0.2 else Window(first, last)


def _read(field: str) -> dict[str, object]:
    return {"type": "READ", "name": "read", "source": _end_point(SOURCE), "outputs": [field]}


def _write(field: str) -> dict[str, object]:
    inputs = [_input("make", field)]
    return {"type": "WRITE", "name": "store", "destination": _end_point(SINK), "inputs": inputs}


def _end_point(name: str) -> dict[str, str]:
    return {"namespace": NAMESPACE, "name": name}


def _input(origin: str, field: str) -> dict[str, str]:
    return {"origin": origin, "name": field}
