"""Pauses between attempts to reach a server that does not answer, and log lines about them."""

from __future__ import annotations

import logging
import time
from pathlib import Path

from fll_hbase.runtime.errors import LineageError

_log = logging.getLogger("fll_hbase.capture")

PAUSE_SECONDS_FIRST, PAUSE_SECONDS_MAX = 1.0, 60.0
"""The pause doubles with each failed attempt."""

URGENT_SECONDS = 0.5
"""The pause while a caller waits."""

RETRY_AFTER_SECONDS_MAX = 600.0


class Pauses:
    """Decides when the next attempt may be made. Not safe for threads."""

    def __init__(self, spool: Path) -> None:
        """Begin without a pause; logs name `spool` as the place where lineage waits."""
        self._spool = spool
        self._pause_seconds = 0.0
        self._failed_at = 0.0
        self._retry_after_seconds = 0.0
        self._reported: type[LineageError] | None = None

    def blocked_seconds(self, *, is_urgent: bool) -> float:
        """Return the seconds until the next attempt, 0 or less if it may be made now.

        Urgency shortens our pause, but not the server's.
        """
        if not self._pause_seconds:
            return 0.0
        pause = min(self._pause_seconds, URGENT_SECONDS) if is_urgent else self._pause_seconds
        return self._failed_at + max(pause, self._retry_after_seconds) - time.monotonic()

    def add_failure(self, error: LineageError) -> None:
        """Count a failed attempt; log it unless the last one failed in the same way."""
        self._failed_at = time.monotonic()
        self._retry_after_seconds = min(getattr(error, "retry_after_seconds", 0.0), RETRY_AFTER_SECONDS_MAX)
        self._pause_seconds = min(max(2 * self._pause_seconds, PAUSE_SECONDS_FIRST), PAUSE_SECONDS_MAX)
        if self._reported is not type(error):
            _log.warning("lineage waits in %s, and is sent later: %s", self._spool, error)
            self._reported = type(error)

    def report_end(self) -> None:
        """Log that plans wait when capture ends, unless a failure has been logged since the last success."""
        if self._reported is None:
            _log.warning("lineage waits in %s, and is sent later: capture ends first", self._spool)

    def add_success(self) -> None:
        """End the pauses; log that the server accepts lineage again if a failure was logged."""
        self._pause_seconds = self._retry_after_seconds = 0.0
        if self._reported:
            _log.info("the server accepts lineage again")
            self._reported = None
