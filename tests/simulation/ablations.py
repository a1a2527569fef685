"""Counts how many of some schedules find each mutant: `python -m tests.simulation.ablations 5000 250`.

The arguments are the first seed and the number of schedules; names of mutants may follow.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from tests.simulation import faults, mutants, simulation
from tests.simulation.simulation import Failure


def main(arguments: Sequence[str]) -> None:
    """Print a line for each mutant."""
    first, schedules, *names = arguments
    for name, options in _mutants():
        if not names or name in names:
            seeds = range(int(first), int(first) + int(schedules))
            count = sum(_is_caught(seed, options) for seed in seeds)
            print(f"{name}: {count} of {schedules}", flush=True)


def _mutants() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, make in mutants.WRITERS.items():
        yield name, {"writers": make, "draw": faults.drowsy if name in mutants.TIMED else faults.drawn}
    for name, make in (mutants.SEALERS | mutants.READERS).items():
        yield name, {"readers": make}
    for name, sweep in mutants.SWEEPERS.items():
        yield name, {"sweeper": sweep}


def _is_caught(seed: int, options: dict[str, Any]) -> bool:
    try:
        simulation.run(seed, **options)
    except Failure:
        return True
    return False


if __name__ == "__main__":
    main(sys.argv[1:])
