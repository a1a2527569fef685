"""Seals of days: the runs of a content on a day, counted once no pending write can change them.

A seal is put with the token that the day had before its references were read. It is right as long as the day
keeps this token, because every change of the day's runs first puts a new one. If the token is older than
twice the grace period, all passes that touched the day before have ended. Their runs are therefore counted
(docs/reference/row-keys.md, "Days and seals"). A query seals days that it finds unsealed. Retention seals all
others at its end, so that no reader has to read their references.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.keys.layout import Range
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import START_LIMIT_MS, Direction
from fll_hbase.runtime.errors import CorruptRow, LineageError, in_row
from fll_hbase.store.endpoints import readable_endpoints
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.content_days import DaysByContent
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.read.reference_pages import reference_columns
from fll_hbase.store.rows import calendar_rows, run_rows
from fll_hbase.store.rows.calendar_rows import ContentDay
from fll_hbase.store.rows.run_rows import CommittedRun
from fll_hbase.tables import Put, Row, Table, read_rows

CALENDAR_ROWS: Range = ranges.prefix_range(layout.CALENDARS)

GRACES = 2
"""Number of grace periods after which the token of a day may be sealed."""

PAGE_REFERENCES = 1_000
RUNS_MAX = 100_000
"""Maximum number of runs read at once for the day of one request; days with more runs stay unsealed."""

REQUESTS_PER_WRITE = 100
QUEUED_MAX = 1_000
"""Maximum number of queued requests; more are dropped, and the next reader of the days repeats them."""

PAUSE_SECONDS = 60
"""Pause after a failure, during which nothing is sealed: the store may be read-only or unavailable."""

_log = logging.getLogger(__name__)


class SealRequest(NamedTuple):
    """Contents to seal on one day, using the references of a dataset that all of them have."""

    direction: Direction
    dataset: Dataset
    day: int
    checksums: frozenset[str]


class DaySealer:
    """Seals days. Threads may share it; `clock` returns milliseconds since 1970."""

    def __init__(self, table: Table, events: EventMerger, *, clock: Callable[[], int], grace_ms: int) -> None:
        self._table = table
        self._events = events
        self._clock = clock
        self._grace_ms = grace_ms
        self._age_ms = GRACES * grace_ms

    def seal(self, requests: Iterable[SealRequest]) -> int:
        """Seal the requested days that are old enough and unsealed; return the number of seals put.

        Raises StoreUnavailable and CorruptRow; earlier seals stay.
        """
        count = 0
        requests = iter(requests)
        while batch := list(islice(requests, REQUESTS_PER_WRITE)):
            seals = {key: puts for request in batch for key, puts in self._seals(request).items()}
            if seals:
                self._table.write([[put for puts in seals.values() for put in puts]])
            count += len(seals)
        return count

    def _seals(self, request: SealRequest) -> dict[ContentDay, list[Put]]:
        """Return the puts of the seals of the requested days that may be sealed. Raises CorruptRow."""
        began_ms = self._clock()
        tokens = self._old_tokens(request)
        if not tokens:
            return {}
        try:
            runs = count_runs(self._table, self._events, request._replace(checksums=frozenset(tokens)))
        except CorruptRow:
            # Garbage collection may have deleted cells that a run row referred to when it was read.
            if self._clock() - began_ms > self._grace_ms:
                return {}
            raise
        if runs is None or self._is_purged(request):
            return {}
        days = [ContentDay(checksum, request.day) for checksum in tokens]
        return {
            day: calendar_rows.seal_puts(day, tokens[day.checksum], runs.get(day.checksum, ()))
            for day in days
        }

    def old_ms(self) -> int:
        """Return the time in ms since 1970, GRACES grace periods ago, before which tokens are old."""
        return self._clock() - self._age_ms

    def _old_tokens(self, request: SealRequest) -> dict[str, bytes]:
        """Return, by checksum, the tokens of requested days that are old enough and unsealed."""
        keys = {ContentDay(checksum, request.day).row: checksum for checksum in request.checksums}
        column = calendars.day_column(calendars.TOKEN, request.day)
        columns = (column, calendars.day_column(calendars.SEAL, request.day))
        # Take the time before reading the rows, so that the tokens are at least as old as computed.
        old_ms = self.old_ms()
        return {
            checksum: row[column].value
            for checksum, row in read_rows(self._table, keys, columns=columns).items()
            if column in row
            and row[column].stamp_ms < old_ms
            and calendar_rows.sealed_day(row, request.day) is None
        }

    def _is_purged(self, request: SealRequest) -> bool:
        """Return whether references of the day may have been purged from the request's dataset."""
        # Check after reading the references: a purge puts its horizon before it deletes any.
        row = self._table.get(calendars.horizon_row(request.dataset))
        begin_ms = calendars.day_window(request.day).start_ms
        return layout.latest_horizon_ms(row) > begin_ms


