"""Retry policy for stores and servers that may be unavailable: growing waits with jitter, within limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    stop_any,
    stop_before_delay,
    wait_exponential,
    wait_random,
)
from tenacity.stop import stop_base

from fll_hbase.runtime import deadline


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Limits of retrying one operation; a limit that is None does not apply.

    No wait begins that would end after `timeout_seconds`, counted from the first attempt, or after the
    deadline of the request. Waits start at `wait_first_seconds`, double each time up to `wait_seconds_max`,
    and are extended by a random time of up to `wait_first_seconds`.
    """

    attempts_max: int | None = None
    timeout_seconds: float | None = None
    wait_first_seconds: float = 0.25
    wait_seconds_max: float = 10.0

    def retrying(
        self, *errors: type[Exception], before_wait: Callable[[RetryCallState], None] | None = None
    ) -> Retrying:
        """Return a callable `retrying(operation, *args)` that retries on `errors` and raises the last one.

        After an error with an attribute `retry_after_seconds`, it waits at least that long. No wait begins
        that would end later than an error's attribute `retry_seconds_max` allows. `before_wait` is called
        before each wait.
        """
        limits: list[stop_base] = [_StopAtDeadline(), _StopAfterError()]
        if self.attempts_max is not None:
            limits.append(stop_after_attempt(self.attempts_max))
        if self.timeout_seconds is not None:
            # stop_after_delay would begin a wait that ends after the timeout.
            limits.append(stop_before_delay(self.timeout_seconds))
        # With `reraise` callers see the error itself, not tenacity's RetryError around it.
        return Retrying(
            retry=retry_if_exception_type(errors),
            stop=stop_any(*limits),
            wait=self._wait(),
            before_sleep=before_wait,
            reraise=True,
        )

    def _wait(self) -> Callable[[RetryCallState], float]:
        """Return a function that computes a wait: exponential, random, at least the server's Retry-After."""
        exponential = wait_exponential(multiplier=self.wait_first_seconds, max=self.wait_seconds_max)
        # Random, so that clients that failed together do not retry together.
        backoff = exponential + wait_random(0, self.wait_first_seconds)

        def wait_seconds(state: RetryCallState) -> float:
            """Return the seconds to wait after the last attempt of `state`."""
            error = state.outcome.exception() if state.outcome else None
            return max(backoff(state), getattr(error, "retry_after_seconds", 0.0))

        return wait_seconds


class _StopAtDeadline(stop_base):
    """Stops before a wait that would end after the deadline of the request."""

    def __call__(self, retry_state: RetryCallState) -> bool:
        """Return whether the next wait, if longer than 0, would end after the deadline of the request."""
        # Without a wait, the next attempt itself raises DeadlineExceeded, which says why.
        return retry_state.upcoming_sleep > 0 and deadline.is_over(in_seconds=retry_state.upcoming_sleep)


class _StopAfterError(stop_base):
    """Stops before a wait that would exceed the total time that the last error allows."""

    def __call__(self, retry_state: RetryCallState) -> bool:
        """Return whether the attempts and the next wait would take longer than the last error allows."""
        error = retry_state.outcome.exception() if retry_state.outcome else None
        seconds_max = getattr(error, "retry_seconds_max", None)
        seconds = (retry_state.seconds_since_start or 0.0) + retry_state.upcoming_sleep
        return seconds_max is not None and seconds > seconds_max
