"""The audit of a small table in one process, by the very functions that workers run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit import repair
from fll_hbase.store.maintenance.audit.expectations import (
    EXPECTED,
    FAULT,
    PRESENT,
    RowFacts,
    is_mismatch,
    text_hash,
)
from fll_hbase.store.maintenance.audit.findings import Finding, Kind, Repair
from fll_hbase.store.maintenance.audit.recheck import Mismatches, Rechecker
from fll_hbase.store.maintenance.audit.row_facts import FactCollector, pages
from fll_hbase.tables import Table

WHOLE = b"", b"\xff"


def differing(table: Table) -> Mismatches:
    """The marks of a table that do not agree."""
    auditor, said = FactCollector(table, once=True), RowFacts()
    for page in pages(table.scan(*WHOLE)):
        auditor.collect(page, said)
    sides: dict[int, int] = defaultdict(int)
    for side, texts in said.texts_by_flag():
        for text in texts:
            sides[text_hash(text)] |= side
    wrong = {number: side for number, side in sides.items() if is_mismatch(side)}
    return Mismatches(
        {number for number, side in wrong.items() if side & (EXPECTED | PRESENT | FAULT) == EXPECTED},
        {number for number, side in wrong.items() if side == PRESENT},
        {number for number, side in wrong.items() if side & FAULT},
    )


def confirmed(table: Table, marks: Mismatches) -> list[Finding]:
    """What the marks stand for, one finding each."""
    confirming = Rechecker(table, marks)
    found: dict[int, Finding] = {}
    for page in pages(table.scan(*WHOLE)):
        for number, one in confirming.findings(page):
            found[number] = max(one, found.get(number, one), key=lambda finding: finding.repair)
    return sorted(found.values(), key=lambda finding: (finding.kind.value, finding.row))


def findings(table: Table) -> list[Finding]:
    """What is wrong with a table, and what is left over."""
    return confirmed(table, differing(table))


def kinds(table: Table) -> set[Kind]:
    """The kinds of all findings."""
    return {one.kind for one in findings(table)}


def repaired(table: Table) -> list[Finding]:
    """Mend what can be mended; what is found then."""
    tried: set[Repair] = set()
    left = findings(table)
    while mends := repair.next_repairs(left, tried):
        repair.apply_repairs(table, LineageStore(table), mends)
        tried |= mends
        left = findings(table)
    return left


def wrong(found: Iterable[Finding]) -> set[Kind]:
    """The kinds of what is wrong."""
    return {one.kind for one in found if one.kind.is_error}