def count_runs(
    table: Table, events: EventMerger, request: SealRequest
) -> dict[str, list[CommittedRun]] | None:
    """Return the runs of contents on a day by content, from references that run rows confirm.

    Contents without runs are left out, and runs are newest first. Returns None for more than RUNS_MAX runs.
    Raises StoreUnavailable and CorruptRow.
    """
    day = replace(calendars.day_window(request.day), failed=True)
    query = WindowQuery(request.direction, request.dataset, day)
    columns = reference_columns(request.checksums, query)
    prefix = layout.reference_prefix(query.direction, query.dataset)
    start, stop = layout.window_range(query.direction, query.dataset, query.window)
    runs: dict[str, list[CommittedRun]] = {}
    count = 0
    while True:
        page = list(table.scan(start, stop, columns=columns, limit=PAGE_REFERENCES))
        for committed in _confirmed(table, events, {key[len(prefix) :]: row for key, row in page}):
            if committed.checksum in request.checksums:
                runs.setdefault(committed.checksum, []).append(committed)
                count += 1
        if count > RUNS_MAX:
            return None
        if len(page) < PAGE_REFERENCES:
            return runs
        # A zero byte gives the smallest key after the last one.
        start = page[-1][0] + b"\x00"


def _confirmed(table: Table, events: EventMerger, references: Mapping[bytes, Row]) -> Iterator[CommittedRun]:
    """Yield the committed runs that agree with their references, by tail, in start, content and failure."""
    tails = {tail: layout.parse_reference_tail(tail) for tail in references}
    rows = run_rows.read_run_rows(table, (reference.run for reference in tails.values()))
    committed = events.committed_runs(rows)
    for tail, reference in tails.items():
        run = committed.get(reference.run)
        if run is None or run.run.start_ms != reference.start_ms:
            continue
        if run_rows.reference_column(run.checksum, failed=run.run.state.failed) in references[tail]:
            yield run


class BackgroundSealer:
    """Seals offered days in its own thread, which lives while anything is queued."""

    def __init__(self, sealer: DaySealer) -> None:
        self._sealer = sealer
        self._queue: deque[SealRequest] = deque()
        self._lock = threading.Lock()
        self._waiting: set[SealRequest] = set()
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()
        self._paused_until = 0.0

    def offer(self, query: WindowQuery, contents: DaysByContent) -> None:
        """Queue the unsealed days that are old enough, and return at once.

        Drops days that are queued or were unreadable before, and days beyond QUEUED_MAX requests. Drops all
        for PAUSE_SECONDS after a failure, and after `close`.
        """
        if time.monotonic() < self._paused_until:
            return
        for request in requests_of(query, contents, self._sealer.old_ms()):
            with self._lock:
                if request in self._waiting or self._closed.is_set():
                    continue
                if len(self._queue) < QUEUED_MAX:
                    self._queue.append(request)
                    self._waiting.add(request)
                # The thread may be dead because the process was forked meanwhile.
                if self._thread is None or not self._thread.is_alive():
                    thread = threading.Thread(target=self._run, name="fll-sealer", daemon=True)
                    # The system may allow no further thread; the next offer then tries again.
                    with suppress(RuntimeError):
                        thread.start()
                        self._thread = thread

    def close(self) -> None:
        """Wait for the current request, and discard the queued ones."""
        self._closed.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        """Seal requests until the queue is empty or closed. Log errors; all but CorruptRow pause offers."""
        while (request := self._take()) is not None:
            is_readable = True
            try:
                self._sealer.seal([request])
            except LineageError as error:
                _log.warning("days of %s were not sealed: %s", request.dataset, error)
                # Do not retry unreadable rows, which stay unreadable: queries of the day report them.
                is_readable = not isinstance(error, CorruptRow)
                if is_readable:
                    self._paused_until = time.monotonic() + PAUSE_SECONDS
            finally:
                with self._lock:
                    if is_readable or len(self._waiting) > 2 * QUEUED_MAX:
                        self._waiting.discard(request)

    def _take(self) -> SealRequest | None:
        """Return the next request, or None, which ends this thread, if there is none or after `close`."""
        with self._lock:
            if self._queue and not self._closed.is_set():
                return self._queue.popleft()
            self._thread = None
        return None


