"""Check of a whole table on the workers: every row has the rows that it refers to, and agrees with its key.

Workers hash the cells that rows need and the cells that exist, so that one scan finds out whether they
differ. Only if they do, a second scan explains the mismatches as findings, and reads each again, since
writers may be running. A scan of the calendars counts the runs of sealed days. An error stays hidden if
another cell has the same hash: one error in 18 billion, in a table of a billion cells (decision 0016).

Findings stay on the workers' disks, however many there are. The driver has only their numbers and some
examples.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from fll_hbase.keys import layout, ranges
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import StoreUnavailable
from fll_hbase.spark.exports.table_frames import persist
from fll_hbase.spark.hashes import cell_hashes, range_scan
from fll_hbase.spark.lines.arrow_batches import to_batch
from fll_hbase.spark.lines.worker_ingest import RETRY
from fll_hbase.store.factory import open_store_table
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit import check as steps
from fll_hbase.store.maintenance.audit.check import WHOLE_TABLE, apply_repairs
from fll_hbase.store.maintenance.audit.check_report import EXAMPLES, AuditReport, CheckReport
from fll_hbase.store.maintenance.audit.check_seals import wrong_seals
from fll_hbase.store.maintenance.audit.findings import (
    EXPECTED,
    FAULT,
    PRESENT,
    Finding,
    Kind,
    Repair,
    RowFacts,
    text_hash,
)
from fll_hbase.store.maintenance.audit.hash_filter import HashFilter
from fll_hbase.store.maintenance.audit.recheck import Rechecker
from fll_hbase.store.maintenance.audit.row_facts import FactCollector, pages
from fll_hbase.tables import Table

_OUTCOMES = "repair binary, reason string"
"""The row to write again, and the reason if that is impossible, else null."""

_FINDING = "repair binary, kind string, row binary, detail string"
_HASHED_FINDING = f"hash bigint, mismatch bigint, {_FINDING}"

_COUNT, _LETTER_BITS, _COUNT_BITS = 16, 8, 16
"""Row counts are sent as hashes: flags are then bit 4, from bit 8 the key's letter, from 16 the count."""

_FindingRow: TypeAlias = tuple[bytes, str, bytes, str]
"""The columns of _FINDING."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The report of one audit, and a persisted frame of its findings: `repair`, `kind`, `row`, `detail`."""

    report: AuditReport
    findings: DataFrame


def check(spark: SparkSession, settings: Settings, *, repair: bool) -> CheckReport:
    """Audit the whole table. With `repair`, repair on the workers, audit again, and move former rows.

    The check never deletes anything, and is safe while writers run. Raises StoreUnavailable, and
    ConfigurationError without a store. Errors of workers are PySparkExceptions.
    """
    with ExitStack() as persisted:
        return steps.check(_SparkAuditor(spark, settings, persisted), settings, repair=repair)


@dataclass(frozen=True)
class _SparkAuditor:
    """An `Auditor` on the workers; the frames that it makes are freed when `persisted` closes."""

    spark: SparkSession
    settings: Settings
    persisted: ExitStack
    audits: list[Audit] = field(default_factory=list)
    outcomes: list[DataFrame] = field(default_factory=list)

    def audit(self) -> AuditReport:
        """Audit the whole table once, as `Auditor`."""
        self.audits.append(audit(self.spark, self.settings, self.persisted))
        return self.audits[-1].report

    def repair(self) -> steps.Repaired:
        """Apply the repairs of the last audit on the workers, contents before runs, none a second time."""
        findings = self.audits[-1].findings
        for outcomes in self.outcomes:
            findings = findings.join(outcomes, "repair", "left_anti")
        # Sorted by the missing cells, so that references written together are near each other in the table.
        repairs = (
            findings.where(f.length("repair") > 0)
            .repartition(range_scan.partition_count(self.spark), "repair")
            .groupBy("repair")
            .agg(f.min("row").alias("row"))
            .sortWithinPartitions("row")
        )
        is_run = f.substring("repair", 1, len(layout.RUNS)) == f.lit(layout.RUNS)
        # A commit reads the datasets of its run from the content row, so all contents are repaired first.
        contents, runs = self._apply(repairs.where(~is_run)), self._apply(repairs.where(is_run))
        return steps.Repaired(contents.done + runs.done, contents.refused + runs.refused)

    def reasons(self, findings: Iterable[Finding]) -> Mapping[Repair, str]:
        """Return, by repair, why repairs in the findings were impossible, without the possible ones."""
        rows = [bytearray(finding.repair.row) for finding in findings if finding.repair.row]
        is_refused = f.col("reason").isNotNull() & f.col("repair").isin(rows)
        refused = [frame.where(is_refused).collect() for frame in self.outcomes] if rows else []
        return {Repair(bytes(row)): reason for outcomes in refused for row, reason in outcomes}

    def _apply(self, repairs: DataFrame) -> steps.Repaired:
        """Make the repairs of a frame, remember their outcomes, and return their numbers. Runs a job."""
        # Persisted, because computing them again would repair again.
        repaired = repairs.select("repair").mapInArrow(partial(_repair, settings=self.settings), _OUTCOMES)
        outcomes = persist(repaired, self.persisted)
        total, refused = outcomes.agg(f.count("*"), f.count("reason")).collect()[0]
        self.outcomes.append(outcomes)
        return steps.Repaired(total - refused, refused)


