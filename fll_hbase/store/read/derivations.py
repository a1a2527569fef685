"""Derivations of a field: the distinct ways in which the runs of a window made it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from fll_hbase import deadline
from fll_hbase.config import Settings
from fll_hbase.keys.codec import day_of, escape
from fll_hbase.model import simple_view, topology
from fll_hbase.model.datasets import DatasetField
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
    """One derivation under construction: its operations, and the runs that used it."""

    def __init__(self, operations: tuple[Operation, ...]) -> None:
        self.operations = operations
        self.runs: list[DayRuns] = []

    def build(self, run_ids: Sequence[str]) -> Derivation:
        """Return the derivation with the ids of the newest of its runs."""
        return Derivation(
            self.operations,
            tuple(run_ids),
            run_count=sum(runs.total for runs in self.runs),
            first_start_ms=min(runs.runs[-1].start_ms for runs in self.runs),
            last_start_ms=max(runs.runs[0].start_ms for runs in self.runs),
        )


class DerivationReader:
    """Reads the derivations of fields. Threads may share it."""

    def __init__(
        self, times: RunTimesReader, contents: ContentCache, catalogue: Catalogue, settings: Settings
    ) -> None:
        self._times = times
        self._contents = contents
        self._catalogue = catalogue
        self._settings = settings

    def derivations(self, field: DatasetField, window: Window, *, failed: bool) -> Derivations:
        """Return every distinct derivation of the field, with its runs, that of the newest run first.

        A derivation is the operations that lead into the field. Runs of the window count, failed and aborted
        ones only with `failed`; of all derivations the ids of the `runs_max` newest ones are listed, and of
        each one its newest. Without any for a known field that no run wrote.
        """
        truncated_by: set[str] = set()
        query = WindowQuery(Direction.BACKWARD, field.dataset, window, failed)
        (by_name,) = self._times.times([query], truncated_by=truncated_by)
        times = {
            FieldOfContent(checksum, DatasetField(name, field.name)): listed
            for name, contents in by_name.items()
            for checksum, listed in contents.items()
        }
        self._complete_newest(query, times)
        ways: dict[simple_view.DerivationSignature, _Way] = {}
        # Those of the newest runs first: at the deadline these are known.
        newest_first = sorted(times, key=lambda content: _order(times[content].runs[0].runs[0]))
        derived = zip(newest_first, self._derivations(newest_first), strict=True)
        for content, (signature, operations) in deadline.until_over(derived, truncated_by=truncated_by):
            if operations:
                ways.setdefault(signature, _Way(operations)).runs += times[content].runs
        if not ways:
            self._catalogue.require_field(field)
        return self._build(list(ways.values()), truncated_by)

    def _complete_newest(self, query: WindowQuery, times: Mapping[FieldOfContent, RunTimes]) -> None:
        """Read the ids of the newest runs of days of which seals have the first and the last run alone."""
        days = sorted(
            ((runs, content) for content, listed in times.items() for runs in listed.runs),
            key=lambda item: -item[0].runs[0].start_ms,
        )
        total = 0
        incomplete: dict[FieldOfContent, set[int]] = {}
        for runs, content in days:
            if total >= self._settings.runs_max:
                break
            total += runs.total
            if not runs.is_complete:
                incomplete.setdefault(content, set()).add(day_of(runs.runs[0].start_ms))
        for content, numbers in incomplete.items():
            self._times.complete_days(
                replace(query, dataset=content.field.dataset),
                {content.checksum: times[content]},
                {content.checksum: numbers},
            )

    def _build(self, ways: Sequence[_Way], truncated_by: set[str]) -> Derivations:
        runs_max = self._settings.runs_max
        newest_first = sorted(
            (_order(run), number)
            for number, way in enumerate(ways)
            for day_runs in way.runs
            # Of a day that is not complete, no more than its newest run is known in order.
            for run in (day_runs.runs if day_runs.is_complete else day_runs.runs[:1])
        )
        listed: dict[int, list[str]] = {}
        for position, ((_, _, run), number) in enumerate(newest_first):
            if position < runs_max or number not in listed:
                listed.setdefault(number, []).append(run)
        derivations = tuple(ways[number].build(run_ids) for number, run_ids in listed.items())
        if sum(derivation.run_count for derivation in derivations) > runs_max:
            truncated_by.add(f"runs_max={runs_max}")
        return Derivations(derivations, tuple(sorted(truncated_by)))

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


def _order(run: SealedRun) -> tuple[int, bytes, str]:
    """Return the order of a run among others: that of their references."""
    return -run.start_ms, escape(run.run), run.run


def _derivation(
    field: DatasetField, upstream: Sequence[Operation], by_name: Mapping[str, Operation]
) -> _ContentDerivation:
    steps = topology.sort_operations([by_name[operation.name] for operation in upstream])
    return simple_view.derivation_signature(upstream, field), steps
