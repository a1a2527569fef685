"""How do answers look: values of the store to the JSON of the REST contract, for API and command line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus

from fll_hbase.errors import FieldError
from fll_hbase.json_types import Json
from fll_hbase.model.checksum import operation_to_dict
from fll_hbase.model.datasets import Dataset, DatasetMetadata
from fll_hbase.model.field_relations import DatasetLineage, DatasetLineageSet, dataset_relations
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operation_graph import Node, NodeId, OperationGraph
from fll_hbase.model.operations import (
    Influence,
    Operation,
    Read,
    Transform,
    Write,
    dataset_of,
    inputs_of,
    outputs_of,
    type_of,
)
from fll_hbase.model.run_events import EventRunFacts
from fll_hbase.model.runs import ProgramRun, State
from fll_hbase.model.window import DAY_MS, Direction, Window
from fll_hbase.store.lineage_store import BOTH
from fll_hbase.store.read.catalogue import CatalogueDataset, CatalogueField, SearchHit
from fll_hbase.store.read.traversal import sort_entries
from fll_hbase.store.results import (
    DatasetLineageResult,
    Derivations,
    FieldLineageResult,
    LineageEntry,
    ListedRun,
    RunDetails,
)
from fll_hbase.store.write.pending_run import CommitResult

WHOLE = "*"
DRY_RUN_PAIRS_MAX = 250_000

SILENT_MS = DAY_MS
"""A run that was not heard of for so long is not said to run, whether or not it ever ended."""


def dataset_lineage(answer: DatasetLineageResult) -> list[Json]:
    """The entries of a high-level question."""
    return [_entry(entry) for entry in answer.entries]


def field_lineage(answer: FieldLineageResult) -> Json:
    """The graph of a detailed question, in either view."""
    graph = answer.graph
    body: Json = {
        "nodes": sorted((_node(node) for node in graph.nodes.values()), key=lambda node: node["id"]),
        "operations": [_operation(name, graph.operations[name]) for name in sorted(graph.operations)],
        "connections": sorted(
            _connections(graph), key=lambda said: (said["from"], said["to"], said["operation"])
        ),
        "checksums": list(answer.checksums),
        "truncated": bool(answer.truncated_by),
    }
    if answer.truncated_by:
        body["truncatedBy"] = list(answer.truncated_by)
    return body


def field_derivations(field: str, window: Window, answer: Derivations) -> Json:
    """The paths of the first design's question."""
    body: Json = {
        "fieldName": field,
        "startTimeInSeconds": _seconds(window.start_ms),
        "endTimeInSeconds": _seconds(window.stop_ms),
        "paths": [
            {"operations": [_step(operation) for operation in way.operations], "runs": list(way.runs)}
            for way in answer.derivations
        ],
        "truncated": bool(answer.truncated_by),
    }
    if answer.truncated_by:
        body["truncatedBy"] = list(answer.truncated_by)
    return body


def run(listed: ListedRun, *, now_ms: int) -> Json:
    """One line of a list of runs."""
    body = _run(listed.run, now_ms)
    body["checksum"] = listed.checksum
    body["direction"] = "both" if len(listed.directions) == len(BOTH) else next(iter(listed.directions)).value
    return body


def run_details(told: RunDetails, *, now_ms: int) -> Json:
    """All that was told of one run."""
    body = _run(told.committed.run, now_ms)
    body |= {name: fact for name, fact in _details(told.committed.run).items() if name not in body}
    body["checksum"] = told.committed.checksum
    if told.part is None:
        return body
    if told.part.sql:
        body["sql"] = told.part.sql
    for facts in told.facts:
        body |= _facts(facts)
    physical = sorted({name for facts in told.facts for name in facts.physical_names})
    if physical:
        body["physicalNames"] = [
            {"namespace": namespace, "name": name, "physicalName": of} for namespace, name, of in physical
        ]
    body["events"] = [{"eventTime": event.time_ms, "eventType": event.type.value} for event in told.events]
    return body


