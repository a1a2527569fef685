"""Reports of the check job: JSON members for programs, lines of text for users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fll_hbase.store.maintenance.audit.findings import NO_REPAIR, Finding, Kind, Repair

EXAMPLES = 10
"""Number of findings shown for each kind."""

_TEXT_MAX = 300


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The result of one audit: findings by kind, the first EXAMPLES of each, and rows by key letter.

    `examples` are sorted by kind and row; `repairable` is the number of repairable findings.
    """

    counts: Mapping[Kind, int]
    examples: tuple[Finding, ...]
    repairable: int
    rows: Mapping[str, int]
    seconds: float

    @property
    def total(self) -> int:
        """Return the number of rows."""
        return sum(self.rows.values())

    @property
    def per_second(self) -> float:
        """Return rows per second of the audit."""
        return self.total / max(self.seconds, 0.001)

    def count_errors(self) -> dict[str, int]:
        """Return the number of errors by kind, leaving out kinds without errors."""
        return self._count(errors=True)

    def count_notes(self) -> dict[str, int]:
        """Return the number of notes, which are not errors, by kind."""
        return self._count(errors=False)

    def example_texts(self) -> dict[str, list[str]]:
        """Return the texts of the examples, at most _TEXT_MAX characters each, by kind."""
        texts: dict[str, list[str]] = {}
        for finding in self.examples:
            texts.setdefault(finding.kind.value, []).append(_describe(finding))
        return texts

    def left(self) -> list[Finding]:
        """Return the first EXAMPLES examples of errors and unfinished runs, repairable or not."""
        left = [item for item in self.examples if item.kind.is_error or item.kind is Kind.UNFINISHED]
        return left[:EXAMPLES]

    def _count(self, *, errors: bool) -> dict[str, int]:
        """Return the number of findings by kind, in the order of Kind, for all errors or all notes."""
        return {
            kind.value: self.counts[kind] for kind in Kind if kind in self.counts and kind.is_error is errors
        }


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The audits before and after repairs, or the same audit twice without repairs.

    `repaired` rows were written again, `refused` ones could not be; `refusals` explains remaining examples.
    """

    first_audit: AuditReport
    last_audit: AuditReport
    repair: bool
    repaired: int = 0
    refused: int = 0
    refusals: Mapping[Repair, str] = field(default_factory=dict)

    @property
    def errors_left(self) -> int:
        """Return the number of errors in the last audit, after repairs if there were any."""
        return sum(self.last_audit.count_errors().values())

    def summary(self) -> dict[str, Any]:
        """Return the report as JSON members."""
        # Programs read these member names, so they stay, even where the rest of the code uses other words.
        audit = self.first_audit
        members: dict[str, Any] = {
            "job": "check",
            "rows": dict(audit.rows),
            "wrong": audit.count_errors(),
            "notes": audit.count_notes(),
            "examples": audit.example_texts(),
            "seconds": round(audit.seconds, 1),
            "rows_per_second": round(audit.per_second),
        }
        if self.repair:
            members["repaired"] = self.repaired
            members["refused"] = self.refused
            members["left"] = self.last_audit.count_errors()
            members["left_notes"] = self.last_audit.count_notes()
            members["not_mended"] = self._not_repaired()
        return members

    def __str__(self) -> str:
        """Return the report as lines of text: numbers, examples, repairs and what is left."""
        audit = self.first_audit
        lines = [f"{audit.total:,} rows in {audit.seconds:.0f} s, {audit.per_second:,.0f} per second"]
        lines += _count_lines("error", audit.count_errors(), audit.example_texts())
        lines += _count_lines("note", audit.count_notes(), audit.example_texts())
        if self.repair:
            lines.append(f"{self.repaired:,} rows repaired, {self.refused:,} not repairable")
            lines += _count_lines("left", self.last_audit.count_errors(), {})
            lines += [f"  not repaired: {line}" for line in self._not_repaired()]
        errors = "1 error" if self.errors_left == 1 else f"{self.errors_left:,} errors"
        lines.append(errors if self.errors_left else "no errors")
        return "\n".join(lines)

    def _not_repaired(self) -> list[str]:
        """Return kind, key and detail of each finding that is left, and why it was not repaired, if known."""
        texts = []
        for finding in self.last_audit.left():
            no_copy = "no other copy" if finding.repair == NO_REPAIR else ""
            reason = self.refusals.get(finding.repair, no_copy)
            texts.append(f"{finding.kind.value}: {_describe(finding)}" + (f" ({reason})" if reason else ""))
        return texts


def _describe(finding: Finding) -> str:
    """Return key and detail of a finding as text, at most _TEXT_MAX characters."""
    key = finding.row.decode(errors="backslashreplace")
    return f"{key}: {finding.detail}"[:_TEXT_MAX] if finding.detail else key[:_TEXT_MAX]


def _count_lines(
    label: str, counts: Mapping[str, int], examples: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Yield for each kind a line with its label and number, followed by its examples, indented."""
    for kind, count in counts.items():
        yield f"{label}: {count:,} {kind}"
        yield from (f"    {text}" for text in examples.get(kind, ()))