def _repair(batches: Iterator[pa.RecordBatch], *, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Apply, on a worker, the repairs in the column `repair`, again if the store is away; yield _OUTCOMES."""
    retrying = RETRY.retrying(StoreUnavailable)
    # A separate store with empty caches, because a worker's caches may contain damaged contents.
    table = open_store_table(settings, create=False)
    with closing(LineageStore(table, settings)) as store:
        for batch in batches:
            repairs = [Repair(row) for row in batch.column("repair").to_pylist()]
            refused = retrying(apply_repairs, table, store, repairs)
            yield to_batch([(repair.row, refused.get(repair)) for repair in repairs], _OUTCOMES)


def audit(spark: SparkSession, settings: Settings, persisted: ExitStack) -> Audit:
    """Audit the whole table once; closing `persisted` frees the findings.

    Raises StoreUnavailable, and ConfigurationError without a store.
    """
    started = time.monotonic()
    hashes = cell_hashes.merge_flags(spark, settings, [WHOLE_TABLE], hash_range=hash_rows)
    with ExitStack() as temporary:
        # Persisted, because several actions read the frame, and each would scan the table again.
        frame = persist(_mismatches_and_counts(hashes), temporary)
        rows, count = _count_rows(frame)
        explained = _explain(spark, settings, _mismatches(frame), count, temporary)
        findings = persist(explained.unionByName(_wrong_seals(spark, settings)), persisted)
        # The first action on the findings, which computes all of them while `frame` is persisted.
        numbers = findings.groupBy("kind").agg(f.count("*"), f.count_if(f.length("repair") > 0)).collect()
    report = AuditReport(
        counts={Kind(kind): number for kind, number, _ in numbers},
        examples=tuple(_examples(findings)) if numbers else (),
        repairable=sum(repairable for _, _, repairable in numbers),
        rows=rows,
        seconds=time.monotonic() - started,
    )
    return Audit(report, findings)


def _to_findings(findings: DataFrame) -> list[Finding]:
    """Return the rows of a frame like `Audit.findings`, collected, and sorted by kind, row and detail."""
    unsorted = [
        Finding(Kind(row["kind"]), bytes(row["row"]), row["detail"], Repair(bytes(row["repair"])))
        for row in findings.collect()
    ]
    return sorted(unsorted, key=lambda finding: (finding.kind.value, finding.row, finding.detail))


def _mismatches_and_counts(hashes: DataFrame) -> DataFrame:
    """Return hashes with a fault, hashes of cells only expected or only present, and the row counts."""
    flags = f.col("flags")
    missing = flags.bitwiseAND(EXPECTED | PRESENT) == EXPECTED
    fault_or_count = flags.bitwiseAND(FAULT | _COUNT) != 0
    return hashes.where(missing | fault_or_count | (flags == PRESENT))


def _is_count() -> Column:
    """Return the condition that a row of CELL_HASHES is a row count."""
    return f.col("flags").bitwiseAND(_COUNT) != 0


def _count_rows(frame: DataFrame) -> tuple[dict[str, int], int]:
    """Return the number of rows by the first letter of their keys, and the number of mismatches."""
    letter = f.when(_is_count(), f.shiftright("flags", _LETTER_BITS).bitwiseAND(0xFF))
    number = f.when(_is_count(), f.shiftright("flags", _COUNT_BITS)).otherwise(1)
    numbers: dict[Any, int] = dict(frame.groupBy(letter).agg(f.sum(number)).collect())
    mismatches = numbers.pop(None, 0)
    return {chr(code): numbers[code] for code in sorted(numbers)}, mismatches


def _mismatches(frame: DataFrame) -> DataFrame:
    """Return the hash and the kind of each mismatch: EXPECTED, PRESENT or FAULT."""
    flags = f.col("flags")
    missing_or_left = flags.bitwiseAND(EXPECTED | PRESENT)
    mismatch = f.when(flags.bitwiseAND(FAULT) != 0, FAULT).otherwise(missing_or_left)
    return frame.where(~_is_count()).select("hash", mismatch.cast("bigint").alias("mismatch"))


def _explain(
    spark: SparkSession, settings: Settings, mismatches: DataFrame, count: int, temporary: ExitStack
) -> DataFrame:
    """Scan again unless `count` is 0; return one finding, repairable if possible, for each that is real."""
    if not count:
        return spark.createDataFrame([], _HASHED_FINDING).drop("hash", "mismatch")
    read = partial(_recheck, suspected=cell_hashes.build_filter(mismatches, count=count))
    rechecked = range_scan.scan_ranges(spark, settings, [WHOLE_TABLE], read=read, schema=_HASHED_FINDING)
    exact = persist(rechecked.join(mismatches, ["hash", "mismatch"], "left_semi"), temporary)
    # The empty repair sorts first, so the greatest struct has a repair if one of them has.
    greatest = f.max(f.struct("repair", "kind", "row", "detail")).alias("finding")
    return _without_garbage(exact).groupBy("hash", "mismatch").agg(greatest).select("finding.*")


def _wrong_seals(spark: SparkSession, settings: Settings) -> DataFrame:
    """Return a lazy frame of _FINDING: sealed days of calendars whose number of runs is wrong."""
    key_range = ranges.prefix_range(layout.CALENDARS)
    return range_scan.scan_ranges(spark, settings, [key_range], read=_recount, schema=_FINDING)


def _without_garbage(findings: DataFrame) -> DataFrame:
    """Remove findings about missing catalogue rows that only unneeded contents name.

    Such a finding is expected, because garbage collection deletes the catalogue row before the contents.
    """
    contents = findings.where(f.col("kind") == Kind.CONTENT_WITHOUT_RUN.value)
    garbage = contents.select(f.col("row").alias("repair"), f.lit(Kind.MISSING_CATALOGUE.value).alias("kind"))
    return findings.join(garbage, ["repair", "kind"], "left_anti")


def _examples(findings: DataFrame) -> list[Finding]:
    """Return the first EXAMPLES findings of each kind, by row and detail. Runs a job of Spark."""
    number = f.row_number().over(Window.partitionBy("kind").orderBy("row", "detail"))
    return _to_findings(findings.withColumn("number", number).where(f.col("number") <= EXAMPLES))


def _recheck(
    table: Table, start: bytes, stop: bytes, *, suspected: HashFilter
) -> Iterator[tuple[int, int, bytes, str, bytes, str]]:
    """Yield the mismatches that a second read confirms, as hash, mismatch and finding."""
    rechecker = Rechecker(table, suspected)
    for page in pages(table.scan(start, stop)):
        for number, mismatch, finding in rechecker.findings(page):
            yield cell_hashes.to_signed(number), mismatch, *_to_row(finding)


def _recount(table: Table, start: bytes, stop: bytes) -> Iterator[_FindingRow]:
    """Yield, on a worker, the wrong seals in a range of calendars as _FINDING."""
    return map(_to_row, wrong_seals(table, table.scan(start, stop)))


def _to_row(finding: Finding) -> _FindingRow:
    """Return a finding as the columns of _FINDING."""
    return finding.repair.row, finding.kind.value, finding.row, finding.detail


def hash_rows(table: Table, start: bytes, stop: bytes) -> Iterator[pa.RecordBatch]:
    """Yield, as CELL_HASHES, the facts of the rows of a range, then row counts by first letter of the key."""
    collector, facts = FactCollector(table, once=True), RowFacts()
    letters: Counter[int] = Counter()
    for page in pages(table.scan(start, stop)):
        collector.collect(page, facts)
        letters.update(key[0] for key, _ in page)
        if len(facts.expected) + len(facts.present) + len(facts.optional) > cell_hashes.BATCH_HASHES:
            yield _hash_facts(facts)
            facts = RowFacts()
    yield _hash_facts(facts)
    # The start of the range makes the hash of a count unique: counts of two ranges are not merged.
    hashes = {cell_hashes.to_signed(text_hash(b"%b\n#%d" % (start, letter))): letter for letter in letters}
    flags = [_COUNT | letter << _LETTER_BITS | letters[letter] << _COUNT_BITS for letter in hashes.values()]
    yield cell_hashes.hash_batch(list(hashes), flags)


def _hash_facts(facts: RowFacts) -> pa.RecordBatch:
    """Return the facts of rows as a batch of CELL_HASHES."""
    return cell_hashes.flagged_batch(
        [(flag, list(map(text_hash, texts))) for flag, texts in facts.texts_by_flag()]
    )
