"""The history of a field: the stretches of runs that derived it in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from fll_hbase.keys import calendars
from fll_hbase.keys.codec import day_of
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.derivation_parts import field_digest
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.store.components import Reader
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.content_cache import ContentCache, FieldOfContent
from fll_hbase.store.read.run_budget import RunBudget
from fll_hbase.store.read.run_times import RunTimes, TimesByName
from fll_hbase.store.results import FieldHistory, Stretch
from fll_hbase.store.rows.calendar_rows import DayRuns, SealedRun, reference_order

_Contents: TypeAlias = Mapping[str, tuple[Dataset, RunTimes]]
"""The times of contents' runs by checksum, with the dataset name under which the runs were found."""

_Day: TypeAlias = list[tuple[str, DayRuns]]
"""The runs of a day, each with the checksum of their content."""

BATCH_CONTENTS = 100
"""Maximum number of contents whose field maps are read in one call."""


class RunGroup(NamedTuple):
    """Consecutive runs, `total` in all; the content is the newest run's."""

    checksum: str
    newest: SealedRun
    oldest: SealedRun
    total: int

    @classmethod
    def from_day(cls, listed: Sequence[tuple[str, DayRuns]]) -> RunGroup:
        """Return the runs of a day from its parts, which all know their newest and oldest runs."""
        checksum, newest = min(listed, key=lambda item: reference_order(item[1].runs[0]))
        oldest = max((runs.runs[-1] for _, runs in listed), key=reference_order)
        return cls(checksum, newest.runs[0], oldest, sum(runs.total for _, runs in listed))

    @classmethod
    def single_runs(cls, listed: Iterable[tuple[str, DayRuns]]) -> Iterator[RunGroup]:
        """Yield each run of a day separately, newest first; all runs must be known."""
        runs = [(reference_order(run), run, checksum) for checksum, part in listed for run in part.runs]
        runs.sort(key=itemgetter(0))
        return (cls(checksum, run, run, 1) for _, run, checksum in runs)


@dataclass(slots=True)
class _OpenStretch:
    """A stretch to which older runs may be added, with the counts of `Stretch`."""

    derivation: str
    last: RunGroup
    first: RunGroup
    runs: int
    missing: int
    missing_after: int

    def add(self, group: RunGroup, *, missing: int) -> None:
        """Add older runs; `missing` is the number of runs without the field between them and the stretch."""
        self.first = group
        self.runs += group.total
        self.missing += missing

    def build(self) -> Stretch:
        """Return the stretch as it is in the answer."""
        first, last = self.first.oldest, self.last.newest
        return Stretch(
            self.last.checksum,
            first_run=first.key,
            last_run=last.key,
            first_start_ms=first.start_ms,
            last_start_ms=last.start_ms,
            runs=self.runs,
            missing=self.missing,
            missing_after=self.missing_after,
        )


class StretchUnion:
    """At most `stretches_max` stretches under construction; runs are added newest first."""

    def __init__(self, *, stretches_max: int) -> None:
        self._stretches_max = stretches_max
        self._stretches: list[_OpenStretch] = []
        self._missing = 0

    @property
    def missing(self) -> int:
        """The number of added runs without the field that are older than all added runs with it."""
        return self._missing

    def add(self, group: RunGroup, derivation: str) -> bool:
        """Add runs that are older than those before; return False if they would exceed `stretches_max`.

        `derivation` is equal for runs that derived the field in the same way. It is empty if the runs wrote
        the dataset without the field, and such runs are counted as missing.
        """
        if not derivation:
            self._missing += group.total
            return True
        if self._stretches and self._stretches[-1].derivation == derivation:
            self._stretches[-1].add(group, missing=self._missing)
        elif len(self._stretches) == self._stretches_max:
            return False
        else:
            self._stretches.append(_OpenStretch(derivation, group, group, group.total, 0, self._missing))
        self._missing = 0
        return True

    def build(self) -> tuple[Stretch, ...]:
        """Return the stretches, the newest first."""
        return tuple(stretch.build() for stretch in self._stretches)


