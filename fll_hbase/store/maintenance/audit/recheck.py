"""What is really wrong: rows looked at again, with what they disagree about, in a table that is in use.

A row tells what it needs; then what it needs is read; then the row again. What is put before the row that
needs it, and taken away after it, is missing only where the row still needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from fll_hbase.errors import CorruptRow
from fll_hbase.keys import layout, ranges
from fll_hbase.keys.codec import unescape
from fll_hbase.model.window import Direction
from fll_hbase.store import run_rows
from fll_hbase.store.maintenance.audit.expectations import (
    RowFacts,
    cell_text,
    column_of,
    fault_key,
    row_of,
    text_hash,
)
from fll_hbase.store.maintenance.audit.findings import NO_REPAIR, Finding, Kind, Repair
from fll_hbase.store.maintenance.audit.row_facts import FactCollector, KeyedRow
from fll_hbase.tables import Row, Table

_MISSING = {
    layout.CONTENTS: Kind.MISSING_CONTENT,
    layout.EVENT_BODIES: Kind.MISSING_PART,
    **dict.fromkeys(layout.REFERENCES, Kind.MISSING_REFERENCE),
    layout.INDEX: Kind.MISSING_INDEX,
    layout.DATASETS: Kind.MISSING_CATALOGUE,
    layout.ALIASES: Kind.MISSING_ALIAS,
}
_PROGRAM_PIECES = 4


class Mismatches(NamedTuple):
    """Marks that do not agree: needed and not found, found and not needed, and faults."""

    missing: AbstractSet[int]
    left: AbstractSet[int]
    faults: AbstractSet[int]


@dataclass(slots=True)
class _Doubts:
    """What rows of a page need that was not found, what nothing needed, and faults: each with its row."""

    missing: list[tuple[bytes, bytes]]
    left: list[tuple[bytes, bytes]]
    faults: list[Finding]


class Rechecker:
    """Looks again at rows that say something of marks which do not agree."""

    def __init__(self, table: Table, differing: Mismatches) -> None:
        self._table = table
        self._differing = differing
        self._auditor = FactCollector(table)
        self._told: set[tuple[int, bool]] = set()

    def findings(self, page: Sequence[KeyedRow]) -> Iterator[tuple[int, Finding]]:
        """What is wrong with rows of a page, by mark; a mark that several rows need may be told of twice."""
        doubts = self._doubts(page)
        if not (doubts.missing or doubts.left or doubts.faults):
            return
        needed = self._read({row_of(text) for _, text in doubts.missing})
        found = self._said(needed)
        claimants = {key for key, _ in doubts.missing} | {fault.row for fault in doubts.faults}
        seen = dict(page)
        behind = {text: _behind(key, text, seen[key]) for key, text in doubts.left}
        again = self._said(self._read(claimants | {key for keys in behind.values() for key in keys}))
        for key, text in doubts.missing:
            if (
                text in again.get(key, RowFacts()).expected
                and text not in found.get(row_of(text), RowFacts()).present
            ):
                yield from self._once(text, _missing(key, text, seen[key], needed))
        for fault in doubts.faults:
            if any(one.kind is fault.kind for one in again.get(fault.row, RowFacts()).findings):
                yield from self._once(fault_key(fault), fault)
        for key, text in doubts.left:
            if not any(_needs(again.get(run, RowFacts()), text) for run in behind[text]):
                yield from self._once(text, _left(key, text, again))

    def _once(self, text: bytes, finding: Finding) -> Iterator[tuple[int, Finding]]:
        """A mark once, and once more if only then it can be mended."""
        told = text_hash(text), finding.repair != NO_REPAIR
        if told not in self._told:
            self._told.add(told)
            yield told[0], finding

    def _doubts(self, page: Sequence[KeyedRow]) -> _Doubts:
        doubts = _Doubts([], [], [])
        for key, said in self._auditor.collect_each(page).items():
            left = [(key, text) for text in said.present if text_hash(text) in self._differing.left]
            doubts.left += left
            if left and key.startswith(layout.CONTENTS):
                continue
            doubts.missing += (
                (key, text) for text in said.expected if text_hash(text) in self._differing.missing
            )
            doubts.faults += (
                one for one in said.findings if text_hash(fault_key(one)) in self._differing.faults
            )
        return doubts

    def _read(self, keys: set[bytes]) -> dict[bytes, Row]:
        return self._table.rows(sorted(keys)) if keys else {}

    def _said(self, read: dict[bytes, Row]) -> dict[bytes, RowFacts]:
        """What rows say now, horizons and contents read anew."""
        return FactCollector(self._table).collect_each(list(read.items()))


def _behind(key: bytes, text: bytes, row: Row) -> list[bytes]:
    """The run row that would need a reference, or an index row; and the content it names."""
    try:
        if key.startswith(layout.REFERENCES):
            run = layout.parse_reference_tail(b"|".join(key.split(b"|", 4)[3:])).run
            return [layout.run_row(run), _content_of(text[len(key) + 1 :])]
        if key.startswith(layout.INDEX):
            column = text[len(key) + 1 :].partition(b"\n")[0]
            return [layout.run_row(layout.parse_reference_tail(row[column].value).run)]
    except (CorruptRow, KeyError):
        return []
    return []


def _left(key: bytes, text: bytes, again: dict[bytes, RowFacts]) -> Finding:
    """What nothing needs, in words; a reference or an index row that cannot be read is a fault."""
    column = text[len(key) + 1 :].partition(b"\n")[0]
    detail = column.decode(errors="backslashreplace")
    try:
        if key.startswith(layout.REFERENCES):
            return Finding(_left_reference(key, column, again), key, detail)
        if key.startswith(layout.INDEX):
            _check_index(key, column)
            return Finding(Kind.INDEX_WITHOUT_RUN, key, detail)
    except CorruptRow as error:
        return Finding(Kind.UNREADABLE, key, str(error))
    kind = Kind.CONTENT_WITHOUT_RUN if key.startswith(layout.CONTENTS) else Kind.PART_WITHOUT_EVENT
    return Finding(kind, key, "")


def _missing(key: bytes, text: bytes, says: Row, needed: dict[bytes, Row]) -> Finding:
    """What a row says must be there. Of a content that events tell of, their parts are a second copy."""
    row, column = row_of(text), column_of(text)
    kind = _MISSING[row[:2]]
    by_events = run_rows.latest_document(says) is None
    lost = kind is Kind.MISSING_PART or (kind is Kind.MISSING_CONTENT and not by_events)
    there = needed.get(row, {}).get(column)
    if there and kind is Kind.MISSING_REFERENCE and _is_program(there.value):
        kind = Kind.OTHER_PROGRAM
    said = "holds something else" if there else "is missing"
    what = column.decode() if column else "the row"
    return Finding(kind, row, f"{what} {said}, says {key.decode()}", NO_REPAIR if lost else Repair(key))


def _is_program(value: bytes) -> bool:
    """Whether some run may have put it: of documents of one content and start the slowest put the last."""
    pieces = value.split(b"|")
    try:
        return not value or len([unescape(piece) for piece in pieces]) == _PROGRAM_PIECES
    except CorruptRow:
        return False


def _needs(said: RowFacts, text: bytes) -> bool:
    """Whether a run needs a cell after all, or the same cell with another value, which is told as missing."""
    cell = cell_text(row_of(text), column_of(text))
    return any(one == text or one.startswith(cell) for one in (*said.expected, *said.allowed))


def _left_reference(key: bytes, column: bytes, again: dict[bytes, RowFacts]) -> Kind:
    letter, _, _, tail = key.split(b"|", 3) if key.count(b"|") == 4 else (b"", b"", b"", b"")
    reference = layout.parse_reference_tail(tail)
    end_point = ranges.dataset_of(key)
    direction = next(one for one in Direction if layout.reference_prefix(one, end_point)[:1] == letter)
    tail = layout.reference_tail(reference.start_ms, reference.run)
    if layout.reference_prefix(direction, end_point) + tail != key:
        raise CorruptRow("is not the key of a reference")
    content = _content_of(column)
    if layout.run_row(reference.run) not in again:
        return Kind.REFERENCE_WITHOUT_RUN
    return Kind.REFERENCE_STALE if content in again else Kind.REFERENCE_WITHOUT_CONTENT


def _content_of(column: bytes) -> bytes:
    """The data row that a reference names. Raises CorruptRow."""
    column = column.partition(b"\n")[0]
    if not column.startswith((layout.REFERENCE, layout.FAILED_REFERENCE)):
        raise CorruptRow(f"{column!r} is no column of a reference")
    return layout.content_row(layout.decode_checksum(column[len(layout.REFERENCE) :]))


def _check_index(key: bytes, column: bytes) -> None:
    """Raises CorruptRow for what is no index row."""
    pieces = key.split(b"|")
    if len(pieces) != 6 or pieces[1] not in (b"b", b"f"):
        raise CorruptRow("is not the key of an index row")
    ranges.dataset_of(key.partition(b"|")[2])
    layout.decode_checksum(layout.index_checksum(key))
    layout.index_day(key)
    if column not in (layout.SAMPLE_RUN, layout.FAILED_SAMPLE_RUN):
        raise CorruptRow(f"{column!r} is no column of an index row")
