"""Recording of parsed documents: one pass of the store, one outcome per document."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from fll_hbase.ingest.outcomes import ParsedDocument, RecordResult
from fll_hbase.model import event_operations, lineage, run_events
from fll_hbase.model.datasets import DatasetMetadata
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.runs import RecordedRun
from fll_hbase.runtime import metrics
from fll_hbase.runtime.errors import (
    ConfigurationError,
    ErrorList,
    FieldError,
    LineageError,
    RunIdConflict,
    StoreUnavailable,
)
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.results import CommitResult
from fll_hbase.store.write.batching import RunInput

_log = logging.getLogger(__name__)


def ingest(
    store: LineageStore, documents: Sequence[ParsedDocument | LineageError], *, take_over: bool = False
) -> list[RecordResult | LineageError]:
    """Record all runs in one call, then the metadata of accepted documents; return one result each, in order.

    With `take_over`, runs are recorded even if another program recorded their id. Otherwise such a document
    is refused with RunIdConflict.

    An error among the documents is returned in its position. A document is refused with the error of its
    first refused run. Its other runs may be stored, and sending it again is safe. A refused statement is only
    a warning. Raises StoreUnavailable, ConfigurationError, CorruptRow for a damaged file (a single run gets
    it as its result), and TooLarge for metadata that no cell can hold. Any of the documents may then be
    stored, and sending all again is safe.
    """
    answers = iter(_record(store, _runs(documents, take_over=take_over)))
    results = [
        _result(store, document, [next(answers) for _ in (*document.runs, *document.statements)])
        if isinstance(document, ParsedDocument)
        else document
        for document in documents
    ]
    for document, result in zip(documents, results, strict=True):
        if isinstance(document, ParsedDocument) and isinstance(result, RecordResult) and document.on_recorded:
            document.on_recorded()
    accepted = [result for result in results if isinstance(result, RecordResult)]
    metadata = [item for result in accepted for item in result.metadata]
    if metadata and any(result.runs for result in accepted):
        # The latest type or description of a field is valid, so the metadata has to be later than the runs.
        # Do not wait for the clock to advance, which may take very long if it is set back.
        time.sleep(0.001)
    if metadata:
        store.put_metadata(metadata)
    for outcome, count in Counter([result.outcome.value for result in accepted]).items():
        metrics.DOCUMENTS.add(count, outcome)
    _report_warnings(accepted)
    return results


def _report_warnings(accepted: Sequence[RecordResult]) -> None:
    """Count the warnings of recorded documents in the metrics, and log only their number."""
    warned = [result.warnings for result in accepted if result.warnings]
    if warned:
        count = sum(warning.count for warnings in warned for warning in warnings)
        metrics.WARNINGS.add(count)
        # The texts contain names from the documents; the sender receives them.
        _log.info("%d documents recorded with %d warnings", len(warned), count)


def preview(run: RunInput) -> FieldLineageInfo:
    """Return the lineage that a run would be recorded with; stores nothing. Raises InvalidLineage.

    The event is treated as the only one of its run.
    """
    if isinstance(run, RecordedRun):
        return run.info
    # Lenient, because lineage of other systems may lack a READ or a WRITE.
    event_lineage = run_events.decode_lineage(run.bodies[run.event.lineage_digest])
    return lineage.build_lineage_lenient(event_operations.build_operations(event_lineage))


def find_conflicts(
    store: LineageStore, documents: Sequence[ParsedDocument | LineageError], *, take_over: bool = False
) -> list[RunIdConflict | None]:
    """Return for each document the run id conflict for which `ingest` would refuse it, else None.

    Events of runs have none. Stores nothing. Raises StoreUnavailable, ConfigurationError and CorruptRow.
    """
    runs = [run for run in _runs(documents, take_over=take_over) if isinstance(run, RecordedRun)]
    conflicts = iter(store.find_conflicts(runs) if runs else ())
    first: list[RunIdConflict | None] = []
    for document in documents:
        parsed = (*document.runs, *document.statements) if isinstance(document, ParsedDocument) else ()
        owners = [next(conflicts) for run in parsed if isinstance(run, RecordedRun)]
        first.append(next((conflict for conflict in owners if conflict is not None), None))
    return first


def _runs(documents: Sequence[ParsedDocument | LineageError], *, take_over: bool) -> list[RunInput]:
    """Return the runs of all documents in order; documents' own runs take over run ids if `take_over`."""
    parsed = [document for document in documents if isinstance(document, ParsedDocument)]
    runs = [run for document in parsed for run in (*document.runs, *document.statements)]
    if not take_over:
        return runs
    return [replace(run, replaces_others=True) if isinstance(run, RecordedRun) else run for run in runs]


def _record(store: LineageStore, runs: Sequence[RunInput]) -> Sequence[CommitResult | LineageError]:
    """Record runs; return a result or error for each, in order.

    Raises StoreUnavailable, ConfigurationError, and CorruptRow for a damaged file, which is returned instead
    for a single run.
    """
    if len(runs) != 1:
        return store.record(runs)
    # A single run shares its commit with the single runs of other threads (group commit).
    try:
        return [store.record_one(runs[0])]
    # These are LineageErrors but not faults of the run. The caller must learn that the outcome is uncertain.
    except (StoreUnavailable, ConfigurationError):
        raise
    except LineageError as error:
        return [error]


def _result(
    store: LineageStore, document: ParsedDocument, answers: Sequence[CommitResult | LineageError]
) -> RecordResult | LineageError:
    """Return a document's result, or the first error of its runs; warn of refused statements and tags."""
    recorded, stated = answers[: len(document.runs)], answers[len(document.runs) :]
    runs = tuple(answer for answer in recorded if isinstance(answer, CommitResult))
    if not (stated or document.metadata) and len(runs) == len(recorded):
        return RecordResult(runs, (), document.warnings)
    if len(runs) < len(recorded):
        return next(answer for answer in recorded if isinstance(answer, LineageError))
    refused = [answer for answer in stated if isinstance(answer, LineageError)]
    warnings = (
        FieldError("inputs", f"metadata of this dataset is not recorded: {error}") for error in refused
    )
    untagged = ErrorList(_tag_warnings(store, document.metadata))
    return RecordResult(runs, document.metadata, (*document.warnings, *warnings, *untagged))


def _tag_warnings(store: LineageStore, metadata: Iterable[DatasetMetadata]) -> Iterator[FieldError]:
    """Yield a warning for each dataset with tags that the store does not record from this principal."""
    for item in metadata:
        if item.tags and not store.may_tag(item.dataset):
            needed = f"the role `steward` on namespace {item.dataset.namespace!r}"
            yield FieldError("tags", f"the tags of {item.dataset} are not recorded: this needs {needed}")
