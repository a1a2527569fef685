"""Derivations of a field: the distinct ways in which the runs of a window made it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import TypeAlias

from fll_hbase import deadline
from fll_hbase.keys.codec import day_of, escape
from fll_hbase.model import simple_view, topology
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.operations import Operation
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.calendar_rows import DayRuns, SealedRun
from fll_hbase.store.read.catalogue import Catalogue
from fll_hbase.store.read.content_cache import ContentCache
from fll_hbase.store.read.content_decoding import FieldOfContent
from fll_hbase.store.read.run_times import RunTimes
from fll_hbase.store.read.run_times_reader import RunTimesReader
from fll_hbase.store.read.window_query import WindowQuery
from fll_hbase.store.results import Derivation, Derivations

_ContentDerivation: TypeAlias = tuple[simple_view.DerivationSignature, tuple[Operation, ...]]
"""Signature and sorted operations of a field in a content; no operations if the content lacks it."""


class _Way:
    """One derivation under construction: its operations, and its contents with the times of their runs."""

    def __init__(self, operations: tuple[Operation, ...]) -> None:
        self.operations = operations
        self.contents: list[tuple[FieldOfContent, RunTimes]] = []

    def days(self) -> Iterator[tuple[int, list[tuple[FieldOfContent, DayRuns]]]]:
        """Yield the runs by day, the newest day first; those of a day are in no order."""
        by_day: dict[int, list[tuple[FieldOfContent, DayRuns]]] = {}
        for content, times in self.contents:
            for runs in times.runs:
                by_day.setdefault(day_of(runs.runs[0].start_ms), []).append((content, runs))
        yield from sorted(by_day.items(), key=itemgetter(0), reverse=True)

    def newest(self, count: int) -> list[SealedRun]:
        """Return the `count` newest runs, of days that are complete, in the order of their references."""
        newest: list[SealedRun] = []
        for _, listed in self.days():
            if len(newest) >= count:
                break
            if len(listed) == 1:
                newest += listed[0][1].runs
            else:
                newest += sorted((run for _, runs in listed for run in runs.runs), key=_order)
        return newest[:count]

    def build(self, run_ids: Iterable[str]) -> Derivation:
        """Return the derivation with these ids of its runs."""
        listed = [runs for _, times in self.contents for runs in times.runs]
        return Derivation(
            self.operations,
            tuple(run_ids),
            run_count=sum(runs.total for runs in listed),
            first_start_ms=min(runs.runs[-1].start_ms for runs in listed),
            last_start_ms=max(runs.runs[0].start_ms for runs in listed),
        )


class DerivationReader:
    """Reads the derivations of fields. Threads may share it."""

    def __init__(self, times: RunTimesReader, contents: ContentCache, catalogue: Catalogue) -> None:
        self._times = times
        self._contents = contents
        self._catalogue = catalogue

    def derivations(
        self, field: DatasetField, window: Window, *, failed: bool, limit: int, skip: int = 0
    ) -> Derivations:
        """Return every distinct derivation of the field, with its runs, that of the newest run first.

        A derivation is the operations that lead into the field. Runs of the window count, failed and aborted
        ones only with `failed`; of each derivation the ids of its newest runs are listed, `limit` after the
        first `skip`. Without any derivation for a known field that no run wrote.
        """
        truncated_by: set[str] = set()
        query = WindowQuery(Direction.BACKWARD, field.dataset, window, failed)
        (by_name,) = self._times.times([query], truncated_by=truncated_by)
        times = {
            FieldOfContent(checksum, DatasetField(name, field.name)): listed
            for name, contents in by_name.items()
            for checksum, listed in contents.items()
        }
        ways: dict[simple_view.DerivationSignature, _Way] = {}
        # Those of the newest runs first: at the deadline these are known.
        newest_first = sorted(times, key=lambda content: _order(times[content].runs[0].runs[0]))
        derived = zip(newest_first, self._derivations(newest_first), strict=True)
        for content, (signature, operations) in deadline.until_over(derived, truncated_by=truncated_by):
            if operations:
                ways.setdefault(signature, _Way(operations)).contents.append((content, times[content]))
        if not ways:
            self._catalogue.require_field(field)
        # One more than the page has shows whether there is a next page.
        self._complete_newest(query, ways.values(), skip + limit + 1)
        return _build(list(ways.values()), truncated_by, limit=limit, skip=skip)

    def _complete_newest(self, query: WindowQuery, ways: Iterable[_Way], count: int) -> None:
        """Read all runs of the newest days of each way of which seals have the first and the last run alone.

        That is of the days that have `count` runs, which are then listed in order.
        """
        incomplete: dict[Dataset, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for way in ways:
            total = 0
            for day, listed in way.days():
                if total >= count:
                    break
                for content, runs in listed:
                    total += runs.total
                    if not runs.is_complete:
                        incomplete[content.field.dataset][content.checksum].add(day)
        times = {content: listed for way in ways for content, listed in way.contents}
        for name, days in incomplete.items():
            by_content = {
                content.checksum: listed for content, listed in times.items() if content.field.dataset == name
            }
            self._times.complete_days(replace(query, dataset=name), by_content, days)

    def _derivations(self, contents: Sequence[FieldOfContent]) -> Iterator[_ContentDerivation]:
        """Yield the derivation of the field in each content. Raises DeadlineExceeded."""
        self._contents.load(self._contents.find_missing(content.checksum for content in contents))
        writing = [
            content for content in contents if self._contents.mentions_field(content, Direction.BACKWARD)
        ]
        upstream = self._contents.iter_operations(writing, Direction.BACKWARD)
        by_name = self._contents.iter_all_operations([content.checksum for content in writing])
        for content in contents:
            # Here, because contents that are all cached never wait for the store.
            deadline.check()
            if self._contents.mentions_field(content, Direction.BACKWARD):
                yield _derivation(content.field, next(upstream), next(by_name))
            else:
                yield frozenset(), ()


def _build(ways: Sequence[_Way], truncated_by: set[str], *, limit: int, skip: int) -> Derivations:
    newest = [way.newest(skip + limit + 1) for way in ways]
    order = sorted(range(len(ways)), key=lambda number: _order(newest[number][0]))
    derivations = [
        ways[number].build(run.run for run in newest[number][skip : skip + limit]) for number in order
    ]
    has_more = any(len(runs) > skip + limit for runs in newest)
    return Derivations(tuple(derivations), tuple(sorted(truncated_by)), skip + limit if has_more else 0)


def _order(run: SealedRun) -> tuple[int, bytes, str]:
    """Return the order of a run among others: that of their references."""
    return -run.start_ms, escape(run.run), run.run


def _derivation(
    field: DatasetField, upstream: Sequence[Operation], by_name: Mapping[str, Operation]
) -> _ContentDerivation:
    steps = topology.sort_operations([by_name[operation.name] for operation in upstream])
    return simple_view.derivation_signature(upstream, field), steps
