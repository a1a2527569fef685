"""The first and the last run of a dataset over all time, without reading the runs between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import BOTH, START_LIMIT_MS, Window
from fll_hbase.runtime import deadline
from fll_hbase.store.components import Reader
from fll_hbase.store.read.window_query import WindowQuery
from fll_hbase.store.results import RunBounds
from fll_hbase.tables import Scan

REFERENCES_MAX = 100
"""References of one page. Those of a dataset with fewer in a direction are all read."""

PARTS = 16
"""Parts of a range of starts in each of which one step of a search reads one reference."""

SEARCHES_MAX = 5
"""Starts, from the oldest on, at which only references that are no longer valid may be found."""

ALL_TIME = Window(0, START_LIMIT_MS)


class RunBoundsReader(Reader):
    """Finds the first and the last run of a dataset, failed ones included. Threads may share it."""

    def bounds(self, names: Sequence[Dataset]) -> RunBounds:
        """Return the starts of the first and the last run of a dataset, given with its aliases.

        None without any run. The number of calls is bounded; if references that are no longer valid exceed
        the bounds, `truncated_by` has it, and an earlier or later run may exist. Raises DeadlineExceeded.
        """
        queries = self._windows.restrict(
            WindowQuery(direction, name, ALL_TIME, True) for name in names for direction in BOTH
        )
        pages = self._table.scan_many([_scan(query, query.window, limit=REFERENCES_MAX) for query in queries])
        starts_ms: list[int] = []
        truncated_by: set[str] = set()
        for query, page in zip(queries, pages, strict=True):
            tails = _tails(query, (key for key, _ in page))
            matches = self._confirm(query, tails)
            starts_ms += matches
            if len(page) < REFERENCES_MAX:
                continue
            oldest_ms = self._oldest(query, layout.parse_reference_tail(tails[-1]).start_ms)
            starts_ms += [] if oldest_ms is None else [oldest_ms]
            if not matches or oldest_ms is None:
                truncated_by.add(f"references_max={REFERENCES_MAX}")
        first_ms, last_ms = min(starts_ms, default=None), max(starts_ms, default=None)
        return RunBounds(first_ms, last_ms, tuple(sorted(truncated_by)))

    def _oldest(self, query: WindowQuery, newest_ms: int) -> int | None:
        """Return the start of the oldest matching run up to `newest_ms`, None beyond SEARCHES_MAX."""
        oldest_ms = query.window.start_ms
        for _ in range(SEARCHES_MAX):
            start_ms = self._oldest_reference(query, Window(oldest_ms, newest_ms + 1))
            if start_ms is None:
                return None
            millisecond = Window(start_ms, start_ms + 1)
            page = self._table.scan(*_range(query, millisecond), limit=REFERENCES_MAX)
            if self._confirm(query, _tails(query, (key for key, _ in page))):
                return start_ms
            oldest_ms = start_ms + 1
        return None

    def _oldest_reference(self, query: WindowQuery, window: Window) -> int | None:
        """Return the start in ms of the oldest reference in a window, read part by part; None without."""
        # Tables scan newest first only. Each step leaves a sixteenth of the window, up to the newest
        # reference in it: 11 steps for a start since 1970.
        while True:
            deadline.check()
            parts = _split(window)
            pages = self._table.scan_many([_scan(query, part, limit=1) for part in parts])
            keys = [(part, page[0][0]) for part, page in zip(parts, pages, strict=True) if page]
            if not keys:
                return None
            part, key = keys[0]
            (tail,) = _tails(query, [key])
            start_ms = layout.parse_reference_tail(tail).start_ms
            if start_ms == part.start_ms:
                return start_ms
            window = Window(part.start_ms, start_ms + 1)

    def _confirm(self, query: WindowQuery, tails: Sequence[bytes]) -> list[int]:
        """Return the starts (epoch ms) of the runs of references that their run rows confirm."""
        deadline.check()
        return [committed.run.start_ms for committed in self._windows.matching_runs(query, tails)]


def _range(query: WindowQuery, window: Window) -> layout.Range:
    return layout.window_range(query.direction, query.dataset, window)


def _scan(query: WindowQuery, window: Window, *, limit: int) -> Scan:
    return Scan(*_range(query, window), limit=limit)


def _tails(query: WindowQuery, keys: Iterable[bytes]) -> list[bytes]:
    """Return the ends of reference keys, after the prefix of the dataset: start and run."""
    prefix = layout.reference_prefix(query.direction, query.dataset)
    return [key[len(prefix) :] for key in keys]


def _split(window: Window) -> list[Window]:
    """Return at most PARTS windows of equal length that cover a window, the oldest first."""
    length = -(-(window.stop_ms - window.start_ms) // PARTS)
    starts = range(window.start_ms, window.stop_ms, length)
    return [Window(start, min(start + length, window.stop_ms)) for start in starts]
