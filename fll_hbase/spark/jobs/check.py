"""Check of a whole table: every row has the rows that it refers to, and agrees with its key and its inputs.

Workers hash the cells that rows need and the cells that exist: one scan determines whether there is any
mismatch. Only then a second scan explains mismatches as findings, and reads each again, since writers may be
running. An error is missed if its hash equals that of another cell: one in 18 billion, in a table of a
billion cells (docs/decisions/0016-marks-not-keys.md).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import TypeAlias

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.config import Settings
from fll_hbase.spark import cell_hashes, range_scan
from fll_hbase.spark.jobs.check_report import AuditReport, CheckReport
from fll_hbase.spark.worker_store import worker_table
from fll_hbase.store.factory import open_store
from fll_hbase.store.maintenance.audit.expectations import EXPECTED, FAULT, PRESENT, RowFacts, text_hash
from fll_hbase.store.maintenance.audit.findings import Finding, Kind, Repair
from fll_hbase.store.maintenance.audit.recheck import Mismatches, Rechecker
from fll_hbase.store.maintenance.audit.repair import apply_repairs, next_repairs
from fll_hbase.store.maintenance.audit.row_facts import FactCollector, pages
from fll_hbase.tables import Table

WHOLE_TABLE = b"", b"\xff"
MISMATCHES_MAX = 100_000
"""Mismatches that are explained; of more only the number is reported."""

FINDING = "hash bigint, repair binary, kind string, row binary, detail string"

_COUNT, _LETTER_BITS, _COUNT_BITS = 16, 8, 16
"""Row counts are sent as hashes: flags are then bit 4, from bit 8 the key's letter, from 16 the count."""

HashedFinding: TypeAlias = tuple[int, bytes, str, bytes, str]
"""The columns of FINDING."""


def check(spark: SparkSession, settings: Settings, *, repair: bool) -> CheckReport:
    """Audit the whole table; with `repair`, repair and audit again until nothing more can be repaired.

    Nothing is ever deleted. Safe beside running writers. Raises StoreUnavailable.
    """
    first_audit = last_audit = audit(spark, settings)
    tried: set[Repair] = set()
    refusals: dict[Repair, str] = {}
    # Contents are repaired before the runs that need them, so several rounds may be necessary; `tried` ends
    # them where a repair does not help.
    while repair and (repairs := next_repairs(last_audit.findings, tried)):
        refusals |= _repair(settings, repairs)
        tried |= repairs
        last_audit = audit(spark, settings)
    return CheckReport(first_audit, last_audit, repair, refusals)


def audit(spark: SparkSession, settings: Settings) -> AuditReport:
    """Audit the whole table once. Raises StoreUnavailable."""
    started = time.monotonic()
    hashes = cell_hashes.merge_flags(spark, settings, [WHOLE_TABLE], hash_range=_hash_rows)
    # Persisted, since it is collected and counted: without, the second action would scan the table again.
    frame = mismatches(hashes).persist(StorageLevel.DISK_ONLY)
    try:
        rows, numbers, unexplained = _collect(frame)
    finally:
        frame.unpersist()
    findings = _explain(spark, settings, numbers) if any(numbers) else []
    return AuditReport(tuple(findings), rows, unexplained, time.monotonic() - started)


def mismatches(hashes: DataFrame) -> DataFrame:
    """Select faults, cells expected but not present or present but not expected, and row counts."""
    flags = f.col("flags")
    missing = flags.bitwiseAND(EXPECTED | PRESENT) == EXPECTED
    fault_or_count = flags.bitwiseAND(FAULT | _COUNT) != 0
    return hashes.where(missing | fault_or_count | _superfluous())


def _superfluous() -> Column:
    return f.col("flags") == PRESENT


