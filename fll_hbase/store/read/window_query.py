"""Which contents and runs are in a window: candidates from the index and references, confirmed by run rows.

Index and references are hints; a run row alone says whether its run has that content and that start. The cost
of the question grows with days and distinct contents, not with runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from cachetools import LRUCache

from fll_hbase.keys import layout
from fll_hbase.keys.codec import DAY_MAX
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import DAY_MS, Direction, Window
from fll_hbase.store import run_rows
from fll_hbase.store.read.content_cache import ContentCache
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.run_rows import CommittedHead, CommittedRun
from fll_hbase.tables import Row, Table

BATCH_RUNS_MAX = 1000
COLUMNS_MAX = 200
"""Beyond this many contents in one day all its references are read and chosen from here."""


@dataclass(frozen=True, slots=True)
class WindowQuery:
    """One end point in one direction, over one window; `failed` takes failed runs too."""

    direction: Direction
    dataset: Dataset
    window: Window
    failed: bool = False


_Entry: TypeAlias = tuple[bytes, Row]
"""One row of the day index, key and witnesses: a content that some run of the day had."""


class WindowReader:
    """Answers which contents and runs are in a window. Threads may share it."""

    def __init__(
        self,
        table: Table,
        contents: ContentCache,
        folds: EventMerger,
        *,
        clock: Callable[[], int],
        grace_ms: int,
    ) -> None:
        self._table = table
        self._folds = folds
        self._contents = contents
        self._clock = clock
        self._grace_ms = grace_ms
        self._dead = _Dead()

    def checksums(self, asked: WindowQuery) -> frozenset[str]:
        """Every content that a run of the window has."""
        began_ms = self._clock()
        entries = self._index(asked)
        newest, oldest = layout.start_bounds(asked.window)
        found = self._confirmed(
            asked,
            [tails[0] for rows_ in entries.values() if (tails := _tails(rows_, newest, oldest, most=1))],
        )
        missing = entries.keys() - found
        if missing:
            others = [tail for checksum in missing for tail in _tails(entries[checksum], newest, oldest)[1:]]
            found |= self._confirmed(asked, others)
            for day, on_day in self._alive(asked, _by_day(entries, missing - found), began_ms):
                wanted = on_day.keys() - found
                for tails in self._pages(asked, day, wanted):
                    found |= self._confirmed(asked, tails)
                    wanted -= found
                self._remember_dead(asked, day, [on_day[checksum] for checksum in wanted], began_ms)
        return frozenset(found)

    def newest_references(self, asked: WindowQuery, checksums: Iterable[str]) -> dict[str, bytes]:
        """Per content the place of its newest run in the window; places sort newest first."""
        missing = set(checksums)
        places: dict[str, bytes] = {}
        for day, on_day in self._alive(asked, _by_day(self._index(asked), missing), self._clock()):
            places |= self._first_references(asked, day, on_day.keys() & missing)
            missing -= places.keys()
        return places

    def runs(
        self, asked: WindowQuery, *, start_after: bytes = b"", batch_size: int
    ) -> Iterator[CommittedRun]:
        """Every run of the window newest first, from beyond the reference tail `after`."""
        start, stop = layout.window_range(asked.direction, asked.dataset, asked.window)
        prefix = layout.reference_prefix(asked.direction, asked.dataset)
        if start_after:
            start = max(start, prefix + start_after + b"\x00")
        while True:
            page = list(self._table.scan(start, stop, limit=batch_size))
            tails = [key[len(prefix) :] for key, _ in page]
            truths = self._folds.committed_runs(self._run_rows(tails))
            for tail in tails:
                truth = truths.get(layout.parse_reference_tail(tail).run)
                if truth and reference_tail_of(truth) == tail and self._admits(asked, _claim_of(truth)):
                    yield truth
            if len(page) < batch_size:
                return
            start = page[-1][0] + b"\x00"

    def _index(self, asked: WindowQuery) -> dict[str, list[_Entry]]:
        """The index rows of all days touched, by content, newest first."""
        start, stop = layout.index_range(asked.direction, asked.dataset, asked.window)
        columns = (layout.SAMPLE_RUN, layout.FAILED_SAMPLE_RUN) if asked.failed else (layout.SAMPLE_RUN,)
        entries: dict[bytes, list[_Entry]] = {}
        for entry in self._table.scan(start, stop, columns=columns):
            entries.setdefault(layout.index_checksum(entry[0]), []).append(entry)
        return {layout.decode_checksum(checksum): rows_ for checksum, rows_ in entries.items()}

    def _alive(
        self, asked: WindowQuery, days: Iterable[tuple[int, dict[str, _Entry]]], now_ms: int
    ) -> Iterator[tuple[int, dict[str, _Entry]]]:
        """The days with those rows whose references are worth a look: all but the dead."""
        for day, on_day in days:
            alive = {
                checksum: entry
                for checksum, entry in on_day.items()
                if not self._dead.holds(entry, failed=asked.failed, now_ms=now_ms)
            }
            if alive:
                yield day, alive

    def _confirmed(self, asked: WindowQuery, tails: Sequence[bytes]) -> set[str]:
        """The contents that the run rows of the candidates really have."""
        return {
            claim.checksum
            for begin in range(0, len(tails), BATCH_RUNS_MAX)
            for value in self._values(tails[begin : begin + BATCH_RUNS_MAX]).values()
            if self._admits(asked, claim := run_rows.decode_head(value))
        }

    def _admits(self, asked: WindowQuery, claim: CommittedHead) -> bool:
        """Whether the run row has the last word for this question: its start, state and end points."""
        if claim.start_ms not in asked.window or (claim.state.failed and not asked.failed):
            return False
        return self._contents.has_dataset(claim.checksum, asked.direction, asked.dataset)

    def _values(self, tails: Sequence[bytes]) -> dict[bytes, bytes]:
        """What the run rows say of the runs, by reference tail; runs that no pass finished are left out."""
        found = self._run_rows(tails)
        runs = {tail: layout.parse_reference_tail(tail).run for tail in tails}
        values = {tail: run_rows.commit_value(found[run]) for tail, run in runs.items() if run in found}
        return {tail: value for tail, value in values.items() if value is not None}

    def _run_rows(self, tails: Iterable[bytes]) -> dict[str, Row]:
        """The rows of the runs, by run."""
        runs = {layout.parse_reference_tail(tail).run for tail in tails}
        keys = {layout.run_row(run): run for run in sorted(runs)}
        found = self._table.rows(list(keys), columns=(layout.LIGHT,))
        return {keys[key]: row for key, row in found.items()}

    def _first_references(self, asked: WindowQuery, day: int, checksums: Iterable[str]) -> dict[str, bytes]:
        """Per content the place of its newest run in the window on one day."""
        wanted = set(checksums)
        first: dict[str, bytes] = {}
        for tails in self._pages(asked, day, wanted):
            for tail, value in self._values(tails).items():
                claim = run_rows.decode_head(value)
                place = layout.reference_tail(claim.start_ms, layout.parse_reference_tail(tail).run)
                if place == tail and claim.checksum in wanted and self._admits(asked, claim):
                    first.setdefault(claim.checksum, place)
            wanted -= first.keys()
        return first

    def _pages(self, asked: WindowQuery, day: int, wanted: set[str]) -> Iterator[list[bytes]]:
        """The references of one day, newest first, that name a content still wanted; more at each step."""
        start, stop = layout.window_range(asked.direction, asked.dataset, _part(asked.window, day))
        prefix = layout.reference_prefix(asked.direction, asked.dataset)
        batch = 1
        while wanted:
            page = list(self._table.scan(start, stop, columns=_reference_columns(wanted, asked), limit=batch))
            yield [key[len(prefix) :] for key, _ in page]
            if len(page) < batch:
                return
            start = page[-1][0] + b"\x00"
            batch = min(2 * batch, BATCH_RUNS_MAX)

    def _remember_dead(self, asked: WindowQuery, day: int, entries: Iterable[_Entry], began_ms: int) -> None:
        """No run of that day has that content, unless a pass under way when it was asked says so yet.

        No pass takes as long as the grace period, however skewed the clocks.
        """
        if day < DAY_MAX and _part(asked.window, day) == Window(day * DAY_MS, (day + 1) * DAY_MS):
            settled_ms = began_ms - self._grace_ms
            dead = [entry for entry in entries if _stamp_ms(entry) < settled_ms]
            self._dead.remember(asked, dead, began_ms + self._grace_ms)


class _Dead:
    """Index rows for which no run was found; another put of the row makes another stamp.

    Their references are not looked at again for the grace period, their witnesses always are: a process that
    stood still for longer than a pass may take can make its run true after all, and then it is the witness.
    """

    def __init__(self) -> None:
        self._found: LRUCache[tuple[bytes, bool], tuple[int, int]] = LRUCache(100_000)
        self._lock = threading.Lock()

    def holds(self, entry: _Entry, *, failed: bool, now_ms: int) -> bool:
        """Whether the row is remembered as it is."""
        if not self._found:
            return False
        with self._lock:
            stamp_ms, until_ms = self._found.get((entry[0], failed), (-1, 0))
        return now_ms < until_ms and stamp_ms == _stamp_ms(entry)

    def remember(self, asked: WindowQuery, entries: Iterable[_Entry], until_ms: int) -> None:
        with self._lock:
            for entry in entries:
                self._found[entry[0], asked.failed] = _stamp_ms(entry), until_ms


def _claim_of(truth: CommittedRun) -> CommittedHead:
    return CommittedHead(truth.checksum, truth.run.start_ms, truth.run.state)


def reference_tail_of(truth: CommittedRun) -> bytes:
    """Where a run stands among the references of an end point; sorts newest first."""
    return layout.reference_tail(truth.run.start_ms, truth.run.run)


def _stamp_ms(entry: _Entry) -> int:
    return max(cell.stamp_ms for cell in entry[1].values())


def _tails(
    entries: Iterable[_Entry], newest: bytes, oldest: bytes, *, most: int | None = None
) -> list[bytes]:
    """The witnesses whose runs start in the window, newest first, at most so many."""
    tails = (cell.value for entry in entries for cell in entry[1].values())
    return list(islice((tail for tail in tails if newest <= tail < oldest), most))


def _by_day(
    entries: Mapping[str, Sequence[_Entry]], checksums: Iterable[str]
) -> Iterator[tuple[int, dict[str, _Entry]]]:
    """Days newest first, each with the index rows of those contents."""
    days: dict[int, dict[str, _Entry]] = {}
    for checksum in checksums:
        for entry in entries.get(checksum, ()):
            days.setdefault(layout.index_day(entry[0]), {})[checksum] = entry
    yield from sorted(days.items(), reverse=True)


def _part(window: Window, day: int) -> Window:
    """The part of a window on one day; the last day has no end."""
    stop_ms = window.stop_ms if day == DAY_MAX else min(window.stop_ms, (day + 1) * DAY_MS)
    return Window(max(window.start_ms, day * DAY_MS), stop_ms)


def _reference_columns(checksums: Collection[str], asked: WindowQuery) -> list[bytes]:
    """What a reference of those contents holds; all of the family where the list would be too long."""
    if len(checksums) > COLUMNS_MAX:
        return [layout.LIGHT]
    kinds = (layout.REFERENCE, layout.FAILED_REFERENCE) if asked.failed else (layout.REFERENCE,)
    return [kind + checksum.encode() for checksum in checksums for kind in kinds]
