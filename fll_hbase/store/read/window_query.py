"""Contents and runs of a window: candidates from the day index and references, confirmed by run rows.

Index rows and references are hints; only a run row decides which content, start and state its run has. The
cost of a query grows with days and distinct contents, not with runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from cachetools import LRUCache

from fll_hbase.keys import layout
from fll_hbase.keys.codec import DAY_MAX
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import DAY_MS, Direction, Window
from fll_hbase.store import run_rows
from fll_hbase.store.read.batched_reads import BATCH_ROWS_MAX, Alone, BatchedReader, Contents, Reads, RowKeys
from fll_hbase.store.read.content_cache import ContentCache
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.run_rows import CommittedHead, CommittedRun
from fll_hbase.tables import Row, Scan, Table

PAGE_REFERENCES_MAX = 1000
"""References of one page."""

INDEX_ROWS_MAX = 1000
"""Index rows of one query that are read beside those of other queries."""

COLUMNS_MAX = 200
"""Columns of one scan of references; for more contents on one day all its references are read."""

STALE_ROWS_MAX = 100_000
"""Index rows that are cached as stale."""


@dataclass(frozen=True, slots=True)
class WindowQuery:
    """One dataset in one direction over one window; with `failed` failed and aborted runs count, too."""

    direction: Direction
    dataset: Dataset
    window: Window
    failed: bool = False


_IndexRow: TypeAlias = tuple[bytes, Row]
"""Key and cells of a row of the day index: some run of the day has this content."""


class _Page(NamedTuple):
    """The next references of a day to read: keys from `start` to `stop` (excluded), at most `limit`."""

    start: bytes
    stop: bytes
    limit: int


class WindowReader:
    """Returns the contents and runs of a window. Threads may share it."""

    def __init__(
        self,
        table: Table,
        contents: ContentCache,
        events: EventMerger,
        *,
        clock: Callable[[], int],
        grace_ms: int,
    ) -> None:
        self._table = table
        self._reads = BatchedReader(table, contents)
        self._events = events
        self._contents = contents
        self._clock = clock
        self._grace_ms = grace_ms
        self._stale = _StaleIndexCache()

    def checksums_by_name(self, queries: Sequence[WindowQuery]) -> list[dict[Dataset, frozenset[str]]]:
        """Return the contents of the runs that match each query, by every name of its dataset, its own first.

        Empty for a name without such runs. The number of calls does not follow that of the queries.
        """
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

    def newest_references(self, queries: Mapping[WindowQuery, Collection[str]]) -> list[dict[str, bytes]]:
        """Return the reference tail of the newest matching run of each content of each query.

        Tails sort newest first. Contents without a matching run are left out.
        """
        return self._reads.run([self._newest_references(*item) for item in queries.items()])

    def _checksums(self, query: WindowQuery) -> Reads[frozenset[str]]:
        """Return the checksum of the content of every run that matches, empty without any."""
        # Before the scan: index rows are compared with this time when they may be cached as stale.
        began_ms = self._clock()
        # "Contents of a window": index rows first, then the newest evidence (the run that an index row names)
        # of each content, in one read.
        index = yield from self._index(query)
        bounds = layout.start_bounds(query.window)
        newest_samples = [
            tails[0] for rows in index.values() if (tails := _sample_tails(rows, bounds, limit=1))
        ]
        matches = yield from self._confirm(query, newest_samples)
        missing = index.keys() - matches
        if missing:
            # A sample run may have been replaced or deleted since: try the others, then, day by day, the
            # references of the contents that are still unconfirmed.
            others = [tail for checksum in missing for tail in _sample_tails(index[checksum], bounds)[1:]]
            matches |= yield from self._confirm(query, others)
            for day, rows in self._without_stale(query, _by_day(index, missing - matches), began_ms):
                wanted = rows.keys() - matches
                page: _Page | None = _first_page(query, day)
                while wanted and page is not None:
                    tails, page = yield from _read_page(query, page, wanted)
                    matches |= yield from self._confirm(query, tails)
                    wanted -= matches
                self._remember_stale(query, day, [rows[checksum] for checksum in wanted], began_ms)
        return frozenset(matches)

    def _newest_references(self, query: WindowQuery, checksums: Iterable[str]) -> Reads[dict[str, bytes]]:
        missing = set(checksums)
        newest: dict[str, bytes] = {}
        index = yield from self._index(query)
        for day, rows in self._without_stale(query, _by_day(index, missing), self._clock()):
            newest |= yield from self._newest_of_day(query, day, rows.keys() & missing)
            missing -= newest.keys()
        return newest

    def runs(
        self, query: WindowQuery, *, start_after: bytes = b"", batch_size: int
    ) -> Iterator[CommittedRun]:
        """Yield every run that matches, newest first, after the reference tail `start_after`."""
        start, stop = layout.window_range(query.direction, query.dataset, query.window)
        prefix = layout.reference_prefix(query.direction, query.dataset)
        # A zero byte makes the smallest key after another one, so that the range excludes `start_after`.
        if start_after:
            start = max(start, prefix + start_after + b"\x00")
        while True:
            page = list(self._table.scan(start, stop, limit=batch_size))
            tails = [key[len(prefix) :] for key, _ in page]
            committed = self._events.committed_runs(self._run_rows(tails))
            for tail in tails:
                run = committed.get(layout.parse_reference_tail(tail).run)
                # References are hints: one with another start is left from a document that was replaced. The
                # commit record is right, and the run has another reference with its valid start.
                if run and reference_tail_of(run) == tail and self._matches(query, run_rows.head_of(run)):
                    yield run
            if len(page) < batch_size:
                return
            start = page[-1][0] + b"\x00"

    def _index(self, query: WindowQuery) -> Reads[dict[str, list[_IndexRow]]]:
        """Return the index rows of all days of the window by content, each list newest day first."""
        start, stop = layout.index_range(query.direction, query.dataset, query.window)
        columns = (layout.SAMPLE_RUN, layout.FAILED_SAMPLE_RUN) if query.failed else (layout.SAMPLE_RUN,)
        rows: dict[bytes, list[_IndexRow]] = {}
        scanned: list[_IndexRow] = yield Scan(start, stop, columns, INDEX_ROWS_MAX)
        if len(scanned) == INDEX_ROWS_MAX:
            # Of the queries that run side by side only one at a time has more in memory.
            yield Alone()
            scanned += yield Scan(scanned[-1][0] + b"\x00", stop, columns)
        for index_row in scanned:
            rows.setdefault(layout.index_checksum(index_row[0]), []).append(index_row)
        # Decoded once for each content: there may be as many rows as days times contents.
        return {layout.decode_checksum(checksum): index_rows for checksum, index_rows in rows.items()}

    def _without_stale(
        self, query: WindowQuery, days: Iterable[tuple[int, dict[str, _IndexRow]]], now_ms: int
    ) -> Iterator[tuple[int, dict[str, _IndexRow]]]:
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

    def _matching_heads(
        self, query: WindowQuery, tails: Iterable[bytes]
    ) -> Reads[dict[bytes, CommittedHead]]:
        """Return the committed heads of the matching runs among these, by reference tail."""
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
        self, query: WindowQuery, day: int, checksums: Iterable[str]
    ) -> Reads[dict[str, bytes]]:
        wanted = set(checksums)
        newest: dict[str, bytes] = {}
        page: _Page | None = _first_page(query, day)
        while wanted and page is not None:
            tails, page = yield from _read_page(query, page, wanted)
            heads = yield from self._matching_heads(query, tails)
            for tail, head in heads.items():
                committed_tail = layout.reference_tail(head.start_ms, layout.parse_reference_tail(tail).run)
                if committed_tail == tail and head.checksum in wanted:
                    newest.setdefault(head.checksum, tail)
            wanted -= newest.keys()
        return newest

    def _remember_stale(self, query: WindowQuery, day: int, rows: Iterable[_IndexRow], began_ms: int) -> None:
        """Cache index rows as stale, for which no committed run of their day was found.

        Only rows of whole days that were put before the grace period; entries expire after it.
        """
        # In part of a day a run may be missing only because it started outside the window. The last day of
        # the index has no end, so it is never whole (decision 7).
        whole_day = Window(day * DAY_MS, (day + 1) * DAY_MS)
        if day < DAY_MAX and _restrict(query.window, day) == whole_day:
            # A commit may be between the index row and the commit record, but none takes the grace period.
            settled_ms = began_ms - self._grace_ms
            stale = [index_row for index_row in rows if _stamp_ms(index_row) < settled_ms]
            self._stale.add(query, stale, began_ms + self._grace_ms)


class _StaleIndexCache:
    """Index rows for which no run was found, with their timestamps: putting a row again makes it valid.

    References of the day of a stale row are not read until its entry expires.
    """

    # Only references are skipped; sample runs are always read. Found by simulation: a writer that paused for
    # an hour in a commit may still commit its run, and this run is then the sample run (decision 12).

    def __init__(self) -> None:
        self._entries: LRUCache[tuple[bytes, bool], tuple[int, int]] = LRUCache(STALE_ROWS_MAX)
        self._lock = threading.Lock()

    def contains(self, index_row: _IndexRow, *, failed: bool, now_ms: int) -> bool:
        if not self._entries:
            return False
        # LRUCache reorders its entries when it is read, so reads need the lock, too.
        with self._lock:
            stamp_ms, until_ms = self._entries.get((index_row[0], failed), (-1, 0))
        return now_ms < until_ms and stamp_ms == _stamp_ms(index_row)

    def add(self, query: WindowQuery, rows: Iterable[_IndexRow], until_ms: int) -> None:
        with self._lock:
            for index_row in rows:
                self._entries[index_row[0], query.failed] = _stamp_ms(index_row), until_ms


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


def _stamp_ms(index_row: _IndexRow) -> int:
    return max(cell.stamp_ms for cell in index_row[1].values())


def _sample_tails(
    rows: Iterable[_IndexRow], bounds: layout.Range, *, limit: int | None = None
) -> list[bytes]:
    """Return the sample runs of index rows that start within the bounds, at most `limit` of them."""
    # Tails sort as their starts do, so evidence outside the window is left out without decoding it.
    newest, oldest = bounds
    tails = (cell.value for _, row in rows for cell in row.values())
    return list(islice((tail for tail in tails if newest <= tail < oldest), limit))


def _by_day(
    index: Mapping[str, Sequence[_IndexRow]], checksums: Iterable[str]
) -> Iterator[tuple[int, dict[str, _IndexRow]]]:
    """Yield days, newest first, each with the index rows of these contents by checksum."""
    days: dict[int, dict[str, _IndexRow]] = {}
    for checksum in checksums:
        for index_row in index.get(checksum, ()):
            days.setdefault(layout.index_day(index_row[0]), {})[checksum] = index_row
    yield from sorted(days.items(), reverse=True)


def _first_page(query: WindowQuery, day: int) -> _Page:
    """Return the first page of the references of a day within the window."""
    # The first reference usually confirms its content, so pages start at one row and double.
    return _Page(*layout.window_range(query.direction, query.dataset, _restrict(query.window, day)), limit=1)


def _read_page(
    query: WindowQuery, page: _Page, wanted: Collection[str]
) -> Reads[tuple[list[bytes], _Page | None]]:
    """Return tails of references to wanted contents, newest first, and the next page, None after the last."""
    rows: list[_IndexRow] = yield Scan(page.start, page.stop, _reference_columns(wanted, query), page.limit)
    prefix = layout.reference_prefix(query.direction, query.dataset)
    tails = [key[len(prefix) :] for key, _ in rows]
    if len(rows) < page.limit:
        return tails, None
    # A zero byte makes the smallest key after the last one.
    limit = min(2 * page.limit, PAGE_REFERENCES_MAX)
    return tails, _Page(rows[-1][0] + b"\x00", page.stop, limit)


def _restrict(window: Window, day: int) -> Window:
    """Return the part of a window on one day; the last day, DAY_MAX, has no end."""
    stop_ms = window.stop_ms if day == DAY_MAX else min(window.stop_ms, (day + 1) * DAY_MS)
    return Window(max(window.start_ms, day * DAY_MS), stop_ms)


def _reference_columns(checksums: Collection[str], query: WindowQuery) -> list[bytes]:
    """Return the columns of references to these contents, or their family for more than COLUMNS_MAX."""
    if len(checksums) > COLUMNS_MAX:
        return [layout.LIGHT]
    kinds = (layout.REFERENCE, layout.FAILED_REFERENCE) if query.failed else (layout.REFERENCE,)
    return [kind + checksum.encode() for checksum in checksums for kind in kinds]
