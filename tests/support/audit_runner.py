"""Audit of a small table in one process, with the functions that Spark workers run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from operator import attrgetter

from fll_hbase.keys import layout, ranges
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit.check import apply_repairs
from fll_hbase.store.maintenance.audit.check_seals import wrong_seals
from fll_hbase.store.maintenance.audit.findings import (
    EXPECTED,
    FAULT,
    NO_REPAIR,
    PRESENT,
    Finding,
    Kind,
    Repair,
    RowFacts,
    text_hash,
)
from fll_hbase.store.maintenance.audit.recheck import Rechecker
from fll_hbase.store.maintenance.audit.row_facts import FactCollector, pages
from fll_hbase.tables import Table

WHOLE_TABLE = b"", b"\xff"


def mismatches(table: Table) -> dict[int, int]:
    """Return the hashes of a table that mismatch, and of each what is wrong: EXPECTED, PRESENT or FAULT."""
    collector, facts = FactCollector(table, once=True), RowFacts()
    for page in pages(table.scan(*WHOLE_TABLE)):
        collector.collect(page, facts)
    flags_by_hash: dict[int, int] = defaultdict(int)
    for flags, texts in facts.texts_by_flag():
        for text in texts:
            flags_by_hash[text_hash(text)] |= flags
    return {
        number: FAULT if flags & FAULT else flags & (EXPECTED | PRESENT)
        for number, flags in flags_by_hash.items()
        if _is_mismatch(flags)
    }


def _is_mismatch(flags: int) -> bool:
    """Return whether the flags of a text are a fault, a missing cell or an unneeded one."""
    return bool(flags & FAULT) or flags & (EXPECTED | PRESENT) == EXPECTED or flags == PRESENT


def confirm(table: Table, hashes: dict[int, int]) -> list[Finding]:
    """Return the findings of the hashes, one for each."""
    rechecker = Rechecker(table, hashes)
    exact = [
        hashed
        for page in pages(table.scan(*WHOLE_TABLE))
        for hashed in rechecker.findings(page)
        if hashes.get(hashed.number) == hashed.mismatch
    ]
    garbage = {hashed.finding.row for hashed in exact if hashed.finding.kind is Kind.CONTENT_WITHOUT_RUN}
    by_hash: dict[int, Finding] = {}
    for number, _, finding in exact:
        if finding.kind is not Kind.MISSING_CATALOGUE or finding.repair.row not in garbage:
            by_hash[number] = max(finding, by_hash.get(number, finding), key=attrgetter("repair"))
    return sorted(by_hash.values(), key=lambda finding: (finding.kind.value, finding.row))


def findings(table: Table) -> list[Finding]:
    """Return all findings of a table."""
    explained = confirm(table, mismatches(table))
    recounted = wrong_seals(table, table.scan(*ranges.prefix_range(layout.CALENDARS)))
    return sorted([*explained, *recounted], key=lambda finding: (finding.kind.value, finding.row))


def kinds(table: Table) -> set[Kind]:
    """Return the kinds of all findings."""
    return {finding.kind for finding in findings(table)}


def repaired(table: Table) -> list[Finding]:
    """Repair the table in two passes, as the job does, and return the findings that are left."""
    tried: set[Repair] = set()
    left = findings(table)
    for _ in range(2):
        repairs = {finding.repair for finding in left if finding.repair != NO_REPAIR} - tried
        apply_repairs(table, LineageStore(table), repairs)
        tried |= repairs
        left = findings(table)
    return left


def wrong(reported: Iterable[Finding]) -> set[Kind]:
    """Return the kinds of the findings that are errors."""
    return {finding.kind for finding in reported if finding.kind.is_error}
