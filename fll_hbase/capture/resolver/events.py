"""OpenLineage run events of writes."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from fll_hbase.capture.resolver.dataset_names import DatasetName
from fll_hbase.capture.resolver.dump import Application, Execution
from fll_hbase.capture.resolver.plan_lineage import Direct
from fll_hbase.capture.resolver.table_changes import ALTER
from fll_hbase.runtime.json_types import Json

PRODUCER = "https://github.com/fll-hbase/fll_hbase/capture"
_SPEC = "https://openlineage.io/spec"
_SCHEMA_URL = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS = {
    "columnLineage": "1-2-0/ColumnLineageDatasetFacet",
    "jobType": "2-0-3/JobTypeJobFacet",
    "lifecycleStateChange": "1-0-1/LifecycleStateChangeDatasetFacet",
    "parent": "1-0-1/ParentRunFacet",
    "processing_engine": "1-1-1/ProcessingEngineRunFacet",
    "schema": "1-1-1/SchemaDatasetFacet",
    "symlinks": "1-0-1/SymlinksDatasetFacet",
    "errorMessage": "1-0-1/ErrorMessageRunFacet",
}


class FieldInput(NamedTuple):
    """One input of a field: a field of a dataset, and its use. `kind` is a subtype of OpenLineage."""

    dataset: DatasetName
    field: str
    type: str
    kind: str
    description: str = ""
    masked: bool = False


@dataclass(frozen=True, slots=True)
class WriteEvent:
    """Everything about one write. `fields` is None if its lineage is unknown.

    `types` has the types of the output's columns by name, `types_read` of each input's; "" is unknown.
    """

    application: Application
    execution: Execution
    output: DatasetName
    inputs: tuple[DatasetName, ...] = ()
    fields: dict[str, tuple[FieldInput, ...]] | None = None
    rows: tuple[FieldInput, ...] = ()
    lifecycle: str = ""
    previous: DatasetName | None = None
    types: dict[str, str] = field(default_factory=dict)
    types_read: dict[DatasetName, dict[str, str]] = field(default_factory=dict)
    is_stream: bool = False


DIRECT_KINDS = tuple(kind.name for kind in Direct)


def to_json(event: WriteEvent, namespace: str) -> Json:
    """Return a COMPLETE event, or FAIL after an error; the same write always has the same run id."""
    application, execution = event.application, event.execution
    read = _fields_read(event)
    written = event.types | {name: "" for name in event.fields or () if name not in event.types}
    return {
        "eventType": "FAIL" if execution.error else "COMPLETE",
        "eventTime": _time(execution.end),
        "producer": PRODUCER,
        "schemaURL": _SCHEMA_URL,
        "run": {
            "runId": run_id(application, execution.id, event.output.namespace, event.output.name),
            "facets": _run_facets(event, namespace),
        },
        "job": {
            "namespace": namespace,
            "name": job_name(application.name, event.output.name),
            "facets": {
                "jobType": _facet(
                    "jobType",
                    processingType="STREAMING" if event.is_stream else "BATCH",
                    integration="SPARK",
                    jobType="SQL_JOB",
                )
            },
        },
        "inputs": [_dataset(name, read.get(name, {})) for name in event.inputs],
        "outputs": [_dataset(event.output, written, _output_facets(event))],
    }


def run_id(application: Application, *parts: object) -> str:
    """Return an id that depends only on the application, its start and `parts`."""
    text = "\0".join(str(part) for part in (application.id, application.start, *parts))
    return str(uuid.uuid5(uuid.NAMESPACE_URL, text))


def job_name(application: str, output: str) -> str:
    """Return `{application}.write.{tail}`; the tail is the last two parts of the path, joined by `_`."""
    tail = "_".join([part for part in output.split("/") if part][-2:])
    return f"{application}.write.{tail}"


def _run_facets(event: WriteEvent, namespace: str) -> Json:
    """Return the facets of a run: parent run, version of Spark, start, and error if there is one."""
    application = event.application
    facets = {
        "parent": _facet(
            "parent",
            run={"runId": run_id(application)},
            job={"namespace": namespace, "name": application.name},
        ),
        "processing_engine": _facet("processing_engine", version=application.version, name="spark"),
        "fll_capture": {
            "_producer": PRODUCER,
            "_schemaURL": _SCHEMA_URL,
            "started": _time(event.execution.start),
        },
    }
    if event.execution.error:
        facets["errorMessage"] = _facet(
            "errorMessage", message=event.execution.error, programmingLanguage="JVM"
        )
    return facets


def _output_facets(event: WriteEvent) -> Json:
    """Return the facets of an output: column lineage if `fields` is not None, and any lifecycle change."""
    facets = {}
    if event.fields is not None:
        facets["columnLineage"] = _facet(
            "columnLineage",
            fields={name: {"inputFields": _inputs(inputs)} for name, inputs in event.fields.items()},
            dataset=_inputs(event.rows),
        )
    if event.lifecycle:
        change: Json = {"lifecycleStateChange": event.lifecycle}
        if event.previous is not None:
            change["previousIdentifier"] = {
                "namespace": event.previous.namespace,
                "name": event.previous.name,
            }
        facets["lifecycleStateChange"] = _facet("lifecycleStateChange", **change)
    return facets


def _inputs(inputs: Iterable[FieldInput]) -> list[Json]:
    """Return the inputs by dataset and field, in order of first use, each with all its transformations."""
    grouped: dict[tuple[DatasetName, str], tuple[Json, ...]] = {}
    for item in inputs:
        key = item.dataset, item.field
        transformation = _transformation(item.type, item.kind, item.description, masked=item.masked)
        grouped[key] = (*grouped[key], transformation) if key in grouped else (transformation,)
    return [
        {"namespace": dataset.namespace, "name": dataset.name, "field": name, "transformations": items}
        for (dataset, name), items in grouped.items()
    ]


# Equal members share one object: for wide tables, garbage collection took most of the time.
@lru_cache(maxsize=1_000)
def _transformation(type_: str, kind: str, description: str, *, masked: bool) -> Json:
    return {"type": type_, "subtype": kind, "description": description, "masking": masked}


def _fields_read(event: WriteEvent) -> dict[DatasetName, dict[str, str]]:
    """Return the columns of each input with their types, including nested fields; {} for an ALTER."""
    if event.lifecycle == ALTER:
        # The only input is the table itself, which now has the columns of the output.
        return {}
    fields = {name: dict(types) for name, types in event.types_read.items()}
    for inputs in (*(event.fields or {}).values(), event.rows):
        for item in inputs:
            fields.setdefault(item.dataset, {}).setdefault(item.field, "")
    return fields


def _dataset(name: DatasetName, types: Mapping[str, str], facets: Json | None = None) -> Json:
    """Return a dataset of an event with `facets` and, if it has any, its columns and its symlink."""
    facets = dict(facets or {})
    if types:
        facets["schema"] = _facet("schema", fields=[_field(*item) for item in types.items()])
    if name.symlink is not None:
        identifier = {"namespace": name.symlink[0], "name": name.symlink[1], "type": "TABLE"}
        facets["symlinks"] = _facet("symlinks", identifiers=[identifier])
    return {"namespace": name.namespace, "name": name.name, "facets": facets}


@lru_cache(maxsize=50_000)
def _field(name: str, type_: str) -> Json:
    """Return a field of a schema, without a type if `type_` is "". Cached: callers must not change it."""
    return {"name": name, "type": type_} if type_ else {"name": name}


def _facet(facet: str, /, **members: object) -> Json:
    """Return a facet of _FACETS with its members, producer and schema URL."""
    version, _, definition = _FACETS[facet].partition("/")
    url = f"{_SPEC}/facets/{version}/{definition}.json#/$defs/{definition}"
    return {"_producer": PRODUCER, "_schemaURL": url, **members}


def _time(epoch_ms: int) -> str:
    """Return epoch milliseconds as an ISO 8601 time in UTC that ends with `Z`."""
    moment = datetime.fromtimestamp(epoch_ms / 1_000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
