"""Re-read suspicious rows before reporting them, since the table is in use during the audit.

Needed rows are read first, then the rows that need them are read again. Writers put needed cells before the
row, and garbage collection deletes them after it. A cell is therefore missing only if the row still needs it.
A text is a row key or a cell as `findings` encodes it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.keys.codec import unescape
from fll_hbase.model.window import Direction
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.maintenance.audit.findings import (
    EXPECTED,
    FAULT,
    NO_REPAIR,
    PRESENT,
    Finding,
    Kind,
    Repair,
    RowFacts,
    cell_text,
    column_of,
    fault_key,
    row_of,
    text_hash,
)
from fll_hbase.store.maintenance.audit.row_facts import FactCollector, KeyedRow
from fll_hbase.store.rows import run_rows
from fll_hbase.tables import Row, Table

_MISSING = {
    layout.CONTENTS: Kind.MISSING_CONTENT,
    layout.EVENT_BODIES: Kind.MISSING_PART,
    **dict.fromkeys(layout.REFERENCES, Kind.MISSING_REFERENCE),
    layout.WAYS: Kind.MISSING_WAY,
    layout.CALENDARS: Kind.MISSING_DAY,
    layout.RUN_INDEX: Kind.MISSING_RUN_INDEX,
    layout.DATASETS: Kind.MISSING_CATALOGUE,
    layout.ALIASES: Kind.MISSING_ALIAS,
    layout.TAG_INDEX: Kind.MISSING_TAG_INDEX,
}
_UNNEEDED = {
    layout.CONTENTS: Kind.CONTENT_WITHOUT_RUN,
    layout.EVENT_BODIES: Kind.PART_WITHOUT_EVENT,
    layout.DATASETS: Kind.DATASET_WITHOUT_CONTENT,
    layout.CALENDARS: Kind.DAY_WITHOUT_RUN,
}
_PROGRAM_FIELDS = 4
_NO_FACTS = RowFacts()

REPORTED_MAX = 100_000
"""Maximum number of remembered reports, which prevent repeated reports of a text that many rows need."""


class HashedFinding(NamedTuple):
    """A finding, the hash of its text, and the mismatch of that text: EXPECTED, PRESENT or FAULT.

    An EXPECTED text is missing, a PRESENT text is not needed, and a FAULT is a finding by itself.
    """

    number: int
    mismatch: int
    finding: Finding


@dataclass(slots=True)
class _Suspects:
    """The mismatching texts of a page, each with the key of its row, and the findings of the page."""

    missing: list[tuple[bytes, bytes]] = field(default_factory=list)
    left: list[tuple[bytes, bytes]] = field(default_factory=list)
    faults: list[Finding] = field(default_factory=list)


class Rechecker:
    """Finds the rows of mismatching hashes, reads them again and yields findings. For one thread.

    `suspected` contains the hashes of all mismatches, and maybe others: callers ignore findings with a hash
    and mismatch that they did not find.
    """

    def __init__(self, table: Table, suspected: Container[int]) -> None:
        self._table = table
        self._suspected = suspected
        self._collector = FactCollector(table)
        self._reported: set[tuple[int, bool]] = set()

    def findings(self, page: Sequence[KeyedRow]) -> Iterator[HashedFinding]:
        """Yield each confirmed finding of a page; nothing if all rows agree.

        A text that rows of several pages need may be reported once by each worker that reads one of them.
        """
        suspects = self._suspects(page)
        if not (suspects.missing or suspects.left or suspects.faults):
            return
        # The order of the reads matters: first the needed rows, then the rows that need them. In the reverse
        # order, a run purged between the reads would be reported as having a missing content.
        needed = self._read({row_of(text) for _, text in suspects.missing})
        needed_facts = self._facts(needed)
        rows = dict(page)
        owners = {text: _owners(key, text) for key, text in suspects.left}
        suspicious = {key for key, _ in suspects.missing} | {fault.row for fault in suspects.faults}
        current = self._facts(self._read(suspicious | {key for keys in owners.values() for key in keys}))
        for key, text in suspects.missing:
            still_needed = text in current.get(key, _NO_FACTS).expected
            stored = needed_facts.get(row_of(text), _NO_FACTS)
            if still_needed and text not in stored.present and text not in stored.optional:
                yield from self._report_once(text, EXPECTED, _missing(key, text, rows[key], needed))
        for fault in suspects.faults:
            if any(finding.kind is fault.kind for finding in current.get(fault.row, _NO_FACTS).findings):
                yield from self._report_once(fault_key(fault), FAULT, fault)
        for key, text in suspects.left:
            if not any(_needs(current.get(owner, _NO_FACTS), text) for owner in owners[text]):
                yield from self._report_once(text, PRESENT, _unneeded(key, text, current))

    def _report_once(self, text: bytes, mismatch: int, finding: Finding) -> Iterator[HashedFinding]:
        """Yield the finding of `text`, at most once with a repair and once without: one item or none."""
        # Several rows may need the same missing cell, and perhaps only one of them can be re-committed.
        report = text_hash(text), finding.repair != NO_REPAIR
        if report not in self._reported:
            # Clearing only repeats some reports, which are grouped by their hash anyway.
            if len(self._reported) >= REPORTED_MAX:
                self._reported.clear()
            self._reported.add(report)
            yield HashedFinding(report[0], mismatch, finding)

    def _suspects(self, page: Sequence[KeyedRow]) -> _Suspects:
        """Return the texts and findings of a page whose hashes are suspected."""
        suspects = _Suspects()
        suspected = self._suspected
        for key, facts in self._collector.collect_each(page).items():
            left = (text for text in facts.present if text_hash(text) in suspected)
            # A cell that may always be there was missing when the table was scanned.
            suspects.left += ((key, text) for text in left if text not in facts.allowed)
            missing = (text for text in facts.expected if text_hash(text) in suspected)
            suspects.missing += ((key, text) for text in missing)
            suspects.faults += (
                finding for finding in facts.findings if text_hash(fault_key(finding)) in suspected
            )
        return suspects

    def _read(self, keys: set[bytes]) -> dict[bytes, Row]:
        """Return, by key, the complete rows that exist, with one call, or none without keys."""
        return self._table.rows(sorted(keys)) if keys else {}

    def _facts(self, rows: dict[bytes, Row]) -> dict[bytes, RowFacts]:
        """Return the facts of each row by key, collected again without cached facts."""
        # Use a new collector: a cached horizon may have changed since the scan, or a content been deleted.
        return FactCollector(self._table).collect_each(list(rows.items()))


def _owners(key: bytes, text: bytes) -> list[bytes]:
    """Return the keys of the rows that could need `text`, which is a cell of the row `key`.

    A row of the run index has the run row, and a reference has the run row and content row. The list is empty
    for other rows, which name no run, and for malformed keys.
    """
    with suppress(CorruptRow):
        if key.startswith(layout.REFERENCES):
            run = layout.parse_reference_tail(b"|".join(key.split(b"|", 4)[3:])).run
            return [layout.run_row(*run), _content_of(text[len(key) + 1 :])]
        if key.startswith(layout.RUN_INDEX):
            return [layout.run_row(*_parse_run_index_key(key).run)]
    return []


def _unneeded(key: bytes, text: bytes, current: dict[bytes, RowFacts]) -> Finding:
    """Return the finding of a text that no row needs: UNREADABLE for a malformed reference or way."""
    # The key may be malformed and contain any bytes.
    column = text[len(key) + 1 :].partition(b"\n")[0]
    detail = column.decode(errors="backslashreplace")
    try:
        if key.startswith(layout.REFERENCES):
            return Finding(_unneeded_reference(key, column, current), key, detail)
        if key.startswith(layout.WAYS):
            _check_way_key(key)
            return Finding(Kind.WAY_WITHOUT_RUN, key, "")
        if key.startswith(layout.RUN_INDEX):
            _parse_run_index_key(key)
            return Finding(Kind.RUN_INDEX_WITHOUT_RUN, key, "")
    except CorruptRow as error:
        return Finding(Kind.UNREADABLE, key, str(error))
    return Finding(_UNNEEDED[key[:2]], key, detail)


def _missing(key: bytes, text: bytes, needing: Row, needed: dict[bytes, Row]) -> Finding:
    """Return the finding of a needed text that is missing or different, with a repair if derivable."""
    row, column = row_of(text), column_of(text)
    kind = _MISSING[row[:2]]
    # A content of events can be merged again from their bodies; other contents have no second copy.
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
    """Return whether the value of a reference is empty or has the form of a program: four escaped names."""
    # Such a reference is a note, not an error: two documents of one run with equal content and start put the
    # same cell, and the last put wins.
    fields = value.split(b"|")
    try:
        return not value or len([unescape(text) for text in fields]) == _PROGRAM_FIELDS
    except CorruptRow:
        return False


def _needs(facts: RowFacts, text: bytes) -> bool:
    """Return whether the facts of a row expect or allow the cell of a text, with any value."""
    # A cell with a wrong value is reported as missing, and must not be reported twice.
    cell = cell_text(row_of(text), column_of(text))
    return any(needed == text or needed.startswith(cell) for needed in (*facts.expected, *facts.allowed))


def _unneeded_reference(key: bytes, column: bytes, current: dict[bytes, RowFacts]) -> Kind:
    """Return why no row needs a reference, given the existing rows as `current`. Raises CorruptRow."""
    letter, _, _, tail = key.split(b"|", 3) if key.count(b"|") == 4 else (b"", b"", b"", b"")
    reference = layout.parse_reference_tail(tail)
    dataset = ranges.dataset_of(key)
    direction = next(d for d in Direction if layout.reference_prefix(d, dataset)[:1] == letter)
    tail = layout.reference_tail(reference.start_ms, *reference.run)
    if layout.reference_prefix(direction, dataset) + tail != key:
        raise CorruptRow("is not the key of a reference")
    content = _content_of(column)
    if layout.run_row(*reference.run) not in current:
        return Kind.REFERENCE_WITHOUT_RUN
    return Kind.REFERENCE_STALE if content in current else Kind.REFERENCE_WITHOUT_CONTENT


def _content_of(column: bytes) -> bytes:
    """Return the content row of a reference's column. Raises CorruptRow."""
    checksum = column.partition(b"\n")[0][len(layout.REFERENCE) :]
    return layout.content_row(layout.decode_checksum(checksum))


def _parse_run_index_key(key: bytes) -> layout.Reference:
    """Return the start and run in a key of the run index. Raises CorruptRow."""
    namespace, tail = layout.split_run_index_key(key)
    unescape(namespace)
    return layout.parse_run_index_tail(tail)


def _check_way_key(key: bytes) -> None:
    """Raise CorruptRow unless the key is a valid way: of a direction, a dataset and a period."""
    segments = key.split(b"|")
    if len(segments) != 6 or segments[1] not in layout.LETTERS.values():
        raise CorruptRow("is not the key of a way")
    ranges.dataset_of(key[len(layout.WAYS) :])
    calendars.parse_way(key)
