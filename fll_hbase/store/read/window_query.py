"""Contents and runs of a window, from calendars and from references that run rows confirm.

References are hints. Only a run row determines the content, start and state of its run. The work of a query
follows distinct contents and days, not runs, except on days that are not yet sealed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeVar

from fll_hbase.keys import calendars, layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.runs import ProgramRun, RunKey
from fll_hbase.runtime import deadline
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read import content_days, shared_reads
from fll_hbase.store.read.batched_reads import BATCH_ROWS_MAX, BatchedReader, Contents, Reads, RowKeys
from fll_hbase.store.read.content_cache import ContentCache
from fll_hbase.store.read.content_days import DaysByContent
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.read.reference_pages import Page, first_page, read_page
from fll_hbase.store.read.requested_horizons import RequestedHorizons, restrict_window
from fll_hbase.store.rows import calendar_rows, run_rows
from fll_hbase.store.rows.calendar_rows import DayRuns
from fll_hbase.store.rows.run_rows import CommittedHead, CommittedRun
from fll_hbase.tables import Row, Table

T = TypeVar("T")

ATTEMPTS_MAX = 5
"""Maximum number of reads of a window whose runs may have moved meanwhile."""

PROGRAM_RUNS = 1_000
"""Maximum number of runs whose programs one call reads."""


class Sealer(Protocol):
    """Seals days that are old enough, after the answer that found them unsealed."""

    def offer(self, query: WindowQuery, contents: DaysByContent) -> None:
        """Note unsealed days of contents of a query's dataset, to be sealed later if old enough."""

    def close(self) -> None:
        """Stop and seal nothing more."""


