"""Times in documents of other systems: ISO 8601, with or without a zone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.sources.validation import Validator, child_path

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_time_ms(validator: Validator, holder: dict[str, Any], name: str, path: str) -> int:
    """Return a member that must be an ISO 8601 time in ms since 1970, rounded down; without a zone it is UTC.

    0 with an error in `validator` if it is missing, not a time, or before 1970.
    """
    errors_before = validator.errors.count
    given = validator.required(holder, name, path)
    if validator.errors.count > errors_before:
        return 0
    try:
        time = datetime.fromisoformat(given)
        elapsed = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        detail = f"{given[:100]!r} is not a time such as 2026-01-31T09:30:00.000Z"
        validator.error(child_path(path, name), detail)
        return 0
    # In integers: `timestamp() * 1000` is a float and can be one millisecond off.
    time_ms = (elapsed.days * 86_400 + elapsed.seconds) * 1_000 + elapsed.microseconds // 1_000
    if not 0 <= time_ms < START_LIMIT_MS:
        validator.error(child_path(path, name), f"{given[:100]!r} is before 1970")
    return max(time_ms, 0)
