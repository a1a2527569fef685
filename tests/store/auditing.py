"""The audit of a small table in one process, by the very functions that workers run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit import repair
from fll_hbase.store.maintenance.audit.expectations import EXPECTED, FOUND, TOLD, Said, differs, mark
from fll_hbase.store.maintenance.audit.findings import Finding, Kind, Mend
from fll_hbase.store.maintenance.audit.recheck import Confirming, Differing
from fll_hbase.store.maintenance.audit.row_facts import Auditor, pages
from fll_hbase.tables import Table

WHOLE = b"", b"\xff"


def differing(table: Table) -> Differing:
    """The marks of a table that do not agree."""
    auditor, said = Auditor(table, once=True), Said()
    for page in pages(table.scan(*WHOLE)):
        auditor.tell(page, said)
    sides: dict[int, int] = defaultdict(int)
    for side, texts in said.sides():
        for text in texts:
            sides[mark(text)] |= side
    wrong = {number: side for number, side in sides.items() if differs(side)}
    return Differing(
        {number for number, side in wrong.items() if side & (EXPECTED | FOUND | TOLD) == EXPECTED},
        {number for number, side in wrong.items() if side == FOUND},
        {number for number, side in wrong.items() if side & TOLD},
    )


def confirmed(table: Table, marks: Differing) -> list[Finding]:
    """What the marks stand for, one finding each."""
    confirming = Confirming(table, marks)
    found: dict[int, Finding] = {}
    for page in pages(table.scan(*WHOLE)):
        for number, one in confirming.findings(page):
            found[number] = max(one, found.get(number, one), key=lambda finding: finding.mend)
    return sorted(found.values(), key=lambda finding: (finding.kind.value, finding.row))


def findings(table: Table) -> list[Finding]:
    """What is wrong with a table, and what is left over."""
    return confirmed(table, differing(table))


def kinds(table: Table) -> set[Kind]:
    """The kinds of all findings."""
    return {one.kind for one in findings(table)}


def repaired(table: Table) -> list[Finding]:
    """Mend what can be mended; what is found then."""
    tried: set[Mend] = set()
    left = findings(table)
    while mends := repair.due(left, tried):
        repair.mend(table, LineageStore(table), mends)
        tried |= mends
        left = findings(table)
    return left


def wrong(found: Iterable[Finding]) -> set[Kind]:
    """The kinds of what is wrong."""
    return {one.kind for one in found if one.kind.wrong}
