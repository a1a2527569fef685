"""The deadline of the current request, which bounds every wait below the API.

Each thread has its own deadline. Without a request (command line, Spark, library) there is no deadline.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TypeVar

from fll_hbase.runtime.errors import DeadlineExceeded, RequestCancelled, StoreUnavailable, TooLarge

T = TypeVar("T")

ITEMS_PER_LOOK = 64
"""Items between two checks of the deadline, for items that take some microseconds each."""

# Concrete types, because a check for `Sized` takes three times as long.
_SIZED = (list, tuple, dict)
_ROUNDING_SECONDS = 0.005
"""Tolerance for waits, which are rounded to milliseconds and may end just before the deadline."""


def _never() -> bool:
    """Return False, since a request without a client is never cancelled."""
    return False


@dataclass(frozen=True, slots=True)
class Budget:
    """The time of one request: `seconds` in all, until `deadline` (monotonic seconds).

    `is_cancelled` returns whether the client has left and needs no answer, and must be cheap. While a
    document is read, and nothing is written, `reading_since` is when that began (CPU seconds of its thread).
    """

    seconds: float
    deadline: float
    is_cancelled: Callable[[], bool] = _never
    reading_since: float | None = None


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


def limited(
    seconds: float, *, began: float | None = None, is_cancelled: Callable[[], bool] = _never
) -> AbstractContextManager[None]:
    """Return a context in which this thread has `seconds` since `began` (monotonic, by default now)."""
    deadline = (time.monotonic() if began is None else began) + seconds
    return _set(Budget(seconds, deadline, is_cancelled))


def renewed() -> AbstractContextManager[None]:
    """Return a context with the whole budget again, for one of many parts of a request."""
    budget = _current.get()
    return _set(budget and replace(budget, deadline=time.monotonic() + budget.seconds))


def shared(part: float) -> AbstractContextManager[None]:
    """Return a context with a fraction (0 to 1) of the time that is left, to keep the rest for later work."""
    budget, now = _current.get(), time.monotonic()
    return _set(budget and replace(budget, deadline=now + part * (budget.deadline - now)))


@contextmanager
def reading() -> Iterator[None]:
    """Return a context in which a document is read: errors of deadlines say that nothing was stored.

    At its end the context raises DeadlineExceeded if the time has run out. It raises TooLarge instead if
    reading used the CPU for half of the time, since the document would fail again even without other
    requests.
    """
    budget = _current.get()
    with _set(budget and replace(budget, reading_since=time.thread_time())):
        yield
        check()


@contextmanager
def _set(budget: Budget | None) -> Iterator[None]:
    """Return a context in which `budget`, or no deadline for None, replaces the deadline of this thread."""
    token = _current.set(budget)
    try:
        yield
    finally:
        _current.reset(token)


def seconds_left(longest: float) -> float:
    """Return how many seconds a wait may take: `longest`, or less if the deadline is earlier, at least 0.001.

    Raises DeadlineExceeded if the deadline has passed or the request is cancelled, and TooLarge instead in
    the case that `reading` describes.
    """
    budget = _current.get()
    if budget is None:
        return longest
    seconds = budget.deadline - time.monotonic()
    if seconds <= 0 or budget.is_cancelled():
        raise _too_slow(budget) or _exceeded()
    # A wait of 0 means no wait in some libraries, and an endless wait in others.
    return min(longest, max(seconds, 0.001))


def wait_end(longest: float) -> float:
    """Return when a wait of `seconds_left(longest)` that begins now ends (monotonic).

    Raises DeadlineExceeded and TooLarge as `seconds_left` does. Do not add `seconds_left` to an earlier
    reading of the clock. If the thread was stopped in between, the wait would end before the deadline, and
    its error would not name the deadline.
    """
    seconds = seconds_left(longest)
    return time.monotonic() + seconds


def is_over(*, in_seconds: float = 0.0) -> bool:
    """Return whether the deadline passes within `in_seconds`, or the request is cancelled."""
    budget = _current.get()
    if budget is None:
        return False
    return budget.deadline <= time.monotonic() + in_seconds or budget.is_cancelled()


def check() -> None:
    """Raise DeadlineExceeded if the deadline has passed or the request is cancelled.

    While a document is read, raise TooLarge instead in the case that `reading` describes.
    """
    if is_over():
        raise _too_slow(_current.get()) or _exceeded()


def check_reading() -> None:
    """Raise like `check` while a document is read (see `reading`), else do nothing."""
    budget = _current.get()
    if budget is not None and budget.reading_since is not None:
        check()


def watched(items: Iterable[T]) -> Iterable[T]:
    """Return items of a document; iterating them calls `check_reading` before each ITEMS_PER_LOOK of them.

    A list, tuple or dict with fewer items is returned as it is, without checks. Outside of reading this has
    no effect: queries use the same functions, and check their time elsewhere.
    """
    if isinstance(items, _SIZED) and len(items) < ITEMS_PER_LOOK:
        return items
    return _watched(items)


def _watched(items: Iterable[T]) -> Iterator[T]:
    """Yield the items, and call `check_reading` before the first and after each ITEMS_PER_LOOK of them."""
    for number, item in enumerate(items):
        if not number % ITEMS_PER_LOOK:
            check_reading()
        yield item


def until_over(items: Iterable[T], *, truncated_by: set[str], needs_first: bool = True) -> Iterator[T]:
    """Yield `items`. If iterating them raises DeadlineExceeded, end and add `limit()` to `truncated_by`.

    Raises the error if no item came before it, unless `needs_first` is false because the answer has other
    parts. This function itself does not read the clock.
    """
    is_first = needs_first
    try:
        for item in items:
            is_first = False
            yield item
    except DeadlineExceeded:
        if is_first:
            raise
        truncated_by.add(limit())


def unavailable(reason: str) -> StoreUnavailable:
    """Return the error of a wait: DeadlineExceeded if the deadline ended it, else StoreUnavailable."""
    over = is_over(in_seconds=_ROUNDING_SECONDS)
    return _exceeded(f" ({reason})") if over else StoreUnavailable(reason)


def limit() -> str:
    """Return the budget's seconds in the form that answers use for limits: `request_seconds=10`."""
    budget = _current.get()
    return f"request_seconds={budget.seconds:g}" if budget else "request_seconds"


def _too_slow(budget: Budget | None) -> TooLarge | None:
    """Return TooLarge if reading took half of the time in CPU seconds and the client waits, else None."""
    if budget is None or budget.reading_since is None or budget.is_cancelled():
        return None
    if time.thread_time() - budget.reading_since < budget.seconds / 2:
        return None
    return TooLarge(
        f"the {budget.seconds:g} s of this request were over before its document was read: nothing was"
        " stored; send it in parts, a script some statements at a time, or raise FLL_REQUEST_SECONDS"
    )


def _exceeded(cause: str = "") -> DeadlineExceeded:
    """Return the error of a request out of time, or RequestCancelled if its client left.

    `cause` ends the text. The text for clients leaves it out, since it may name paths.
    """
    budget = _current.get()
    if budget is not None and budget.is_cancelled():
        return RequestCancelled(f"the client closed the connection{cause}")
    seconds = f"{budget.seconds:g} s" if budget else "time"
    is_reading = budget is not None and budget.reading_since is not None
    outcome = (
        "nothing was stored, try again, or send the document in parts"
        if is_reading
        else "the outcome of a write is unknown, try again"
    )
    text = f"the {seconds} of this request are over; {outcome}"
    error = DeadlineExceeded(text + cause)
    error.client_text = text
    return error
