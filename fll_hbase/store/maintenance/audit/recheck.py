"""Re-read suspicious rows before reporting them, since the table is in use while it is audited.

The needed rows are read first, then the row that needs them once more. Writers put needed cells before the
row, and garbage collection deletes them after it. So a cell is missing only if the row still needs it.
A text is a row key or a cell as `expectations` encodes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
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
_PROGRAM_FIELDS = 4
_NO_FACTS = RowFacts()


class Mismatches(NamedTuple):
    """Hashes of texts that are expected but not present, of texts that no row needs, and of findings."""

    missing: AbstractSet[int]
    left: AbstractSet[int]
    faults: AbstractSet[int]


@dataclass(slots=True)
class _Suspects:
    """The texts of a page that mismatch, each with the key of its row, and its findings."""

    missing: list[tuple[bytes, bytes]] = field(default_factory=list)
    left: list[tuple[bytes, bytes]] = field(default_factory=list)
    faults: list[Finding] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not (self.missing or self.left or self.faults)


class Rechecker:
    """Finds the rows of mismatching hashes, reads them again and yields findings. For one thread."""

    def __init__(self, table: Table, mismatches: Mismatches) -> None:
        self._table = table
        self._mismatches = mismatches
        self._collector = FactCollector(table)
        self._reported: set[tuple[int, bool]] = set()

    def findings(self, page: Sequence[KeyedRow]) -> Iterator[tuple[int, Finding]]:
        """Yield each confirmed finding of a page with the hash of its text; nothing if all rows agree.

        A text that rows of several pages need may be reported by each worker that reads one of them.
        """
        suspects = self._suspects(page)
        if suspects.empty:
            return
        # The order of the reads matters: first the needed rows, then the rows that need them. In the other
        # order a run that is purged between the reads would be reported with a missing content.
        needed = self._read({row_of(text) for _, text in suspects.missing})
        needed_facts = self._facts(needed)
        rows = dict(page)
        owners = {text: _owners(key, text, rows[key]) for key, text in suspects.left}
        suspicious = {key for key, _ in suspects.missing} | {fault.row for fault in suspects.faults}
        current = self._facts(self._read(suspicious | {key for keys in owners.values() for key in keys}))
        for key, text in suspects.missing:
            still_needed = text in current.get(key, _NO_FACTS).expected
            if still_needed and text not in needed_facts.get(row_of(text), _NO_FACTS).present:
                yield from self._report_once(text, _missing(key, text, rows[key], needed))
        for fault in suspects.faults:
            if any(finding.kind is fault.kind for finding in current.get(fault.row, _NO_FACTS).findings):
                yield from self._report_once(fault_key(fault), fault)
        for key, text in suspects.left:
            if not any(_needs(current.get(owner, _NO_FACTS), text) for owner in owners[text]):
                yield from self._report_once(text, _unneeded(key, text, current))

    def _report_once(self, text: bytes, finding: Finding) -> Iterator[tuple[int, Finding]]:
        """Yield the hash of `text`, and the finding, unless that text was reported before.

        A text is reported at most twice: with a repair and without one, in any order. Yields one item or
        none.
        """
        # Several rows may need the same missing cell, and perhaps only one of them can be committed again.
        report = text_hash(text), finding.repair != NO_REPAIR
        if report not in self._reported:
            self._reported.add(report)
            yield report[0], finding

    def _suspects(self, page: Sequence[KeyedRow]) -> _Suspects:
        suspects = _Suspects()
        mismatches = self._mismatches
        for key, facts in self._collector.collect_each(page).items():
            left = [(key, text) for text in facts.present if text_hash(text) in mismatches.left]
            suspects.left += left
            # A content that no run needs is garbage; its catalogue rows are deleted before it.
            if left and key.startswith(layout.CONTENTS):
                continue
            missing = (text for text in facts.expected if text_hash(text) in mismatches.missing)
            suspects.missing += ((key, text) for text in missing)
            suspects.faults += (
                finding for finding in facts.findings if text_hash(fault_key(finding)) in mismatches.faults
            )
        return suspects

    def _read(self, keys: set[bytes]) -> dict[bytes, Row]:
        return self._table.rows(sorted(keys)) if keys else {}

    def _facts(self, rows: dict[bytes, Row]) -> dict[bytes, RowFacts]:
        # A new collector: a horizon that was cached during the scan may have changed, a content been deleted.
        return FactCollector(self._table).collect_each(list(rows.items()))


def _owners(key: bytes, text: bytes, row: Row) -> list[bytes]:
    """Return the keys of the rows that could need `text`, which is a cell of the row `key`.

    These are the run row for an index row, run row and content row for a reference. Empty for other rows and
    for malformed keys.
    """
    try:
        if key.startswith(layout.REFERENCES):
            run = layout.parse_reference_tail(b"|".join(key.split(b"|", 4)[3:])).run
            return [layout.run_row(run), _content_of(text[len(key) + 1 :])]
        if key.startswith(layout.INDEX):
            return [layout.run_row(layout.parse_reference_tail(row[_column(key, text)].value).run)]
    except (CorruptRow, KeyError):
        return []
    return []


def _column(key: bytes, text: bytes) -> bytes:
    """Return the column of a text of the row `key`, which may be malformed and contain any byte."""
    return text[len(key) + 1 :].partition(b"\n")[0]


def _unneeded(key: bytes, text: bytes, current: dict[bytes, RowFacts]) -> Finding:
    """Return the finding of a text that no row needs: UNREADABLE for a malformed reference or index row."""
    column = _column(key, text)
    detail = column.decode(errors="backslashreplace")
    try:
        if key.startswith(layout.REFERENCES):
            return Finding(_unneeded_reference(key, column, current), key, detail)
        if key.startswith(layout.INDEX):
            _check_index_key(key)
            return Finding(Kind.INDEX_WITHOUT_RUN, key, detail)
    except CorruptRow as error:
        return Finding(Kind.UNREADABLE, key, str(error))
    kind = Kind.CONTENT_WITHOUT_RUN if key.startswith(layout.CONTENTS) else Kind.PART_WITHOUT_EVENT
    return Finding(kind, key, "")


def _missing(key: bytes, text: bytes, needing: Row, needed: dict[bytes, Row]) -> Finding:
    """Return the finding of a text that the row `key` needs, with a repair if it can be derived again."""
    row, column = row_of(text), column_of(text)
    kind = _MISSING[row[:2]]
    # A content of events can be merged again from their bodies; any other content has no second copy.
    from_events = run_rows.latest_document(needing) is None
    lost = kind is Kind.MISSING_PART or (kind is Kind.MISSING_CONTENT and not from_events)
    stored = needed.get(row, {}).get(column)
    if stored and kind is Kind.MISSING_REFERENCE and _is_program(stored.value):
        kind = Kind.OTHER_PROGRAM
    problem = "has another value" if stored else "is missing"
    subject = column.decode() if column else "the row"
    detail = f"{subject} {problem}, needed by {key.decode()}"
    return Finding(kind, row, detail, NO_REPAIR if lost else Repair(key))


def _is_program(value: bytes) -> bool:
    """Return whether the value of a reference has the form of a program, or is empty."""
    # Such a reference is a note, not an error: two documents of one run with equal content and start put the
    # same cell, and the last one wins.
    fields = value.split(b"|")
    try:
        return not value or len([unescape(text) for text in fields]) == _PROGRAM_FIELDS
    except CorruptRow:
        return False


def _needs(facts: RowFacts, text: bytes) -> bool:
    """Return whether a row needs the cell of a text, whatever its value."""
    # A cell with another value than needed is reported as missing, and must not be reported twice.
    cell = cell_text(row_of(text), column_of(text))
    return any(needed == text or needed.startswith(cell) for needed in (*facts.expected, *facts.allowed))


def _unneeded_reference(key: bytes, column: bytes, current: dict[bytes, RowFacts]) -> Kind:
    letter, _, _, tail = key.split(b"|", 3) if key.count(b"|") == 4 else (b"", b"", b"", b"")
    reference = layout.parse_reference_tail(tail)
    dataset = ranges.dataset_of(key)
    direction = next(d for d in Direction if layout.reference_prefix(d, dataset)[:1] == letter)
    tail = layout.reference_tail(reference.start_ms, reference.run)
    if layout.reference_prefix(direction, dataset) + tail != key:
        raise CorruptRow("is not the key of a reference")
    content = _content_of(column)
    if layout.run_row(reference.run) not in current:
        return Kind.REFERENCE_WITHOUT_RUN
    return Kind.REFERENCE_STALE if content in current else Kind.REFERENCE_WITHOUT_CONTENT


def _content_of(column: bytes) -> bytes:
    """Return the content row of a reference's column. Raises CorruptRow."""
    checksum = column.partition(b"\n")[0][len(layout.REFERENCE) :]
    return layout.content_row(layout.decode_checksum(checksum))


def _check_index_key(key: bytes) -> None:
    """Raise CorruptRow unless the key is that of an index row."""
    fields = key.split(b"|")
    if len(fields) != 6 or fields[1] not in (b"b", b"f"):
        raise CorruptRow("is not the key of an index row")
    ranges.dataset_of(key.partition(b"|")[2])
    layout.decode_checksum(layout.index_checksum(key))
    layout.index_day(key)
