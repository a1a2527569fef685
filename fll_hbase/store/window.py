"""Which contents and runs are in a window: candidates from the index and references, confirmed by run rows.

Index and references are hints; a run row alone says whether its run has that content and that start. The cost
of the question grows with days and distinct contents, not with runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from cachetools import LRUCache

from fll_hbase.keys import layout
from fll_hbase.keys.codec import DAY_MAX
from fll_hbase.model.operations import EndPoint
from fll_hbase.model.runs import DAY_MS, Direction, Window
from fll_hbase.store import rows
from fll_hbase.store.contents import Contents
from fll_hbase.store.rows import Truth
from fll_hbase.tables import Table

BATCH_RUNS_MAX = 1000
COLUMNS_MAX = 200
"""Beyond this many contents in one day all its references are read and chosen from here."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One end point in one direction, over one window; `failed` takes failed runs too."""

    direction: Direction
    end_point: EndPoint
    window: Window
    failed: bool = False


class _Entry(NamedTuple):
    """One index row: a content that some run of the day had."""

    key: bytes
    day: int
    witnesses: tuple[bytes, ...]
    stamp_ms: int


class WindowReader:
    """Answers which contents and runs are in a window. Threads may share it."""

    def __init__(self, table: Table, contents: Contents, *, clock: Callable[[], int], grace_ms: int) -> None:
        self._table = table
        self._contents = contents
        self._clock = clock
        self._half_grace_ms = grace_ms // 2
        self._dead = _Dead()

    def checksums(self, asked: Asked) -> frozenset[str]:
        """Every content that a run of the window has."""
        entries = self._index(asked)
        candidates = {checksum: _in_window(rows_, asked.window) for checksum, rows_ in entries.items()}
        found = self._confirmed(asked, [tails[0] for tails in candidates.values() if tails])
        missing = entries.keys() - found
        if missing:
            found |= self._confirmed(
                asked, [tail for checksum in missing for tail in candidates[checksum][1:]]
            )
            for day, on_day in _by_day(entries, missing - found):
                wanted = on_day.keys() - found
                live = self._first_references(asked, day, wanted)
                found |= live.keys()
                self._remember_dead(asked, day, [on_day[checksum] for checksum in wanted - live.keys()])
        return frozenset(found)

    def newest_first(self, asked: Asked, checksums: Iterable[str]) -> list[str]:
        """The contents in the order of their newest run in the window."""
        missing = set(checksums)
        ordered: list[str] = []
        if len(missing) > 1:
            for day, on_day in _by_day(self._index(asked), missing):
                live = self._first_references(asked, day, on_day.keys() & missing)
                ordered += sorted(live, key=live.__getitem__)
                missing -= live.keys()
        return ordered + sorted(missing)

    def live_runs(self, asked: Asked, *, after: bytes = b"", batch: int) -> Iterator[Truth]:
        """Every run of the window newest first, from beyond the reference tail `after`."""
        start, stop = layout.window(asked.direction, asked.end_point, asked.window)
        prefix = layout.references(asked.direction, asked.end_point)
        if after:
            start = max(start, prefix + after + b"\x00")
        while True:
            page = list(self._table.scan(start, stop, limit=batch))
            tails = [key[len(prefix) :] for key, _ in page]
            truths = self._truths(tails)
            for tail in tails:
                truth = truths.get(layout.parsed_tail(tail).run)
                if truth and place_of(truth) == tail and self._admits(asked, truth):
                    yield truth
            if len(page) < batch:
                return
            start = page[-1][0] + b"\x00"

    def _index(self, asked: Asked) -> dict[str, list[_Entry]]:
        """The index rows of all days touched, by content, newest first."""
        start, stop = layout.index_window(asked.direction, asked.end_point, asked.window)
        length = len(layout.index(asked.direction, asked.end_point))
        columns = (layout.WITNESS, layout.FAILED_WITNESS) if asked.failed else (layout.WITNESS,)
        entries: dict[str, list[_Entry]] = {}
        for key, row in self._table.scan(start, stop, columns=columns):
            day, checksum = layout.parsed_index_tail(key[length:])
            cells = row.values()
            stamp_ms = max(cell.stamp_ms for cell in cells)
            entry = _Entry(key, day, tuple(cell.value for cell in cells), stamp_ms)
            if not self._dead.remembered(asked, entry):
                entries.setdefault(checksum, []).append(entry)
        return entries

    def _confirmed(self, asked: Asked, tails: Sequence[bytes]) -> set[str]:
        """The contents that the run rows of the candidates really have."""
        return {
            truth.checksum
            for begin in range(0, len(tails), BATCH_RUNS_MAX)
            for truth in self._truths(tails[begin : begin + BATCH_RUNS_MAX]).values()
            if self._admits(asked, truth)
        }

    def _admits(self, asked: Asked, truth: Truth) -> bool:
        """Whether the run row has the last word for this question: its start, state and end points."""
        if truth.run.start_ms not in asked.window or (truth.run.state.failed and not asked.failed):
            return False
        return self._contents.names(truth.checksum, asked.direction, asked.end_point)

    def _truths(self, tails: Iterable[bytes]) -> dict[str, Truth]:
        """What the run rows say of the runs, by run; runs that no pass has finished are left out."""
        runs = {layout.parsed_tail(tail).run for tail in tails}
        keys = {layout.run_row(run): run for run in runs}
        found = self._table.rows(list(keys), columns=(layout.LIGHT,))
        values = {keys[key]: rows.truth_value(row) for key, row in found.items()}
        return {run: rows.decoded(run, value) for run, value in values.items() if value is not None}

    def _first_references(self, asked: Asked, day: int, checksums: Iterable[str]) -> dict[str, bytes]:
        """Per content the place of its newest run in the window on one day."""
        wanted = set(checksums)
        first: dict[str, bytes] = {}
        part = _part(asked, day)
        start, stop = layout.window(asked.direction, asked.end_point, part.window)
        prefix = layout.references(asked.direction, asked.end_point)
        batch = 1
        while wanted:
            page = list(self._table.scan(start, stop, columns=_reference_columns(wanted, asked), limit=batch))
            for truth in self._truths([key[len(prefix) :] for key, _ in page]).values():
                if truth.checksum in wanted and self._admits(part, truth):
                    first[truth.checksum] = min(place_of(truth), first.get(truth.checksum, place_of(truth)))
            if len(page) < batch:
                break
            wanted -= first.keys()
            start = page[-1][0] + b"\x00"
            batch = min(2 * batch, BATCH_RUNS_MAX)
        return first

    def _remember_dead(self, asked: Asked, day: int, entries: Iterable[_Entry]) -> None:
        """No run of that day has that content, unless a pass still under way is about to say so."""
        whole_day = Window(day * DAY_MS, (day + 1) * DAY_MS)
        if day < DAY_MAX and _part(asked, day).window == whole_day:
            settled_ms = self._clock() - self._half_grace_ms
            self._dead.remember(asked, [entry for entry in entries if entry.stamp_ms < settled_ms])


