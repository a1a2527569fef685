"""Recording of documents by a route: they are stored, and noted for recent activity."""

from __future__ import annotations

from collections.abc import Sequence

from fll_hbase.ingest import ParsedDocument, RecordResult, ingest
from fll_hbase.model.runs import RecordedRun
from fll_hbase.runtime.errors import LineageError
from fll_hbase.store.lineage_store import LineageStore

from ..wire import notes
from ..wire.notes import NAME_CHARACTERS_MAX, TEXT_CHARACTERS_MAX, Note

TEXTS_MAX = 3
"""Warnings that a note has as texts; its `warnings` counts all of them."""


def ingest_documents(
    store: LineageStore, documents: Sequence[ParsedDocument | LineageError], *, take_over: bool = False
) -> list[RecordResult | LineageError]:
    """Record documents as `ingest` does, and note those that are accepted."""
    results = ingest(store, documents, take_over=take_over)
    notes.add(
        _accepted(document, result)
        for document, result in zip(documents, results, strict=True)
        if isinstance(document, ParsedDocument) and isinstance(result, RecordResult)
    )
    return results


def _accepted(document: ParsedDocument, result: RecordResult) -> Note:
    """Return the activity note of a recorded document: its first run or dataset, and its warnings."""
    namespace = program = run = ""
    if document.runs:
        first = document.runs[0]
        run = first.run.run if isinstance(first, RecordedRun) else first.run
        owner = first.run if isinstance(first, RecordedRun) else first
        namespace, program = owner.namespace, owner.program
    elif document.metadata:
        dataset = document.metadata[0].dataset
        namespace, program = dataset.namespace, dataset.name
    warnings = result.warnings
    return Note(
        outcome=result.outcome.value,
        namespace=namespace,
        program=program[:NAME_CHARACTERS_MAX],
        run=run[:NAME_CHARACTERS_MAX],
        warnings=sum(warning.count for warning in warnings),
        texts=tuple(str(warning)[:TEXT_CHARACTERS_MAX] for warning in warnings[:TEXTS_MAX]),
    )
