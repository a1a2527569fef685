"""Times of windows and runs rendered with their zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from zoneinfo import ZoneInfo

from fll_hbase.cli.render.console import format_time
from fll_hbase.queries import time_window
from fll_hbase.queries.time_window import WindowText
from fll_hbase.runtime.escape import escape_control

UTC_NAME = "UTC"
ANOTHER_WINDOW = "use --start and --end for another window"


@dataclass(frozen=True, slots=True)
class Moment:
    """A time in milliseconds since 1970 for a cell of a table, whose column title names the zone."""

    milliseconds: int
    zone: str
    to_minute: bool = False

    def __str__(self) -> str:
        """Return the time for a pipe: in full, or to the minute if `to_minute`."""
        zone = ZoneInfo(self.zone)
        if self.to_minute:
            return format_time(self.milliseconds // 60_000 * 60_000, zone).removesuffix(":00")
        return format_time(self.milliseconds, zone)

    def on_screen(self, now_ms: int, *, short: bool) -> str:
        """Return the time to the second, or to the minute if `short` or `to_minute`.

        A time on the day of `now_ms` has no date. A short time in the year of `now_ms` has no year. A time
        beyond the year 9999 is in milliseconds, as `… ms`.
        """
        text = format_time(self.milliseconds // 1_000 * 1_000, ZoneInfo(self.zone))
        if text.endswith("ms"):
            return text
        now = format_time(now_ms, ZoneInfo(self.zone))
        day, _, time = text.partition(" ")
        time = time[:5] if short or self.to_minute else time
        if day == now[:10]:
            return time
        return f"{day[5:] if short and day[:4] == now[:4] else day} {time}"


def describe_window(window: WindowText) -> str:
    """Return a window for people: times as dates with their zone, and other texts as they are."""
    start, end = (_describe(text, window.zone) for text in (window.start, window.end))
    suffix = f" {UTC_NAME}"
    # The zone UTC is named only once. In other zones each end has its offset.
    return f"{start.removesuffix(suffix)} to {end}" if end.endswith(suffix) else f"{start} to {end}"


def format_with_zone(milliseconds: int, zone: str) -> str:
    """Format epoch milliseconds with ` UTC`, or in another zone with its offset at that time."""
    if zone == UTC_NAME:
        return f"{format_time(milliseconds)} UTC"
    text = format_time(milliseconds, ZoneInfo(zone))
    try:
        offset = datetime.fromtimestamp(milliseconds // 1000, UTC).astimezone(ZoneInfo(zone)).isoformat()[-6:]
    except (OverflowError, ValueError, OSError):
        return text
    return text + offset


def _describe(text: str, zone: str) -> str:
    """Return one end of a window in readable form; escape a string that is not a time."""
    if text.startswith("now"):
        return escape_control(text)
    try:
        seconds = time_window.parse_seconds(text, now_ms=0)
    except ValueError:
        return escape_control(text)
    return format_with_zone(ceil(seconds * 1000), zone)
