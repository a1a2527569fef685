"""The circuit opens with the first call that fails, and all waits together stay within the budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.recorder.circuit import LIMIT_SECONDS_MIN, PROBE_SECONDS, REFILL_SECONDS, Circuit


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def make_circuit(budget_seconds: float) -> tuple[Circuit, Clock]:
    clock = Clock()
    return Circuit(budget_seconds, clock=clock), clock


def test_the_first_failure_opens_it_and_pauses_double() -> None:
    circuit, clock = make_circuit(60)
    pauses = []
    for _ in range(12):
        assert circuit.blocked_seconds() == 0
        circuit.add_failure(0.0)
        assert circuit.is_open
        pauses.append(circuit.blocked_seconds())
        clock.now += pauses[-1]
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]


def test_half_of_the_budget_is_for_calls_and_the_rest_for_single_attempts() -> None:
    circuit, clock = make_circuit(60)
    assert circuit.limit_seconds() == 30
    circuit.add_failure(30)
    clock.now += 1
    assert circuit.limit_seconds() == PROBE_SECONDS


def test_a_success_closes_it() -> None:
    circuit, clock = make_circuit(60)
    circuit.add_failure(10)
    clock.now += 1
    circuit.add_failure(1)
    clock.now += 2
    circuit.add_success(0)
    assert not circuit.is_open
    assert circuit.blocked_seconds() == 0
    circuit.add_failure(1)
    assert circuit.blocked_seconds() == 1


def test_a_slow_server_costs_nothing_while_it_answers() -> None:
    circuit, clock = make_circuit(60)
    for _ in range(100):
        clock.now += 25
        circuit.add_success(0)
    assert circuit.limit_seconds() == 30


def test_what_failed_before_a_success_counts() -> None:
    circuit, _ = make_circuit(60)
    circuit.add_success(20)
    assert circuit.limit_seconds() == 10


def test_an_hour_restores_the_budget() -> None:
    circuit, clock = make_circuit(60)
    circuit.add_success(60)
    assert circuit.limit_seconds() == LIMIT_SECONDS_MIN
    clock.now += REFILL_SECONDS
    assert circuit.limit_seconds() == 30


@pytest.mark.parametrize("budget_seconds", [-1, 0])
def test_without_a_budget_each_attempt_is_short(budget_seconds: float) -> None:
    circuit, _ = make_circuit(budget_seconds)
    assert circuit.limit_seconds() == LIMIT_SECONDS_MIN
    circuit.add_failure(LIMIT_SECONDS_MIN)
    assert circuit.limit_seconds() == LIMIT_SECONDS_MIN


def test_an_infinite_budget_is_a_day() -> None:
    circuit, _ = make_circuit(float("inf"))
    assert circuit.limit_seconds() == 43_200


@given(
    st.floats(0.1, 1_000), st.lists(st.tuples(st.floats(0, 3_000), st.booleans()), min_size=1, max_size=200)
)
def test_all_waits_are_within_the_budget(budget_seconds: float, calls: list[tuple[float, bool]]) -> None:
    """Calls that come after any pause, and wait as long as they may, whether they fail or succeed at last."""
    circuit, clock = make_circuit(budget_seconds)
    began = clock.now
    waited, attempts = 0.0, 0
    for pause, succeeds in calls:
        clock.now += pause
        if circuit.blocked_seconds():
            continue
        limit = circuit.limit_seconds()
        clock.now += limit
        waited += limit
        attempts += 1
        circuit.add_success(limit) if succeeds else circuit.add_failure(limit)
    restored = budget_seconds * (clock.now - began) / REFILL_SECONDS
    assert waited <= (budget_seconds + restored) * 1.001 + attempts * LIMIT_SECONDS_MIN