class _Dead:
    """Index rows for which no run was found; another put of the row makes another stamp."""

    def __init__(self) -> None:
        self._stamps: LRUCache[tuple[bytes, bool], int] = LRUCache(100_000)
        self._lock = threading.Lock()

    def remembered(self, asked: Asked, entry: _Entry) -> bool:
        with self._lock:
            return self._stamps.get((entry.key, asked.failed)) == entry.stamp_ms

    def remember(self, asked: Asked, entries: Iterable[_Entry]) -> None:
        with self._lock:
            for entry in entries:
                self._stamps[entry.key, asked.failed] = entry.stamp_ms


def place_of(truth: Truth) -> bytes:
    """Where a run stands among the references of an end point; sorts newest first."""
    return layout.reference_tail(truth.run.start_ms, truth.run.run)


def _in_window(entries: Iterable[_Entry], window: Window) -> list[bytes]:
    """The witnesses whose runs start in the window, newest first."""
    tails = [tail for entry in entries for tail in entry.witnesses]
    return [tail for tail in tails if layout.parsed_tail(tail).start_ms in window]


def _by_day(
    entries: Mapping[str, Sequence[_Entry]], checksums: Iterable[str]
) -> Iterator[tuple[int, dict[str, _Entry]]]:
    """Days newest first, each with the index rows of those contents."""
    days: dict[int, dict[str, _Entry]] = {}
    for checksum in checksums:
        for entry in entries.get(checksum, ()):
            days.setdefault(entry.day, {})[checksum] = entry
    yield from sorted(days.items(), reverse=True)


def _part(asked: Asked, day: int) -> Asked:
    """The question narrowed to one day; the last day has no end."""
    start_ms = max(asked.window.start_ms, day * DAY_MS)
    stop_ms = asked.window.stop_ms if day == DAY_MAX else min(asked.window.stop_ms, (day + 1) * DAY_MS)
    return replace(asked, window=Window(start_ms, stop_ms))


def _reference_columns(checksums: Collection[str], asked: Asked) -> list[bytes]:
    """What a reference of those contents holds; all of the family where the list would be too long."""
    if len(checksums) > COLUMNS_MAX:
        return [layout.LIGHT]
    kinds = (layout.REFERENCE, layout.FAILED_REFERENCE) if asked.failed else (layout.REFERENCE,)
    return [kind + checksum.encode() for checksum in checksums for kind in kinds]
