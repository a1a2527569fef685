"""Readiness of the store, reported at once from background checks, which may hang."""

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
"""How long the result of a check is valid."""

PATIENCE_SECONDS = 0.1
"""How long a caller waits for a check, counted from when the check began."""

WANTED_SECONDS = 30.0
"""How long checks continue after the last call: longer than most supervisors pause between probes."""


class Readiness:
    """The latest check of the store. Threads may share it; checks run only while `require` is called."""

    def __init__(self, check: Callable[[], None]) -> None:
        """Take a check, which returns if the store answers and raises a LineageError otherwise."""
        self._check = check
        self._lock = threading.Lock()
        self._is_running = False
        self._wanted_at = self._began_at = 0.0
        self._ended = threading.Event()
        self._result: tuple[float, LineageError | None] = (-GRACE_SECONDS, None)

    def require(self) -> None:
        """Return if the latest check found the store ready; raise its error or StoreUnavailable otherwise.

        The result of a check is valid for GRACE_SECONDS. The call starts background checks unless they run,
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
            # A copy for each caller, because a shared exception would mix their tracebacks.
            raise copy(error) from error

    def _check_while_wanted(self) -> None:
        """Check every PAUSE_SECONDS until `require` has not been called for WANTED_SECONDS."""
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
