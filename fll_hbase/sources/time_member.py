"""Times in documents of other systems: ISO 8601, with or without a zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.sources.validation import Part

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZONE_NAME = re.compile(r"\[[^\[\]]*\]$")
_LEAP_SECOND = re.compile(r"(?<=T\d\d:\d\d):60(?=\D)")


def read_time_ms(holder: Part, name: str) -> int:
    """Return a required ISO 8601 time in ms since 1970, rounded down. The default zone is UTC.

    Extensions of RFC 3339 and RFC 9557 are allowed: a lower-case `z`, a leap second, and a zone's name after
    the offset, as printed by Java's ZonedDateTime. The result is 0, with an error, if the time is missing,
    invalid or before 1970.
    """
    errors_before = holder.validator.errors.count
    given = holder.required(name)
    if holder.validator.errors.count > errors_before:
        return 0
    try:
        time = _parse(given)
        elapsed = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        holder.error(f"{given[:100]!r} is not a time such as 2026-01-31T09:30:00.000Z", name)
        return 0
    # Computed in integers: `timestamp() * 1000` is a float and can be one millisecond off.
    time_ms = (elapsed.days * 86_400 + elapsed.seconds) * 1_000 + elapsed.microseconds // 1_000
    if not 0 <= time_ms < START_LIMIT_MS:
        holder.error(f"{given[:100]!r} is before 1970", name)
    return max(time_ms, 0)


def _parse(given: str) -> datetime:
    """Parse an ISO 8601 time, maybe with a zone name or leap second. Raises ValueError or OverflowError."""
    try:
        return datetime.fromisoformat(given)
    # Only rare forms of times reach this.
    except ValueError:
        offset_time = _ZONE_NAME.sub("", given).upper()
        if offset_time != given or _LEAP_SECOND.search(given):
            time, leaps = _LEAP_SECOND.subn(":59", offset_time)
            # Like POSIX, count a leap second as the first second of the next minute.
            return datetime.fromisoformat(time) + timedelta(seconds=leaps)
        raise
