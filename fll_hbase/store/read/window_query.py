"""Contents and runs of a window: candidates from the day index and references, confirmed by run rows.

Index rows and references are hints; only a run row decides which content, start and state its run has. The
cost of a query grows with distinct contents and days (periods in a long window), not with runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from fll_hbase.keys import layout, periods
from fll_hbase.keys.codec import DAY_MAX
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import DAY_MS, Window
from fll_hbase.store import run_rows
from fll_hbase.store.read import shared_reads
from fll_hbase.store.read.batched_reads import BATCH_ROWS_MAX, BatchedReader, Contents, Reads, RowKeys
from fll_hbase.store.read.content_cache import ContentCache
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.read.index_rows import (
    Index,
    PeriodIndexMark,
    by_day,
    by_period,
    overlap,
    restrict_index,
    scan_index,
    windows_of_periods,
)
from fll_hbase.store.read.reference_pages import (
    Page,
    first_page,
    read_page,
    restrict_to_day,
)
from fll_hbase.store.read.reference_pages import WindowQuery as WindowQuery
from fll_hbase.store.read.requested_horizons import RequestedHorizons
from fll_hbase.store.read.stale_index import IndexRow, StaleIndexCache, latest_stamp_ms
from fll_hbase.store.run_rows import CommittedHead, CommittedRun
from fll_hbase.tables import Row, Table


class WindowReader:
    """Returns the contents and runs of a window. Threads may share it."""

    def __init__(
        self,
        table: Table,
        contents: ContentCache,
        events: EventMerger,
        *,
        requests: RequestedHorizons,
        clock: Callable[[], int],
        grace_ms: int,
    ) -> None:
        self._table = table
        self._requests = requests
        self._reads = BatchedReader(table, contents)
        self._events = events
        self._contents = contents
        self._clock = clock
        self._grace_ms = grace_ms
        self._stale = StaleIndexCache()
        self._periods = PeriodIndexMark(table, clock=clock)

    def restrict(self, query: WindowQuery) -> WindowQuery:
        """Return the query over the part of its window that retention requests leave."""
        return self._requests.restrict(query)

    def checksums_by_name(self, queries: Sequence[WindowQuery]) -> list[dict[Dataset, frozenset[str]]]:
        """Return the contents of the runs that match each query, by every name of its dataset, its own first.

        Empty for a name without such runs. The number of calls does not follow that of the queries. Within
        `shared_reads.shared`, a query is read once.
        """
        results = shared_reads.lookup(queries)
        missing = [query for query in dict.fromkeys(queries) if query not in results]
        if missing:
            read = dict(zip(missing, self._read_checksums(missing), strict=True))
            checksums = sum(len(listed) for by_name in read.values() for listed in by_name.values())
            shared_reads.add(read, size=len(read) + checksums)
            results |= read
        return [results[query] for query in queries]

    def _read_checksums(self, queries: Sequence[WindowQuery]) -> list[dict[Dataset, frozenset[str]]]:
        """Return the result of `checksums_by_name` for distinct queries."""
        # The alias rows are read in one call with the first run rows; most datasets have no aliases.
        reads: list[Reads[Any]] = [self._checksums(query) for query in queries]
        reads.append(_read_aliases(query.dataset for query in queries))
        results = self._reads.run(reads)
        aliases: dict[Dataset, list[Dataset]] = results.pop()
        checksums: dict[WindowQuery, frozenset[str]] = dict(zip(queries, results, strict=True))
        groups = [_with_aliases(query, aliases) for query in queries]
        others = list(dict.fromkeys(query for group in groups for query in group if query not in checksums))
        checksums |= zip(others, self._reads.run([self._checksums(query) for query in others]), strict=True)
        return [{query.dataset: checksums[query] for query in group} for group in groups]

    def newest_references(
        self, queries: Mapping[WindowQuery, Collection[str]], *, oldest: bool = False
    ) -> list[dict[str, bytes]]:
        """Return the reference tail of the newest, or oldest, matching run of each content of each query.

        Tails sort newest first. Contents without a matching run are left out. The oldest run costs all
        references of its day, the newest one those before it.
        """
        return self._reads.run([self._newest_references(*item, oldest=oldest) for item in queries.items()])

    def _checksums(self, query: WindowQuery) -> Reads[frozenset[str]]:
        """Return the checksum of the content of every run that matches, empty without any."""
        query = self._requests.restrict(query)
        # Before the scan: index rows are compared with this time when they may be cached as stale.
        began_ms = self._clock()
        if not self._periods.covers(query.window):
            index = yield from self._days(query, query.window)
            matches = yield from self._confirm_samples(query, index)
            matches |= yield from self._confirm_by_day(query, index, matches, began_ms)
            return frozenset(matches)
        # Without evidence a content may be in a part of a period outside the window: its days decide.
        rows = yield from self._period_rows(query)
        matches = yield from self._confirm_samples(query, rows)
        missing = rows.keys() - matches
        for window in windows_of_periods(restrict_index(rows, missing), query.window):
            if missing <= matches:
                break
            index = restrict_index((yield from self._days(query, window)), missing - matches)
            matches |= yield from self._confirm_samples(query, index)
            matches |= yield from self._confirm_by_day(query, index, matches, began_ms)
        return frozenset(matches)

    def _confirm_samples(self, query: WindowQuery, index: Index) -> Reads[set[str]]:
        """Return the contents of matching runs among the evidence, the runs that index rows name."""
        bounds = layout.start_bounds(query.window)
        newest_samples = [
            tails[0] for rows in index.values() if (tails := _sample_tails(rows, bounds, limit=1))
        ]
        matches = yield from self._confirm(query, newest_samples)
        # A sample run may have been replaced or deleted since: try the others.
        others = [
            tail for checksum in index.keys() - matches for tail in _sample_tails(index[checksum], bounds)[1:]
        ]
        return matches | (yield from self._confirm(query, others)) if others else matches

    def _confirm_by_day(
        self, query: WindowQuery, index: Index, confirmed: Collection[str], began_ms: int
    ) -> Reads[set[str]]:
        """Return the contents of runs that references lead to, day by day, of the other index rows."""
        matches: set[str] = set()
        for day, rows in self._without_stale(query, by_day(index, index.keys() - confirmed), began_ms):
            wanted = rows.keys() - matches
            page: Page | None = first_page(query, day)
            while wanted and page is not None:
                tails, page = yield from read_page(query, page, wanted)
                matches |= yield from self._confirm(query, tails)
                wanted -= matches
            self._remember_stale(query, day, [rows[checksum] for checksum in wanted], began_ms)
        return matches

    def _newest_references(
        self, query: WindowQuery, checksums: Iterable[str], *, oldest: bool
    ) -> Reads[dict[str, bytes]]:
        query = self._requests.restrict(query)
        missing = set(checksums)
        if not self._periods.covers(query.window):
            return (yield from self._newest_of_days(query, query.window, missing, oldest=oldest))
        newest: dict[str, bytes] = {}
        rows = restrict_index((yield from self._period_rows(query)), missing)
        parts = by_period(rows)
        for period, contents in reversed(parts) if oldest else parts:
            wanted = contents & missing
            if wanted:
                window = overlap(query.window, periods.window_of(period, period))
                newest |= yield from self._newest_of_days(query, window, wanted, oldest=oldest)
                missing -= newest.keys()
        return newest

    def _newest_of_days(
        self, query: WindowQuery, window: Window, checksums: Collection[str], *, oldest: bool
    ) -> Reads[dict[str, bytes]]:
        missing = set(checksums)
        newest: dict[str, bytes] = {}
        index = yield from self._days(query, window)
        days = list(self._without_stale(query, by_day(index, missing), self._clock()))
        for day, rows in reversed(days) if oldest else days:
            newest |= yield from self._newest_of_day(query, day, rows.keys() & missing, oldest=oldest)
            missing -= newest.keys()
        return newest

    def runs(
        self, query: WindowQuery, *, start_after: bytes = b"", batch_size: int
    ) -> Iterator[CommittedRun]:
        """Yield every run that matches, newest first, after the reference tail `start_after`."""
        query = self._requests.restrict(query)
        start, stop = layout.window_range(query.direction, query.dataset, query.window)
        prefix = layout.reference_prefix(query.direction, query.dataset)
        # A zero byte makes the smallest key after another one, so that the range excludes `start_after`.
        if start_after:
            start = max(start, prefix + start_after + b"\x00")
        while True:
            page = list(self._table.scan(start, stop, limit=batch_size))
            tails = [key[len(prefix) :] for key, _ in page]
            yield from self.matching_runs(query, tails)
            if len(page) < batch_size:
                return
            start = page[-1][0] + b"\x00"

    def matching_runs(self, query: WindowQuery, tails: Sequence[bytes]) -> Iterator[CommittedRun]:
        """Yield the runs with these reference tails that match, in their order."""
        query = self._requests.restrict(query)
        committed = self._events.committed_runs(self._run_rows(tails))
        # Which datasets a run touches is in its field map: those of a page are read together.
        self._contents.load(self._contents.find_missing(run.checksum for run in committed.values()))
        for tail in tails:
            run = committed.get(layout.parse_reference_tail(tail).run)
            # References are hints: one with another start is left from a document that was replaced. The
            # commit record is right, and the run has another reference with its valid start.
            if run and reference_tail_of(run) == tail and self._matches(query, run_rows.head_of(run)):
                yield run

    def _days(self, query: WindowQuery, window: Window) -> Reads[Index]:
        """Return the rows of all days that a part of the window touches."""
        bounds = layout.index_range(query.direction, query.dataset, window)
        return (yield from scan_index(bounds, failed=query.failed))

    def _period_rows(self, query: WindowQuery) -> Reads[Index]:
        """Return the rows of all periods that the window touches."""
        bounds = periods.period_range(query.direction, query.dataset, query.window)
        return (yield from scan_index(bounds, failed=query.failed))

    def _without_stale(
        self, query: WindowQuery, days: Iterable[tuple[int, dict[str, IndexRow]]], now_ms: int
    ) -> Iterator[tuple[int, dict[str, IndexRow]]]:
        """Yield the days without their index rows that are cached as stale; skip days without any other."""
        for day, rows in days:
            live = {
                checksum: index_row
                for checksum, index_row in rows.items()
                if not self._stale.contains(index_row, failed=query.failed, now_ms=now_ms)
            }
            if live:
                yield day, live

    def _confirm(self, query: WindowQuery, tails: Sequence[bytes]) -> Reads[set[str]]:
        """Return the contents of the runs with these reference tails, of matching runs only."""
        # Run rows decide: the content of a run may differ from that of the hint that led to it.
        matches: set[str] = set()
        for begin in range(0, len(tails), BATCH_ROWS_MAX):
            heads = yield from self._matching_heads(query, tails[begin : begin + BATCH_ROWS_MAX])
            matches |= {head.checksum for head in heads.values()}
        return matches

    def referenced_heads(
        self, query: WindowQuery, tails: Iterable[bytes]
    ) -> Reads[dict[bytes, CommittedHead]]:
        """Return the committed heads of the matching runs among these, by reference tail in their order.

        Without runs whose start is another one by now: these have another reference.
        """
        heads = yield from self._matching_heads(query, tails)
        return {
            tail: head
            for tail, head in heads.items()
            if layout.reference_tail(head.start_ms, layout.parse_reference_tail(tail).run) == tail
        }

    def _matching_heads(
        self, query: WindowQuery, tails: Iterable[bytes]
    ) -> Reads[dict[bytes, CommittedHead]]:
        """Return the committed heads of the matching runs among these, by reference tail."""
        query = self._requests.restrict(query)
        keys = {tail: layout.run_row(layout.parse_reference_tail(tail).run) for tail in tails}
        rows: dict[bytes, Row] = yield RowKeys(frozenset(keys.values()))
        values = {tail: run_rows.commit_value(rows[key]) for tail, key in keys.items() if key in rows}
        heads = {
            tail: head
            for tail, value in values.items()
            if value is not None and _in_window(query, head := run_rows.decode_head(value))
        }
        missing = self._contents.find_missing(head.checksum for head in heads.values())
        if missing:
            yield Contents(missing)
        return {tail: head for tail, head in heads.items() if self._has_dataset(query, head)}

    def _matches(self, query: WindowQuery, head: CommittedHead) -> bool:
        return _in_window(query, head) and self._has_dataset(query, head)

    def _has_dataset(self, query: WindowQuery, head: CommittedHead) -> bool:
        """Return whether the content of a run has the dataset of the query in its direction."""
        # A replacement may read and write other datasets than the document that put the hint.
        return self._contents.has_dataset(head.checksum, query.direction, query.dataset)

    def _run_rows(self, tails: Iterable[bytes]) -> dict[str, Row]:
        runs = {layout.parse_reference_tail(tail).run for tail in tails}
        keys = {layout.run_row(run): run for run in sorted(runs)}
        rows = self._table.rows(list(keys), columns=(layout.LIGHT,))
        return {keys[key]: row for key, row in rows.items()}

    def _newest_of_day(
        self, query: WindowQuery, day: int, checksums: Iterable[str], *, oldest: bool
    ) -> Reads[dict[str, bytes]]:
        wanted = set(checksums)
        newest: dict[str, bytes] = {}
        page: Page | None = first_page(query, day)
        while wanted and page is not None:
            tails, page = yield from read_page(query, page, wanted)
            heads = yield from self.referenced_heads(query, tails)
            in_order = reversed(heads.items()) if oldest else heads.items()
            page_newest: dict[str, bytes] = {}
            for tail, head in in_order:
                if head.checksum in wanted:
                    page_newest.setdefault(head.checksum, tail)
            newest |= page_newest
            # An older run may follow on a later page.
            wanted -= set() if oldest else newest.keys()
        return newest

    def _remember_stale(self, query: WindowQuery, day: int, rows: Iterable[IndexRow], began_ms: int) -> None:
        """Cache index rows as stale, for which no committed run of their day was found.

        Only rows of whole days that were put before the grace period; entries expire after it.
        """
        # In part of a day a run may be missing only because it started outside the window. The last day of
        # the index has no end, so it is never whole (decision 7).
        whole_day = Window(day * DAY_MS, (day + 1) * DAY_MS)
        if day < DAY_MAX and restrict_to_day(query.window, day) == whole_day:
            # A commit may be between the index row and the commit record, but none takes the grace period.
            settled_ms = began_ms - self._grace_ms
            stale = [index_row for index_row in rows if latest_stamp_ms(index_row) < settled_ms]
            self._stale.add(stale, failed=query.failed, until_ms=began_ms + self._grace_ms)


def reference_tail_of(committed: CommittedRun) -> bytes:
    """Return the tail of a run's references; tails sort newest first."""
    return layout.reference_tail(committed.run.start_ms, committed.run.run)