class WindowReader:
    """Returns the contents and runs of a window. Threads may share it.

    `clock` returns milliseconds since 1970. Methods raise StoreUnavailable and CorruptRow.
    """

    def __init__(
        self,
        table: Table,
        contents: ContentCache,
        events: EventMerger,
        *,
        requests: RequestedHorizons,
        clock: Callable[[], int],
        grace_ms: int,
        sealer: Sealer | None = None,
    ) -> None:
        self._table = table
        self._clock = clock
        self._grace_ms = grace_ms
        self._requests = requests
        self._reads = BatchedReader(table, contents)
        self._events = events
        self._contents = contents
        self._sealer = sealer

    def restrict(self, queries: Iterable[WindowQuery]) -> list[WindowQuery]:
        """Return queries restricted to what retention requests and purges leave of their windows."""
        return self._reads.run([self.restricted(query) for query in queries])

    def checksums_by_name(self, queries: Sequence[WindowQuery]) -> list[dict[Dataset, frozenset[str]]]:
        """Return by dataset name, its own first, the contents of the runs that match each query.

        A name without such runs has no contents. Many queries take as many calls as one. Within
        `shared_reads.shared`, each query is read only once.
        """
        results = shared_reads.lookup(queries)
        missing = [query for query in dict.fromkeys(queries) if query not in results]
        if missing:
            listed = read_by_name(
                self._reads, missing, lambda query: self._in_time(partial(self._checksums, query))
            )
            read = dict(zip(missing, listed, strict=True))
            checksums = sum(len(listed) for by_name in read.values() for listed in by_name.values())
            shared_reads.add(read, size=len(read) + checksums)
            results |= read
        return [results[query] for query in queries]

    def newest_references(self, queries: Mapping[WindowQuery, Collection[str]]) -> list[dict[str, bytes]]:
        """Return the reference tail of the newest matching run of each content of each query.

        Contents without a matching run are left out. For each run, references of the same day that precede it
        are read, too.
        """
        return self._reads.run(
            [
                self._in_time(partial(self._newest_references, query, checksums))
                for query, checksums in queries.items()
            ]
        )

    def _in_time(self, read: Callable[[], Reads[T]]) -> Reads[T]:
        """Return the result of `read`, reading again if it took longer than the grace period.

        A run may have moved to a new way, while garbage collection deleted its old reference.
        """
        for _ in range(ATTEMPTS_MAX - 1):
            began_ms = self._clock()
            result = yield from read()
            if self._clock() - began_ms <= self._grace_ms:
                return result
        return (yield from read())

    def _checksums(self, query: WindowQuery) -> Reads[frozenset[str]]:
        """Return the checksums of all matching runs, and load the field maps that are not cached."""
        query = yield from self.restricted(query)
        ways = yield from content_days.read_ways(query)
        matches: set[str] = set()
        unsettled: dict[str, list[int]] = {}
        for turn in content_days.in_turns(ways):
            contents = yield from self._days(query, _without(matches, turn))
            for checksum, days in contents.items():
                is_match, others = content_days.settle_existence(days, query)
                if is_match:
                    matches.add(checksum)
                else:
                    unsettled.setdefault(checksum, []).extend(others)
        for checksum in matches & unsettled.keys():
            del unsettled[checksum]
        matches |= yield from self._confirm_by_day(query, unsettled)
        if missing := self._contents.find_missing(matches):
            # Queries of contents read their field maps next, so load them in one call for all queries.
            yield Contents(missing)
        return frozenset(matches)

    def restricted(self, query: WindowQuery) -> Reads[WindowQuery]:
        """Return the query restricted to what retention requests and purges leave of its window."""
        query = self._requests.restrict(query)
        key = calendars.horizon_row(query.dataset)
        rows: dict[bytes, Row] = yield RowKeys((key,))
        window = restrict_window(query.window, layout.latest_horizon_ms(rows.get(key, ())))
        return query if window is query.window else replace(query, window=window)

    def days(self, query: WindowQuery, checksums: Collection[str] | None = None) -> Reads[DaysByContent]:
        """Return the contents of a query, limited to `checksums` if given, with their days.

        Days that are old enough are sealed later.
        """
        ways = yield from content_days.read_ways(query)
        if checksums is not None:
            ways = _with({checksum.encode() for checksum in checksums}, ways)
        return (yield from self._days(query, ways))

    def _days(self, query: WindowQuery, ways: Sequence[bytes]) -> Reads[DaysByContent]:
        """Return the days of contents in the periods of `ways`, and offer them to the sealer, if any."""
        contents = yield from content_days.read_days(query, ways)
        if self._sealer is not None:
            self._sealer.offer(query, contents)
        return contents

    def _confirm_by_day(self, query: WindowQuery, unsettled: Mapping[str, Sequence[int]]) -> Reads[set[str]]:
        """Return the contents of matching runs that references lead to, by day, newest first."""
        matches: set[str] = set()
        for day, listed in content_days.by_day(unsettled):
            wanted = listed - matches
            page = first_page(query, day) if wanted else None
            while wanted and page is not None:
                tails, page = yield from read_page(query, page, wanted)
                matches |= yield from self._confirm(query, tails)
                wanted -= matches
        return matches

    def _newest_references(self, query: WindowQuery, checksums: Iterable[str]) -> Reads[dict[str, bytes]]:
        """Return the tail of each content's newest matching reference, leaving out contents without any."""
        query = yield from self.restricted(query)
        wanted = {checksum.encode() for checksum in checksums}
        ways = yield from content_days.read_ways(query)
        newest: dict[str, bytes] = {}
        for turn in content_days.in_turns(_with(wanted, ways)):
            contents = yield from self._days(query, _without(newest, turn))
            listed = {checksum: (*days.sealed, *days.unsealed) for checksum, days in contents.items()}
            for day, contents_of_day in content_days.by_day(listed):
                unsettled: set[str] = set()
                for checksum in contents_of_day - newest.keys():
                    days = contents[checksum]
                    tail = content_days.settle_newest(days, day, query.window)
                    if tail is None:
                        unsettled.add(checksum)
                    elif tail:
                        newest[checksum] = tail
                newest |= yield from self._newest_of_day(query, day, unsettled)
        return newest

    def runs(
        self,
        query: WindowQuery,
        *,
        start_after: bytes = b"",
        batch_size: int,
        leaves_out_damaged: bool = False,
    ) -> Iterator[CommittedRun]:
        """Yield every matching run, newest first, after the reference tail `start_after`.

        Raises CorruptRow for a damaged run or content, unless these are left out.
        """
        (query,) = self.restrict([query])
        start, stop = layout.window_range(query.direction, query.dataset, query.window)
        prefix = layout.reference_prefix(query.direction, query.dataset)
        # A zero byte gives the smallest following key, so the range excludes `start_after`.
        if start_after:
            start = max(start, prefix + start_after + b"\x00")
        while True:
            page = list(self._table.scan(start, stop, limit=batch_size))
            tails = [key[len(prefix) :] for key, _ in page]
            yield from self.matching_runs(query, tails, leaves_out_damaged=leaves_out_damaged)
            if len(page) < batch_size:
                return
            start = page[-1][0] + b"\x00"

    def runs_of_names(
        self, query: WindowQuery, names: Sequence[Dataset], *, batch_size: int
    ) -> Iterator[CommittedRun]:
        """Yield every matching run of a dataset once, name by name, newest first under each name."""
        listed: set[RunKey] = set()
        for number, name in enumerate(names, 1):
            for run in self.runs(replace(query, dataset=name), batch_size=batch_size):
                if run.key not in listed:
                    yield run
                # Keep only the runs that come again.
                others = names[number:]
                if any(self._contents.has_dataset(run.checksum, query.direction, other) for other in others):
                    listed.add(run.key)

    def matching_runs(
        self, query: WindowQuery, tails: Sequence[bytes], *, leaves_out_damaged: bool = False
    ) -> Iterator[CommittedRun]:
        """Yield the matching runs with these reference tails, in order, unless their start has changed.

        Raises CorruptRow for a damaged run or content, unless `leaves_out_damaged`.
        """
        query = self._requests.restrict(query)
        runs = {layout.parse_reference_tail(tail).run for tail in tails}
        # The datasets of a run are in its field map; read the field maps of a page together.
        if leaves_out_damaged:
            committed = self._events.readable_runs(run_rows.read_run_rows(self._table, runs))
            readable = self._contents.load_readable({run.checksum for run in committed.values()})
            committed = {run: item for run, item in committed.items() if item.checksum in readable}
        else:
            committed = self.committed_runs(runs)
            self._contents.load(run.checksum for run in committed.values())
        for tail in tails:
            run = committed.get(layout.parse_reference_tail(tail).run)
            # References are hints: a reference with another start remains from a replaced document. The
            # commit record is right, and the run has another reference with its valid start.
            if run and reference_tail_of(run) == tail and self._matches(query, run_rows.head_of(run)):
                yield run

    def _confirm(self, query: WindowQuery, tails: Sequence[bytes]) -> Reads[set[str]]:
        """Return the contents of matching runs among those with these reference tails."""
        # Run rows decide: a run's content may differ from the content in its hint.
        matches: set[str] = set()
        for begin in range(0, len(tails), BATCH_ROWS_MAX):
            heads = yield from self.matching_heads(query, tails[begin : begin + BATCH_ROWS_MAX])
            matches |= {head.checksum for head in heads.values()}
        return matches

    def referenced_heads(
        self, query: WindowQuery, tails: Iterable[bytes]
    ) -> Reads[dict[bytes, CommittedHead]]:
        """Return by reference tail, in order, the committed heads of the matching runs.

        Leaves out runs whose start has changed, because they have another reference.
        """
        heads = yield from self.matching_heads(query, tails)
        return {
            tail: head
            for tail, head in heads.items()
            if layout.reference_tail(head.start_ms, *layout.parse_reference_tail(tail).run) == tail
        }

    def matching_heads(self, query: WindowQuery, tails: Iterable[bytes]) -> Reads[dict[bytes, CommittedHead]]:
        """Return by reference tail, in order, the heads of matching runs, even with another start."""
        query = self._requests.restrict(query)
        keys = {tail: layout.run_row(*layout.parse_reference_tail(tail).run) for tail in tails}
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
        """Return whether a commit record matches the query by start, state, and its content's dataset."""
        return _in_window(query, head) and self._has_dataset(query, head)

    def _has_dataset(self, query: WindowQuery, head: CommittedHead) -> bool:
        """Return whether the content of a run has the dataset of the query in its direction."""
        # A replacement may read and write other datasets than the document that put the hint.
        return self._contents.has_dataset(head.checksum, query.direction, query.dataset)

    def committed_runs(self, runs: Collection[RunKey]) -> dict[RunKey, CommittedRun]:
        """Return committed runs, leaving out runs that are not recorded or not committed."""
        return self._events.committed_runs(run_rows.read_run_rows(self._table, runs))

    def runs_by_program(self, counted: Sequence[DayRuns]) -> Iterator[tuple[DayRuns, ProgramRun]]:
        """Yield counted runs, each of one program, with the newest run; sealed days come first, in order.

        Seals contain programs. For other days, run rows are read and each run is yielded alone, unless it was
        purged meanwhile. Raises DeadlineExceeded, after which the runs yielded so far are valid.
        """
        for day_runs in counted:
            if day_runs.program:
                newest = calendar_rows.decode_program(day_runs.program, day_runs.runs[0])
                yield day_runs, self._events.shown_program(newest)
        unsealed = [(run, day.failed) for day in counted if not day.program for run in day.runs]
        for begin in range(0, len(unsealed), PROGRAM_RUNS):
            deadline.check()
            batch = unsealed[begin : begin + PROGRAM_RUNS]
            committed = self.committed_runs([run.key for run, _ in batch])
            for run, failed in batch:
                # Leave out a run that was purged meanwhile.
                if run.key in committed:
                    # Use the counted start, because the run may have moved since.
                    counted_run = replace(committed[run.key].run, start_ms=run.start_ms)
                    yield DayRuns(b"", failed, [run], 1), counted_run

    def _newest_of_day(
        self, query: WindowQuery, day: int, checksums: Iterable[str]
    ) -> Reads[dict[str, bytes]]:
        """Return the newest reference of each content on a day, if any, read in pages until all are found."""
        wanted = set(checksums)
        newest: dict[str, bytes] = {}
        page: Page | None = first_page(query, day)
        while wanted and page is not None:
            tails, page = yield from read_page(query, page, wanted)
            heads = yield from self.referenced_heads(query, tails)
            for tail, head in heads.items():
                if head.checksum in wanted:
                    newest.setdefault(head.checksum, tail)
            wanted -= newest.keys()
        return newest


