"""Runs of the derivations that only one of two windows has: their number, the first and the last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple, TypeAlias

from fll_hbase.model import masking
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.derivation_parts import field_digest
from fll_hbase.model.runs import RunKey
from fll_hbase.model.window import Direction
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.components import Reader
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.content_cache import DatasetOfContent, FieldOfContent
from fll_hbase.store.results import DerivationRuns, RunSpan

Ways: TypeAlias = Mapping[str, Sequence[DatasetOfContent]]
"""The contents that derive a field, by the digest of the derivation, with at least one for each."""

_Spans: TypeAlias = dict[DatasetOfContent, RunSpan]


class WaysOfWindow(NamedTuple):
    """Ways in which contents of a query's window derive a field."""

    query: WindowQuery
    field: str
    ways: Ways


class _Way(NamedTuple):
    """A way with its runs, or None if none were read, and the content of the newest run."""

    digest: str
    content: FieldOfContent
    span: RunSpan | None


class DerivationRunsReader(Reader):
    """Reads the runs of derivations. Threads may share it. Raises StoreUnavailable and CorruptRow."""

    def read(
        self, listed: Sequence[WaysOfWindow], *, indirect: bool, truncated_by: set[str]
    ) -> list[tuple[DerivationRuns, ...]]:
        """Return the ways of each item with their runs, the newest first.

        Calendars are read once for all items, and only for their contents. Returns at most `list_limit_max`
        ways per item, and reads runs up to `runs_max` or the deadline; `truncated_by` gets each limit that
        was reached. A way whose runs were deleted meanwhile is left out.
        """
        limits: set[str] = set()
        spans = self._spans(listed, limits)
        by_item = [_ways(item, spans.get(item.query, {}), keeps_empty=bool(limits)) for item in listed]
        limit = self._settings.list_limit_max
        if any(len(ways) > limit for ways in by_item):
            limits.add(f"list_limit_max={limit}")
        truncated_by |= limits
        shown = self._shown([way for ways in by_item for way in ways], indirect=indirect)
        return [tuple(sorted((next(shown) for _ in ways), key=_newest_first)[:limit]) for ways in by_item]

    def _spans(self, listed: Sequence[WaysOfWindow], limits: set[str]) -> dict[WindowQuery, _Spans]:
        """Return for each query the runs of its contents; add reached limits to `limits`."""
        contents: dict[WindowQuery, set[DatasetOfContent]] = {}
        for item in listed:
            contents.setdefault(item.query, set()).update(*item.ways.values())
        # Read under each name of the dataset: a content's runs are listed under the name that it writes.
        wanted: dict[tuple[WindowQuery, Dataset], set[str]] = {}
        for query, in_window in contents.items():
            for checksum, name in in_window:
                wanted.setdefault((query, name), set()).add(checksum)
        budget = self._times.budget(until_deadline=True)
        try:
            times = self._times.times_of_contents(
                [(replace(query, dataset=name), checksums) for (query, name), checksums in wanted.items()],
                budget,
            )
        except DeadlineExceeded:
            limits.add(deadline.limit())
            return {}
        limits |= budget.limits
        spans: dict[WindowQuery, _Spans] = {query: {} for query in contents}
        for (query, name), by_checksum in zip(wanted, times, strict=True):
            for checksum, runs in by_checksum.items():
                if span := runs.span(Direction.BACKWARD, query.window.stop_ms):
                    spans[query][DatasetOfContent(checksum, name)] = span
        return spans

    def _shown(self, ways: Sequence[_Way], *, indirect: bool) -> Iterator[DerivationRuns]:
        """Yield each way with its public digest and checksum.

        If anything is hidden, guessed names cannot be confirmed from these.
        """
        shown = {way.content.checksum: "" for way in ways}
        for checksum in shown:
            shown[checksum] = self._contents.public_checksum(checksum)
        masked = [way.content for way in ways if shown[way.content.checksum] != way.content.checksum]
        operations = self._contents.iter_operations(masked, Direction.BACKWARD)
        for digest, (checksum, field), span in ways:
            if shown[checksum] != checksum:
                digest = field_digest(
                    next(operations), field, indirect=indirect, shown=masking.without_labels
                )
            starts = (span.first_start_ms, span.last_start_ms) if span else ()
            yield DerivationRuns(digest, shown[checksum], span.runs if span else 0, *starts)


def _ways(item: WaysOfWindow, spans: _Spans, *, keeps_empty: bool) -> list[_Way]:
    """Return the ways of an item with their runs, including ways without runs only if `keeps_empty`."""
    ways = []
    for digest, contents in item.ways.items():
        counted = [(spans[content], content) for content in contents if content in spans]
        if not counted and not keeps_empty:
            continue
        newest = min(counted, key=_newest_run)[1] if counted else min(contents)
        content = FieldOfContent(newest.checksum, DatasetField(newest.dataset, item.field))
        span = reduce(RunSpan.union, (span for span, _ in counted)) if counted else None
        ways.append(_Way(digest, content, span))
    return ways


def _newest_run(item: tuple[RunSpan, DatasetOfContent]) -> tuple[int, RunKey]:
    """Return the sort key of a content's runs: its newest run, in the order of run lists."""
    span, _ = item
    return (-span.last_start_ms, span.last_run)


def _newest_first(way: DerivationRuns) -> tuple[int, DerivationRuns]:
    """Return the sort key of a way: the last start; unknown starts come last."""
    return (-way.last_start_ms if way.last_start_ms is not None else 1, way)
