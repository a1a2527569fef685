"""Repair of the findings of an audit by the workers: contents, aliases and calendars first, then runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from fll_hbase.keys import layout
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import StoreUnavailable
from fll_hbase.spark.exports.table_frames import persist
from fll_hbase.spark.hashes.range_scan import PARTITIONS_PER_CORE
from fll_hbase.spark.lines.arrow_batches import to_batch
from fll_hbase.spark.lines.worker_ingest import RETRY
from fll_hbase.store.factory import open_store_table
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit.check import apply_repairs
from fll_hbase.store.maintenance.audit.findings import Finding, Repair

_OUTCOMES = "repair binary, reason string"
"""The row to write again, and the reason if that is impossible, else null."""


@dataclass(frozen=True, slots=True)
class Repairs:
    """How many rows were written again, and how many could not be.

    `contents` includes aliases and calendars; `outcomes` are frames with all repaired and failed rows.
    """

    contents: int = 0
    runs: int = 0
    refused: int = 0
    outcomes: tuple[DataFrame, ...] = ()

    @property
    def done(self) -> int:
        """Return the number of rows that were written again."""
        return self.contents + self.runs

    def __add__(self, other: Repairs) -> Repairs:
        """Return the sums of two repairs, with the outcomes of both."""
        return Repairs(
            self.contents + other.contents,
            self.runs + other.runs,
            self.refused + other.refused,
            self.outcomes + other.outcomes,
        )


def repair_findings(
    settings: Settings, findings: DataFrame, tried: Iterable[DataFrame], persisted: ExitStack
) -> Repairs:
    """Apply the repairs of the findings on the workers; outcomes are unpersisted when `persisted` closes.

    Each row is written once, however many findings name it, and not if it is among the outcomes `tried`.
    Raises StoreUnavailable.
    """
    for outcomes in tried:
        findings = findings.join(outcomes, "repair", "left_anti")
    cores = findings.sparkSession.sparkContext.defaultParallelism
    # Sorted by the missing cells, so that references written together are near each other in the table.
    repairs = (
        findings.where(f.length("repair") > 0)
        .repartition(cores * PARTITIONS_PER_CORE, "repair")
        .groupBy("repair")
        .agg(f.min("row").alias("row"))
        .sortWithinPartitions("row")
    )
    is_run = f.substring("repair", 1, len(layout.RUNS)) == f.lit(layout.RUNS)
    # A commit reads the datasets of its run from the content row, so all contents are repaired first.
    contents, not_contents, first = _apply(settings, repairs.where(~is_run), persisted)
    runs, not_runs, second = _apply(settings, repairs.where(is_run), persisted)
    return Repairs(contents, runs, not_contents + not_runs, (first, second))


def reasons(repairs: Repairs, findings: Iterable[Finding]) -> dict[Repair, str]:
    """Return why the repairs of some findings, which must be few, were impossible."""
    rows = [bytearray(finding.repair.row) for finding in findings if finding.repair.row]
    if not rows:
        return {}
    refused = [
        outcomes.where(f.col("reason").isNotNull() & f.col("repair").isin(rows))
        for outcomes in repairs.outcomes
    ]
    return {Repair(bytes(row)): reason for frame in refused for row, reason in frame.collect()}


def _apply(settings: Settings, repairs: DataFrame, persisted: ExitStack) -> tuple[int, int, DataFrame]:
    """Return how many repairs were done, how many were impossible, and the outcomes."""
    # Persisted, because computing them again would repair again.
    repaired = repairs.select("repair").mapInArrow(partial(_repair, settings=settings), _OUTCOMES)
    outcomes = persist(repaired, persisted)
    total, refused = outcomes.agg(f.count("*"), f.count("reason")).collect()[0]
    return total - refused, refused, outcomes


def _repair(batches: Iterator[pa.RecordBatch], *, settings: Settings) -> Iterator[pa.RecordBatch]:
    retrying = RETRY.retrying(StoreUnavailable)
    # A separate store with empty caches, because a worker's caches may contain damaged contents.
    table = open_store_table(settings, create=False)
    with closing(LineageStore(table, settings)) as store:
        for batch in batches:
            repairs = [Repair(row) for row in batch.column("repair").to_pylist()]
            refused = retrying(apply_repairs, table, store, repairs)
            yield to_batch([(repair.row, refused.get(repair)) for repair in repairs], _OUTCOMES)
