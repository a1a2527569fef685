"""Times of windows and runs rendered with their zone."""

from __future__ import annotations

from datetime import UTC, datetime
from math import ceil
from zoneinfo import ZoneInfo

from fll_hbase.cli.render.console import format_time
from fll_hbase.client.lineage_client import WindowText
from fll_hbase.queries import time_window
from fll_hbase.runtime.escape import escape_control

UTC_NAME = "UTC"


def describe_window(window: WindowText) -> str:
    """Return a window for people: texts such as `now-7d` as they are, other times as dates with a zone."""
    return f"{_describe(window.start, window.zone)} to {_describe(window.end, window.zone)}"


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


def format_minute(milliseconds: int, zone: str) -> str:
    """Format a time to the minute, rounded down, without its zone; years beyond 9999 in milliseconds."""
    return format_time(milliseconds // 60_000 * 60_000, ZoneInfo(zone)).removesuffix(":00")


def _describe(text: str, zone: str) -> str:
    """Return one end of a window for people; a text that is not a time is only escaped."""
    if text.startswith("now"):
        return escape_control(text)
    try:
        seconds = time_window.parse_seconds(text, now_ms=0)
    except ValueError:
        return escape_control(text)
    return format_with_zone(ceil(seconds * 1000), zone)
