"""Cache of index rows for which no run was found, so that queries do not read their references again."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TypeAlias

from cachetools import LRUCache

from fll_hbase.tables import Row

STALE_ROWS_MAX = 100_000
"""Index rows that are cached as stale."""

IndexRow: TypeAlias = tuple[bytes, Row]
"""Key and cells of a row of the day index: some run of the day has this content."""


class StaleIndexCache:
    """Index rows for which no run was found, with their timestamps: putting a row again makes it valid.

    References of the day of a stale row are not read until its entry expires.
    """

    # Only references are skipped; sample runs are always read. Found by simulation: a writer that paused for
    # an hour in a commit may still commit its run, and this run is then the sample run (decision 12).

    def __init__(self) -> None:
        self._entries: LRUCache[tuple[bytes, bool], tuple[int, int]] = LRUCache(STALE_ROWS_MAX)
        self._lock = threading.Lock()

    def contains(self, index_row: IndexRow, *, failed: bool, now_ms: int) -> bool:
        """Return whether a row is stale, for queries with or without failed runs."""
        if not self._entries:
            return False
        # LRUCache reorders its entries when it is read, so reads need the lock, too.
        with self._lock:
            stamp_ms, until_ms = self._entries.get((index_row[0], failed), (-1, 0))
        return now_ms < until_ms and stamp_ms == latest_stamp_ms(index_row)

    def add(self, rows: Iterable[IndexRow], *, failed: bool, until_ms: int) -> None:
        """Add rows that stay stale until a time, unless they are put again."""
        with self._lock:
            for index_row in rows:
                self._entries[index_row[0], failed] = latest_stamp_ms(index_row), until_ms


def latest_stamp_ms(index_row: IndexRow) -> int:
    """Return when a row was put last, in milliseconds since 1970."""
    return max(cell.stamp_ms for cell in index_row[1].values())
