"""Expected and existing cells of audited rows, encoded as byte strings, here called texts, for hashing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import xxhash

from fll_hbase.keys import calendars
from fll_hbase.store.maintenance.audit.findings import Finding

EXPECTED, PRESENT, ALLOWED, FAULT = 1, 2, 4, 8
"""Flags of a text: a row needs it; it is stored; it may be stored or missing; it is a finding itself."""


@dataclass(slots=True)
class RowFacts:
    """Facts of one or many rows, as texts: a row key, or a cell as returned by `cell_text`."""

    expected: list[bytes] = field(default_factory=list)
    present: list[bytes] = field(default_factory=list)
    allowed: list[bytes] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def texts_by_flag(self) -> Iterable[tuple[int, Iterable[bytes]]]:
        """Yield each flag with its texts."""
        yield EXPECTED, self.expected
        yield PRESENT, self.present
        yield ALLOWED, self.allowed
        yield FAULT, map(fault_key, self.findings)


def cell_text(row: bytes, column: bytes, value: bytes = b"") -> bytes:
    """Return the text of a cell for hashing; without `value`, of the column with any value."""
    # No valid key or column contains a line feed: names are escaped.
    return b"%b\n%b\n%b" % (row, column, value)


def token_text(row: bytes, day: int) -> bytes:
    """Return the text of the token of a day in a calendar, whatever its value."""
    return cell_text(row, calendars.day_column(calendars.TOKEN, day))


def fault_key(finding: Finding) -> bytes:
    """Return the text of a finding; findings of one kind in one row have the same text."""
    return b"%b\n!%b" % (finding.row, finding.kind.name.encode())


def row_of(text: bytes) -> bytes:
    """Return the row key of a text of a row or cell."""
    return text.partition(b"\n")[0]


def column_of(text: bytes) -> bytes:
    """Return the column in a text; empty for the text of a row."""
    return text.split(b"\n", 2)[1] if b"\n" in text else b""


text_hash = xxhash.xxh3_64_intdigest
"""Return the 64-bit hash that represents a text; a collision may hide one error (decision 16)."""
