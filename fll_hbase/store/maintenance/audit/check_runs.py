"""What does a run row need: its content, the parts of its events, its references and its index rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cachetools import LRUCache

from fll_hbase.errors import CorruptRow
from fll_hbase.keys import layout, ranges
from fll_hbase.keys.codec import SEPARATOR, day_of, inverted_day, inverted_start
from fll_hbase.model.checksum import digest
from fll_hbase.model.runs import State
from fll_hbase.model.window import DAY_MS
from fll_hbase.store import run_rows
from fll_hbase.store.maintenance.audit.expectations import RowFacts, cell_text
from fll_hbase.store.maintenance.audit.findings import Finding, Kind, Repair
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.tables import Row

NAMES_MAX = 100_000
"""So many programs are remembered, and so many index rows that were asked for."""

_COUNT_DIGITS = 8
_FAILED = {state.value.encode(): state.failed for state in State}
_FIRST_TRUTH = layout.COMMIT + b"00000001|"
_DOCUMENT = re.compile(re.escape(layout.DOCUMENT) + rb"[0-9a-f]{8}\|[0-9a-f]{32}")
_EVENT = re.compile(re.escape(layout.EVENT) + rb"[0-9a-f]{16}\|[0-9a-f]{32}")
_TRUTH = re.compile(re.escape(layout.COMMIT) + rb"[0-9a-f]{8}\|[0-9a-f]{32}")


class Hints(NamedTuple):
    """What references and index rows of a run are made of, as bytes."""

    checksum: bytes
    start_ms: int
    failed: bool
    program: bytes


@dataclass(frozen=True, slots=True)
class End:
    """An end point of a content in one direction: what its references and index rows begin with."""

    references: bytes
    index: bytes
    horizon_ms: int


class Cells(NamedTuple):
    """The columns of a run row by what they hold."""

    documents: list[bytes]
    events: list[bytes]
    truths: list[bytes]

    @property
    def said(self) -> int:
        return len(self.documents) + len(self.events)


class RunRowChecker:
    """Tells what run rows say. `once`: an index row that many runs need is told of once, or nearly."""

    def __init__(self, folds: EventMerger, *, once: bool) -> None:
        self._folds = folds
        self._once = once
        self._programs: LRUCache[bytes, bytes] = LRUCache(NAMES_MAX)
        self._asked: set[tuple[bytes, int, bool]] = set()

    def collect(self, key: bytes, row: Row, ends: Mapping[bytes, Sequence[End]], said: RowFacts) -> None:
        """What a run row says; `ends` are those of the contents that can be read. Raises CorruptRow."""
        run = ranges.escaped_run_of(key)
        hints = self._settled(row)
        if hints is not None:
            said.expected.append(layout.CONTENTS + hints.checksum)
            self._hints(run, hints, ends.get(hints.checksum, ()), said.expected, said.allowed)
            return
        cells = _cells(row)
        altered = [column for column in (*cells.documents, *cells.events) if _altered(row, column)]
        said.findings += [Finding(Kind.ALTERED, key, column.decode()) for column in altered[:1]]
        value = row[cells.truths[-1]].value if cells.truths else None
        faults = [] if altered else list(self._faults(key, row, cells, value))
        said.findings += faults
        sure = not altered and all(fault.kind is Kind.UNFINISHED for fault in faults)
        into = said.expected if sure else said.allowed
        hints = self._claimed(key, value)
        into += self._contents(key, row, cells, hints)
        said.expected += _parts(row, cells)
        if hints is not None:
            self._hints(run, hints, ends.get(hints.checksum, ()), into, said.allowed)

    def _settled(self, row: Row) -> Hints | None:
        """The truth of a run that one document told of, as nearly all are; None where more is to be said."""
        if len(row) != 2:
            return None
        (document, said), (truth, true) = sorted(row.items())
        value = said.value
        names = value.split(SEPARATOR, 3)
        program = self._programs.get(names[-1])
        if (
            program is None
            or names[2] not in _FAILED
            or true.value != value
            or truth != _FIRST_TRUTH + document[-layout.CHECKSUM_DIGITS :]
            or not _DOCUMENT.fullmatch(document)
            or digest(value).encode() != document[-layout.CHECKSUM_DIGITS :]
            or not names[1].isdigit()
        ):
            return None
        return Hints(names[0], int(names[1]), _FAILED[names[2]], program)

    def _claimed(self, key: bytes, value: bytes | None) -> Hints | None:
        """What a truth claims; one that cannot be read is not what was said."""
        if value is None:
            return None
        try:
            claim, program = run_rows.decode_head(value), self._program(key, value)
        except CorruptRow:
            return None
        return Hints(claim.checksum.encode(), claim.start_ms, claim.state.failed, program)

    def _contents(self, key: bytes, row: Row, cells: Cells, hints: Hints | None) -> Iterator[bytes]:
        """The contents of the truth, and of the latest document."""
        named = {layout.CONTENTS + hints.checksum} if hints else set()
        if cells.documents:
            latest = row[cells.documents[-1]].value
            self._program(key, latest)
            named.add(layout.content_row(run_rows.decode_head(latest).checksum))
        yield from named

    def _hints(
        self, run: bytes, hints: Hints, ends: Sequence[End], into: list[bytes], allowed: list[bytes]
    ) -> None:
        checksum, start_ms, failed, program = hints
        column = layout.FAILED_REFERENCE if failed else layout.REFERENCE
        tail = b"%b|%b\n%b%b\n%b" % (inverted_start(start_ms), run, column, checksum, program)
        for end in ends:
            (into if start_ms >= end.horizon_ms else allowed).append(end.references + tail)
        day = day_of(start_ms)
        asked = checksum, day, failed
        if asked not in self._asked or into is allowed:
            column = layout.FAILED_SAMPLE_RUN if failed else layout.SAMPLE_RUN
            tail = cell_text(b"%b|%b" % (inverted_day(day), checksum), column)
            for end in ends:
                (into if (day + 1) * DAY_MS > end.horizon_ms else allowed).append(end.index + tail)
            if self._once and into is not allowed:
                self._remember(asked)

    def _remember(self, asked: tuple[bytes, int, bool]) -> None:
        if len(self._asked) >= NAMES_MAX:
            self._asked.clear()
        self._asked.add(asked)

    def _program(self, key: bytes, value: bytes) -> bytes:
        """What references of a run with that truth, or document, hold. Raises CorruptRow."""
        if run_rows.is_head_only(value):
            return b""
        names = value.split(SEPARATOR, 3)[-1]
        program = self._programs.get(names)
        if program is None:
            truth = run_rows.decode_run(ranges.run_of(key), value)
            program = self._programs[names] = run_rows.encode_program(truth.run)
        return program

    def _faults(self, key: bytes, row: Row, cells: Cells, value: bytes | None) -> Iterator[Finding]:
        mend = Repair(key)
        count = _counted(cells.truths[-1]) if cells.truths else -1
        if value is None or count < cells.said:
            counted = f"truth of {count}" if cells.truths else "no truth"
            yield Finding(Kind.UNFINISHED, key, f"{cells.said} documents and events, {counted}", mend)
            return
        rivals = [column for column in cells.truths[:-1] if _counted(column) == count]
        if any(row[column].value != value for column in rivals):
            yield Finding(Kind.COMMITS_CONFLICT, key, f"{len(rivals) + 1} truths of {count}", mend)
        elif not cells.said:
            yield Finding(Kind.INPUT_MISSING, key, "a truth, but no document or event")
        elif not self._agrees(row, cells, value):
            if cells.said < count:
                yield Finding(Kind.INPUT_MISSING, key, f"a truth of {count}, but {cells.said} documents and events")
            else:
                yield Finding(Kind.COMMIT_MISMATCH, key, cells.truths[-1].decode(), mend)

    def _agrees(self, row: Row, cells: Cells, value: bytes) -> bool:
        """Whether the truth is what was said; where a part is missing or corrupt that is told of its row."""
        if cells.documents:
            return row[cells.documents[-1]].value == value
        try:
            return self._folds.merged_head(run_rows.decode_events(row)) == value
        except CorruptRow:
            return True


def _cells(row: Row) -> Cells:
    cells = Cells([], [], [])
    for column in sorted(row):
        if _DOCUMENT.fullmatch(column):
            cells.documents.append(column)
        elif _EVENT.fullmatch(column):
            cells.events.append(column)
        elif _TRUTH.fullmatch(column):
            cells.truths.append(column)
        else:
            raise CorruptRow(f"{column!r} is no column of a run row")
    return cells


def _altered(row: Row, column: bytes) -> bool:
    return digest(row[column].value).encode() != column[-layout.CHECKSUM_DIGITS :]


def _counted(truth: bytes) -> int:
    return int(truth[len(layout.COMMIT) :][:_COUNT_DIGITS], 16)


def _parts(row: Row, cells: Cells) -> Iterator[bytes]:
    if cells.events:
        for event in run_rows.decode_events(row):
            yield layout.event_body_row(event.lineage_digest)
            yield layout.event_body_row(event.facts_digest)
