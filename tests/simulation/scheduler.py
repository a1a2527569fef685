"""Deterministic scheduler: a seeded hub at which actors take turns, and which makes time and faults.

Every actor is a greenlet. Whatever an actor does between two steps nobody can come between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from greenlet import getcurrent, greenlet

from fll_hbase.runtime.errors import StoreUnavailable
from tests.simulation.faults import CALM

EPOCH_MS = 1_700_000_000_000
SKEW_MAX_MS = 30_000
FLIGHT_MAX_MS = 20_000
"""The gateway gives an operation up after this long, so no put lands later."""

FLIGHT_STEPS_MAX = 120
STALL_STEPS_MAX = 150
STEP_MAX_MS = 20
STEPS_MAX = 50_000
WRITING = frozenset(("put", "written", "delete", "deleted"))
READING_SHARE = 0.2
"""Faults hit a step that reads this much less often: they do less harm there."""


class Crash(BaseException):
    """The process is gone. Not an Exception: no code that a dead process would not run may catch it."""


class Step(NamedTuple):
    """One line of a trace."""

    tick: int
    now_ms: int
    actor: str
    doing: str
    key: bytes

    def __str__(self) -> str:
        after_s = (self.now_ms - EPOCH_MS) / 1000
        return f"{self.tick:5} {after_s:10.3f} s  {self.actor:10} {self.doing:12} {self.key.decode()}"


@dataclass(slots=True, eq=False)
class _Flight:
    """A put between a client that gave it up and the table."""

    due_tick: int
    land: Callable[[], None]
    actor: str
    key: bytes


class Scheduler:
    """One schedule, determined by its seed; `deadline_ms` is what a pass may take."""

    def __init__(self, seed: int, *, deadline_ms: int) -> None:
        self.random = Random(seed)
        self.faults = CALM
        self.now_ms = EPOCH_MS
        self.deadline_ms = deadline_ms
        self.trace: list[Step] = []
        self._tick = 0
        self._hub = getcurrent()
        self._names: dict[greenlet, str] = {}
        self._ready: list[greenlet] = []
        self._stalled: dict[greenlet, int] = {}
        self._last: greenlet | None = None
        self._flights: list[_Flight] = []
        self._sending: set[greenlet] = set()

    def tick(self) -> int:
        """The next moment; no two are equal."""
        self._tick += 1
        return self._tick

    def chance(self, rate: float) -> bool:
        return rate > 0 and self.random.random() < rate

    def clock(self, skew_ms: int) -> Callable[[], int]:
        """A clock that is ahead by `skew_ms`."""
        return lambda: self.now_ms + skew_ms

    def skew_ms(self) -> int:
        """How far some machine's clock is ahead of time."""
        return self.random.choice((self.random.randint(-SKEW_MAX_MS, SKEW_MAX_MS), SKEW_MAX_MS, -SKEW_MAX_MS))

    def spawn(self, name: str, body: Callable[[], None]) -> None:
        """An actor, who begins when the hub runs."""
        actor = greenlet(body, self._hub)
        self._names[actor] = name
        self._ready.append(actor)

    def run(self) -> None:
        """Give turns until every actor is done."""
        while self._ready:
            if self._tick > STEPS_MAX:
                raise AssertionError(f"no end after {STEPS_MAX} steps")
            self._land_due()
            actor = self._next()
            actor.switch()
            if actor.dead:
                self._ready.remove(actor)

    def pause(self, steps_max: int) -> None:
        """Pause while others make up to `steps_max` steps."""
        self._stalled[getcurrent()] = self._tick + self.random.randrange(steps_max)
        self._hub.switch()

    def step(self, doing: str, key: bytes) -> None:
        """Let others come between, if an actor takes the step. Raises Crash or StoreUnavailable by chance."""
        actor = getcurrent()
        if actor not in self._names:
            return
        if self.chance(self.faults.stall):
            self._stalled[actor] = self._tick + self.random.randrange(STALL_STEPS_MAX)
        share = 1.0 if doing in WRITING else READING_SHARE
        if self.chance(self.faults.sleep * share) and actor not in self._sending:
            self._sleep(actor)
        self._hub.switch()
        self.now_ms += self.random.randrange(STEP_MAX_MS)
        self.note(doing, key)
        if self.chance(self.faults.crash * share):
            self.note("CRASH", key)
            raise Crash
        if self.chance(self.faults.away * share):
            self.note("STORE AWAY", key)
            raise StoreUnavailable(f"{doing} {key!r}: simulated")

    def note(self, doing: str, key: bytes = b"") -> int:
        """A line in the trace; returns its moment."""
        tick = self.tick()
        self.trace.append(Step(tick, self.now_ms, self._names.get(getcurrent(), "hub"), doing, key))
        return tick

    def fly(self, key: bytes, land: Callable[[], None]) -> None:
        """Something sent that lands some steps from now, whatever becomes of its sender."""
        due = self._tick + self.random.randrange(1, FLIGHT_STEPS_MAX)
        self._flights.append(_Flight(due, land, self._names.get(getcurrent(), "hub"), key))

    def settle(self) -> None:
        """Let everything land that is in flight."""
        for flight in self._flights:
            self._land(flight)
        self._flights.clear()

    @contextmanager
    def sending(self) -> Iterator[None]:
        """The actor is in the midst of a request, which takes no longer than a flight."""
        actor = getcurrent()
        self._sending.add(actor)
        try:
            yield
        finally:
            self._sending.discard(actor)

    def leap(self, by_ms: int) -> None:
        """Time passes with nobody doing anything; what is in flight lands before."""
        if self._sending:
            by_ms = min(by_ms, FLIGHT_MAX_MS)
        if by_ms > FLIGHT_MAX_MS:
            self.settle()
        self.now_ms += by_ms
        self.note("LEAP")

    def _sleep(self, actor: greenlet) -> None:
        """The actor's machine is suspended: when the others go on it is much later."""
        self.note("falls asleep")
        self.leap(self._leap_ms())
        self._stalled[actor] = self._tick + self.random.randrange(STALL_STEPS_MAX)

    def _leap_ms(self) -> int:
        """Often about the deadline, or twice that; else any time up to thrice."""
        near_ms = self.deadline_ms * self.random.randint(1, 2) + self.random.randint(-2, 2) * SKEW_MAX_MS
        return self.random.choice((near_ms, self.random.randrange(3 * self.deadline_ms)))

    def _next(self) -> greenlet:
        if self._last in self._ready and self._last not in self._stalled and self.chance(self.faults.sticky):
            return self._last
        awake = [actor for actor in self._ready if self._stalled.get(actor, 0) <= self._tick]
        self._last = self.random.choice(awake or self._ready)
        self._stalled.pop(self._last, None)
        return self._last

    def _land_due(self) -> None:
        due = [flight for flight in self._flights if flight.due_tick <= self._tick]
        for flight in due:
            self._flights.remove(flight)
            self._land(flight)

    def _land(self, flight: _Flight) -> None:
        self.trace.append(Step(self.tick(), self.now_ms, flight.actor, "lands late", flight.key))
        flight.land()
