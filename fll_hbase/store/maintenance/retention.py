"""Retention in one process: delete expired runs, then collect unreferenced cells and rows.

Both this and the Spark job use the rules of `garbage_collection`, so they delete the same rows.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from fll_hbase.keys import layout, ranges
from fll_hbase.keys.layout import Range
from fll_hbase.keys.row_kinds import kind_name
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.runtime.clock import now_ms
from fll_hbase.store.copying.progress import check_not_copying
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.maintenance.garbage_collection import NONE_REMOVED, Garbage, Removed, Report
from fll_hbase.store.maintenance.liveness import LivenessScanner
from fll_hbase.store.read.requested_horizons import read_horizons
from fll_hbase.store.retention_requests import put_purge, remove_superseded
from fll_hbase.store.write.sealing import seal_old_days
from fll_hbase.tables import Row, Table

RUNS = "runs"
KINDS = {
    **dict.fromkeys(layout.REFERENCES, "references"),
    layout.WAYS: "ways",
    layout.CALENDARS: "calendar cells",
    layout.RUN_INDEX: "run index rows",
    layout.CONTENTS: "contents",
    layout.EVENT_BODIES: "parts",
}
"""Members of the report's `counts`, by key prefix; the names have not changed since the first release."""

DATASETS = "end points"
FORMER_INDEXES = "index rows of earlier releases"
_LABELS = {"parts": "event bodies", DATASETS: "datasets"}

_ANY_AGE_MS = 2**63 - 1
REPORT_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class RetentionReport:
    """Deleted rows or cells by kind, and their bytes before compression.

    With `dry_run`, what would be deleted, and in `waiting` what also would be without a grace period.
    """

    dry_run: bool
    counts: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    seconds: float = 0.0

    def summary(self) -> dict[str, Any]:
        """Return the report as JSON members, with `job`, and `seconds` rounded to tenths."""
        return {"job": "retention", **asdict(self), "seconds": round(self.seconds, 1)}

    def __str__(self) -> str:
        """Return the report as one line: what was or would be deleted, its size in MiB, and the seconds."""
        verb = "would delete" if self.dry_run else "deleted"
        size = f"about {self.bytes / 2**20:,.1f} MiB, in {self.seconds:.0f} s"
        waiting = (
            f"; still in the grace period: {_describe(self.waiting)}" if any(self.waiting.values()) else ""
        )
        return f"{verb} {_describe(self.counts)}; {size}{waiting}"


def _describe(counts: dict[str, int]) -> str:
    """Return the nonzero counts as text, such as "3 runs, 1 datasets"; "nothing" if all are 0."""
    texts = [f"{count:,} {_LABELS.get(kind, kind)}" for kind, count in counts.items() if count]
    return ", ".join(texts) or "nothing"


def apply_retention(
    table: Table,
    policy: RetentionPolicy,
    *,
    grace_ms: int,
    dry_run: bool,
    report: Report,
    clock: Callable[[], int] = now_ms,
) -> RetentionReport:
    """Delete runs that started before the cut-offs of all their datasets, then what no run references.

    For each dataset, the later cut-off of `policy` and of the requests in the table counts. Seals all old
    days at the end. Deletes rows of `layout.INDEXES_BEFORE_CALENDARS` once the calendars of the table are
    complete. With `dry_run`, deletes nothing and reports what would be deleted. Safe while writers are
    running, which must use the same `grace_ms`; `clock` returns milliseconds since 1970. After an
    interruption, the next call continues. Raises CorruptRow, before anything but runs is deleted or while
    days are sealed, StoreUnavailable, and ConfigurationError for an incomplete copy.
    """
    check_not_copying(table)
    started = time.monotonic()
    policy = read_horizons(table).merged_with(policy)
    counted = _CountingTable(table, report)
    # Done before the purge, because a table without references counts as marked.
    former_ranges = garbage_collection.former_index_ranges(table)
    # Compute each limit before the scan that it limits.
    until_ms = garbage_collection.safe_until_ms(clock(), grace_ms)
    if dry_run:
        return _preview(counted, policy, until_ms=until_ms, started=started)
    runs = NONE_REMOVED
    if policy != RetentionPolicy():
        put_purge(table, policy)
        runs = garbage_collection.purge(counted, policy, until_ms=until_ms, grace_ms=grace_ms, clock=clock)
        # Compute it after the purge, which deletes what it no longer protects.
        until_ms = garbage_collection.safe_until_ms(clock(), grace_ms)
    garbage = garbage_collection.find_garbage(counted, policy, until_ms=until_ms)
    garbage_collection.remove(table, garbage, policy, until_ms=until_ms)
    former = _remove_former_indexes(counted, former_ranges, until_ms=until_ms)
    remove_superseded(table, until_ms=until_ms)
    # Seal last, so that no query of the remaining runs has to read the references of an old day first.
    seal_old_days(counted, clock=clock, grace_ms=grace_ms)
    counts = {RUNS: runs.rows, **_count(garbage), FORMER_INDEXES: former.rows}
    size_bytes = runs.bytes + garbage.bytes + former.bytes
    return RetentionReport(False, counts, {}, size_bytes, time.monotonic() - started)


