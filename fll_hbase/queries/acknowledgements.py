"""Answers to documents: the lineage that was or would be recorded, with errors and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType

import msgspec

from fll_hbase.model.checksum import operation_to_dict
from fll_hbase.model.datasets import DatasetMetadata
from fll_hbase.model.field_relations import all_relations
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.window import Direction
from fll_hbase.queries import name_json
from fll_hbase.queries.lineage import LineageEntry, lineage_entry
from fll_hbase.queries.query import Fault
from fll_hbase.runtime import typed_json
from fll_hbase.runtime.config import DEFAULTS
from fll_hbase.runtime.errors import FieldError
from fll_hbase.runtime.json_types import Json
from fll_hbase.store import results
from fll_hbase.store.results import CommitResult, sort_entries


def recorded_run(result: CommitResult, warnings: Sequence[FieldError] = ()) -> Json:
    """Return the acknowledgement of one run; `replaced` and `warnings` are present only if there are any."""
    body: Json = {"checksum": result.checksum, "run": result.run, "recorded": result.recorded}
    if result.replaced:
        body["replaced"] = True
    if warnings:
        body["warnings"] = field_errors(warnings)
    return body


def recorded_metadata(metadata: Sequence[DatasetMetadata], warnings: Sequence[FieldError] = ()) -> Json:
    """Return the acknowledgement of a document that describes datasets and no run."""
    endpoints = [name_json.dataset(item.dataset) for item in metadata]
    warned = {"warnings": field_errors(warnings)} if warnings else {}
    return {"recorded": bool(metadata), "endpoints": endpoints, **warned}


def event_batch_summary(
    received: int,
    refused: Mapping[int, Json],
    *,
    unread: int = 0,
    warned: Mapping[int, Sequence[FieldError]] = MappingProxyType({}),
) -> Json:
    """Return the result of a batch of `received` events.

    `refused` has problems and `warned` the warnings of recorded events, both by the index of the event. If
    `unread` is not 0, the last problem represents that many events.
    """
    failed = [
        {
            "index": number,
            "reason": problem["detail"],
            "retriable": problem["status"] == HTTPStatus.SERVICE_UNAVAILABLE,
            "problem": problem,
        }
        for number, problem in refused.items()
    ]
    retriable = sum(event["retriable"] for event in failed)
    failures = len(failed) + max(0, unread - 1)
    accepted = received - failures
    warned_events = [{"index": number, "warnings": field_errors(warned[number])} for number in warned]
    # The shape of OpenLineage's batch API; `accepted`, `refused` and `warned_events` are additions.
    return {
        "status": "success" if not failed else "partial_success" if accepted else "failure",
        "summary": {
            "received": received,
            "successful": accepted,
            "failed": failures,
            "retriable": retriable,
            "non_retriable": failures - retriable,
        },
        "accepted": accepted,
        "refused": failures,
        "failed_events": failed,
        **({"warned_events": warned_events} if warned_events else {}),
    }


def dry_run(info: FieldLineageInfo, warnings: Sequence[FieldError] = ()) -> Json:
    """Return the operations, the checksum and the lineage of one hop that would be recorded for a run.

    `truncated` and `truncatedBy` are present only if the default of FLL_PAIRS_MAX cut the lineage.
    """
    # The default bound, so that the command line, which knows no settings of a server, has the same answer.
    lineage = all_relations(info.field_map, pairs_max=DEFAULTS.pairs_max)
    # Each pair of datasets is listed once, as forward. Generated fields have no source, so they are backward.
    entries = [
        results.LineageEntry(
            relation, 1, Direction.BACKWARD if relation.source is None else Direction.FORWARD
        )
        for relation in lineage.by_datasets.values()
    ]
    body: Json = {
        "operations": [operation_to_dict(operation) for operation in info.operations],
        "checksum": info.checksum,
        "lineage": msgspec.to_builtins([lineage_entry(entry) for entry in sort_entries(entries)]),
        "warnings": field_errors(warnings),
    }
    if lineage.truncated_by:
        body |= {"truncated": True, "truncatedBy": sorted(lineage.truncated_by)}
    return body


class RunPreview(msgspec.Struct, frozen=True, rename="camel"):
    """The lineage that would be recorded for one run, as `dry_run` returns it, without warnings."""

    checksum: str
    operations: tuple[Json, ...]
    lineage: tuple[LineageEntry, ...]
    truncated_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentPreview:
    """The runs with operations that a document would record, and its warnings."""

    runs: tuple[RunPreview, ...]
    warnings: tuple[FieldError, ...] = ()


def document_preview(runs: Iterable[Json], warnings: Sequence[FieldError]) -> DocumentPreview:
    """Return the preview of a document from the dry runs of its runs. Raises msgspec.ValidationError."""
    previews = (typed_json.convert(run, RunPreview) for run in runs)
    return DocumentPreview(tuple(run for run in previews if run.operations), tuple(warnings))


def field_errors(errors: Iterable[FieldError]) -> list[Json]:
    """Return errors or warnings as objects with the path in `at`."""
    faults: list[Json] = msgspec.to_builtins([Fault.from_error(error) for error in errors])
    return faults