def _with(checksums: Collection[bytes], ways: Iterable[bytes]) -> list[bytes]:
    """Return the ways of the given contents, in order."""
    return [way for way in ways if calendars.split_way(way)[1] in checksums]


def _without(checksums: Collection[str], ways: Sequence[bytes]) -> Sequence[bytes]:
    """Return the ways of all other contents, in order; the list itself if no contents are given."""
    if not checksums:
        return ways
    return [way for way in ways if calendars.split_way(way)[1].decode() not in checksums]


def reference_tail_of(committed: CommittedRun) -> bytes:
    """Return the tail of a run's references; tails sort newest first."""
    return layout.reference_tail(committed.run.start_ms, *committed.key)


def _in_window(query: WindowQuery, head: CommittedHead) -> bool:
    """Return whether a run starts in the query's window, and did not fail unless failed runs count."""
    return head.start_ms in query.window and (query.window.failed or not head.state.failed)


def read_by_name(
    reads: BatchedReader, queries: Sequence[WindowQuery], read: Callable[[WindowQuery], Reads[T]]
) -> list[dict[Dataset, T]]:
    """Return each query's result by name of its dataset, its own name first, without aliases of aliases."""
    # Alias rows are read in one call with the first rows of the queries; most datasets have no alias.
    first: list[Reads[Any]] = [read(query) for query in queries]
    first.append(_read_aliases(query.dataset for query in queries))
    results: list[Any] = reads.run(first)
    aliases: dict[Dataset, list[Dataset]] = results.pop()
    values: dict[WindowQuery, T] = dict(zip(queries, results, strict=True))
    groups = [
        [query, *(replace(query, dataset=name) for name in aliases.get(query.dataset, ()))]
        for query in queries
    ]
    others = list(dict.fromkeys(query for group in groups for query in group if query not in values))
    values |= zip(others, reads.run([read(query) for query in others]), strict=True)
    return [{query.dataset: values[query] for query in group} for group in groups]


def _read_aliases(datasets: Iterable[Dataset]) -> Reads[dict[Dataset, list[Dataset]]]:
    """Return the sorted aliases of the datasets that have any, without aliases of aliases (decision 13)."""
    keys = {layout.alias_row(dataset): dataset for dataset in datasets}
    rows: dict[bytes, Row] = yield RowKeys(keys)
    return {keys[key]: layout.aliases_in(row) for key, row in rows.items()}
