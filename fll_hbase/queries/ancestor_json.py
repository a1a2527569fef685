"""Answers of the ancestor's routes: its members and words, `incoming` and `outgoing`, over our results.

The shapes are those of CDAP's lineage API; docs/ancestor-cases.md lists what differs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.masking import is_hidden, is_hidden_operation
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write, inputs_of, outputs_of
from fll_hbase.model.runs import ProgramRun
from fll_hbase.model.window import BOTH, Direction, Window
from fll_hbase.queries import name_json
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.read.field_programs import FieldPrograms, PerformedOperations
from fll_hbase.store.read.field_summaries import DatasetSummary, RelatedDataset, RelatedFields

DIRECTIONS = {"incoming": Direction.BACKWARD, "outgoing": Direction.FORWARD}
"""The ancestor's words for the directions: fields that come in from upstream, and that go out downstream."""

_PROGRAM = ("namespace", "application", "version", "type", "program")
_WORDS = {direction: word for word, direction in DIRECTIONS.items()}


def field_names(names: Iterable[str], *, written: Collection[str]) -> list[Json]:
    """Return fields by name, with `lineage` for those that runs of the window wrote."""
    return [{"name": name, "lineage": name in written} for name in names]


def field_summary(related: Mapping[Direction, RelatedFields]) -> Json:
    """Return the fields that a field comes from and leads to, in the directions of the query, by dataset."""
    body: Json = {_WORDS[direction]: _by_dataset(result.fields) for direction, result in related.items()}
    return _truncatable(body, related.values())


def field_operations(programs: Mapping[Direction, FieldPrograms]) -> Json:
    """Return the operations of a field and their programs; only the directions of the query."""
    body: Json = {
        _WORDS[direction]: [_performed(item) for item in result.performed]
        for direction, result in programs.items()
    }
    return _truncatable(body, programs.values())


def dataset_summary(
    dataset: Dataset, window: Window, directions: Sequence[Direction], summary: DatasetSummary
) -> Json:
    """Return the relations of all fields of a dataset; `start-ts` and `end-ts` are in milliseconds."""
    word = "both" if len(directions) == len(BOTH) else _WORDS[directions[0]]
    body: Json = {
        "direction": word.upper(),
        "start-ts": window.start_ms,
        "end-ts": window.stop_ms,
        "entityId": _dataset_id(dataset),
        "fields": list(summary.fields),
        "incoming": [_related_dataset(item) for item in summary.incoming],
        "outgoing": [_related_dataset(item) for item in summary.outgoing],
    }
    return _truncatable(body, [summary])


def _truncatable(body: Json, results: Iterable[RelatedFields | FieldPrograms | DatasetSummary]) -> Json:
    """Return the body with `truncated`, and the limits that cut any of the results."""
    limits = sorted({limit for result in results for limit in result.truncated_by})
    return body | {"truncated": bool(limits)} | ({"truncatedBy": limits} if limits else {})


def _by_dataset(fields: Sequence[DatasetField]) -> list[Json]:
    return [
        {
            "dataset": _dataset_id(dataset),
            "fields": [] if is_hidden(dataset) else [field.name for field in group],
        }
        for dataset, group in groupby(fields, key=lambda field: field.dataset)
    ]


def _dataset_id(dataset: Dataset) -> Json:
    if is_hidden(dataset):
        return name_json.dataset(dataset) | {"entity": "DATASET"}
    return {"namespace": dataset.namespace, "dataset": dataset.name, "entity": "DATASET"}


def _related_dataset(item: RelatedDataset) -> Json:
    relations = [{"source": source, "destination": destination} for source, destination in item.relations]
    return {"entityId": _dataset_id(item.dataset), "fieldCount": item.fields, "relations": relations}


def _performed(item: PerformedOperations) -> Json:
    return {
        "programs": [_program(run) for run in item.last_runs],
        "operations": [
            _operation(operation) for operation in item.operations if not is_hidden_operation(operation.name)
        ],
    }


def _program(run: ProgramRun) -> Json:
    program = name_json.program(run, _PROGRAM) | {"entity": "PROGRAM"}
    # Whole seconds, rounded down, as the ancestor has them.
    return {"program": program, "lastExecutedTimeInSeconds": run.start_ms // 1000}


def _operation(operation: Operation) -> Json:
    inputs: Json = {"fields": [_input(item) for item in inputs_of(operation)]}
    outputs: Json = {"fields": [field.name for field in outputs_of(operation)]}
    match operation:
        case Read():
            inputs = {"endPoint": name_json.dataset(operation.source)}
        case Write():
            outputs = {"endPoint": name_json.dataset(operation.destination)}
        case Transform():
            pass
    return {
        "name": operation.name,
        "description": operation.description,
        "inputs": inputs,
        "outputs": outputs,
    }


def _input(item: InputField) -> Json:
    if is_hidden_operation(item.origin):
        return {"hidden": name_json.hidden_number(item.origin)}
    return {"origin": item.origin, "name": item.name}
