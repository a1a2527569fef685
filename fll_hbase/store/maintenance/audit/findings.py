"""Findings of an audit with their repairs, and cells of audited rows as byte strings, called texts here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import xxhash

from fll_hbase.keys import calendars, layout
from fll_hbase.tables import Row

EXPECTED, PRESENT, ALLOWED, FAULT = 1, 2, 4, 8
"""Flags of a text: needed by a row, stored, stored or missing, or a finding by itself."""

text_hash = xxhash.xxh3_64_intdigest
"""Return the 64-bit hash of a text; a collision may hide one error (decision 16)."""


class Kind(Enum):
    """A kind of finding: an error, or a note about something that a table may always contain."""

    UNREADABLE = "unreadable"
    ALTERED = "altered"
    WRONG_CHECKSUM = "wrong checksum"
    WRONG_CELLS = "wrong cells of a content"
    COMMITS_CONFLICT = "conflicting commit records"
    COMMIT_MISMATCH = "commit record differs from input"
    INPUT_MISSING = "input cells missing"
    MISSING_CONTENT = "missing content"
    MISSING_PART = "missing event body"
    MISSING_REFERENCE = "missing reference"
    MISSING_WAY = "missing way"
    MISSING_DAY = "missing day"
    WRONG_SEAL = "wrong seal"
    MISSING_RUN_INDEX = "missing in the run index"
    MISSING_CATALOGUE = "missing in the catalogue"
    MISSING_ALIAS = "one-sided alias"
    MISSING_TAG_INDEX = "missing in the tag index"
    # Notes from here on: readers ignore or understand leftovers of interrupted commits, hints of replaced
    # runs, columns of newer releases, contents of older ones.
    UNKNOWN_COLUMN = "unknown column"
    OLD_FORM = "content in an older form"
    UNFINISHED = "unfinished run"
    OTHER_PROGRAM = "reference that names another program"
    REFERENCE_WITHOUT_RUN = "reference without run"
    REFERENCE_WITHOUT_CONTENT = "reference without content"
    REFERENCE_STALE = "stale reference"
    WAY_WITHOUT_RUN = "way without run"
    DAY_WITHOUT_RUN = "day without run"
    RUN_INDEX_WITHOUT_RUN = "run index without run"
    CONTENT_WITHOUT_RUN = "content without run"
    DATASET_WITHOUT_CONTENT = "dataset without content"
    PART_WITHOUT_EVENT = "event body without event"

    @property
    def is_error(self) -> bool:
        """True if it must be repaired; writers, garbage collection or a newer release resolve notes."""
        return self not in _NOTES


_NOTES = frozenset(list(Kind)[list(Kind).index(Kind.UNKNOWN_COLUMN) :])


class Repair(NamedTuple):
    """A row to write again: a run to re-commit, a content to put, aliases to put at their other datasets.

    Days of a calendar get new tokens, tags of a field are put into the index. The row is b"" for no repair.
    """

    row: bytes = b""

    @property
    def is_run(self) -> bool:
        """Return whether the repair is a re-commit of a run."""
        return self.row.startswith(layout.RUNS)


NO_REPAIR = Repair()


class Finding(NamedTuple):
    """One finding at a row, its description, and its repair, NO_REPAIR if there is none."""

    kind: Kind
    row: bytes
    detail: str
    repair: Repair = NO_REPAIR


def unknown_columns(key: bytes, columns: list[bytes]) -> list[Finding]:
    """Return one finding that names the given columns, all unknown to this release; [] without columns."""
    names = ", ".join(column.decode(errors="backslashreplace") for column in sorted(columns))
    return [Finding(Kind.UNKNOWN_COLUMN, key, names)] if columns else []


@dataclass(slots=True)
class RowFacts:
    """Facts of rows as texts: row keys, and cells from `cell_text`; `optional` are present and allowed."""

    expected: list[bytes] = field(default_factory=list)
    present: list[bytes] = field(default_factory=list)
    optional: list[bytes] = field(default_factory=list)
    allowed: list[bytes] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def texts_by_flag(self) -> Iterable[tuple[int, Iterable[bytes]]]:
        """Yield the flags of each list with its texts, which for FAULT are the `fault_key` of findings."""
        yield EXPECTED, self.expected
        yield PRESENT, self.present
        yield PRESENT | ALLOWED, self.optional
        yield ALLOWED, self.allowed
        yield FAULT, map(fault_key, self.findings)


def cell_text(row: bytes, column: bytes, value: bytes = b"") -> bytes:
    """Return the text of a cell for hashing, or with an empty `value` the column's text for any value."""
    # No valid key or column contains a line feed: names are escaped.
    return b"%b\n%b\n%b" % (row, column, value)


def cell_texts(page: Iterable[tuple[bytes, Row]]) -> list[bytes]:
    """Return the texts of all cells of rows, each with its value."""
    # Inlined: a call for each cell would take as long as formatting its text.
    return [b"%b\n%b\n%b" % (key, column, cell[0]) for key, row in page for column, cell in row.items()]


def token_text(row: bytes, day: int) -> bytes:
    """Return the text of the token of a day in a calendar, for any value."""
    return cell_text(row, calendars.day_column(calendars.TOKEN, day))


def fault_key(finding: Finding) -> bytes:
    """Return the text of a finding; findings of the same kind in the same row have equal texts."""
    return b"%b\n!%b" % (finding.row, finding.kind.name.encode())


def row_of(text: bytes) -> bytes:
    """Return the row key of a text of a row or cell."""
    return text.partition(b"\n")[0]


def column_of(text: bytes) -> bytes:
    """Return the column in the text of a cell, empty for the text of a row."""
    return text.split(b"\n", 2)[1] if b"\n" in text else b""
