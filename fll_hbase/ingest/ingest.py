"""Recording of parsed documents: one pass of the store, one outcome for each document."""

from __future__ import annotations

from collections.abc import Sequence

from fll_hbase.errors import ConfigurationError, LineageError, StoreUnavailable
from fll_hbase.ingest.outcomes import ParsedDocument, RecordResult
from fll_hbase.model import event_operations, lineage, run_events
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.runs import RecordedRun
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.write.batching import RunInput
from fll_hbase.store.write.pending_run import CommitResult


def ingest(
    store: LineageStore, documents: Sequence[ParsedDocument | LineageError]
) -> list[RecordResult | LineageError]:
    """Record all runs in one call, then the metadata of accepted documents; return one result each, in order.

    An error among the documents is returned in its position. A document is refused with the error of its
    first refused run; its other runs may be stored, and sending it again is safe. Raises StoreUnavailable:
    then any of the documents may be stored, and sending all again is safe.
    """
    parsed = [document for document in documents if isinstance(document, ParsedDocument)]
    answers = iter(_record(store, [run for document in parsed for run in document.runs]))
    results = [
        _result(document, [next(answers) for _ in document.runs])
        if isinstance(document, ParsedDocument)
        else document
        for document in documents
    ]
    store.put_metadata(
        metadata for result in results if isinstance(result, RecordResult) for metadata in result.metadata
    )
    return results


def preview(run: RunInput) -> FieldLineageInfo:
    """Return the lineage that a run would be recorded with; stores nothing. Raises InvalidLineage.

    An event is treated as the only one of its run.
    """
    if isinstance(run, RecordedRun):
        return run.info
    # Lenient: lineage of other systems may lack a READ or a WRITE.
    event_lineage = run_events.decode_lineage(run.bodies[run.event.lineage_digest])
    return lineage.build_lineage_lenient(event_operations.build_operations(event_lineage))


def _record(store: LineageStore, runs: Sequence[RunInput]) -> Sequence[CommitResult | LineageError]:
    if len(runs) != 1:
        return store.record(runs)
    # A single run shares its commit with the single runs of other threads (group commit).
    try:
        return [store.record_one(runs[0])]
    # LineageErrors, too, but not faults of the run: the caller has to know that nothing is certain.
    except (StoreUnavailable, ConfigurationError):
        raise
    except LineageError as error:
        return [error]


def _result(
    document: ParsedDocument, answers: Sequence[CommitResult | LineageError]
) -> RecordResult | LineageError:
    runs = tuple(answer for answer in answers if isinstance(answer, CommitResult))
    if len(runs) == len(answers):
        return RecordResult(runs, document.metadata, document.warnings)
    return next(answer for answer in answers if isinstance(answer, LineageError))