def requests_of(query: WindowQuery, contents: DaysByContent, old_ms: int) -> Iterator[SealRequest]:
    """Yield the unsealed days whose tokens were put before `old_ms`, with one request per day."""
    days: dict[int, set[str]] = {}
    for checksum, listed in contents.items():
        for day, token in listed.unsealed.items():
            if token.stamp_ms < old_ms:
                days.setdefault(day, set()).add(checksum)
    for day, checksums in days.items():
        yield SealRequest(query.direction, query.dataset, day, frozenset(checksums))


def seal_old_days(
    table: Table, key_range: Range = CALENDAR_ROWS, *, clock: Callable[[], int], grace_ms: int
) -> int:
    """Seal every unsealed day in a range of calendars that is old enough; return how many were sealed.

    `clock` returns milliseconds since 1970. Raises StoreUnavailable and CorruptRow.
    """
    sealer = DaySealer(table, EventMerger(table), clock=clock, grace_ms=grace_ms)
    count = 0
    for page in garbage_collection.pages(table, *key_range):
        days = [day for key, row in page.items() for day in _unsealed(key, row, sealer)]
        count += sealer.seal(counting_requests(table, days))
    return count


def _unsealed(key: bytes, row: Row, sealer: DaySealer) -> Iterator[ContentDay]:
    """Yield the days of a calendar row that are unsealed and old enough to be sealed."""
    with in_row(key):
        checksum, period = calendars.parse_calendar(key)
        tokens = {column: cell for column, cell in row.items() if column.startswith(calendars.TOKEN)}
        for column, cell in tokens.items():
            _, day = calendars.parse_day_column(column, period)
            if calendar_rows.sealed_day(row, day) is None and cell.stamp_ms < sealer.old_ms():
                yield ContentDay(checksum, day)


def counting_requests(table: Table, days: Iterable[ContentDay]) -> list[SealRequest]:
    """Return the reads that count days, each by references of one dataset that has lost none for that day.

    Leaves out days whose contents cannot be read, or have no such dataset. Raises StoreUnavailable.
    """
    days = list(days)
    read = readable_endpoints(table, {day.checksum for day in days})
    contents = {checksum: list(endpoints.by_direction()) for checksum, endpoints in read.items()}
    # Choose the dataset with the most contents, so that one scan reads the references of many.
    shared = Counter(endpoint for listed in contents.values() for endpoint in listed)
    horizons = dataset_horizons(table, {dataset for _, dataset in shared})
    grouped: dict[tuple[tuple[Direction, Dataset], int], set[str]] = {}
    for checksum, day in days:
        begin_ms = calendars.day_window(day).start_ms
        complete = [end for end in contents.get(checksum, ()) if horizons[end[1]] <= begin_ms]
        if complete:
            grouped.setdefault((max(complete, key=shared.__getitem__), day), set()).add(checksum)
    return [
        SealRequest(direction, dataset, day, frozenset(checksums))
        for ((direction, dataset), day), checksums in grouped.items()
    ]


def dataset_horizons(table: Table, datasets: Collection[Dataset]) -> dict[Dataset, int]:
    """Return by dataset the start before which references may have been purged, in ms since 1970; 0 if none.

    Returns all datasets, with START_LIMIT_MS for an unreadable row. Raises StoreUnavailable.
    """
    rows = read_rows(table, {calendars.horizon_row(dataset): dataset for dataset in datasets})
    horizons = {}
    for dataset in datasets:
        try:
            horizons[dataset] = layout.latest_horizon_ms(rows.get(dataset, ()))
        except CorruptRow:
            # An audit reports the row; meanwhile this dataset is not used for counting.
            horizons[dataset] = START_LIMIT_MS
    return horizons
