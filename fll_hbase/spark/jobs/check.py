"""Check of a whole table on the workers: every row has the rows that it refers to, and agrees with its key.

Workers hash the cells that rows need and the cells that exist, so that one scan finds out whether they
differ. Only if they do, a second scan explains the mismatches as findings, and reads each again, since
writers may be running. A scan of the calendars counts the runs of sealed days. An error stays hidden if
another cell has the same hash: one error in 18 billion, in a table of a billion cells (decision 0016).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack

from pyspark.sql import SparkSession

from fll_hbase.runtime.config import Settings
from fll_hbase.spark.jobs.check_audit import Audit, audit
from fll_hbase.spark.jobs.check_repair import Repairs, reasons, repair_findings
from fll_hbase.store.maintenance.audit import check as steps
from fll_hbase.store.maintenance.audit.check_report import AuditReport, CheckReport
from fll_hbase.store.maintenance.audit.findings import Finding, Repair


def check(spark: SparkSession, settings: Settings, *, repair: bool) -> CheckReport:
    """Audit the whole table. With `repair`, make the possible repairs on the workers and audit again.

    The check never deletes anything, and is safe while writers run. Raises StoreUnavailable.
    """
    with ExitStack() as persisted:
        return steps.check(_SparkAuditor(spark, settings, persisted), settings, repair=repair)


class _SparkAuditor:
    """An `Auditor` on the workers; the frames that it makes are freed when `persisted` closes."""

    def __init__(self, spark: SparkSession, settings: Settings, persisted: ExitStack) -> None:
        self._spark = spark
        self._settings = settings
        self._persisted = persisted
        self._repairs = Repairs()
        self._audits: list[Audit] = []

    def audit(self) -> AuditReport:
        """Audit the whole table once, as `Auditor`."""
        self._audits.append(audit(self._spark, self._settings, self._persisted))
        return self._audits[-1].report

    def repair(self) -> steps.Repaired:
        """Apply the repairs of the last audit, as `Auditor`."""
        findings = self._audits[-1].findings
        done = repair_findings(self._settings, findings, self._repairs.outcomes, self._persisted)
        self._repairs += done
        return steps.Repaired(done.done, done.refused)

    def reasons(self, findings: Iterable[Finding]) -> Mapping[Repair, str]:
        """Return why the repairs of some findings were impossible, as `Auditor`."""
        return reasons(self._repairs, findings)
