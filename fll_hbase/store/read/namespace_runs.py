"""Runs of a window by the namespace of their programs, from the run index, confirmed by run rows.

Rows of the run index are hints: a run is listed if its run row has the namespace and start of the hint.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import NamedTuple

from fll_hbase.keys import layout, ranges
from fll_hbase.keys.codec import escape
from fll_hbase.runtime import damage, deadline
from fll_hbase.runtime.errors import DeadlineExceeded, NotFound, in_row
from fll_hbase.store.components import Reader
from fll_hbase.store.query_parameters import RunsQuery
from fll_hbase.store.read.requested_horizons import restrict_window
from fll_hbase.store.results import ListedRun, RunsPage
from fll_hbase.store.rows import run_rows
from fll_hbase.store.rows.run_rows import CommittedRun
from fll_hbase.tables import Row, Scan

BATCH_RUNS = 1_001
"""Rows of the run index, or run rows, read per call: a page of the usual size, and one more."""

FIRST_RUNS = 8
"""Rows of the first scan of a namespace beside others. Its further scans each read twice as many."""

EXAMINED_MAX = 20_000
"""Maximum number of run index rows that one page examines; a filtered page may be short and not the last."""

NAMESPACES_MAX = 10_000
"""Maximum number of namespaces in an answer over all namespaces."""


class _Hint(NamedTuple):
    """The rows of the run index with one tail, usually one row, and all their columns."""

    tail: bytes
    columns: Collection[bytes]


@dataclass(slots=True)
class _Page:
    """A page under construction: its runs by tail, and the last examined tail."""

    last: bytes
    runs: dict[bytes, CommittedRun]
    examined: int = 0
    at_end: bool = False

    def build(self, limit: int, truncated_by: Sequence[str]) -> RunsPage:
        """Return the first `limit` runs, and the start of the next page if there may be more."""
        runs = list(islice(self.runs.values(), limit))
        listed = [ListedRun(run.run, run.checksum, frozenset()) for run in runs]
        next_after = b"" if self.at_end else self.last
        if len(self.runs) > limit:
            next_after = list(self.runs)[limit - 1]
        return RunsPage(tuple(listed), tuple(run.key for run in runs), next_after, tuple(truncated_by))


class NamespaceRunReader(Reader):
    """Lists runs by program namespace. Threads may share it. Raises StoreUnavailable and CorruptRow."""

    def namespace_runs(self, query: RunsQuery, *, limit: int, start_after: bytes = b"") -> RunsPage:
        """Return at most `limit` runs, newest first, each once, after the key tail `start_after`.

        `start_after` is the `next_after` of the previous page, b"" for the first one. A page also ends after
        EXAMINED_MAX rows of the index, or at the deadline, so it may have fewer runs and still have a next
        page. Leaves out damaged runs. Raises NotFound for a namespace without any run, and DeadlineExceeded
        if nothing was examined in time.
        """
        truncated_by: list[str] = []
        page = _Page(start_after, {})
        try:
            self._fill(page, query, limit, truncated_by)
        except DeadlineExceeded:
            if not page.examined:
                raise
        if not page.examined and query.namespace:
            self._require_known(query.namespace)
        return page.build(limit, truncated_by)

    def _fill(self, page: _Page, query: RunsQuery, limit: int, truncated_by: list[str]) -> None:
        """Add matching runs to a page until it has more than `limit`; stop after EXAMINED_MAX index rows."""
        size = min(limit + 1, BATCH_RUNS)
        # Read one row more, so that `_hints` knows that it has all rows with the last tail.
        hints = _hints(self._index_rows(query, page.last, size + 1, truncated_by))
        column = layout.run_index_column(query.program)
        while len(page.runs) <= limit and page.examined < EXAMINED_MAX:
            deadline.check()
            batch = list(islice(hints, size))
            wanted = [hint for hint in batch if not query.program or column in hint.columns]
            matches = self._confirm(query, wanted)
            page.runs |= matches
            page.examined += len(batch)
            page.last = batch[-1].tail if batch else page.last
            page.at_end = len(batch) < size
            if page.at_end:
                return
            # If not all candidates match, as with a filter, read more of them per call.
            all_match = len(matches) == len(batch)
            size = min(limit + 1 - len(page.runs) if all_match else 2 * size, BATCH_RUNS)

    def _confirm(self, query: RunsQuery, hints: Sequence[_Hint]) -> dict[bytes, CommittedRun]:
        """Return the committed runs of the hints that match the query, by key tail, in their order."""
        references = {hint.tail: layout.parse_run_index_tail(hint.tail) for hint in hints}
        rows = run_rows.read_run_rows(self._table, (run for _, run in references.values()))
        matching = {}
        for tail, (start_ms, run) in references.items():
            with damage.leaving_out(), in_row(layout.run_row(*run)):
                if _matches(query, start_ms, rows.get(run, {})):
                    matching[tail] = run
        # Merge only matching runs, because the program of a run with events requires reading its event
        # bodies.
        committed = self._events.readable_runs({run: rows[run] for run in matching.values()})
        return {
            tail: committed[run]
            for tail, run in matching.items()
            if run in committed
            and query.namespace in ("", committed[run].run.namespace)
            and query.program in ("", committed[run].run.program)
        }

    def _index_rows(
        self, query: RunsQuery, start_after: bytes, batch_size: int, truncated_by: list[str]
    ) -> Iterator[tuple[bytes, Row]]:
        """Yield tail and columns of the run index in the window, newest first, after a key tail."""
        # A run of this list may concern any dataset, so only requests for all datasets count.
        start, stop = layout.start_bounds(restrict_window(query.window, self._requests.current().default_ms))
        # A zero byte gives the smallest following tail, so the range excludes `start_after`.
        start = max(start, start_after + b"\x00") if start_after else start
        if query.namespace:
            scan = Scan(*_range(escape(query.namespace), start, stop), limit=batch_size)
            return self._scan(scan, list(self._table.scan(*scan[:2], limit=batch_size)))
        namespaces = list(islice(self._namespaces(), NAMESPACES_MAX + 1))
        if len(namespaces) > NAMESPACES_MAX:
            truncated_by.append(f"namespaces_max={NAMESPACES_MAX}")
        # One call reads a few rows of each namespace; more are read only from those with the newest runs. The
        # work for a page thus grows with its runs and the number of namespaces, not the total number of runs
        # (decision 31).
        ranges_of = [_range(namespace, start, stop) for namespace in namespaces[:NAMESPACES_MAX]]
        scans = [Scan(*key_range, limit=min(FIRST_RUNS, batch_size)) for key_range in ranges_of]
        scanned = self._table.scan_many(scans)
        rows = (self._scan(*item) for item in zip(scans, scanned, strict=True))
        return heapq.merge(*rows, key=lambda item: item[0])

    def _scan(self, scan: Scan, rows: list[tuple[bytes, Row]]) -> Iterator[tuple[bytes, Row]]:
        """Yield tail and columns of `rows`, which `scan` returned, then of the rows that follow."""
        limit = scan.limit or BATCH_RUNS
        while True:
            yield from ((layout.split_run_index_key(key)[1], row) for key, row in rows)
            if len(rows) < limit:
                return
            limit = min(2 * limit, BATCH_RUNS)
            rows = list(self._table.scan(rows[-1][0] + b"\x00", scan.stop, limit=limit))

    def _namespaces(self) -> Iterator[bytes]:
        """Yield the escaped namespaces of all programs, with one seek for each."""
        start, stop = ranges.prefix_range(layout.RUN_INDEX)
        while first := list(self._table.scan(start, stop, limit=1)):
            deadline.check()
            namespace, _ = layout.split_run_index_key(first[0][0])
            yield namespace
            # Seek over all runs of the namespace.
            start = ranges.prefix_end(layout.RUN_INDEX + namespace + b"|")

    def _require_known(self, namespace: str) -> None:
        """Raise NotFound if the run index has no run of a namespace at any time."""
        prefix = layout.run_index_prefix(namespace)
        if not list(self._table.scan(*ranges.prefix_range(prefix), limit=1)):
            raise NotFound(
                f"namespace {namespace!r} not found: no program of it was recorded; runs recorded before"
                " the run index are added by `fll spark check --repair`"
            )


def _range(namespace: bytes, start: bytes, stop: bytes) -> layout.Range:
    """Return the key range of the run index of an escaped namespace, from one tail to another."""
    prefix = layout.RUN_INDEX + namespace + b"|"
    return prefix + start, prefix + stop


def _hints(rows: Iterator[tuple[bytes, Row]]) -> Iterator[_Hint]:
    """Group rows by tail: a run whose program changed may be in the index of two namespaces."""
    for tail, group in groupby(rows, key=lambda item: item[0]):
        yield _Hint(tail, frozenset(column for _, row in group for column in row))


def _matches(query: RunsQuery, start_ms: int, row: Row) -> bool:
    """Return whether a run has a commit record with the start, and with the query's state, if it has one."""
    value = run_rows.commit_value(row)
    if value is None:
        return False
    head = run_rows.decode_head(value)
    return head.start_ms == start_ms and query.state in (None, head.state)
