"""Each rule of the protocol that is dropped breaks some schedule; `test_stories` has those of BY_HAND."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.simulation import faults, mutants, simulation
from tests.simulation.simulation import Draw, Failure, Make, Sweep

SCHEDULES = 1000
RARE = frozenset(
    {
        "no deadline",
        "deadline after commit",
        "moved runs ignored",
        "sealed at any age",
        "ways relied on forever",
    }
)
"""Rules without which only one of a hundred schedules breaks."""


def _by_schedules(rules: Iterable[str]) -> list[object]:
    return [
        pytest.param(rule, marks=pytest.mark.long) if rule in RARE else rule
        for rule in rules
        if rule not in mutants.BY_HAND
    ]


@pytest.mark.slow
@pytest.mark.parametrize("rule", _by_schedules(mutants.WRITERS))
def test_a_writer_that_drops_a_rule_is_found(rule: str) -> None:
    draw = faults.drowsy if rule in mutants.TIMED else faults.drawn
    assert _first_failure(mutants.WRITERS[rule], simulation.open_store, draw)


@pytest.mark.parametrize("rule", _by_schedules(mutants.READERS))
def test_a_reader_that_drops_a_rule_is_found(rule: str) -> None:
    assert _first_failure(simulation.open_store, mutants.READERS[rule], faults.drawn)


@pytest.mark.slow
@pytest.mark.parametrize("rule", _by_schedules(mutants.SEALERS))
def test_a_sealer_that_drops_a_rule_is_found(rule: str) -> None:
    assert _first_failure(simulation.open_store, mutants.SEALERS[rule], faults.drawn)


@pytest.mark.parametrize("rule", _by_schedules(mutants.SWEEPERS))
def test_a_sweeper_that_drops_a_rule_is_found(rule: str) -> None:
    assert _first_failure(simulation.open_store, simulation.open_store, faults.drawn, mutants.SWEEPERS[rule])


def _first_failure(
    writers: Make, readers: Make, draw: Draw, sweeper: Sweep = simulation.sweep_once
) -> Failure | None:
    for seed in range(SCHEDULES):
        try:
            simulation.run(seed, writers=writers, readers=readers, draw=draw, sweeper=sweeper)
        except Failure as failure:
            return failure
    return None
