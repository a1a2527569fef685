"""How do runs leave as OpenLineage events: one each, told in standard facets as far as these can tell.

What they cannot tell (operations between source and destination, drops, a run id that is no UUID, versions)
stands in the facet `fll_run`, which is a document of the REST contract: sent to a store like this, the event
is the very same run. Spec: https://openlineage.io/spec/2-0-2/OpenLineage.json
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from fll_hbase.json_types import Json
from fll_hbase.model.checksum import operation_to_dict
from fll_hbase.model.datasets import Dataset, DatasetMetadata
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.field_relations import DatasetLineage, dataset_relations
from fll_hbase.model.operations import Influence, Operation, Read, Transform, Write, outputs_of
from fll_hbase.model.run_events import EventRunFacts
from fll_hbase.model.runs import ProgramRun
from fll_hbase.sources.openlineage.facets import OWN
from fll_hbase.store.read.content_cache import Content
from fll_hbase.store.results import RunDetails

PRODUCER = "https://github.com/fll-hbase"
_SPEC = "https://openlineage.io/spec/"
EVENT_SCHEMA = f"{_SPEC}2-0-2/OpenLineage.json#/$defs/RunEvent"
DATASET_SCHEMA = f"{_SPEC}2-0-2/OpenLineage.json#/$defs/DatasetEvent"
_RUN_FACET = f"{_SPEC}2-0-2/OpenLineage.json#/$defs/RunFacet"
PAIRS_MAX = 1_000_000
LAST_MS = 253_402_300_799_999
_RUNS = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


Aliases: TypeAlias = Mapping[Dataset, Sequence[Dataset]]
"""The further names of end points, for those that have any."""


def run_event(told: RunDetails, content: Content, aliases: Aliases) -> Json:
    """The run as one event, at its start, of the kind that its state is."""
    run, field_map = told.committed.run, content.field_map
    return {
        "eventType": run.state.value,
        "eventTime": _time(run.start_ms),
        "producer": PRODUCER,
        "schemaURL": EVENT_SCHEMA,
        "run": {"runId": _run_id(run.run), "facets": dict(_run_facets(told, content))},
        "job": {"namespace": run.namespace, "name": run.program, "facets": dict(_job_facets(told))},
        "inputs": [_dataset(source, content, aliases) for source in field_map.sources],
        "outputs": [_output(destination, content, aliases) for destination in field_map.destinations],
    }


def run_events(told: Iterable[tuple[RunDetails, Content]], aliases: Aliases) -> list[Json]:
    """The runs of a page, one event each, in its order."""
    return [run_event(one, content, aliases) for one, content in told]


def dataset_event(schema: DatasetMetadata, *, time_ms: int) -> Json:
    """What is known of an end point whatever runs did to it, as an event of that dataset."""
    facets: Json = {}
    if schema.fields:
        facets["schema"] = _schema((field.name, field.type) for field in schema.fields)
    if schema.aliases:
        facets["symlinks"] = _symlinks(schema.aliases)
    if schema.description:
        facets["documentation"] = _standard("1-1-0/DocumentationDatasetFacet", description=schema.description)
    end_point = schema.dataset
    return {
        "eventTime": _time(time_ms),
        "producer": PRODUCER,
        "schemaURL": DATASET_SCHEMA,
        "dataset": {"namespace": end_point.namespace, "name": end_point.name, "facets": facets},
    }


def datasets_of_runs(told: Iterable[tuple[RunDetails, Content]]) -> set[Dataset]:
    """Every end point that the runs of a page read or wrote."""
    maps = [content.field_map for _, content in told]
    return {end_point for one in maps for end_point in (*one.sources, *one.destinations)}


def _run_facets(told: RunDetails, content: Content) -> Iterator[tuple[str, Json]]:
    run = told.committed.run
    yield OWN, _facet(_RUN_FACET, namespace=run.namespace, run=_run(run), operations=_operations(content))
    for name, schema, said in (
        ("parent", "1-2-0/ParentRunFacet", [_parent(facts.parent, facts.root) for facts in told.facts]),
        ("nominalTime", "1-0-1/NominalTimeRunFacet", [_nominal(facts) for facts in told.facts]),
        ("errorMessage", "1-0-1/ErrorMessageRunFacet", [_error(facts.error) for facts in told.facts]),
    ):
        latest = next((one for one in reversed(said) if one), None)
        if latest:
            yield name, _standard(schema, **latest)


def _job_facets(told: RunDetails) -> Iterator[tuple[str, Json]]:
    run = told.committed.run
    yield (
        "jobType",
        _standard("2-0-4/JobTypeJobFacet", processingType="BATCH", integration=run.type, jobType="JOB"),
    )
    sql = told.part.sql if told.part is not None else json.loads(run.details or "{}").get("sql")
    if sql:
        yield "sql", _standard("1-1-0/SQLJobFacet", query=sql)


def _run(run: ProgramRun) -> Json:
    """The member `run` of a document."""
    return {
        "application": run.application,
        "version": run.version,
        "type": run.type,
        "program": run.program,
        "run": run.run,
        "startTime": run.start_ms,
        "state": run.state.value,
    }


def _operations(content: Content) -> list[Json]:
    return [operation_to_dict(operation) for operation in content.operations]


def _output(destination: Dataset, content: Content, aliases: Aliases) -> Json:
    dataset = _dataset(destination, content, aliases)
    lineage = _column_lineage(destination, content.field_map)
    if lineage is not None:
        dataset["facets"]["columnLineage"] = lineage
    return dataset


def _column_lineage(destination: Dataset, field_map: FieldMap) -> Json | None:
    """None where nothing is known of how the fields came to be."""
    found = dataset_relations(
        field_map, destination, backward=True, pairs_max=PAIRS_MAX
    ).by_datasets.values()
    fields: dict[str, list[Json]] = {}
    whole: list[Json] = []
    for relation in sorted(found, key=lambda one: str(one.source)):
        for name, taken in _taken(relation):
            fields.setdefault(name, []).extend(taken)
        if relation.source is not None:
            whole += [_input(relation.source, name, "INDIRECT") for name in sorted(relation.dataset_wide)]
    if not fields and not whole:
        return None
    made = {name: {"inputFields": taken} for name, taken in sorted(fields.items())}
    return _standard("1-2-0/ColumnLineageDatasetFacet", fields=made, dataset=whole)


def _taken(relation: DatasetLineage) -> Iterator[tuple[str, list[Json]]]:
    """Per field what it takes of the relation's source; nothing where it was generated."""
    for pairs, type_ in ((relation.direct, "DIRECT"), (relation.indirect - relation.direct, "INDIRECT")):
        for start, end in sorted(pairs, key=str):
            if end is None:
                continue
            if start is None or relation.source is None:
                yield end, []
            else:
                yield end, [_input(relation.source, start, type_)]


