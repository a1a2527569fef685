"""Recording by events survives hostile schedules; the variables of `test_simulation` select them."""

from __future__ import annotations

import pytest

from tests.simulation import simulation
from tests.simulation.event_simulation import EventSimulation
from tests.simulation.seeds import CHUNKS, FIRST, SCHEDULES


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_schedule_of_events_keeps_the_invariants(chunk: int) -> None:
    for seed in range(FIRST + chunk, FIRST + SCHEDULES // 3, CHUNKS):
        simulation.run(seed, kind=EventSimulation)
