"""The base window of a diff: by default as long as the window, and just before it."""

from __future__ import annotations

from fractions import Fraction

from fll_hbase.model.window import Window
from fll_hbase.queries import time_window
from fll_hbase.runtime.errors import FieldError, InvalidQuery


def parse_base_window(window: Window, start: str | None, end: str | None, *, now_ms: int) -> Window:
    """Return the base window between two times as they are typed; the defaults are those of `base_window`.

    Raises InvalidQuery with every time that cannot be parsed, or if `start` is after `end`.
    """
    errors: list[FieldError] = []
    times: dict[str, Fraction] = {}
    for name, text in (("baseStart", start), ("baseEnd", end)):
        if text is not None:
            try:
                times[name] = time_window.parse_seconds(text, now_ms=now_ms)
            except ValueError as error:
                errors.append(FieldError(name, str(error)))
    if errors:
        raise InvalidQuery(errors)
    return base_window(window, times.get("baseStart"), times.get("baseEnd"))


def base_window(window: Window, start: Fraction | None, end: Fraction | None) -> Window:
    """Return the base window between two times in seconds since 1970.

    `end` is by default the start of the window, and `start` as long before `end` as the window is, but not
    before 1970. Raises InvalidQuery if `start` is after `end`.
    """
    last = Fraction(window.start_ms, 1000) if end is None else end
    length = Fraction(window.stop_ms - window.start_ms, 1000)
    first = max(last - length, Fraction(0)) if start is None else start
    if first > last:
        default = "the default baseEnd, the start of the window; give `baseEnd`, too"
        raise InvalidQuery([FieldError("baseStart", f"is after {default if end is None else 'baseEnd'}")])
    # `now` is only the default of times that are missing.
    return time_window.to_window(first, last, now_ms=0)