def _collect(frame: DataFrame) -> tuple[dict[str, int], Mismatches, int]:
    """Return the number of rows by letter, up to MISMATCHES_MAX mismatches, and the number of others.

    Counts come first, then errors, then superfluous cells, which are mostly notes.
    """
    is_hash = f.col("flags").bitwiseAND(_COUNT) == 0
    # Limited here: a table with every row damaged must not fill the memory of the driver.
    collected = frame.orderBy(is_hash, _superfluous()).limit(MISMATCHES_MAX).collect()
    unexplained = frame.count() - len(collected) if len(collected) == MISMATCHES_MAX else 0
    letters: Counter[str] = Counter()
    by_flag: dict[int, set[int]] = {EXPECTED: set(), PRESENT: set(), FAULT: set()}
    for number, flags in collected:
        if flags & _COUNT:
            letters[chr(flags >> _LETTER_BITS & 0xFF)] += flags >> _COUNT_BITS
        else:
            flag = FAULT if flags & FAULT else flags & (EXPECTED | PRESENT)
            by_flag[flag].add(cell_hashes.to_unsigned(number))
    numbers = Mismatches(*map(frozenset, (by_flag[EXPECTED], by_flag[PRESENT], by_flag[FAULT])))
    return dict(sorted(letters.items())), numbers, unexplained


def _explain(spark: SparkSession, settings: Settings, numbers: Mismatches) -> list[Finding]:
    """Scan again for the rows of mismatches; return one finding for each hash, a repairable one if any is."""
    read = partial(_recheck, numbers=numbers)
    hashed = range_scan.scan_ranges(spark, settings, [WHOLE_TABLE], read=read, schema=FINDING)
    # The empty repair sorts first, so the greatest struct has a repair if one of them has.
    greatest = f.max(f.struct("repair", "kind", "row", "detail")).alias("finding")
    rows = [row["finding"] for row in hashed.groupBy("hash").agg(greatest).collect()]
    findings = [
        Finding(Kind(row["kind"]), bytes(row["row"]), row["detail"], Repair(bytes(row["repair"])))
        for row in rows
    ]
    return sorted(findings, key=lambda finding: (finding.kind.value, finding.row, finding.detail))


def _recheck(table: Table, start: bytes, stop: bytes, *, numbers: Mismatches) -> Iterator[HashedFinding]:
    rechecker = Rechecker(table, numbers)
    for page in pages(table.scan(start, stop)):
        for number, finding in rechecker.findings(page):
            yield (
                cell_hashes.to_signed(number),
                finding.repair.row,
                finding.kind.value,
                finding.row,
                finding.detail,
            )


def _hash_rows(table: Table, start: bytes, stop: bytes) -> Iterator[pa.RecordBatch]:
    """Yield the facts of the rows of a range as hashes, then the number of rows of each letter."""
    collector, facts = FactCollector(table, once=True), RowFacts()
    letters: Counter[int] = Counter()
    for page in pages(table.scan(start, stop)):
        collector.collect(page, facts)
        letters.update(key[0] for key, _ in page)
        if len(facts.expected) + len(facts.present) > cell_hashes.BATCH_HASHES:
            yield _hash_facts(facts)
            facts = RowFacts()
    yield _hash_facts(facts)
    # The start of the range makes the hash of a count unique: counts of two ranges are not merged.
    hashes = {cell_hashes.to_signed(text_hash(b"%b\n#%d" % (start, letter))): letter for letter in letters}
    flags = [_COUNT | letter << _LETTER_BITS | letters[letter] << _COUNT_BITS for letter in hashes.values()]
    yield cell_hashes.hash_batch(list(hashes), flags)


def _hash_facts(facts: RowFacts) -> pa.RecordBatch:
    return cell_hashes.flagged_batch(
        [(flag, list(map(text_hash, texts))) for flag, texts in facts.texts_by_flag()]
    )


def _repair(settings: Settings, repairs: set[Repair]) -> dict[Repair, str]:
    store = open_store(settings)
    # Repairs go through a store of their own, whose caches start empty.
    try:
        return apply_repairs(worker_table(settings), store, repairs)
    finally:
        store.close()
