"""Fault rates of one schedule."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Faults:
    """Chances per step of an actor, unless stated otherwise."""

    crash: float = 0.0
    """The actor's process dies."""

    away: float = 0.0
    """StoreUnavailable, outcome unknown."""

    late: float = 0.0
    """Per put in flight at a fault: lands later. One of the others lands at once, or never, by half."""

    ghost: float = 0.0
    """Per put: the same lands once more, later; the engine's own retry overtook it."""

    sleep: float = 0.0
    """The actor gets no turn until long after, often as long as a pass may take."""

    stall: float = 0.0
    """The actor gets no turn for a while."""

    sticky: float = 0.0
    """The same actor goes on."""

    torn: float = 0.0
    """Per `rows()`: other actors come between its rows."""


CALM = Faults()


def drawn(random: Random) -> Faults:
    """The faults of one schedule: often only some of them, so that each is met with and without others."""
    if random.random() < 0.25:
        return drowsy(random)
    return Faults(
        crash=random.choice((0.0, 0.02, 0.06)),
        away=random.choice((0.0, 0.02, 0.06)),
        late=random.choice((0.0, 0.5, 0.9)),
        ghost=random.choice((0.0, 0.0, 0.1)),
        sleep=random.choice((0.0, 0.0, 0.01, 0.04)),
        stall=random.choice((0.0, 0.01, 0.05)),
        sticky=random.choice((0.0, 0.5, 0.9, 0.97)),
        torn=random.choice((0.0, 0.5)),
    )


def drowsy(random: Random) -> Faults:
    """Few faults but time: for all that depends on how long a pass takes, or a question."""
    return Faults(sleep=0.05, away=random.choice((0.0, 0.01)), late=0.5, torn=0.5)
