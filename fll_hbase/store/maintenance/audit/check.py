"""Check of a whole table by any auditor: audit, repair what can be repaired, audit again.

`fll store check` audits in its own process (`local_auditor`), `fll spark check` on workers. Both commands run
these steps and report in the same way, so a new step of repair belongs here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import NamedTuple, Protocol

from fll_hbase.runtime.config import Settings
from fll_hbase.store.factory import open_store_table
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit import former_runs
from fll_hbase.store.maintenance.audit.check_report import AuditReport, CheckReport
from fll_hbase.store.maintenance.audit.findings import Finding, Repair
from fll_hbase.store.rows import calendar_mark

WHOLE_TABLE = b"", b"\xff" * 64
"""All keys, including those that no release writes."""

PASSES_MAX = 2
"""A run's needs are unknown until its content is repaired, so a second pass repairs the run."""


class Repaired(NamedTuple):
    """The numbers of rows that were written again, and of rows that could not be."""

    done: int
    refused: int


class Auditor(Protocol):
    """Audits a whole table, and repairs what its last audit found. Raises StoreUnavailable."""

    def audit(self) -> AuditReport:
        """Audit the whole table once."""

    def repair(self) -> Repaired:
        """Apply the repairs of the last audit: contents, aliases and calendars first, then runs.

        Each row is written once, however many findings name it, and is not tried again by later calls.
        """

    def reasons(self, findings: Iterable[Finding]) -> Mapping[Repair, str]:
        """Return why the repairs of the given findings, which are few, were impossible."""


def check(auditor: Auditor, settings: Settings, *, repair: bool) -> CheckReport:
    """Audit the whole table. With `repair`, repair what can be repaired, audit again, and move former rows.

    Former rows are rows of an earlier release; moved ones count as written again. They move only in a table
    with the mark of complete calendars, which is put if no error is left. Deletes nothing. Safe while writers
    are running. Raises StoreUnavailable.
    """
    first = last = auditor.audit()
    done = refused = 0
    for _ in range(PASSES_MAX):
        if not repair or not last.repairable:
            break
        repaired = auditor.repair()
        done += repaired.done
        refused += repaired.refused
        if not repaired.done:
            break
        last = auditor.audit()
    refusals = auditor.reasons(last.left()) if repair else {}
    if repair:
        with closing(open_store_table(settings, create=False)) as table:
            if not last.count_errors():
                # No way and no day is missing, and all current writers put their own.
                calendar_mark.mark_complete(table)
            if calendar_mark.is_marked(table):
                done += former_runs.move_former_rows(LineageStore(table, settings))
    return CheckReport(first, last, repair, done, refused, refusals)
