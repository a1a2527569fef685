"""Errors of the capture."""

from __future__ import annotations

from fll_hbase.errors import LineageError


class CaptureUnavailable(LineageError):
    """Capture cannot run in this Spark: `reason` names its version or what else is missing."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)
