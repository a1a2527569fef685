"""A table that counts the calls of a query, and runs to query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.runs import RecordedRun
from fll_hbase.model.window import DAY_MS, Window
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.results import CommitResult
from fll_hbase.tables import Row, Scan, Table
from fll_hbase.tables.base import Columns

START = Dataset("ns", "start")
WINDOW = Window(DAY_MS // 2, 3 * DAY_MS + DAY_MS // 2)
NOON_MS = DAY_MS + DAY_MS // 2


SMALL_SCAN_ROWS = 1_000
"""Rows of a scan that may be read beside others."""


def stopped_clock() -> int:
    """Return the same time at each call: what a store caches for a second stays cached meanwhile."""
    return 0


class CountingTable:
    """Passes reads on, and counts them and what they read by method."""

    parallel_calls = 1

    def __init__(self, table: Table) -> None:
        self._table = table
        self.calls: Counter[str] = Counter()
        self.items: Counter[str] = Counter()
        self.large_scans_max = 0

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        self._count("get", 1)
        return self._table.get(row, columns=columns)

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        self._count("rows", len(keys))
        return self._table.rows(keys, columns=columns)

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        self._count("scan", 1)
        return self._table.scan(start, stop, columns=columns, limit=limit)

    def scan_many(self, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
        self._count("scan_many", len(scans))
        large = sum(scan.limit is None or scan.limit > SMALL_SCAN_ROWS for scan in scans)
        self.large_scans_max = max(self.large_scans_max, large)
        return self._table.scan_many(scans)

    def _count(self, method: str, items: int) -> None:
        self.calls[method] += 1
        self.items[method] += items


def end(number: int) -> Dataset:
    return Dataset("ns", f"end{number:04}")


def record(table: Table, runs: Sequence[RecordedRun]) -> None:
    results = LineageStore(table).record(runs)
    assert all(isinstance(result, CommitResult) for result in results)
