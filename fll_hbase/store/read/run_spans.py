"""Run spans: how many runs of a window have each content, with the first and the last start."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fll_hbase.keys import layout
from fll_hbase.model.window import Direction
from fll_hbase.store.read.batched_reads import BatchedReader, Reads
from fll_hbase.store.read.content_cache import ContentCache
from fll_hbase.store.read.reference_pages import reference_columns
from fll_hbase.store.read.window_query import WindowQuery, WindowReader
from fll_hbase.store.results import RunSpan
from fll_hbase.store.run_rows import CommittedHead
from fll_hbase.tables import Scan, Table

PAGE_REFERENCES = 250
"""References of one page of one query; a call reads a page of each query."""


@dataclass(frozen=True, slots=True)
class SpanQuery:
    """The runs of a query to count: those of `checksums`, up to each of `bounds`.

    A bound is a start, the latest for backward queries and the earliest for forward ones, see `bound_of`.
    Bounds are sorted, and every start of the window is within the last one.
    """

    query: WindowQuery
    checksums: frozenset[str]
    bounds: tuple[int, ...]


Spans = Mapping[str, Sequence[RunSpan | None]]
"""By content: the span of the runs within each of the bounds, None without any."""


def bound_of(direction: Direction, start_ms: int) -> int:
    """Return a start as a bound; a greater one admits more runs in either direction."""
    return start_ms if direction is Direction.BACKWARD else -start_ms


class RunSpanReader:
    """Counts runs: reads the references of a window once, and confirms each by its run row."""

    def __init__(self, table: Table, windows: WindowReader, contents: ContentCache) -> None:
        self._windows = windows
        self._reads = BatchedReader(table, contents)

    def spans(self, queries: Sequence[SpanQuery]) -> list[Spans]:
        """Return the spans of the contents of each query. Raises DeadlineExceeded."""
        return self._reads.run([self._spans(query) for query in queries])

    def _spans(self, query: SpanQuery) -> Reads[Spans]:
        """Read the references of a query page by page; memory follows the contents, not the runs."""
        # By content, the spans of the runs between each bound and the one before it.
        parts: dict[str, list[RunSpan | None]] = {}
        window_query = self._windows.restrict(query.query)
        prefix = layout.reference_prefix(window_query.direction, window_query.dataset)
        columns = reference_columns(query.checksums, window_query)
        start, stop = layout.window_range(window_query.direction, window_query.dataset, window_query.window)
        while True:
            rows = yield Scan(start, stop, columns, PAGE_REFERENCES)
            tails = [key[len(prefix) :] for key, _ in rows]
            heads = yield from self._windows.referenced_heads(window_query, tails)
            for tail, head in heads.items():
                if head.checksum in query.checksums:
                    _add(parts.setdefault(head.checksum, [None] * len(query.bounds)), query, tail, head)
            if len(rows) < PAGE_REFERENCES:
                return {checksum: _accumulated(spans) for checksum, spans in parts.items()}
            # A zero byte makes the smallest key after the last one.
            start = rows[-1][0] + b"\x00"


def _add(parts: list[RunSpan | None], query: SpanQuery, tail: bytes, head: CommittedHead) -> None:
    """Add a run that started no later than those before it."""
    number = bisect_left(query.bounds, bound_of(query.query.direction, head.start_ms))
    newer = parts[number]
    if newer is None:
        run = layout.parse_reference_tail(tail).run
        parts[number] = RunSpan(1, int(head.state.failed), head.start_ms, head.start_ms, run)
    else:
        failed = newer.failed + head.state.failed
        parts[number] = replace(newer, runs=newer.runs + 1, failed=failed, first_start_ms=head.start_ms)


def _accumulated(parts: Sequence[RunSpan | None]) -> list[RunSpan | None]:
    """Return the span up to each bound from those between the bounds."""
    spans: list[RunSpan | None] = []
    for part in parts:
        previous = spans[-1] if spans else None
        spans.append(previous if part is None else part.union(previous))
    return spans


def without_later(query: WindowQuery, bound: int) -> WindowQuery:
    """Return the query without the runs beyond a bound."""
    window = query.window
    if query.direction is Direction.BACKWARD:
        stop_ms = max(window.start_ms, min(window.stop_ms, bound + 1))
        return replace(query, window=replace(window, stop_ms=stop_ms))
    start_ms = min(window.stop_ms, max(window.start_ms, -bound))
    return replace(query, window=replace(window, start_ms=start_ms))
