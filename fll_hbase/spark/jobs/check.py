"""Check of a whole table on the workers: every row has the rows that it refers to, and agrees with its key.

Workers hash the cells that rows need and the cells that exist, so that one scan finds out whether they
differ. Only if they do, a second scan explains the mismatches as findings, and reads each again, since
writers may be running. A scan of the calendars counts the runs of sealed days. An error stays hidden if
another cell has the same hash: one error in 18 billion, in a table of a billion cells (decision 0016).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.keys import layout
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import StoreUnavailable
from fll_hbase.spark.exports.table_frames import persist
from fll_hbase.spark.hashes import range_scan
from fll_hbase.spark.jobs.check_audit import Audit, audit
from fll_hbase.spark.lines.arrow_batches import to_batch
from fll_hbase.spark.lines.worker_ingest import RETRY
from fll_hbase.store.factory import open_store_table
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit import check as steps
from fll_hbase.store.maintenance.audit.check_report import AuditReport, CheckReport
from fll_hbase.store.maintenance.audit.findings import Finding, Repair
from fll_hbase.store.maintenance.audit.repair import apply_repairs

_OUTCOMES = "repair binary, reason string"
"""The row to write again, and the reason if that is impossible, else null."""


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
        self._outcomes: list[DataFrame] = []
        self._audits: list[Audit] = []

    def audit(self) -> AuditReport:
        """Audit the whole table once, as `Auditor`."""
        self._audits.append(audit(self._spark, self._settings, self._persisted))
        return self._audits[-1].report

    def repair(self) -> steps.Repaired:
        """Apply the repairs of the last audit on the workers, as `Auditor`."""
        findings = self._audits[-1].findings
        for outcomes in self._outcomes:
            findings = findings.join(outcomes, "repair", "left_anti")
        # Sorted by the missing cells, so that references written together are near each other in the table.
        repairs = (
            findings.where(f.length("repair") > 0)
            .repartition(range_scan.partition_count(self._spark), "repair")
            .groupBy("repair")
            .agg(f.min("row").alias("row"))
            .sortWithinPartitions("row")
        )
        is_run = f.substring("repair", 1, len(layout.RUNS)) == f.lit(layout.RUNS)
        # A commit reads the datasets of its run from the content row, so all contents are repaired first.
        contents, runs = self._apply(repairs.where(~is_run)), self._apply(repairs.where(is_run))
        return steps.Repaired(contents.done + runs.done, contents.refused + runs.refused)

    def reasons(self, findings: Iterable[Finding]) -> Mapping[Repair, str]:
        """Return why the repairs of some findings were impossible, as `Auditor`."""
        rows = [bytearray(finding.repair.row) for finding in findings if finding.repair.row]
        is_refused = f.col("reason").isNotNull() & f.col("repair").isin(rows)
        refused = [frame.where(is_refused).collect() for frame in self._outcomes] if rows else []
        return {Repair(bytes(row)): reason for outcomes in refused for row, reason in outcomes}

    def _apply(self, repairs: DataFrame) -> steps.Repaired:
        """Make the repairs of a frame, and remember their outcomes."""
        # Persisted, because computing them again would repair again.
        repaired = repairs.select("repair").mapInArrow(partial(_repair, settings=self._settings), _OUTCOMES)
        outcomes = persist(repaired, self._persisted)
        total, refused = outcomes.agg(f.count("*"), f.count("reason")).collect()[0]
        self._outcomes.append(outcomes)
        return steps.Repaired(total - refused, refused)


def _repair(batches: Iterator[pa.RecordBatch], *, settings: Settings) -> Iterator[pa.RecordBatch]:
    retrying = RETRY.retrying(StoreUnavailable)
    # A separate store with empty caches, because a worker's caches may contain damaged contents.
    table = open_store_table(settings, create=False)
    with closing(LineageStore(table, settings)) as store:
        for batch in batches:
            repairs = [Repair(row) for row in batch.column("repair").to_pylist()]
            refused = retrying(apply_repairs, table, store, repairs)
            yield to_batch([(repair.row, refused.get(repair)) for repair in repairs], _OUTCOMES)
