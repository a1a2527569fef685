"""Schedules of sample programs: the starts in a window, and the document of each run."""

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
        """Yield start (in milliseconds) and document of every run that starts in the window."""
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
        """Return the state of a run: that of the program if failed or aborted, else one by the run's id."""
        if self.state.failed:
            return self.state
        return _STATES.get(run.int % _STATE_DIVISOR, State.COMPLETE)

    def _document(self, run: str, start_ms: int, state: State, window: Window) -> Json:
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