def _input(source: Dataset, field: str, type_: str) -> Json:
    how = [{"type": type_}]
    return {"namespace": source.namespace, "name": source.name, "field": field, "transformations": how}


def _dataset(end_point: Dataset, content: Content, aliases: Aliases) -> Json:
    facets: Json = {}
    types = _types(content, end_point)
    if types:
        facets["schema"] = _schema(types.items())
    if aliases.get(end_point):
        facets["symlinks"] = _symlinks(aliases[end_point])
    return {"namespace": end_point.namespace, "name": end_point.name, "facets": facets}


def _schema(fields: Iterable[tuple[str, str]]) -> Json:
    said = [{"name": name, **({"type": type_} if type_ else {})} for name, type_ in fields]
    return _standard("1-2-0/SchemaDatasetFacet", fields=said)


def _symlinks(aliases: Iterable[Dataset]) -> Json:
    named = [{"namespace": of.namespace, "name": of.name, "type": "TABLE"} for of in aliases]
    return _standard("1-0-1/SymlinksDatasetFacet", identifiers=named)


def _types(content: Content, end_point: Dataset) -> dict[str, str]:
    """The fields of an end point that the run read or wrote, with their types where known."""
    by_origin = {(o.name, output.name): output.type for o in content.operations for output in outputs_of(o)}
    found: dict[str, str] = {}
    for operation in content.operations:
        found |= _typed(operation, end_point, by_origin)
    return dict(sorted(found.items()))


def _typed(operation: Operation, end_point: Dataset, types: dict[tuple[str, str], str]) -> dict[str, str]:
    match operation:
        case Read(source=of, outputs=outputs) if of == end_point:
            return {output.name: output.type for output in outputs}
        case Write(destination=of, inputs=inputs) if of == end_point:
            direct = [taken for taken in inputs if taken.influence is Influence.DIRECT]
            return {taken.name: types.get((taken.origin, taken.name), "") for taken in direct}
        case Read() | Write() | Transform():
            return {}


def _parent(parent: tuple[str, str, str] | None, root: tuple[str, str, str] | None) -> Json | None:
    if parent is None:
        return None
    return _job_run(parent) | ({"root": _job_run(root)} if root else {})


def _job_run(reference: tuple[str, str, str]) -> Json:
    namespace, name, run = reference
    return {"run": {"runId": _run_id(run)}, "job": {"namespace": namespace, "name": name}}


def _nominal(facts: EventRunFacts) -> Json | None:
    if not facts.nominal_start:
        return None
    end = {"nominalEndTime": facts.nominal_end} if facts.nominal_end else {}
    return {"nominalStartTime": facts.nominal_start, **end}


def _error(message: str) -> Json | None:
    return {"message": message, "programmingLanguage": "unknown"} if message else None


def _standard(schema: str, **members: Any) -> Json:
    return _facet(f"{_SPEC}facets/{schema}.json#/$defs/{schema.partition('/')[2]}", **members)


def _facet(schema: str, **members: Any) -> Json:
    return {"_producer": PRODUCER, "_schemaURL": schema, **members}


def _run_id(run: str) -> str:
    """The id itself where it is a UUID, as OpenLineage wants, else one that is always the same for it."""
    try:
        return run if str(uuid.UUID(run)) == run.lower() else str(uuid.uuid5(_RUNS, run))
    except ValueError:
        return str(uuid.uuid5(_RUNS, run))


def _time(start_ms: int) -> str:
    """The start as a date has it, at most the end of the year 9999; `fll_run` has the number."""
    start_ms = min(start_ms, LAST_MS)
    time = _EPOCH + timedelta(milliseconds=start_ms)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