def _run(of: ProgramRun, now_ms: int) -> Json:
    """A run in lists; one that never ended and was not heard of for long has no state."""
    details = _details(of)
    body: Json = {
        "run": of.run,
        "namespace": of.namespace,
        "application": of.application,
        "version": of.version,
        "type": of.type,
        "program": of.program,
        "startTime": of.start_ms,
    }
    if of.state is not State.RUNNING or now_ms - details.get("lastEventTime", now_ms) < SILENT_MS:
        body["state"] = of.state.value
    return body | {name: details[name] for name in ("parent", "lastEventTime") if name in details}


def _details(of: ProgramRun) -> Json:
    return dict(json.loads(of.details)) if of.details else {}


def _facts(facts: EventRunFacts) -> Json:
    said = {
        "parentJob": _job(facts.parent),
        "root": _job(facts.root),
        "nominalStartTime": facts.nominal_start,
        "nominalEndTime": facts.nominal_end,
        "errorMessage": facts.error,
    }
    return {name: fact for name, fact in said.items() if fact}


def _job(reference: tuple[str, str, str] | None) -> Json | None:
    if reference is None:
        return None
    namespace, name, run = reference
    return {"namespace": namespace, "name": name, "run": run}


def dataset(catalogued: CatalogueDataset) -> Json:
    """One line of a list of end points."""
    body: Json = _end_point(catalogued.dataset)
    if catalogued.description:
        body["description"] = catalogued.description
    return body


def field(catalogued: CatalogueField) -> Json:
    """One line of a list of fields."""
    body: Json = {"name": catalogued.name}
    if catalogued.type:
        body["type"] = catalogued.type
    return {**body, "read": catalogued.read, "written": catalogued.written}


def search_hit(result: SearchHit) -> Json:
    """One search result."""
    body: Json = _end_point(result.dataset)
    if result.field:
        body["field"] = result.field
    return body


def recorded_run(answer: CommitResult, warnings: Sequence[FieldError] = ()) -> Json:
    """The acknowledgement of one run."""
    body: Json = {"checksum": answer.checksum, "run": answer.run, "recorded": answer.recorded}
    if answer.replaced:
        body["replaced"] = True
    if warnings:
        body["warnings"] = field_errors(warnings)
    return body


def recorded_metadata(schemas: Sequence[DatasetMetadata]) -> Json:
    """The acknowledgement of what told of end points alone, and of no run."""
    return {"recorded": bool(schemas), "endpoints": [_end_point(schema.dataset) for schema in schemas]}


def event_batch_summary(received: int, refused: Mapping[int, Json]) -> Json:
    """The summary of a batch of events, as OpenLineage has it, with the problem of each that was refused."""
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
    accepted = received - len(failed)
    return {
        "status": "success" if not failed else "partial_success" if accepted else "failure",
        "summary": {
            "received": received,
            "successful": accepted,
            "failed": len(failed),
            "retriable": retriable,
            "non_retriable": len(failed) - retriable,
        },
        "accepted": accepted,
        "refused": len(failed),
        "failed_events": failed,
    }


def dry_run(info: FieldLineageInfo, warnings: Sequence[FieldError] = ()) -> Json:
    """What would be recorded: each pair of end points once, as forward; generated ones as backward."""
    forward = [_relations(info, source, Direction.FORWARD) for source in info.sources]
    backward = [_relations(info, destination, Direction.BACKWARD) for destination in info.destinations]
    entries = [
        LineageEntry(relation, 1, Direction.FORWARD)
        for found in forward
        for relation in found.by_datasets.values()
    ]
    entries += [
        LineageEntry(relation, 1, Direction.BACKWARD)
        for found in backward
        for relation in found.by_datasets.values()
        if relation.source is None
    ]
    body: Json = {
        "operations": [operation_to_dict(operation) for operation in info.operations],
        "checksum": info.checksum,
        "lineage": [_entry(entry) for entry in sort_entries(entries)],
        "warnings": field_errors(warnings),
    }
    if any(found.truncated for found in (*forward, *backward)):
        body |= {"truncated": True, "truncatedBy": [f"pairs_max={DRY_RUN_PAIRS_MAX}"]}
    return body


