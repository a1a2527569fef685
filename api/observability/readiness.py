"""Readiness of the store, answered at once from checks in the background, which may hang."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from copy import copy

from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import LineageError, StoreUnavailable

PAUSE_SECONDS = 1.0
"""Time between two checks."""

CHECK_SECONDS_MAX = 2.0
"""Time of one check."""

GRACE_SECONDS = 2 * PAUSE_SECONDS + CHECK_SECONDS_MAX
"""How long a result counts."""

PATIENCE_SECONDS = 0.1
"""How long a caller waits for a check, counted from when the check began."""

WANTED_SECONDS = 30.0
"""How long checks go on after the last caller: longer than the pause between probes of most supervisors."""


class Readiness:
    """Whether the store answers. Threads may share it; checks run only while callers want to know."""

    def __init__(self, check: Callable[[], None]) -> None:
        """Call nothing yet; `check` returns if the store answers, and raises a LineageError otherwise."""
        self._check = check
        self._lock = threading.Lock()
        self._is_running = False
        self._wanted_at = self._began_at = 0.0
        self._ended = threading.Event()
        self._result: tuple[float, LineageError | None] = (-GRACE_SECONDS, None)

    def require(self) -> None:
        """Return if the latest check found the store ready; raise its error or StoreUnavailable otherwise.

        The result of a check counts for GRACE_SECONDS. The call starts checks in the background if none run,
        and waits for a check until at most PATIENCE_SECONDS after that check began.
        """
        with self._lock:
            self._wanted_at = time.monotonic()
            if not self._is_running:
                self._is_running = True
                self._begin_check()
                threading.Thread(target=self._check_while_wanted, name="readiness", daemon=True).start()
        self._ended.wait(max(self._began_at + PATIENCE_SECONDS - time.monotonic(), 0.0))
        ended_at, error = self._result
        if time.monotonic() - ended_at > GRACE_SECONDS:
            seconds = time.monotonic() - self._began_at
            raise StoreUnavailable(f"the store has not answered for {seconds:.1f} s; try again")
        if error is not None:
            # One exception for each caller: raising a shared one would mix their tracebacks.
            raise copy(error) from error

    def _check_while_wanted(self) -> None:
        """Check every PAUSE_SECONDS until `require` was not called for WANTED_SECONDS."""
        is_wanted = True
        try:
            while is_wanted:
                self._result = self._checked()
                self._ended.set()
                time.sleep(PAUSE_SECONDS)
                with self._lock:
                    is_wanted = time.monotonic() - self._wanted_at <= WANTED_SECONDS
                    if is_wanted:
                        self._begin_check()
        finally:
            self._is_running = False

    def _begin_check(self) -> None:
        """Note that a check begins, so that callers wait for it."""
        self._began_at = time.monotonic()
        self._ended.clear()

    def _checked(self) -> tuple[float, LineageError | None]:
        """Return when a check ended, in monotonic seconds, and its error, or None if the store answered."""
        try:
            with deadline.limited(CHECK_SECONDS_MAX):
                self._check()
        except LineageError as error:
            return time.monotonic(), error
        return time.monotonic(), None
