"""Audit of a whole table in one process, in bounded memory: a temporary database has hashes and findings.

The audit uses the same scans, hashes and findings as `fll_hbase/spark/jobs/check.py`, which uses
workers.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from fll_hbase.keys import layout, ranges
from fll_hbase.runtime.config import Settings
from fll_hbase.store.factory import open_store_table
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit.check import WHOLE_TABLE, Repaired, apply_repairs
from fll_hbase.store.maintenance.audit.check_report import EXAMPLES, AuditReport
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
from fll_hbase.store.maintenance.audit.hash_filter import filter_of
from fll_hbase.store.maintenance.audit.recheck import Rechecker
from fll_hbase.store.maintenance.audit.row_facts import FactCollector, KeyedRow, pages
from fll_hbase.tables import Table, scratch_database

REPAIRS_AT_ONCE = 200
"""Number of rows written again per call."""

_SIGN, _HASHES = 2**63, 2**64

Progress = Callable[[int, str], None]
"""Called with the number of rows processed by the current step, and a description of the step."""

_TABLES = """
CREATE TABLE hashes (hash INTEGER, flags INTEGER);
CREATE TABLE mismatches (hash INTEGER PRIMARY KEY, mismatch INTEGER);
CREATE TABLE explained (hash INTEGER, repair BLOB, kind TEXT, row BLOB, detail TEXT);
CREATE TABLE findings (repair BLOB, kind TEXT, row BLOB, detail TEXT);
CREATE TABLE outcomes (repair BLOB PRIMARY KEY, reason TEXT) WITHOUT ROWID;
"""
_FIND_MISMATCHES = f"""
INSERT INTO mismatches
SELECT hash, CASE WHEN fault THEN {FAULT} ELSE expected | present END FROM (
    SELECT hash, max(flags & {EXPECTED}) AS expected, max(flags & {PRESENT}) AS present,
        max(flags & {FAULT}) AS fault, max(flags) AS flags
    FROM hashes GROUP BY hash
) WHERE fault OR (expected AND NOT present) OR (flags = {PRESENT} AND NOT expected)
"""
_ADD_EXPLAINED = """
INSERT INTO explained SELECT hash, ?3, ?4, ?5, ?6 FROM mismatches WHERE hash = ?1 AND mismatch = ?2
"""
# One finding per hash, if possible with a repair: the empty repair sorts first. Catalogue cells missing
# for contents that no run needs are left out, because the catalogue is deleted before such contents.
_ADD_FINDINGS = f"""
INSERT INTO findings SELECT repair, kind, row, detail FROM (
    SELECT *, row_number() OVER (
        PARTITION BY hash ORDER BY repair DESC, kind DESC, row DESC, detail DESC
    ) AS number FROM explained
    WHERE kind != '{Kind.MISSING_CATALOGUE.value}'
        OR repair NOT IN (SELECT row FROM explained WHERE kind = '{Kind.CONTENT_WITHOUT_RUN.value}')
) WHERE number = 1
"""
_COUNT = "SELECT kind, count(*), sum(length(repair) > 0) FROM findings GROUP BY kind"
_EXAMPLES = f"""
SELECT kind, row, detail, repair FROM (
    SELECT *, row_number() OVER (PARTITION BY kind ORDER BY row, detail) AS number FROM findings
) WHERE number <= {EXAMPLES} ORDER BY kind, row, detail
"""
# Sorted by missing text, because references put together are then near each other in the table.
_REPAIRS = """
CREATE TABLE repairs AS SELECT repair, substr(repair, 1, 2) = ?1 AS is_run FROM findings
WHERE length(repair) > 0 AND repair NOT IN (SELECT repair FROM outcomes)
GROUP BY repair ORDER BY is_run, min(row)
"""


@contextmanager
def local_auditor(settings: Settings, *, report: Progress) -> Iterator[LocalAuditor]:
    """Yield the auditor of the configured store. Raises ConfigurationError, CorruptRow, StoreUnavailable."""
    with closing(open_store_table(settings, create=False)) as table, scratch_database() as scratch:
        yield LocalAuditor(table, settings, scratch, report)


class LocalAuditor:
    """An `Auditor` in one process; `scratch` is a connection to an empty temporary database."""

    def __init__(self, table: Table, settings: Settings, scratch: Any, report: Progress) -> None:
        self._table = table
        self._settings = settings
        self._scratch = scratch
        self._report = report
        scratch.executescript(_TABLES)

    def audit(self) -> AuditReport:
        """Audit the whole table once, as in `Auditor`."""
        started = time.monotonic()
        for name in ("hashes", "mismatches", "explained", "findings"):
            self._scratch.execute(f"DELETE FROM {name}")
        rows = self._hash_rows()
        self._scratch.execute(_FIND_MISMATCHES)
        self._scratch.execute("DELETE FROM hashes")
        self._explain()
        calendars = self._scan(ranges.prefix_range(layout.CALENDARS), "counting the runs of sealed days")
        self._scratch.executemany(
            "INSERT INTO findings VALUES (?, ?, ?, ?)", map(_to_columns, wrong_seals(self._table, calendars))
        )
        numbers = self._scratch.execute(_COUNT).fetchall()
        return AuditReport(
            counts={Kind(kind): number for kind, number, _ in numbers},
            examples=tuple(
                Finding(Kind(kind), row, detail, Repair(repair))
                for kind, row, detail, repair in self._scratch.execute(_EXAMPLES)
            ),
            repairable=sum(repairable for _, _, repairable in numbers),
            rows=rows,
            seconds=time.monotonic() - started,
        )

    def repair(self) -> Repaired:
        """Apply the repairs of the last audit that no earlier call tried, as in `Auditor`."""
        self._scratch.execute("DROP TABLE IF EXISTS repairs")
        self._scratch.execute(_REPAIRS, [layout.RUNS])
        done = refused = 0
        # Use another store, with empty caches: the caches of the audit may contain damaged contents.
        table = open_store_table(self._settings, create=False)
        with closing(LineageStore(table, self._settings)) as store:
            todo = self._scratch.execute("SELECT repair FROM repairs ORDER BY rowid")
            while rows := todo.fetchmany(REPAIRS_AT_ONCE):
                repairs = [Repair(row) for (row,) in rows]
                reasons = apply_repairs(table, store, repairs)
                self._scratch.executemany(
                    "INSERT INTO outcomes VALUES (?, ?)", ((key.row, reasons.get(key)) for key in repairs)
                )
                refused += len(reasons)
                done += len(repairs) - len(reasons)
                self._report(done + refused, f"{done:,} rows repaired, {refused:,} not repairable")
        return Repaired(done, refused)

    def reasons(self, findings: Iterable[Finding]) -> Mapping[Repair, str]:
        """Return why the repairs of given findings were impossible, as in `Auditor`."""
        select = "SELECT reason FROM outcomes WHERE repair = ? AND reason IS NOT NULL"
        return {
            finding.repair: reason
            for finding in findings
            for (reason,) in self._scratch.execute(select, [finding.repair.row])
        }

    def _hash_rows(self) -> dict[str, int]:
        """Put the hashes of the facts of all rows; return the number of rows by key letter."""
        collector = FactCollector(self._table, once=True)
        letters: Counter[int] = Counter()
        for page in pages(self._scan(WHOLE_TABLE, "comparing")):
            facts = RowFacts()
            collector.collect(page, facts)
            letters.update(key[0] for key, _ in page)
            for flag, texts in facts.texts_by_flag():
                rows = ((_signed(text_hash(text)), flag) for text in texts)
                self._scratch.executemany("INSERT INTO hashes VALUES (?, ?)", rows)
        return {chr(code): letters[code] for code in sorted(letters)}

    def _explain(self) -> None:
        """Scan again for the rows of the mismatches, if any, and put one finding for each."""
        (count,) = self._scratch.execute("SELECT count(*) FROM mismatches").fetchone()
        if not count:
            return
        hashes = (number for (number,) in self._scratch.execute("SELECT hash FROM mismatches"))
        rechecker = Rechecker(self._table, filter_of(hashes, count=count))
        for page in pages(self._scan(WHOLE_TABLE, "explaining")):
            for number, mismatch, finding in rechecker.findings(page):
                self._scratch.execute(_ADD_EXPLAINED, [_signed(number), mismatch, *_to_columns(finding)])
        self._scratch.execute(_ADD_FINDINGS)

    def _scan(self, key_range: layout.Range, step: str) -> Iterator[KeyedRow]:
        """Yield the rows of a range, and report their number."""
        for number, keyed in enumerate(self._table.scan(*key_range), start=1):
            if not number % 1_000:
                self._report(number, f"{number:,} rows, {step}")
            yield keyed


def _signed(number: int) -> int:
    """Return an unsigned 64-bit hash as the signed number with the same bits: SQLite has only signed ones."""
    return number - _HASHES if number >= _SIGN else number


def _to_columns(finding: Finding) -> tuple[bytes, str, bytes, str]:
    """Return a finding as the columns of the table of findings."""
    return finding.repair.row, finding.kind.value, finding.row, finding.detail
