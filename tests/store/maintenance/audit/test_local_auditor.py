"""The audit of one process finds what the one of a table in memory finds, and keeps little in memory."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.run_events import EventType
from fll_hbase.runtime.config import DEFAULTS
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit.check_report import AuditReport
from fll_hbase.store.maintenance.audit.findings import NO_REPAIR
from fll_hbase.store.maintenance.audit.local_auditor import LocalAuditor
from fll_hbase.store.write.batching import RunInput
from fll_hbase.tables import CellKey, Table, open_table, scratch_database
from tests.support import audit_runner
from tests.support.audit_histories import HISTORIES
from tests.support.event_runs import event, part

LATER_MS = 4_000_000_000_000


def audit(table: Table) -> AuditReport:
    with scratch_database() as scratch:
        return LocalAuditor(table, DEFAULTS, scratch, lambda *_: None).audit()


@given(history=HISTORIES, lost=st.sets(st.integers(0, 200), max_size=6))
def test_findings_are_those_of_the_reference(history: list[RunInput], lost: set[int]) -> None:
    table = open_table("sqlite:///:memory:")
    LineageStore(table).record(history)
    cells = [CellKey(key, column) for key, row in table.scan(b"", b"\xff") for column in row]
    table.delete([cells[number % len(cells)] for number in lost], until_ms=LATER_MS)
    expected = audit_runner.findings(table)
    report = audit(table)
    assert report.counts == Counter(finding.kind for finding in expected)
    assert report.repairable == sum(finding.repair != NO_REPAIR for finding in expected)
    assert report.total == sum(1 for _ in table.scan(b"", b"\xff"))


def peak_bytes(runs: int) -> int:
    """The most memory of Python that the audit of a table takes: each run has lost a reference."""
    table = open_table("sqlite:///:memory:")
    LineageStore(table).record(
        [event(EventType.COMPLETE, part("a"), run=f"run {number}", later_ms=number) for number in range(runs)]
    )
    lost = [CellKey(key, column) for key, row in table.scan(b"b|", b"b}") for column in row]
    table.delete(lost, until_ms=LATER_MS)
    # Once before: caches of names, which are bounded, are full then.
    audit(table)
    tracemalloc.start()
    report = audit(table)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(report.counts.values()) == runs
    return peak


def test_memory_does_not_grow_with_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (
        "tables.sqlite",
        "store.maintenance.audit.row_facts",
        "store.maintenance.audit.check_seals",
    ):
        monkeypatch.setattr(f"fll_hbase.{module}.PAGE_ROWS", 50)
    monkeypatch.setattr("fll_hbase.store.maintenance.audit.recheck.REPORTED_MAX", 100)
    # Ten times the rows; what other threads of the process take is counted, too.
    assert peak_bytes(2_000) < 4 * peak_bytes(200)
