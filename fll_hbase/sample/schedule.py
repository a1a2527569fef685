"""Which programs run when: every start of a program in a window, and what that run says."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from fll_hbase.json_types import Json
from fll_hbase.model.runs import State
from fll_hbase.model.window import DAY_MS, Window

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAYS = 90

_LATE_MS_MAX = 20_000
_FAILED, _ABORTED = 1, 2
_ENDS_BADLY_OF = 97
_IDS = uuid.uuid5(uuid.NAMESPACE_URL, "urn:fll-hbase:sample")


@dataclass(frozen=True, slots=True)
class Release:
    """What a program does from a day of the sample on: the members of its documents beside the run."""

    version: str
    from_day: int
    members: Json


@dataclass(frozen=True, slots=True)
class Program:
    """A program that starts every `every_ms`, `at_ms` into that time, up to 20 s late.

    One run in about fifty ends badly; all do where `state` says so.
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
        """The documents of all runs that start in the window, each after its start."""
        first = (window.start_ms - self.at_ms) // self.every_ms
        last = (window.stop_ms - self.at_ms) // self.every_ms
        for number in range(first, last + 1):
            planned_ms = number * self.every_ms + self.at_ms
            run = uuid.uuid5(_IDS, f"{self.namespace}/{self.application}/{self.program}/{planned_ms}")
            start_ms = planned_ms + run.int % _LATE_MS_MAX
            if start_ms in window:
                yield start_ms, self._document(str(run), start_ms, self._state(run), window)

    def _state(self, run: uuid.UUID) -> State:
        luck = {_FAILED: State.FAIL, _ABORTED: State.ABORT}
        return self.state if self.state.failed else luck.get(run.int % _ENDS_BADLY_OF, State.COMPLETE)

    def _document(self, run: str, start_ms: int, state: State, window: Window) -> Json:
        release = self._release(start_ms, window)
        said = {
            "application": self.application,
            "version": release.version,
            "type": self.type,
            "program": self.program,
            "run": run,
            "startTime": start_ms,
            "state": state.value,
        }
        return {"namespace": self.namespace, "run": said, **release.members}

    def _release(self, start_ms: int, window: Window) -> Release:
        """The newest that was out: releases come at midnight, so that they do not move within a day."""
        out = [release for release in self.releases if start_ms >= _released_ms(release, window)]
        return out[-1] if out else self.releases[0]


def _released_ms(release: Release, window: Window) -> int:
    return (window.stop_ms - (DAYS - release.from_day) * DAY_MS) // DAY_MS * DAY_MS


def releases(first: list[Json], *, second: list[Json] | None = None) -> tuple[Release, ...]:
    """Operations from the beginning, and others from half time on."""
    begun = Release("1.0", 0, {"operations": first})
    return (begun,) if second is None else (begun, Release("2.0", DAYS // 2, {"operations": second}))


def hourly(minute: int) -> tuple[int, int]:
    """Every hour at that minute."""
    return HOUR_MS, minute * MINUTE_MS


def daily(hour: int, minute: int) -> tuple[int, int]:
    """Every day at that time, UTC."""
    return DAY_MS, hour * HOUR_MS + minute * MINUTE_MS