def _in_window(query: WindowQuery, head: CommittedHead) -> bool:
    """Return whether start and state of a run match the query."""
    return head.start_ms in query.window and (query.failed or not head.state.failed)


def _read_aliases(datasets: Iterable[Dataset]) -> Reads[dict[Dataset, list[Dataset]]]:
    """Return the aliases of those datasets that have any, sorted; one step only (decision 13)."""
    keys = {layout.alias_row(dataset): dataset for dataset in datasets}
    rows: dict[bytes, Row] = yield RowKeys(keys)
    return {keys[key]: layout.aliases_in(row) for key, row in rows.items()}


def _with_aliases(query: WindowQuery, aliases: Mapping[Dataset, Sequence[Dataset]]) -> list[WindowQuery]:
    """Return the query, and the same about each alias of its dataset."""
    return [query, *(replace(query, dataset=name) for name in aliases.get(query.dataset, ()))]


def _sample_tails(rows: Iterable[IndexRow], bounds: layout.Range, *, limit: int | None = None) -> list[bytes]:
    """Return the sample runs of index rows that start within the bounds, at most `limit` of them."""
    # Tails sort as their starts do, so evidence outside the window is left out without decoding it.
    newest, oldest = bounds
    tails = (cell.value for _, row in rows for cell in row.values())
    return list(islice((tail for tail in tails if newest <= tail < oldest), limit))
