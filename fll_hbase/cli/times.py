"""Times as people type them: words, days, months and local times, as times of the REST contract."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from fll_hbase.queries.time_window import zone_fault
from fll_hbase.runtime.errors import FieldError, InvalidQuery

_WORDS = {"today": 0, "yesterday": 1}
"""Words for days, with the number of days before now."""

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_MONTH = re.compile(r"[0-9]{4}-[0-9]{2}", re.ASCII)
# Times as `fll` prints them, so that they can be pasted back: a space before the time, and ` UTC` after it.
_TIME_OF_DAY = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})[T ](?P<time>[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)"
    r"(?P<zone> ?UTC|Z|[+-][0-9]{2}:[0-9]{2})?",
    re.ASCII,
)

_AGE = re.compile(r"(?P<now>now)?(?P<sign>[+-]?)(?P<count>[0-9]{1,6})(?P<unit>[a-z]+)", re.ASCII)
_UNITS = {
    "s": ("s sec secs second seconds", 1),
    "m": ("m min mins minute minutes", 1),
    "h": ("h hr hrs hour hours", 1),
    "d": ("d day days", 1),
    "w": ("w wk week weeks", 1),
    # Sums have no months and years, because their lengths vary.
    "30d": ("mo mon month months", 30),
    "365d": ("y yr year years", 365),
}
"""Units of sums, with the words for each and a number of units. Months and years are given in days."""

# A date in another form, and a time of day after it.
_DATE = re.compile(r"(?P<date>[0-9][0-9/.-]+)(?P<rest>(?:[T ].*)?)", re.ASCII)
_YEAR_FIRST = re.compile(r"([0-9]{4})([/.-])([0-9]{1,2})(?:\2([0-9]{1,2}))?", re.ASCII)
_YEAR_LAST = re.compile(r"([0-9]{1,2})([/.])([0-9]{1,2})\2([0-9]{4})", re.ASCII)
# Digits alone are seconds since 1970. Digits of a day or year would mean a time in the first months of 1970.
_DIGITS = re.compile(r"((?:19|20)[0-9]{2})([0-9]{2})?([0-9]{2})?", re.ASCII)
_PHRASES = {"tomorrow": "now+1d", "last week": "now-7d", "last month": "now-30d", "last year": "now-365d"}


def load_zone(name: str) -> ZoneInfo:
    """Return a time zone of the IANA database, such as `Europe/Berlin`. Raises InvalidQuery."""
    if fault := zone_fault(name):
        raise InvalidQuery([FieldError("timezone", fault)])
    return ZoneInfo(name)


def resolve_time(text: str, zone: ZoneInfo, *, now_ms: int) -> str:
    """Return a time in the form of the REST contract. A day or month means its first moment in the zone.

    Texts that are neither days, months nor times of day are returned unchanged. Raises ValueError for times
    that do not exist in the calendar or the zone, and for times of day that the zone has twice. Texts such as
    `7d`, whose meaning can be guessed, raise a ValueError with the time to give instead. Times at the ends of
    the calendar may raise OverflowError.
    """
    if period := resolve_period(text, zone, now_ms=now_ms):
        return period[0]
    if match := _TIME_OF_DAY.fullmatch(text):
        if match["zone"]:
            return f"{match['day']}T{match['time']}{match['zone'].replace('UTC', 'Z').strip()}"
        return _to_text(_local_time(datetime.fromisoformat(f"{match['day']}T{match['time']}"), zone))
    if meant := suggest_times(text):
        raise ValueError(f"did you mean {' or '.join(meant)}?")
    return text


def suggest_times(text: str) -> list[str]:
    """Return the times that an invalid text may mean, such as `now-7d` for `7d`, if any."""
    typed = " ".join(text.lower().replace("_", " ").split())
    if typed in _PHRASES:
        return [_PHRASES[typed]]
    if match := _AGE.fullmatch(typed.removesuffix(" ago").removeprefix("last ").replace(" ", "")):
        return _suggest_sums(match, typed)
    if match := _DATE.fullmatch(text.strip()):
        dates = (f"{date}{match['rest']}" for date in _suggest_dates(match["date"]) if _is_date(date))
        return [date for date in dict.fromkeys(dates) if date != text]
    return []


def _suggest_dates(text: str) -> Iterator[str]:
    """Yield a day or month that is written in another form, or both readings of an ambiguous form."""
    if match := _DIGITS.fullmatch(text):
        year, month, day = match.groups()
        yield "-".join(filter(None, (year, month or "01", day)))
    elif match := _YEAR_FIRST.fullmatch(text):
        year, _, month, day = match.groups()
        yield "-".join([year, month.zfill(2), *([day.zfill(2)] if day else [])])
    elif match := _YEAR_LAST.fullmatch(text):
        first, mark, second, year = match.groups()
        # American dates, with slashes, begin with the month.
        for month, day in ((first, second), (second, first))[mark == "." :]:
            yield f"{year}-{month.zfill(2)}-{day.zfill(2)}"


def _suggest_sums(age: re.Match[str], typed: str) -> list[str]:
    """Return the sum with `now` that an age such as `-7d`, `2 weeks` or `now-1y` means, if it is not one."""
    for unit, (words, count) in _UNITS.items():
        if age["unit"] in words.split():
            number = int(age["count"]) * count
            meant = f"now{age['sign'] or '-'}{number}{unit.lstrip('0123456789')}"
            return [meant] if meant != typed else []
    return []


def _is_date(text: str) -> bool:
    """Return whether a day or month, written as `2026-11-01` or `2026-11`, exists in the calendar."""
    try:
        datetime.fromisoformat(text if len(text) > len("2026-11") else f"{text}-01")
    except ValueError:
        return False
    return True


def resolve_period(text: str, zone: ZoneInfo, *, now_ms: int) -> tuple[str, str] | None:
    """Return the start and end of `today`, `yesterday`, a day or a month in the zone; None for others.

    Raises ValueError for a day or month that does not exist, and OverflowError at the ends of the calendar.
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
    # If clocks change at midnight, fold 0 is the first moment of the day, whether midnight is skipped or
    # repeated.
    return day.replace(tzinfo=zone, fold=0)


def _local_time(time: datetime, zone: ZoneInfo) -> datetime:
    """Return a time of day in a zone. Raises ValueError if it does not exist or occurs twice there."""
    early, late = (time.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if early.utcoffset() == late.utcoffset():
        return early
    # A time in a gap of the clock changes when it is converted to UTC and back.
    if early.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != time:
        raise ValueError(f"{time} does not exist in {zone}: clocks were put forward")
    offsets = " or ".join(moment.isoformat()[-6:] for moment in (early, late))
    raise ValueError(f"{time} is there twice in {zone}: add the offset, {offsets}")


def _to_text(time: datetime) -> str:
    """Return a moment as ISO 8601 in UTC with `Z`, with microseconds only if they are not zero."""
    utc = time.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}" + (f".{utc.microsecond:06d}" if utc.microsecond else "") + "Z"
