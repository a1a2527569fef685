"""Numbers of a retention job by kind of row: what it deleted, or would delete."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from fll_hbase.keys import layout

RUNS = "runs"
KINDS = {
    **dict.fromkeys(layout.REFERENCES, "references"),
    layout.WAYS: "ways",
    layout.CALENDARS: "calendar cells",
    layout.RUN_INDEX: "run index rows",
    layout.CONTENTS: "contents",
    layout.EVENT_BODIES: "parts",
}
"""Members of the report's `counts`, by key prefix; the names are those of the first release."""

DATASETS = "end points"
FORMER_INDEXES = "index rows of earlier releases"
_LABELS = {"parts": "event bodies", DATASETS: "datasets"}


@dataclass(frozen=True, slots=True)
class RetentionReport:
    """Deleted rows or cells by kind, and their bytes before compression; with `dry_run`, what would be.

    `waiting` is what would also be deleted if it were older than the grace period; of a dry run only.
    """

    dry_run: bool
    counts: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    seconds: float = 0.0

    def summary(self) -> dict[str, Any]:
        """Return the report as JSON members."""
        return {"job": "retention", **asdict(self), "seconds": round(self.seconds, 1)}

    def __str__(self) -> str:
        verb = "would delete" if self.dry_run else "deleted"
        size = f"about {self.bytes / 2**20:,.1f} MiB, in {self.seconds:.0f} s"
        waiting = f"; in the grace period: {_describe(self.waiting)}" if any(self.waiting.values()) else ""
        return f"{verb} {_describe(self.counts)}; {size}{waiting}"


def _describe(counts: dict[str, int]) -> str:
    texts = [f"{count:,} {_LABELS.get(kind, kind)}" for kind, count in counts.items() if count]
    return ", ".join(texts) or "nothing"