def field_errors(said: Iterable[FieldError]) -> list[Json]:
    """Faults and warnings, each with its place."""
    return [{"at": fault.path, "detail": fault.detail} for fault in said]


def _relations(info: FieldLineageInfo, of: Dataset, direction: Direction) -> DatasetLineageSet:
    backward = direction is Direction.BACKWARD
    return dataset_relations(info.field_map, of, backward=backward, pairs_max=DRY_RUN_PAIRS_MAX)


def _entry(entry: LineageEntry) -> Json:
    relation = entry.relation
    body: Json = {
        "source": None if relation.source is None else _end_point(relation.source),
        "destination": None if relation.destination is None else _end_point(relation.destination),
        "fieldmap": _pairs(relation),
        "level": entry.level,
        "direction": entry.direction.value,
    }
    if relation.unknown:
        body["unknown"] = True
    return body


def _pairs(relation: DatasetLineage) -> list[Json]:
    indirect = relation.indirect - relation.direct
    keyed = [((start or "", end or "", ""), {"from": start, "to": end}) for start, end in relation.direct]
    keyed += [
        ((start or "", end or "", ""), {"from": start, "to": end, "influence": Influence.INDIRECT.value})
        for start, end in indirect
    ]
    keyed += [
        (
            (start, WHOLE, "dataset"),
            {"from": start, "to": WHOLE, "influence": Influence.INDIRECT.value, "scope": "dataset"},
        )
        for start in relation.dataset_wide
    ]
    return [pair for _, pair in sorted(keyed, key=lambda item: item[0])]


def _end_point(of: Dataset) -> Json:
    return {"namespace": of.namespace, "name": of.name}


def _node_id(node: NodeId) -> str:
    origin, name = node
    return f"{origin}.{name.replace('%', '%25').replace('.', '%2E')}"


def _node(node: Node) -> Json:
    body: Json = {"id": _node_id(node.id), "label": node.id[1]}
    if node.type:
        body["type"] = node.type
    if node.source is not None:
        body["sourceEndPoint"] = _end_point(node.source)
    destinations = [_end_point(of) for of in sorted(node.destinations)]
    if destinations:
        body["destinationEndPoint"] = destinations[0]
    if len(destinations) > 1:
        body["destinationEndPoints"] = destinations
    return body


def _operation(name: str, operation: Operation) -> Json:
    body: Json = {"name": name, "description": operation.description, "type": type_of(operation)}
    of = dataset_of(operation)
    if of is not None:
        body["endPoint"] = _end_point(of)
    return body


def _connections(graph: OperationGraph) -> Iterable[Json]:
    for (start, end, name), influence in graph.connections.items():
        yield _connection(start, end, influence, {"operation": name})
    for (start, end), way in graph.paths.items():
        said = {"operation": ", ".join(way.operations), "operations": list(way.operations)}
        yield _connection(start, end, way.influence, said)


def _connection(start: NodeId, end: NodeId, influence: Influence, said: Json) -> Json:
    body = {"from": _node_id(start), "to": _node_id(end), **said}
    if influence is Influence.INDIRECT:
        body["influence"] = influence.value
    return body


def _step(operation: Operation) -> Json:
    match operation:
        case Read():
            inputs = [operation.source.name]
        case Transform() | Write():
            inputs = [taken.name for taken in inputs_of(operation)]
    return {
        "inputs": inputs,
        "outputs": [output.name for output in outputs_of(operation)],
        "name": operation.name,
        "description": operation.description,
    }


def _seconds(milliseconds: int) -> int | float:
    return milliseconds // 1000 if milliseconds % 1000 == 0 else milliseconds / 1000
