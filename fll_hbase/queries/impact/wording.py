"""The words in which an impact is shown: kinds, statuses, and what is downstream."""

from __future__ import annotations

from collections.abc import Mapping

from fll_hbase.queries.impact.downstream import Downstream
from fll_hbase.queries.reports.report_document import count_text

FIELD_TITLES: Mapping[str, str] = {
    "removed": "Removed fields",
    "renamed": "Renamed fields",
    "retyped": "Fields with another type",
    "rows": "All rows of a dataset: filter, join, grouping or sort",
    "derived": "Fields made in another way",
    "literals": "Other literals in the SQL: any value or row may differ",
    "unknown": "Datasets whose new fields are unknown",
    "added": "New fields",
}
"""Titles of changes by kind, the most severe first."""

STATUS_TEXTS: Mapping[str, str] = {
    "removed": "no longer in the change, so nothing writes these datasets",
    "unknown": "of which some fields are unknown: these are not known to be unchanged",
    "unrecorded": "without a recorded run in the window: nothing was compared",
    "not_compiled": "without compiled SQL in the change: nothing was compared",
    "compared": "compared completely",
}
"""What the status of programs means, after their number."""

_COUNTED: Mapping[str, str] = {
    "removed": "removed",
    "renamed": "renamed",
    "retyped": "other type",
    "rows": "other rows",
    "derived": "made in another way",
    "literals": "other literals",
    "unknown": "unknown",
    "added": "new",
}


def count_kinds(counts: Mapping[str, int]) -> str:
    """Return the number of changes by kind, such as `removed: 2, other rows: 1`, or that there are none."""
    if not counts:
        return "No change of compared programs"
    return ", ".join(f"{word}: {counts[kind]:,}" for kind, word in _COUNTED.items() if kind in counts)


def downstream_text(downstream: Downstream | None) -> str:
    """Return how many fields, datasets and programs are downstream, or `new or not read` for None."""
    if downstream is None:
        return "new or not read"
    counts = (
        count_text(downstream.field_count, "field"),
        count_text(len(downstream.datasets), "dataset"),
        count_text(len(downstream.programs), "program"),
    )
    return f"{', '.join(counts)} downstream"
