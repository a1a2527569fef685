"""Statistics of the runs of a window: the programs that they belong to, and how many start in each bucket."""

from __future__ import annotations

from dataclasses import dataclass

from fll_hbase.model.runs import ProgramRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.results import ListedRun, ProgramUsage, RunBucket


@dataclass(slots=True)
class _Usage:
    """The runs of one program so far; starts and the last run are of those that count."""

    directions: frozenset[Direction] = frozenset()
    runs: int = 0
    failed: int = 0
    first_start_ms: int = 0
    last: ProgramRun | None = None

    def add(self, listed: ListedRun, *, count_failed: bool) -> None:
        """Add a run that started no later than those before."""
        self.failed += listed.run.state.failed
        if listed.run.state.failed and not count_failed:
            return
        self.directions |= listed.directions
        self.runs += 1
        self.first_start_ms = listed.run.start_ms
        self.last = self.last or listed.run


class ProgramUnion:
    """Programs under construction; `size` is their number."""

    def __init__(self, *, count_failed: bool) -> None:
        self._count_failed = count_failed
        self._usages: dict[tuple[str, str, str, str], _Usage] = {}

    @property
    def size(self) -> int:
        """How many programs there are, those without a run that counts included."""
        return len(self._usages)

    def add(self, listed: ListedRun, *, programs_max: int) -> bool:
        """Add a run that started no later than those before; return False if its program has no room."""
        run = listed.run
        key = run.namespace, run.application, run.program, run.type
        if key not in self._usages and len(self._usages) == programs_max:
            return False
        self._usages.setdefault(key, _Usage()).add(listed, count_failed=self._count_failed)
        return True

    def build(self) -> tuple[ProgramUsage, ...]:
        """Return the programs, that of the last run first; without those whose runs do not count."""
        return tuple(
            ProgramUsage(
                usage.last,
                directions=usage.directions,
                runs=usage.runs,
                failed=usage.failed,
                first_start_ms=usage.first_start_ms,
            )
            for usage in self._usages.values()
            if usage.last is not None
        )


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

    def add(self, listed: ListedRun) -> None:
        """Count a run that starts in the window."""
        length_ms = self._window.stop_ms - self._window.start_ms
        # The bucket whose start is the last one before that of the run, as `_start_ms` rounds down.
        offset_ms = listed.run.start_ms - self._window.start_ms
        number = ((offset_ms + 1) * self._buckets - 1) // length_ms
        counts = self._failed if listed.run.state.failed else self._complete
        counts[number] += 1

    def build(self) -> tuple[RunBucket, ...]:
        """Return the buckets, the oldest first."""
        counts = zip(self._complete, self._failed, strict=True)
        return tuple(RunBucket(self._start_ms(number), *count) for number, count in enumerate(counts))

    def _start_ms(self, number: int) -> int:
        length_ms = self._window.stop_ms - self._window.start_ms
        return self._window.start_ms + number * length_ms // self._buckets
