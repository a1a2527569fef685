"""Check of a whole table, whatever reads it: audit, repair what can be repaired, audit again.

`fll store check` audits in its own process (`local_auditor`), `fll spark check` on workers. Both run these
steps and report alike; a step of repair that is added here is one of both commands.
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
"""All keys, also those that no release writes."""

PASSES_MAX = 2
"""What a run lacks is not known before its content is repaired: a second pass repairs that."""


class Repaired(NamedTuple):
    """The numbers of rows that were written again, and of those that could not be."""

    done: int
    refused: int


class Auditor(Protocol):
    """Audits a whole table, and repairs what its last audit found. Raises StoreUnavailable."""

    def audit(self) -> AuditReport:
        """Audit the whole table once."""

    def repair(self) -> Repaired:
        """Apply the repairs of the last audit: contents, aliases and calendars first, then runs.

        Each row is written once, however many findings name it, and not if an earlier call tried it.
        """

    def reasons(self, findings: Iterable[Finding]) -> Mapping[Repair, str]:
        """Return why the repairs of some findings, which are few, were impossible."""


def check(auditor: Auditor, settings: Settings, *, repair: bool) -> CheckReport:
    """Audit the whole table. With `repair`, repair what can be repaired, audit again, and move former rows.

    The latter are of an earlier release. They count as written again.

    Nothing is ever deleted. Safe beside running writers. Raises StoreUnavailable.
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
                # No way and no day is missing, and all that record now put theirs.
                calendar_mark.mark_complete(table)
            if calendar_mark.is_marked(table):
                done += former_runs.move_former_rows(LineageStore(table, settings))
    return CheckReport(first, last, repair, done, refused, refusals)
