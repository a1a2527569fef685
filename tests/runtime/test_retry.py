"""The retry policy stops at its limits, and waits as long as an error asks for."""

from __future__ import annotations

import time

import pytest

from fll_hbase.runtime.retry import RetryPolicy
from tests.support.waiting import patience


class Unavailable(Exception):
    """A failure that is worth another attempt."""

    def __init__(self, retry_after_seconds: float = 0.0, retry_seconds_max: float | None = None) -> None:
        self.retry_after_seconds = retry_after_seconds
        self.retry_seconds_max = retry_seconds_max


class Flaky:
    """An operation that fails some times before it succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.attempts = 0

    def __call__(self) -> str:
        self.attempts += 1
        if self._errors:
            raise self._errors.pop(0)
        return "result"


def test_the_result_of_the_first_success() -> None:
    operation = Flaky(Unavailable(), Unavailable())
    assert RetryPolicy(attempts_max=3, wait_first_seconds=0.0).retrying(Unavailable)(operation) == "result"
    assert operation.attempts == 3


def test_the_last_error_after_the_last_attempt() -> None:
    operation = Flaky(*(Unavailable() for _ in range(9)))
    with pytest.raises(Unavailable):
        RetryPolicy(attempts_max=2, wait_first_seconds=0.0).retrying(Unavailable)(operation)
    assert operation.attempts == 2


def test_other_errors_are_not_retried() -> None:
    operation = Flaky(KeyError())
    with pytest.raises(KeyError):
        RetryPolicy(attempts_max=5).retrying(Unavailable)(operation)
    assert operation.attempts == 1


def test_an_error_sets_the_least_wait() -> None:
    begin = time.monotonic()
    RetryPolicy(attempts_max=2, wait_first_seconds=0.0).retrying(Unavailable)(Flaky(Unavailable(0.4)))
    assert time.monotonic() - begin >= 0.4


def test_no_wait_begins_that_would_exceed_the_timeout() -> None:
    operation = Flaky(Unavailable(3600.0))
    with patience(), pytest.raises(Unavailable):
        RetryPolicy(timeout_seconds=2.0).retrying(Unavailable)(operation)
    assert operation.attempts == 1


def test_an_error_may_allow_less_time_than_the_policy() -> None:
    operation = Flaky(Unavailable(), Unavailable(retry_seconds_max=0.0), Unavailable())
    with patience(), pytest.raises(Unavailable):
        RetryPolicy(timeout_seconds=3600.0, wait_first_seconds=0.01).retrying(Unavailable)(operation)
    assert operation.attempts == 2


def test_each_wait_can_be_reported() -> None:
    waits: list[int] = []
    retrying = RetryPolicy(wait_first_seconds=0.0).retrying(
        Unavailable, before_wait=lambda state: waits.append(state.attempt_number)
    )
    assert retrying(Flaky(Unavailable(), Unavailable())) == "result"
    assert waits == [1, 2]
