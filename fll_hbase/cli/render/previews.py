"""Dry runs of documents as text: the lineage that would be recorded for each run."""

from __future__ import annotations

from collections.abc import Iterator

from fll_hbase.queries.acknowledgements import DocumentPreview
from fll_hbase.queries.lineage import LineageEntry
from fll_hbase.runtime.escape import escape_control

PAIRS_MAX = 20
"""Maximum number of printed field pairs of two datasets."""


def preview_lines(preview: DocumentPreview, line: int) -> Iterator[str]:
    """Yield a line for each run of the document that begins at `line`, and below it its lineage."""
    if not preview.runs:
        yield f"line {line}: no lineage"
    for run in preview.runs:
        noun = "operation" if len(run.operations) == 1 else "operations"
        yield f"line {line}: {len(run.operations):,} {noun}, checksum {run.checksum}"
        for entry in run.lineage:
            yield from map(escape_control, _entry_lines(entry))
        if run.truncated_by:
            yield f"    not complete: bounded by {', '.join(run.truncated_by)}"


def _entry_lines(entry: LineageEntry) -> Iterator[str]:
    """Yield the ends of an entry, and below them its first field pairs."""
    source, destination = entry.ends()
    yield f"  {source} → {destination}{': fields unknown' if entry.has_no_fields else ''}"
    for pair in entry.fieldmap[:PAIRS_MAX]:
        mark = "" if pair.influence == "direct" else f" ({pair.influence})"
        yield f"    {pair.source or '(generated)'} → {pair.destination or '(dropped)'}{mark}"
    if len(entry.fieldmap) > PAIRS_MAX:
        yield f"    and {len(entry.fieldmap) - PAIRS_MAX:,} more"
