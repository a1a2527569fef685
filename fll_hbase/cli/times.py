"""Times as people type them: words, days, months and local times, as times of the REST contract."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from fll_hbase.runtime.errors import FieldError, InvalidQuery

_WORDS = {"today": 0, "yesterday": 1}
"""Words for days, with the number of days before now."""

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_MONTH = re.compile(r"[0-9]{4}-[0-9]{2}", re.ASCII)
# As `fll` prints times, so that they can be pasted back: a blank between date and time, ` UTC` behind it.
_TIME_OF_DAY = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})[T ](?P<time>[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)"
    r"(?P<zone> ?UTC|Z|[+-][0-9]{2}:[0-9]{2})?",
    re.ASCII,
)


def load_zone(name: str) -> ZoneInfo:
    """Return a time zone of the IANA database, such as `Europe/Berlin`. Raises InvalidQuery."""
    try:
        return ZoneInfo(name)
    # ZoneInfo reads a file of that name: a folder is an OSError, `../x` and NUL a ValueError.
    except (KeyError, OSError, ValueError) as error:
        detail = f"{name[:100]!r} is not a time zone; one looks like Europe/Berlin or UTC"
        raise InvalidQuery([FieldError("timezone", detail)]) from error


def resolve_time(text: str, zone: ZoneInfo, *, now_ms: int) -> str:
    """Return a time as the REST contract has it: a day or month is its first moment in the zone.

    Texts that are neither days, months nor times of day are returned unchanged. Raises ValueError for those
    that the calendar or the zone does not have, and for times of day that the zone has twice.
    """
    if period := resolve_period(text, zone, now_ms=now_ms):
        return period[0]
    if match := _TIME_OF_DAY.fullmatch(text):
        if match["zone"]:
            return f"{match['day']}T{match['time']}{match['zone'].replace('UTC', 'Z').strip()}"
        return _to_text(_local_time(datetime.fromisoformat(f"{match['day']}T{match['time']}"), zone))
    return text


def resolve_period(text: str, zone: ZoneInfo, *, now_ms: int) -> tuple[str, str] | None:
    """Return start and end of `today`, `yesterday`, a day or a month in the zone; None for other texts.

    Raises ValueError for a day or month that the calendar does not have.
    """
    if text in _WORDS:
        now = datetime.fromtimestamp(now_ms / 1000, zone).replace(tzinfo=None)
        first = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=_WORDS[text])
        following = first + timedelta(days=1)
    elif _DAY.fullmatch(text):
        first = datetime.fromisoformat(text)
        following = first + timedelta(days=1)
    elif _MONTH.fullmatch(text):
        first = datetime.fromisoformat(f"{text}-01")
        following = (first + timedelta(days=31)).replace(day=1)
    else:
        return None
    return _to_text(_midnight(first, zone)), _to_text(_midnight(following, zone))


def _midnight(day: datetime, zone: ZoneInfo) -> datetime:
    """Return the first moment of a day in a zone."""
    # Where clocks change at midnight, fold 0 is the first moment of the day, whether it lacks or repeats it.
    return day.replace(tzinfo=zone, fold=0)


def _local_time(time: datetime, zone: ZoneInfo) -> datetime:
    """Return a time of day in a zone. Raises ValueError for one that it does not have, or has twice."""
    early, late = (time.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if early.utcoffset() == late.utcoffset():
        return early
    # In a gap of the clock a time does not come back from UTC as it went in.
    if early.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != time:
        raise ValueError(f"{time} does not exist in {zone}: clocks were put forward")
    offsets = " or ".join(moment.isoformat()[-6:] for moment in (early, late))
    raise ValueError(f"{time} is there twice in {zone}: add the offset, {offsets}")


def _to_text(time: datetime) -> str:
    """Return a moment as ISO 8601 in UTC with `Z`, with microseconds only if they are not zero."""
    utc = time.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}" + (f".{utc.microsecond:06d}" if utc.microsecond else "") + "Z"
