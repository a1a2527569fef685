"""Statistics of the runs of a window: the programs that they belong to, and how many start in each bucket."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fll_hbase.model.runs import ProgramRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.results import ProgramUsage, RunBucket
from fll_hbase.store.rows.calendar_rows import DayRuns


@dataclass(slots=True)
class _Usage:
    """The runs of one program so far; starts and the last run are of those that count."""

    directions: frozenset[Direction] = frozenset()
    runs: int = 0
    failed: int = 0
    first_start_ms: int = 0
    last: ProgramRun | None = None

    def add(
        self, newest: ProgramRun, directions: frozenset[Direction], runs: DayRuns, *, counts: bool
    ) -> None:
        """Add runs of a day; unless they count, only the failed ones. `newest` is the newest of them."""
        self.failed += runs.total if runs.failed else 0
        if not counts:
            return
        self.directions |= directions
        self.runs += runs.total
        oldest_ms = runs.runs[-1].start_ms
        self.first_start_ms = oldest_ms if self.last is None else min(self.first_start_ms, oldest_ms)
        self.last = newest if self.last is None else min(self.last, newest, key=newest_first_key)


class ProgramUnion:
    """Programs under construction; `size` is their number."""

    def __init__(self, *, count_failed: bool) -> None:
        self._count_failed = count_failed
        self._usages: dict[tuple[str, str, str, str], _Usage] = {}

    @property
    def size(self) -> int:
        """How many programs there are, those without a run that counts included."""
        return len(self._usages)

    def add(self, newest: ProgramRun, directions: frozenset[Direction], runs: DayRuns) -> None:
        """Add runs of one program, of which `newest` is the newest."""
        key = newest.namespace, newest.application, newest.program, newest.type
        counts = self._count_failed or not runs.failed
        self._usages.setdefault(key, _Usage()).add(newest, directions, runs, counts=counts)

    def build(self) -> list[ProgramUsage]:
        """Return the programs by their last run, newest first; without programs whose runs do not count."""
        listed = [
            ProgramUsage(
                usage.last,
                directions=usage.directions,
                runs=usage.runs,
                failed=usage.failed,
                first_start_ms=usage.first_start_ms,
            )
            for usage in self._usages.values()
            if usage.last is not None
        ]
        return sorted(listed, key=lambda usage: newest_first_key(usage.last))


class BucketCounts:
    """Counts of runs in buckets of equal length, under construction; none for an empty window."""

    def __init__(self, window: Window, *, buckets: int) -> None:
        length_ms = window.stop_ms - window.start_ms
        # Not shorter than a millisecond, which starts are rounded to.
        self._buckets = min(buckets, length_ms)
        self._window = window
        self._complete = [0] * self._buckets
        self._failed = [0] * self._buckets

    @property
    def total(self) -> int:
        """How many runs were counted."""
        return sum(self._complete) + sum(self._failed)

    def is_cut(self, runs: DayRuns) -> bool:
        """Return whether runs are in several buckets, and not all of them are known."""
        newest, oldest = runs.runs[0].start_ms, runs.runs[-1].start_ms
        return not runs.is_complete and self._number(newest) != self._number(oldest)

    def add(self, runs: DayRuns) -> None:
        """Count runs that start in the window, and that no bucket cuts unless all are known."""
        counts = self._failed if runs.failed else self._complete
        first = self._number(runs.runs[0].start_ms)
        if first == self._number(runs.runs[-1].start_ms):
            counts[first] += runs.total
            return
        for run in runs.runs:
            counts[self._number(run.start_ms)] += 1

    def build(self) -> tuple[RunBucket, ...]:
        """Return the buckets, the oldest first."""
        counts: Iterable[tuple[int, int]] = zip(self._complete, self._failed, strict=True)
        return tuple(RunBucket(self._start_ms(number), *count) for number, count in enumerate(counts))

    def _number(self, start_ms: int) -> int:
        """Return the bucket whose start is the last one before a time, as `_start_ms` rounds down."""
        length_ms = self._window.stop_ms - self._window.start_ms
        return ((start_ms - self._window.start_ms + 1) * self._buckets - 1) // length_ms

    def _start_ms(self, number: int) -> int:
        """Return the start of a bucket (epoch ms): the window divided into equal parts, rounded down."""
        length_ms = self._window.stop_ms - self._window.start_ms
        return self._window.start_ms + number * length_ms // self._buckets


def newest_first_key(run: ProgramRun) -> tuple[int, str]:
    """Return the sort key of a run: newest start first, then by id."""
    return -run.start_ms, run.run
