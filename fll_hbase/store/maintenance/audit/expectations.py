"""What rows say must be there, and what is there: texts of cells, of which marks are made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import xxhash

from fll_hbase.store.maintenance.audit.findings import Finding

EXPECTED, FOUND, ALLOWED, TOLD = 1, 2, 4, 8
"""What is said of a mark: some row needs it, it is there, it may be there or not, it is a fault itself."""


@dataclass(slots=True)
class Said:
    """What rows say, as texts: a row alone, or a row, a column and, where it counts, a value."""

    expected: list[bytes] = field(default_factory=list)
    found: list[bytes] = field(default_factory=list)
    allowed: list[bytes] = field(default_factory=list)
    faults: list[Finding] = field(default_factory=list)

    def sides(self) -> Iterable[tuple[int, Iterable[bytes]]]:
        """All texts, by what is said of them."""
        yield EXPECTED, self.expected
        yield FOUND, self.found
        yield ALLOWED, self.allowed
        yield TOLD, map(fault_text, self.faults)


def cell_text(row: bytes, column: bytes, value: bytes = b"") -> bytes:
    """The text of a cell."""
    return b"%b\n%b\n%b" % (row, column, value)


def fault_text(finding: Finding) -> bytes:
    """The text of a fault: one of a kind in a row."""
    return b"%b\n!%b" % (finding.row, finding.kind.name.encode())


def row_of(text: bytes) -> bytes:
    """The row of an expected text."""
    return text.partition(b"\n")[0]


def column_of(text: bytes) -> bytes:
    """The column of an expected text; empty for a row alone."""
    return text.split(b"\n", 2)[1] if b"\n" in text else b""


mark = xxhash.xxh3_64_intdigest
"""64 bits that stand for a text."""


def differs(said: int) -> bool:
    """Whether what was said of a mark does not agree."""
    return bool(said & TOLD) or said & (EXPECTED | FOUND) == EXPECTED or said == FOUND
