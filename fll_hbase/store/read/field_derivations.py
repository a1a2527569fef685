"""Derivations of a field: the distinct ways in which the runs of a window derived it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import itemgetter
from typing import TypeAlias

from fll_hbase.keys.codec import day_of
from fll_hbase.model import topology
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.derivation_parts import field_digest
from fll_hbase.model.operations import Operation
from fll_hbase.model.runs import RunKey
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.runtime.config import DEFAULTS
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.components import Reader
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.content_cache import FieldOfContent
from fll_hbase.store.read.run_times import RunTimes
from fll_hbase.store.results import Derivation, Derivations
from fll_hbase.store.rows.calendar_rows import DayRuns, SealedRun, reference_order

_ContentDerivation: TypeAlias = tuple[str, tuple[Operation, ...]]
"""Digest and sorted operations of a field in a content; no operations if the content lacks the field."""


class _Way:
    """One derivation under construction: its operations, and its contents with their run times."""

    def __init__(self, operations: tuple[Operation, ...]) -> None:
        self.operations = operations
        self.contents: list[tuple[FieldOfContent, RunTimes]] = []

    def days(self) -> Iterator[tuple[int, list[tuple[FieldOfContent, DayRuns]]]]:
        """Yield each day with its runs by content, newest day first; runs within a day are unordered."""
        by_day: dict[int, list[tuple[FieldOfContent, DayRuns]]] = {}
        for content, times in self.contents:
            for runs in times.runs:
                by_day.setdefault(day_of(runs.runs[0].start_ms), []).append((content, runs))
        yield from sorted(by_day.items(), key=itemgetter(0), reverse=True)

    def newest(self, count: int) -> list[SealedRun]:
        """Return the `count` newest runs in the order of their references, or fewer if there are fewer.

        If a day has unknown runs, the list ends with the newest run of that day.
        """
        newest: list[SealedRun] = []
        for _, listed in self.days():
            if len(newest) >= count:
                break
            if not all(runs.is_complete for _, runs in listed):
                newest.append(min((runs.runs[0] for _, runs in listed), key=reference_order))
                break
            if len(listed) == 1:
                newest += listed[0][1].runs
            else:
                newest += sorted((run for _, runs in listed for run in runs.runs), key=reference_order)
        return newest[:count]

    def incomplete(self, count: int) -> Iterator[tuple[int, FieldOfContent, DayRuns]]:
        """Yield day, content and runs of incompletely known days on which the `count` newest runs started."""
        total = 0
        for day, listed in self.days():
            if total >= count:
                return
            for content, runs in listed:
                total += runs.total
                if not runs.is_complete:
                    yield day, content, runs

    def build(self, run_keys: Iterable[RunKey]) -> Derivation:
        """Return the derivation with the given runs; counts and starts cover all its runs."""
        listed = [runs for _, times in self.contents for runs in times.runs]
        return Derivation(
            self.operations,
            tuple(run_keys),
            run_count=sum(runs.total for runs in listed),
            first_start_ms=min(runs.runs[-1].start_ms for runs in listed),
            last_start_ms=max(runs.runs[0].start_ms for runs in listed),
        )


class DerivationReader(Reader):
    """Reads the derivations of fields. Threads may share it. Raises StoreUnavailable and CorruptRow."""

    def field_derivations(
        self,
        field: DatasetField,
        window: Window,
        *,
        limit: int = DEFAULTS.list_limit,
        skip: int = 0,
    ) -> Derivations:
        """Return every distinct derivation of the field with its runs, ordered by newest run.

        A derivation is the set of operations that lead into the field. Each derivation lists the ids of its
        newest runs: `limit` after the first `skip`, and none after the first `runs_max`. Runs of unsealed
        days are read newest first, up to `runs_max`, until shortly before the deadline. The result is empty
        for a known field that no run wrote. Raises NotFound for a field that was never recorded, and
        DeadlineExceeded if no content was read in time.
        """
        budget = self._times.budget(until_deadline=True)
        query = WindowQuery(Direction.BACKWARD, field.dataset, window)
        times = self._times.field_times(query, field.name, budget)
        ways: dict[str, _Way] = {}
        # Start with the contents of the newest runs, so that these are known at the deadline.
        newest_first = sorted(times, key=lambda content: reference_order(times[content].runs[0].runs[0]))
        derived = zip(newest_first, self._derivations(newest_first), strict=True)
        for content, (digest, operations) in deadline.until_over(derived, truncated_by=budget.limits):
            if operations:
                ways.setdefault(digest, _Way(operations)).contents.append((content, times[content]))
        if not ways:
            self._catalogue.require_field(field)
        # One run more than the page shows whether there is a next page.
        page = slice(skip, min(skip + limit, self._settings.runs_max))
        try:
            self._complete_newest(query, ways.values(), page.stop + 1, budget.limits)
        except DeadlineExceeded:
            budget.limits.add(deadline.limit())
        return self._build(list(ways.values()), page, budget.limits)

    def _complete_newest(
        self, query: WindowQuery, ways: Iterable[_Way], count: int, truncated_by: set[str]
    ) -> None:
        """Read all runs on the days of each way's `count` newest runs whose seals list only two runs.

        Reads at most `runs_max` runs, more for a single first day, and adds that limit if it is reached.
        Raises DeadlineExceeded.
        """
        incomplete: dict[Dataset, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        left = self._settings.runs_max
        for day, content, runs in chain.from_iterable(way.incomplete(count) for way in ways):
            left -= runs.total
            # The first day may have more, because a page of a single day is always whole.
            if left < 0 and incomplete:
                truncated_by.add(f"runs_max={self._settings.runs_max}")
                break
            incomplete[content.field.dataset][content.checksum].add(day)
        times = {content: listed for way in ways for content, listed in way.contents}
        for name, days in incomplete.items():
            by_content = {
                content.checksum: listed for content, listed in times.items() if content.field.dataset == name
            }
            self._times.complete_days(replace(query, dataset=name), by_content, days)

    def _build(self, ways: Sequence[_Way], page: slice, truncated_by: set[str]) -> Derivations:
        """Return a page of the newest runs of each way that has runs, ordered by newest run; note a cut."""
        # Runs of a day that was read again may have been purged meanwhile.
        listed = [(newest, way) for way in ways if (newest := way.newest(page.stop + 1))]
        listed.sort(key=lambda item: reference_order(item[0][0]))
        has_more = any(len(newest) > page.stop for newest, _ in listed)
        if has_more and page.stop == self._settings.runs_max:
            truncated_by.add(f"runs_max={self._settings.runs_max}")
            has_more = False
        derivations = tuple(way.build(run.key for run in newest[page]) for newest, way in listed)
        return Derivations(derivations, tuple(sorted(truncated_by)), page.stop if has_more else 0)

    def _derivations(self, contents: Sequence[FieldOfContent]) -> Iterator[_ContentDerivation]:
        """Yield the derivation of the field in each content. Raises DeadlineExceeded."""
        self._contents.load(content.checksum for content in contents)
        upstream = self._contents.iter_touching(contents, Direction.BACKWARD)
        by_name = self._contents.iter_all_operations(
            [
                content.checksum
                for content in contents
                if self._contents.mentions_field(content, Direction.BACKWARD)
            ]
        )
        for content, operations in zip(contents, upstream, strict=True):
            yield _derivation(content.field, operations, next(by_name)) if operations else ("", ())


def _derivation(
    field: DatasetField, upstream: Sequence[Operation], by_name: Mapping[str, Operation]
) -> _ContentDerivation:
    """Return the digest of a field's derivation, and its operations, each after those it depends on."""
    steps = topology.sort_operations([by_name[operation.name] for operation in upstream])
    return field_digest(upstream, field, indirect=True), steps
