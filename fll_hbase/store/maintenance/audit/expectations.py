"""Expected and existing cells of audited rows, encoded as byte strings for hashing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import xxhash

from fll_hbase.store.maintenance.audit.findings import Finding

EXPECTED, PRESENT, ALLOWED, FAULT = 1, 2, 4, 8
"""Flags of a text: some row needs it; it is stored; it may be stored or not; it is a finding itself."""


@dataclass(slots=True)
class RowFacts:
    """Facts of one or many rows, as texts: a row key alone, or row, column and, where it counts, value."""

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
    """Return the text of a cell."""
    return b"%b\n%b\n%b" % (row, column, value)


def fault_key(finding: Finding) -> bytes:
    """Return the text of a finding: findings of one kind in one row are the same."""
    return b"%b\n!%b" % (finding.row, finding.kind.name.encode())


def row_of(text: bytes) -> bytes:
    """Return the row of an expected text."""
    return text.partition(b"\n")[0]


def column_of(text: bytes) -> bytes:
    """Return the column of an expected text, empty for a row alone."""
    return text.split(b"\n", 2)[1] if b"\n" in text else b""


text_hash = xxhash.xxh3_64_intdigest
"""The 64 bits that represent a text."""


def is_mismatch(flags: int) -> bool:
    """Return whether the flags of one text contradict each other, or report a finding."""
    return bool(flags & FAULT) or flags & (EXPECTED | PRESENT) == EXPECTED or flags == PRESENT
