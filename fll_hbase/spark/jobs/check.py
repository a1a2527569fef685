"""Does a table agree with itself: every row is asked what it needs and what it is, and all answers meet.

What rows say becomes 64-bit marks, so that no key travels: one scan tells whether anything is wrong. Only
where marks do not agree a second scan tells what it is in words; and then it is read once more, since the
table is in use. A fault is hidden by another cell of the same mark: one of 18 billion, with a billion cells.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase.config import Settings
from fll_hbase.spark import cell_hashes, range_scan
from fll_hbase.store.factory import open_store
from fll_hbase.store.maintenance.audit import repair as mending
from fll_hbase.store.maintenance.audit.expectations import EXPECTED, PRESENT, FAULT, RowFacts, text_hash
from fll_hbase.store.maintenance.audit.findings import NOTHING, Finding, Kind, Mend
from fll_hbase.store.maintenance.audit.recheck import Confirming, Differing
from fll_hbase.store.maintenance.audit.row_facts import Auditor, pages
from fll_hbase.tables import Table

WHOLE = b"", b"\xff"
DIFFERING_MAX = 100_000
"""So many marks that do not agree are told in words; of more, only how many there are."""

EXAMPLES = 10
FINDING = "mark bigint, mend binary, kind string, row binary, detail string"

_COUNT, _LETTER_BITS, _COUNT_BITS = 16, 8, 16
"""A mark may also stand for how many rows of a letter a range holds: this bit, the letter, the number."""

_WORDS_MAX = 300

Marked: TypeAlias = tuple[int, bytes, str, bytes, str]


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What one look at a table found; `more` marks that do not agree were not told in words."""

    findings: tuple[Finding, ...]
    rows: Mapping[str, int]
    unexplained: int
    seconds: float

    @property
    def total(self) -> int:
        """How many rows there are."""
        return sum(self.rows.values())

    @property
    def per_second(self) -> float:
        """Rows, in a second."""
        return self.total / max(self.seconds, 0.001)

    def counts(self, *, wrong: bool) -> dict[str, int]:
        """How many there are of each kind, of what is wrong or of notes."""
        kinds = Counter(one.kind for one in self.findings if one.kind.wrong is wrong)
        return {kind.value: kinds[kind] for kind in Kind if kinds[kind]}

    def examples(self) -> dict[str, list[str]]:
        """The first few of each kind, in words."""
        told: dict[str, list[str]] = {}
        for one in self.findings:
            some = told.setdefault(one.kind.value, [])
            if len(some) < EXAMPLES:
                some.append(_words(one))
        return told


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What was found, what is left of it after a repair, and why."""

    first_audit: AuditReport
    last_audit: AuditReport
    repair: bool
    refusals: Mapping[Mend, str] = field(default_factory=dict)

    @property
    def errors_left(self) -> int:
        """How many faults are left."""
        return sum(self.last_audit.counts(wrong=True).values())

    def summary(self) -> dict[str, Any]:
        """For a program."""
        said: dict[str, Any] = {
            "job": "check",
            "rows": dict(self.first_audit.rows),
            "wrong": self.first_audit.counts(wrong=True),
            "notes": self.first_audit.counts(wrong=False),
            "examples": self.first_audit.examples(),
            "more": self.first_audit.unexplained,
            "seconds": round(self.first_audit.seconds, 1),
            "rows_per_second": round(self.first_audit.per_second),
        }
        if self.repair:
            said["left"] = self.last_audit.counts(wrong=True)
            said["left_notes"] = self.last_audit.counts(wrong=False)
            said["not_mended"] = self._not_mended()
        return said

    def __str__(self) -> str:
        found = self.first_audit
        lines = [f"{found.total:,} rows in {found.seconds:.0f} s, {found.per_second:,.0f} a second"]
        lines += _told("wrong", found.counts(wrong=True), found.examples())
        lines += _told("note", found.counts(wrong=False), found.examples())
        if found.unexplained:
            lines.append(f"{found.unexplained:,} more were not looked at")
        if self.repair:
            lines += _told("left", self.last_audit.counts(wrong=True), {})
            lines += [f"  cannot be mended: {line}" for line in self._not_mended()]
        lines.append(f"{self.errors_left:,} wrong" if self.errors_left else "nothing is wrong")
        return "\n".join(lines)

    def _not_mended(self) -> list[str]:
        left = [one for one in self.last_audit.findings if one.kind.wrong or one.kind is Kind.UNFINISHED]
        return [_reason(one, self.refusals) for one in left[:EXAMPLES]]


def check(spark: SparkSession, settings: Settings, *, repair: bool) -> CheckReport:
    """Look at the whole table; mend what can be mended, and look again. Nothing is ever deleted.

    Safe beside running writers. Raises StoreUnavailable.
    """
    found = left = audit(spark, settings)
    tried: set[Mend] = set()
    refused: dict[Mend, str] = {}
    while repair and (mends := mending.due(left.findings, tried)):
        refused |= _mended(settings, mends)
        tried |= mends
        left = audit(spark, settings)
    return CheckReport(found, left, repair, refused)


def audit(spark: SparkSession, settings: Settings) -> AuditReport:
    """One look at the whole table."""
    began = time.monotonic()
    differing = mismatches(cell_hashes.merge_flags(spark, settings, [WHOLE], tell=_marks)).persist(
        StorageLevel.DISK_ONLY
    )
    try:
        rows, numbers, more = _collected(differing)
    finally:
        differing.unpersist()
    findings = _findings(spark, settings, numbers) if any(numbers) else []
    return AuditReport(tuple(findings), rows, more, time.monotonic() - began)


def mismatches(met: DataFrame) -> DataFrame:
    """The marks of which what is said does not agree; and counts, which stand alone."""
    said = f.col("said")
    missing = said.bitwiseAND(EXPECTED | PRESENT) == EXPECTED
    told = said.bitwiseAND(FAULT | _COUNT) != 0
    return met.where(missing | told | (said == PRESENT))


def _collected(differing: DataFrame) -> tuple[dict[str, int], Differing, int]:
    """How many rows of each letter there are; marks that do not agree, what is wrong before what is left
    over; and how many there are beyond.
    """
    said = f.col("said")
    kept = differing.orderBy(said.bitwiseAND(_COUNT) == 0, said == PRESENT).limit(DIFFERING_MAX).collect()
    more = differing.count() - len(kept) if len(kept) == DIFFERING_MAX else 0
    letters: Counter[str] = Counter()
    by_side: dict[int, set[int]] = {EXPECTED: set(), PRESENT: set(), FAULT: set()}
    for number, side in kept:
        if side & _COUNT:
            letters[chr(side >> _LETTER_BITS & 0xFF)] += side >> _COUNT_BITS
        else:
            by_side[FAULT if side & FAULT else side & (EXPECTED | PRESENT)].add(cell_hashes.to_unsigned(number))
    numbers = Differing(*map(frozenset, (by_side[EXPECTED], by_side[PRESENT], by_side[FAULT])))
    return dict(sorted(letters.items())), numbers, more


def _findings(spark: SparkSession, settings: Settings, numbers: Differing) -> list[Finding]:
    """What marks that do not agree stand for, one finding each; one that can be mended before others."""
    read = partial(_confirmed, numbers=numbers)
    told = range_scan.scan_ranges(spark, settings, [WHOLE], read=read, schema=FINDING)
    one = f.max(f.struct("mend", "kind", "row", "detail")).alias("one")
    found = [row["one"] for row in told.groupBy("mark").agg(one).collect()]
    findings = [
        Finding(Kind(row["kind"]), bytes(row["row"]), row["detail"], Mend(bytes(row["mend"])))
        for row in found
    ]
    return sorted(findings, key=lambda finding: (finding.kind.value, finding.row, finding.detail))


def _confirmed(table: Table, start: bytes, stop: bytes, *, numbers: Differing) -> Iterator[Marked]:
    confirming = Confirming(table, numbers)
    for page in pages(table.scan(start, stop)):
        for number, one in confirming.findings(page):
            yield cell_hashes.to_signed(number), one.mend.row, one.kind.value, one.row, one.detail


def _marks(table: Table, start: bytes, stop: bytes) -> Iterator[pa.RecordBatch]:
    """What the rows of a range say, as marks, and how many rows there are."""
    auditor, said = Auditor(table, once=True), RowFacts()
    letters: Counter[int] = Counter()
    for page in pages(table.scan(start, stop)):
        auditor.tell(page, said)
        letters.update(key[0] for key, _ in page)
        if len(said.expected) + len(said.present) > cell_hashes.BATCH_HASHES:
            yield _batch(said)
            said = RowFacts()
    yield _batch(said)
    counts = {cell_hashes.to_signed(text_hash(b"%b\n#%d" % (start, letter))): letter for letter in letters}
    said_of = [_COUNT | letter << _LETTER_BITS | letters[letter] << _COUNT_BITS for letter in counts.values()]
    yield cell_hashes.hash_batch(list(counts), said_of)


def _batch(said: RowFacts) -> pa.RecordBatch:
    return cell_hashes.flagged_batch([(side, list(map(text_hash, texts))) for side, texts in said.texts_by_flag()])


def _mended(settings: Settings, mends: set[Mend]) -> dict[Mend, str]:
    table, store = range_scan.worker_table(settings), open_store(settings)
    try:
        return mending.mend(table, store, mends)
    finally:
        store.close()


def _words(one: Finding) -> str:
    key = one.row.decode(errors="backslashreplace")
    return f"{key}: {one.detail}"[:_WORDS_MAX] if one.detail else key[:_WORDS_MAX]


def _told(what: str, counts: Mapping[str, int], examples: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for kind, count in counts.items():
        yield f"{what}: {count:,} {kind}"
        yield from (f"    {line}" for line in islice(examples.get(kind, ()), EXAMPLES))


def _reason(one: Finding, refused: Mapping[Mend, str]) -> str:
    why = refused.get(one.mend, "" if one.mend != NOTHING else "nothing here says what it was")
    return f"{one.kind.value}: {_words(one)}" + (f" ({why})" if why else "")