def _remove_former_indexes(
    table: Table, key_ranges: Iterable[Range], *, until_ms: int, dry_run: bool = False
) -> Removed:
    remove = partial(garbage_collection.remove_former_indexes, table, until_ms=until_ms, dry_run=dry_run)
    return sum((removed for key_range in key_ranges for removed in remove(*key_range)), start=NONE_REMOVED)


def _preview(table: Table, policy: RetentionPolicy, *, until_ms: int, started: float) -> RetentionReport:
    """Return what would be deleted now, and what only the grace period protects."""
    due, later = (_preview_until(table, policy, until_ms=limit_ms) for limit_ms in (until_ms, _ANY_AGE_MS))
    waiting = {kind: later[0][kind] - count for kind, count in due[0].items()}
    return RetentionReport(True, due[0], waiting, due[1], time.monotonic() - started)


def _preview_until(table: Table, policy: RetentionPolicy, *, until_ms: int) -> tuple[dict[str, int], int]:
    """Return the numbers and bytes that retention would delete if it spared only cells after `until_ms`."""
    scanner = LivenessScanner(table, policy)
    expired = (
        {key: page[key] for key in scanner.expired_runs(page, until_ms=until_ms)}
        for page in garbage_collection.pages(table, *ranges.prefix_range(layout.RUNS))
    )
    runs = sum(map(garbage_collection.size_of, expired), start=NONE_REMOVED)
    garbage = garbage_collection.find_garbage(table, policy, until_ms=until_ms, purge_until_ms=until_ms)
    former_ranges = garbage_collection.former_index_ranges(table)
    former = _remove_former_indexes(table, former_ranges, until_ms=until_ms, dry_run=True)
    counts = {RUNS: runs.rows, **_count(garbage), FORMER_INDEXES: former.rows}
    return counts, runs.bytes + garbage.bytes + former.bytes


def _count(garbage: Garbage) -> dict[str, int]:
    """Return the number of garbage cells or rows by kind, for every kind."""
    prefixes = Counter(cell.row[:2] for cell in garbage.cells)
    prefixes.update(key[:2] for key in garbage.contents)
    counts = dict.fromkeys(KINDS.values(), 0)
    for prefix, count in prefixes.items():
        counts[KINDS[prefix]] += count
    return {**counts, DATASETS: len(garbage.catalogue_rows)}


class _CountingTable:
    """A table that reports the number of scanned rows."""

    def __init__(self, table: Table, report: Report) -> None:
        self._table = table
        self._report = report
        self._rows = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def scan(self, *args: Any, **options: Any) -> Iterator[tuple[bytes, Row]]:
        """Scan the table, and report after every REPORT_ROWS rows."""
        for key, row in self._table.scan(*args, **options):
            self._rows += 1
            if self._rows % REPORT_ROWS == 0:
                self._report(kind_name(key), self._rows)
            yield key, row
