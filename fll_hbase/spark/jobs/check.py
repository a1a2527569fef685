"""Check of a whole table: every row has the rows that it refers to, and agrees with its key and its inputs.

Workers hash the cells that rows need and the cells that exist: one scan determines whether there is any
mismatch. Only then a second scan explains mismatches as findings, and reads each again, since writers may be
running. A scan of the calendars counts the runs of sealed days. An error is missed if its hash equals that of
another cell: one in 18 billion, in a table of a billion cells (docs/decisions/0016-marks-not-keys.md).
"""

from __future__ import annotations

from contextlib import ExitStack, closing

from pyspark.sql import SparkSession

from fll_hbase.runtime.config import Settings
from fll_hbase.spark.jobs.check_audit import audit
from fll_hbase.spark.jobs.check_repair import Repairs, reasons, repair_findings
from fll_hbase.spark.jobs.check_report import CheckReport
from fll_hbase.store.factory import open_store_table
from fll_hbase.store.rows import calendar_mark

PASSES_MAX = 2
"""What a run lacks is not known before its content is repaired: a second pass repairs that."""


def check(spark: SparkSession, settings: Settings, *, repair: bool) -> CheckReport:
    """Audit the whole table; with `repair`, repair what can be repaired on the workers, and audit again.

    Nothing is ever deleted. Safe beside running writers. Raises StoreUnavailable.
    """
    with ExitStack() as persisted:
        first = last = audit(spark, settings, persisted)
        repairs = Repairs()
        for _ in range(PASSES_MAX):
            if not repair or not last.report.repairable:
                break
            done = repair_findings(settings, last.findings, repairs.outcomes, persisted)
            repairs += done
            if not done.done:
                break
            last = audit(spark, settings, persisted)
        refusals = reasons(repairs, last.report.left())
        if repair and not last.report.count_errors():
            # No way and no day is missing, and all that record now put theirs.
            with closing(open_store_table(settings, create=False)) as table:
                calendar_mark.mark_complete(table)
    return CheckReport(first.report, last.report, repair, repairs.done, repairs.refused, refusals)
