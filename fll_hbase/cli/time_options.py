"""Times of commands without a window, as people type them, in the zone of --timezone or FLL_TIMEZONE."""

from __future__ import annotations

from math import ceil
from typing import Any

import click

from fll_hbase.cli import times
from fll_hbase.cli.options import current_zone, now_ms, resolve_times
from fll_hbase.queries import time_window


class TimeParam(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A time such as `now-7d` or `2026-11`, converted to milliseconds since 1970, rounded up."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return milliseconds since 1970. Raises BadParameter for text that is not a time."""
        # Rounded up as in `parse_window`: an end within a millisecond includes the runs at its beginning.
        try:
            text = times.resolve_time(str(value), current_zone(), now_ms=now_ms())
            return ceil(time_window.parse_seconds(text, now_ms=now_ms()) * 1000)
        except (ValueError, OverflowError) as error:
            self.fail(str(error), param, ctx)


TIME = TimeParam()


def resolve_option(name: str, text: str) -> str:
    """Return the time of an option as the REST contract has it. Raises InvalidQuery."""
    return str(resolve_times({name: text}, zone=current_zone().key)[name])
