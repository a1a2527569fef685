"""Audit of a small table in one process, with the functions that Spark workers run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from operator import attrgetter

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

WHOLE_TABLE = b"", b"\xff"


def mismatches(table: Table) -> Mismatches:
    """Return the hashes of a table that mismatch."""
    collector, facts = FactCollector(table, once=True), RowFacts()
    for page in pages(table.scan(*WHOLE_TABLE)):
        collector.collect(page, facts)
    flags_by_hash: dict[int, int] = defaultdict(int)
    for flags, texts in facts.texts_by_flag():
        for text in texts:
            flags_by_hash[text_hash(text)] |= flags
    wrong = {key: flags for key, flags in flags_by_hash.items() if is_mismatch(flags)}
    return Mismatches(
        {key for key, flags in wrong.items() if flags & (EXPECTED | PRESENT | FAULT) == EXPECTED},
        {key for key, flags in wrong.items() if flags == PRESENT},
        {key for key, flags in wrong.items() if flags & FAULT},
    )


def confirm(table: Table, hashes: Mismatches) -> list[Finding]:
    """Return the findings of the hashes, one for each."""
    rechecker = Rechecker(table, hashes)
    by_hash: dict[int, Finding] = {}
    for page in pages(table.scan(*WHOLE_TABLE)):
        for key, finding in rechecker.findings(page):
            by_hash[key] = max(finding, by_hash.get(key, finding), key=attrgetter("repair"))
    return sorted(by_hash.values(), key=lambda finding: (finding.kind.value, finding.row))


def findings(table: Table) -> list[Finding]:
    """Return all findings of a table."""
    return confirm(table, mismatches(table))


def kinds(table: Table) -> set[Kind]:
    """Return the kinds of all findings."""
    return {finding.kind for finding in findings(table)}


def repaired(table: Table) -> list[Finding]:
    """Repair the table and return the findings that are left."""
    tried: set[Repair] = set()
    left = findings(table)
    while repairs := repair.next_repairs(left, tried):
        repair.apply_repairs(table, LineageStore(table), repairs)
        tried |= repairs
        left = findings(table)
    return left


def wrong(reported: Iterable[Finding]) -> set[Kind]:
    """Return the kinds of the findings that are errors."""
    return {finding.kind for finding in reported if finding.kind.is_error}