class FieldHistoryReader(Reader):
    """Reads the history of fields. Threads may share it. Raises StoreUnavailable and CorruptRow."""

    def history(self, field: DatasetField, window: Window, *, indirect: bool = True) -> FieldHistory:
        """Return the stretches of the window's runs that wrote the field, the newest first.

        The history ends at `list_limit_max` stretches, at the deadline, or after `runs_max` runs that must be
        read one by one. These are runs of days that are not sealed, or on which the derivation changed.
        Raises NotFound for an empty history of a field that was never recorded, and DeadlineExceeded if the
        deadline passes before the first runs are read.
        """
        budget = self._times.budget(until_deadline=True)
        query = WindowQuery(Direction.BACKWARD, field.dataset, window)
        (by_name,) = self._times.times([query], budget)
        contents = _by_checksum(by_name)
        fields = [DatasetField(name, field.name) for name in by_name]
        digests = _Digests(self._contents, contents, fields, indirect=indirect)
        stretches_max = self._settings.list_limit_max
        union = StretchUnion(stretches_max=stretches_max)
        groups = self._groups(query, contents, digests, budget)
        derived = ((group, digests.digest(group.checksum)) for group in groups)
        for group, digest in deadline.until_over(derived, truncated_by=budget.limits):
            if not union.add(group, digest):
                budget.limits.add(f"list_limit_max={stretches_max}")
                break
        stretches = union.build()
        if not stretches:
            self._catalogue.require_field(field)
        return FieldHistory(stretches, union.missing, tuple(sorted(budget.limits)))

    def _groups(
        self, query: WindowQuery, contents: _Contents, digests: _Digests, budget: RunBudget
    ) -> Iterator[RunGroup]:
        """Yield the runs newest first, in one group per day if the day's runs derive the field in one way.

        Ends where reading ended, or after `runs_max` runs of days that are read again.
        """
        left = runs_max = self._settings.runs_max
        for day, listed in _days(contents):
            group = RunGroup.from_day(listed)
            is_complete = all(runs.is_complete for _, runs in listed)
            # Compare derivations only if the order of the runs is not in memory.
            is_one_way = len(listed) == 1 or (
                not is_complete and len({digests.digest(checksum) for checksum, _ in listed}) == 1
            )
            if is_one_way and not budget.is_cut_at(group.oldest):
                yield group
                continue
            if not is_complete:
                # The first such day may have more.
                if left < runs_max and group.total > left:
                    budget.limits.add(f"runs_max={runs_max}")
                    return
                left -= group.total
                listed = self._complete(query, contents, day, listed)
            for single in RunGroup.single_runs(listed):
                if budget.is_cut_at(single.newest):
                    return
                yield single

    def _complete(self, query: WindowQuery, contents: _Contents, day: int, listed: _Day) -> _Day:
        """Return all runs of the listed contents on a day, read again without a limit.

        They are grouped by dataset and content, not sorted by time across contents.
        """
        query = replace(query, window=query.window.overlap(calendars.day_window(day)))
        by_name: dict[Dataset, dict[str, list[DayRuns]]] = {}
        for checksum, runs in listed:
            by_name.setdefault(contents[checksum][0], {}).setdefault(checksum, []).append(runs)
        complete: _Day = []
        for name, parts in by_name.items():
            times = {checksum: RunTimes(runs, query.window) for checksum, runs in parts.items()}
            self._times.complete_days(
                replace(query, dataset=name), times, {checksum: [day] for checksum in times}
            )
            complete += [(checksum, runs) for checksum, listed in times.items() for runs in listed.runs]
        return complete


class _Digests:
    """Digests of how contents derive a field, read on demand."""

    def __init__(
        self, cache: ContentCache, contents: _Contents, fields: Sequence[DatasetField], *, indirect: bool
    ) -> None:
        self._cache = cache
        self._fields = fields
        self._indirect = indirect
        self._by_checksum: dict[str, str] = {}
        # Read contents of the newest runs first, because digests are needed in this order.
        newest_first = sorted(contents, key=lambda checksum: -contents[checksum][1].runs[0].runs[0].start_ms)
        self._unread = self._read(newest_first)

    def digest(self, checksum: str) -> str:
        """Return the digest of a content, or "" if it does not write the field. Raises DeadlineExceeded."""
        while checksum not in self._by_checksum:
            following, digest = next(self._unread)
            self._by_checksum[following] = digest
        return self._by_checksum[checksum]

    def _read(self, checksums: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield each checksum with the joined digests of its fields, or "" if it writes none."""
        for begin in range(0, len(checksums), BATCH_CONTENTS):
            batch = checksums[begin : begin + BATCH_CONTENTS]
            # Use all names of the dataset, because a content may write any of them.
            contents = [FieldOfContent(checksum, field) for checksum in batch for field in self._fields]
            operations = self._cache.iter_touching(contents, Direction.BACKWARD)
            for checksum in batch:
                digests = [
                    field_digest(next(operations), field, indirect=self._indirect) for field in self._fields
                ]
                yield checksum, " ".join(filter(None, digests))


def _by_checksum(by_name: TimesByName) -> dict[str, tuple[Dataset, RunTimes]]:
    """Return when contents ran, each under one name: under its other names, a content has the same runs."""
    contents: dict[str, tuple[Dataset, RunTimes]] = {}
    for name, by_content in by_name.items():
        for checksum, times in by_content.items():
            # Prefer the name with more runs, because some runs under the other name may be purged.
            if checksum not in contents or times.total > contents[checksum][1].total:
                contents[checksum] = name, times
    return contents


def _days(contents: _Contents) -> list[tuple[int, _Day]]:
    """Return the runs of contents by day, the newest day first."""
    days: dict[int, _Day] = {}
    for checksum, (_, times) in contents.items():
        for runs in times.runs:
            days.setdefault(day_of(runs.runs[0].start_ms), []).append((checksum, runs))
    return sorted(days.items(), key=itemgetter(0), reverse=True)
