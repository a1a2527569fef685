"""Stretches of runs that derived a field in the same way, built from runs given newest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from fll_hbase.store.results import Stretch
from fll_hbase.store.rows.calendar_rows import DayRuns, SealedRun, reference_order


class RunGroup(NamedTuple):
    """Runs that follow one another, `total` in all; the content is that of the newest one."""

    checksum: str
    newest: SealedRun
    oldest: SealedRun
    total: int

    @classmethod
    def from_day(cls, listed: Sequence[tuple[str, DayRuns]]) -> RunGroup:
        """Return the runs of a day, of whose parts each has its newest and its oldest run."""
        checksum, newest = min(listed, key=lambda item: reference_order(item[1].runs[0]))
        oldest = max((runs.runs[-1] for _, runs in listed), key=reference_order)
        return cls(checksum, newest.runs[0], oldest, sum(runs.total for _, runs in listed))

    @classmethod
    def single_runs(cls, listed: Iterable[tuple[str, DayRuns]]) -> Iterator[RunGroup]:
        """Yield each run of a day alone, newest first; all of them are known."""
        runs = [(reference_order(run), run, checksum) for checksum, part in listed for run in part.runs]
        runs.sort(key=itemgetter(0))
        return (cls(checksum, run, run, 1) for _, run, checksum in runs)


@dataclass(slots=True)
class _OpenStretch:
    """A stretch to which older runs may be added; the counts are those of `Stretch`."""

    derivation: str
    last: RunGroup
    first: RunGroup
    runs: int
    missing: int
    missing_after: int

    def add(self, group: RunGroup, *, missing: int) -> None:
        """Add older runs, with the number of runs without the field between them and those before."""
        self.first = group
        self.runs += group.total
        self.missing += missing

    def build(self) -> Stretch:
        first, last = self.first.oldest, self.last.newest
        return Stretch(
            self.last.checksum,
            first_run=first.run,
            last_run=last.run,
            first_start_ms=first.start_ms,
            last_start_ms=last.start_ms,
            runs=self.runs,
            missing=self.missing,
            missing_after=self.missing_after,
        )


class StretchUnion:
    """Stretches under construction; runs are added newest first, at most `stretches_max` stretches."""

    def __init__(self, *, stretches_max: int) -> None:
        self._stretches_max = stretches_max
        self._stretches: list[_OpenStretch] = []
        self._missing = 0

    @property
    def missing(self) -> int:
        """How many runs since the oldest one with the field wrote the dataset without it."""
        return self._missing

    def add(self, group: RunGroup, derivation: str) -> bool:
        """Add runs that are older than those before; return False if their stretch has no room.

        `derivation` is equal for runs that derived the field in the same way, and empty if these wrote the
        dataset without the field.
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
