"""Times of the runs of one content in a window: counts, first and last starts, within any bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fll_hbase.keys.codec import day_of
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.read import content_days
from fll_hbase.store.results import RunSpan
from fll_hbase.store.rows.calendar_rows import DayRuns


class RunTimes:
    """The runs of one content in a window. A bound is a start in ms, or its negative, see `bound_of`."""

    __slots__ = ("_newest_first", "_spans", "_window")

    def __init__(self, runs: Iterable[DayRuns], window: Window) -> None:
        self._newest_first = _sorted(runs)
        self._window = window
        self._spans: dict[int, RunSpan | None] = {}

    @property
    def runs(self) -> Sequence[DayRuns]:
        """The runs by day, program and whether they failed, the newest day first."""
        return self._newest_first

    @property
    def total(self) -> int:
        """How many runs there are."""
        return sum(runs.total for runs in self._newest_first)

    def latest_bound(self, direction: Direction, bound: int) -> int | None:
        """Return the bound of that run within a bound which admits most others; None without a run."""
        parts = self._within(window_within(self._window, direction, bound))
        if direction is Direction.BACKWARD:
            return max([part.runs[0].start_ms for part in parts], default=None)
        return max([-part.runs[-1].start_ms for part in parts], default=None)

    def span(self, direction: Direction, bound: int) -> RunSpan | None:
        """Return how many runs are within a bound, with the first and the last; None without any."""
        if bound not in self._spans:
            window = window_within(self._window, direction, bound)
            self._spans[bound] = _span(list(self._within(window)))
        return self._spans[bound]

    def unknown_days(self, direction: Direction, bound: int) -> set[int]:
        """Return the days on which a bound admits some runs, but not all runs are known."""
        window = window_within(self._window, direction, bound)
        if window == self._window:
            # Days that it cuts were read.
            return set()
        return {
            day_of(runs.runs[0].start_ms)
            for runs in self._newest_first
            if not runs.is_complete and content_days.cut(runs, window) is None
        }

    def replace_day(self, day: int, runs: Iterable[DayRuns]) -> None:
        """Set the runs of one day."""
        others = (part for part in self._newest_first if day_of(part.runs[0].start_ms) != day)
        self._newest_first = _sorted((*others, *runs))
        self._spans.clear()

    def _within(self, window: Window) -> list[DayRuns]:
        """Return the runs in a window. Raises ValueError if it cuts a day whose runs are not all known."""
        if window == self._window:
            return self._newest_first
        parts = []
        for runs in self._newest_first:
            part = content_days.cut(runs, window)
            if part is None:
                raise ValueError(
                    "a bound cuts a day whose runs were not all read, see RunTimesReader.complete"
                )
            if part.total:
                parts.append(part)
        return parts


def bound_of(direction: Direction, start_ms: int) -> int:
    """Return a start as a bound; a greater one admits more runs in either direction."""
    return start_ms if direction is Direction.BACKWARD else -start_ms


def window_within(window: Window, direction: Direction, bound: int) -> Window:
    """Return the part of a window up to a bound (backward), or from it on (forward, negative)."""
    if direction is Direction.BACKWARD:
        if bound >= window.stop_ms - 1:
            return window
        return Window(window.start_ms, max(window.start_ms, bound + 1))
    if -bound <= window.start_ms:
        return window
    return Window(min(window.stop_ms, -bound), window.stop_ms)


def _sorted(runs: Iterable[DayRuns]) -> list[DayRuns]:
    """Sort the runs of days by their latest start, newest first; each has a run."""
    return sorted(runs, key=lambda day_runs: -day_runs.runs[0].start_ms)


def _span(parts: Sequence[DayRuns]) -> RunSpan | None:
    """Return the span of runs, None without any; of the runs that began last, it names the smallest id."""
    if not parts:
        return None
    last = min((part.runs[0] for part in parts), key=lambda run: (-run.start_ms, run.run))
    return RunSpan(
        sum(part.total for part in parts),
        sum(part.total for part in parts if part.failed),
        min(part.runs[-1].start_ms for part in parts),
        last.start_ms,
        last.run,
    )
