"""Recording survives thousands of hostile schedules, each determined by its seed.

The profile decides how many; `FLL_SIMULATION_SCHEDULES=30000` overrides it, `FLL_SIMULATION_FIRST=100000`
begins at that seed. A failure prints its seed and the trace of its steps; `FLL_SIMULATION_SEED=4711` runs
that schedule alone and prints the trace however it ends. A seed means another schedule once the store or the
simulation has changed.
"""

from __future__ import annotations

import os

import pytest

from tests.simulation import simulation
from tests.simulation.event_simulation import EventSimulation
from tests.simulation.seeds import CHUNKS, FIRST, SCHEDULES
from tests.simulation.simulation import Simulation

SEED = os.environ.get("FLL_SIMULATION_SEED", "")


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_schedule_keeps_the_invariants(chunk: int) -> None:
    for seed in range(FIRST + chunk, FIRST + SCHEDULES, CHUNKS):
        simulation.run(seed)


if SEED:

    @pytest.mark.parametrize("kind", [Simulation, EventSimulation])
    def test_one_schedule(kind: type[Simulation]) -> None:
        for step in simulation.run(int(SEED), kind=kind).trace:
            print(step)


def test_a_seed_determines_its_schedule() -> None:
    traces = [[str(step) for step in simulation.run(seed).trace] for seed in (11, 11, 12)]
    assert traces[0] == traces[1] != traces[2]


@pytest.mark.slow
def test_schedules_meet_every_fault() -> None:
    kinds_of_steps = {step.doing.split(" ")[0] for seed in range(60) for step in simulation.run(seed).trace}
    assert kinds_of_steps >= {
        "CRASH",
        "STORE",
        "LEAP",
        "falls",
        "lands",
        "again",
        "gives",
        "insists",
        "acknowledged",
        "seals",
    }
