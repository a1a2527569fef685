"""Sample programs: their operations, the starts in a window, and the document of each run.

Operations are built from texts: outputs as `name:type`, inputs as `origin.name`, separated by blanks.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from fll_hbase.model.runs import State
from fll_hbase.model.window import DAY_MS, Window
from fll_hbase.runtime.json_types import Json

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAYS = 90

_LATE_MS_MAX = 20_000
# Coprime to _LATE_MS_MAX, so that a run's state does not depend on how late it starts.
_STATE_DIVISOR = 97
_STATES = {1: State.FAIL, 2: State.ABORT}
"""States by the remainder of a run's id; all other runs complete."""

_IDS = uuid.uuid5(uuid.NAMESPACE_URL, "urn:fll-hbase:sample")


@dataclass(frozen=True, slots=True)
class Release:
    """A version of a program.

    `from_day` is a number of days after the start of the sample; `members` are the members of its documents
    other than `namespace` and `run`.
    """

    version: str
    from_day: int
    members: Json


@dataclass(frozen=True, slots=True)
class Program:
    """A program that starts every `every_ms`, at offset `at_ms`, up to 20 s late.

    About one run in fifty fails or is aborted; all runs have `state` if it is FAIL or ABORT.
    """

    namespace: str
    application: str
    program: str
    type: str
    every_ms: int
    at_ms: int
    releases: tuple[Release, ...]
    state: State = State.COMPLETE

    def documents(self, window: Window) -> Iterator[tuple[int, Json]]:
        """Yield start (in milliseconds) and document of every run that starts in the window, in order."""
        # Rounded down: a run planned before the window may start in it, since runs start up to 20 s late.
        first = (window.start_ms - self.at_ms) // self.every_ms
        last = (window.stop_ms - self.at_ms) // self.every_ms
        for number in range(first, last + 1):
            planned_ms = number * self.every_ms + self.at_ms
            # From the planned time, not at random: loading the sample again must repeat runs, not add others.
            run = uuid.uuid5(_IDS, f"{self.namespace}/{self.application}/{self.program}/{planned_ms}")
            start_ms = planned_ms + run.int % _LATE_MS_MAX
            if start_ms in window:
                yield start_ms, self._document(str(run), start_ms, self._state(run), window)

    def _state(self, run: uuid.UUID) -> State:
        """Return the program's state if it is failed or aborted, else a state by the id of the run."""
        if self.state.failed:
            return self.state
        return _STATES.get(run.int % _STATE_DIVISOR, State.COMPLETE)

    def _document(self, run: str, start_ms: int, state: State, window: Window) -> Json:
        """Return the document of a run, with the members of the release that is valid at its start."""
        release = self._release(start_ms, window)
        members = {
            "application": self.application,
            "version": release.version,
            "type": self.type,
            "program": self.program,
            "run": run,
            "startTime": start_ms,
            "state": state.value,
        }
        return {"namespace": self.namespace, "run": members, **release.members}

    def _release(self, start_ms: int, window: Window) -> Release:
        """Return the latest release that is valid on the day (UTC) of a start, or else the first release."""
        # By days: with a later end of the sample on the same day no run changes its release.
        day = DAYS + start_ms // DAY_MS - window.stop_ms // DAY_MS
        released = [release for release in self.releases if release.from_day <= day]
        return released[-1] if released else self.releases[0]


def releases(first: list[Json], *, second: list[Json] | None = None) -> tuple[Release, ...]:
    """Return a release from the beginning, and with `second` another from half of the sample on."""
    initial = Release("1.0", 0, {"operations": first})
    # At half time: a window of the last thirty days has one release, of ninety days both.
    return (initial,) if second is None else (initial, Release("2.0", DAYS // 2, {"operations": second}))


def hourly(minute: int) -> tuple[int, int]:
    """Return period and offset, in milliseconds, of a start every hour at a minute."""
    return HOUR_MS, minute * MINUTE_MS


def daily(hour: int, minute: int) -> tuple[int, int]:
    """Return period and offset, in milliseconds, of a start every day at a time in UTC."""
    return DAY_MS, hour * HOUR_MS + minute * MINUTE_MS


def read(name: str, description: str, source: Json, outputs: str) -> Json:
    """Return a READ of a source, as in documents of the REST contract."""
    return {
        "type": "READ",
        "name": name,
        "description": description,
        "source": source,
        "outputs": _outputs(outputs),
    }


def transform(name: str, description: str, inputs: str, outputs: str, **indirect: str) -> Json:
    """Return a TRANSFORM of direct `inputs`; `indirect` has others by kind, as in `filter="read.status"`."""
    return {
        "type": "TRANSFORM",
        "name": name,
        "description": description,
        "inputs": _inputs(inputs, indirect),
        "outputs": _outputs(outputs),
    }


def write(name: str, description: str, destination: Json, inputs: str, **indirect: str) -> Json:
    """Return a WRITE of direct `inputs`; `indirect` has the dependencies of all its rows by kind."""
    return {
        "type": "WRITE",
        "name": name,
        "description": description,
        "destination": destination,
        "inputs": _inputs(inputs, indirect),
    }


def dataset(namespace: str, name: str, description: str = "") -> Json:
    """Return a dataset as a source or destination, without an empty description."""
    members = {"namespace": namespace, "name": name}
    return members | {"description": description} if description else members


def _outputs(fields: str) -> list[Json]:
    """Return the fields of a text such as `id:long name:string`. Raises ValueError for one without a type."""
    # strict: an output without a type is a mistake in the sample.
    return [dict(zip(("name", "type"), field.split(":"), strict=True)) for field in fields.split()]


def _inputs(direct: str, indirect: dict[str, str]) -> list[Json]:
    """Return the direct inputs of a text such as `read.id parse.name`, then the indirect ones by kind."""
    inputs = [_input(field) for field in direct.split()]
    for kind, fields in indirect.items():
        inputs += [_input(field) | {"influence": "indirect", "kind": kind} for field in fields.split()]
    return inputs


def _input(field: str) -> Json:
    """Return an input of a text `origin.name`, split at its first dot."""
    # The first dot only: no operation of the sample has one in its name, as fields may.
    origin, _, name = field.partition(".")
    return {"origin": origin, "name": name}
