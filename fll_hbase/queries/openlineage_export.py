"""Export of runs as OpenLineage events: one event per run, with standard facets and the facet `fll_run`.

`fll_run` contains what standard facets cannot (operations, dropped fields, a run id that is not a UUID,
versions) as a document of the REST contract: another store that receives the event records the same run.
Spec: https://openlineage.io/spec/2-0-2/OpenLineage.json
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from fll_hbase.model.checksum import operation_to_dict
from fll_hbase.model.dataset_lineage import DatasetLineage
from fll_hbase.model.datasets import Dataset, DatasetMetadata
from fll_hbase.model.field_relations import dataset_relations
from fll_hbase.model.masking import HIDDEN, HIDDEN_NAMESPACE, is_hidden, is_hidden_operation
from fll_hbase.model.operations import Influence, Operation, Read, Transform, Write, outputs_of
from fll_hbase.model.run_events import EventRunFacts
from fll_hbase.model.runs import ProgramRun, is_uuid
from fll_hbase.model.tags import FieldTag
from fll_hbase.runtime.json_types import Json
from fll_hbase.sources.openlineage.facets import CATALOGUE, EXPORTED_RUN, EXPORTER, PARENT_RUN, ROOT_RUN
from fll_hbase.store.results import RunDetails

if TYPE_CHECKING:
    from fll_hbase.store.read.catalogue import Catalogue, CatalogueDataset, CatalogueField
    from fll_hbase.store.read.content_cache import Content
    from fll_hbase.store.tags import TagStore

# The end of the year 9999, the last that datetime and ISO 8601 can express.
LAST_MS = 253_402_300_799_999
# The namespace of URLs in RFC 9562. Another one would give every exported run another id.
_RUN_NAMESPACE = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_SPEC = "https://openlineage.io/spec/"
EVENT_SCHEMA = f"{_SPEC}2-0-2/OpenLineage.json#/$defs/RunEvent"
DATASET_SCHEMA = f"{_SPEC}2-0-2/OpenLineage.json#/$defs/DatasetEvent"
_RUN_FACET = f"{_SPEC}2-0-2/OpenLineage.json#/$defs/RunFacet"
_DATASET_FACET = f"{_SPEC}2-0-2/OpenLineage.json#/$defs/DatasetFacet"
PAIRS_MAX = 1_000_000
"""More than FLL_PAIRS_MAX, since most receivers do not know the facet `fll_truncated`."""

Aliases: TypeAlias = Mapping[Dataset, Sequence[Dataset]]
"""Aliases by dataset; a dataset without aliases may be absent."""


def parent_ids(parent: tuple[str, str, str] | None, root: tuple[str, str, str] | None) -> Json | None:
    """Return the members of the facet `parent`, or None without a parent; triples are namespace, job, run."""
    if parent is None:
        return None
    return _job_run(parent) | ({"root": _job_run(root)} if root else {})


def unchanged_ids(facts: Sequence[EventRunFacts]) -> Json:
    """Return the original ids of parent and root runs that the `parent` facet replaces by derived UUIDs."""
    latest = next((item for item in reversed(facts) if item.parent), EventRunFacts())
    ids = {PARENT_RUN: latest.parent, ROOT_RUN: latest.root}
    return {name: item[2] for name, item in ids.items() if item and not is_uuid(item[2])}


def _job_run(reference: tuple[str, str, str]) -> Json:
    """Return a triple of namespace, job and run id as an object with `run` and `job`."""
    namespace, name, run = reference
    return {"run": {"runId": run_id(run, namespace)}, "job": {"namespace": namespace, "name": name}}


def run_id(run: str, namespace: str) -> str:
    """Return `run` if it is a UUID, as OpenLineage requires, else a UUID derived from it and `namespace`."""
    # Derived from the id alone, the runs of two namespaces could have one UUID.
    return run if is_uuid(run) else str(uuid.uuid5(uuid.uuid5(_RUN_NAMESPACE, namespace), run))


def _exported_id(details: RunDetails) -> str:
    """Return the run id of an event, derived from start and checksum if the program is hidden."""
    run = details.committed.run
    shown = f"{run.start_ms} {details.committed.checksum}" if run.namespace == HIDDEN_NAMESPACE else run.run
    return run_id(shown, run.namespace)


def event_time(start_ms: int) -> str:
    """Return a time in ISO 8601, at most the end of the year 9999; `fll_run` contains the exact start."""
    start_ms = min(start_ms, LAST_MS)
    moment = _EPOCH + timedelta(milliseconds=start_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _ContentParts(NamedTuple):
    """The parts of an event that all runs with one content share. They must not be changed."""

    operations: list[Json]
    inputs: list[Json]
    outputs: list[Json]
    has_hidden: bool


def _content_parts(content: Content, aliases: Aliases) -> _ContentParts:
    """Return the parts of events that all runs with one content share, without hidden datasets."""
    field_map = content.field_map
    has_hidden = any(map(is_hidden, (*field_map.sources, *field_map.destinations)))
    return _ContentParts(
        _operations(content),
        [_dataset(source, content, aliases) for source in field_map.sources if not is_hidden(source)],
        [_output(item, content, aliases) for item in field_map.destinations if not is_hidden(item)],
        has_hidden,
    )


def _event(details: RunDetails, parts: _ContentParts) -> Json:
    """Return a run as one event: `eventTime` is its start, `eventType` its state."""
    # Always the start, even if `eventType` is an end: receivers take the first time as the start.
    run = details.committed.run
    return {
        "eventType": run.state.value,
        "eventTime": event_time(run.start_ms),
        "producer": EXPORTER,
        "schemaURL": EVENT_SCHEMA,
        "run": {"runId": _exported_id(details), "facets": dict(_run_facets(details, parts))},
        "job": {"namespace": run.namespace, "name": run.program, "facets": dict(_job_facets(details))},
        "inputs": parts.inputs,
        "outputs": parts.outputs,
    }


def export_runs(
    catalogue: Catalogue, tags: TagStore, runs: Sequence[tuple[RunDetails, Content]]
) -> list[Json]:
    """Return one event for each run, in the order given, with facts of the catalogue about their datasets.

    Only the last event of a dataset has the catalogue's fields with their latest types, the description and
    the tags of the fields: with them, all events would be very large. A receiver keeps the type that arrives
    last, and runs are listed newest first.
    """
    datasets = datasets_of_runs(runs)
    aliases = catalogue.aliases(datasets)
    events = run_events(runs, aliases)
    # Most stores have no tags, which one read shows.
    has_tags = next(tags.tags(), None) is not None
    facets = {
        entry.dataset: {
            **_catalogue_facets(entry, fields),
            **(_with_tags(tags.dataset_tags(entry.dataset)) if has_tags else {}),
        }
        for entry, fields in catalogue.entries_of(datasets, aliases)
    }
    for event in reversed(events):
        for member in ("outputs", "inputs"):
            # Copied, because events of one content share these lists.
            event[member] = [_with_catalogue(dataset, facets) for dataset in event[member]]
    return events


def _with_catalogue(dataset: Json, facets: dict[Dataset, Json]) -> Json:
    """Return a dataset of an event with its facets from the catalogue, and remove them from `facets`."""
    complete = facets.pop(Dataset(dataset["namespace"], dataset["name"]), {})
    return {**dataset, "facets": {**dataset["facets"], **complete}}


def _catalogue_facets(entry: CatalogueDataset, fields: Sequence[CatalogueField]) -> Json:
    """Return the fields and the description of a dataset, marked as read from the catalogue."""
    facets: Json = {CATALOGUE: _facet(_DATASET_FACET)}
    if fields:
        facets["schema"] = _schema((field.name, field.type) for field in fields)
    return facets | _documentation(entry.description)


def _documentation(description: str) -> Json:
    """Return the facet of a description by name, or {} for an empty description."""
    if not description:
        return {}
    return {"documentation": _standard("1-1-0/DocumentationDatasetFacet", description=description)}


def _with_tags(tags: Iterable[FieldTag]) -> Json:
    """Return the facet of the tags of fields by name, or {} without tags; `source` is who set a tag."""
    listed = [_tag(tag) for tag in tags]
    return {"tags": _standard("1-0-0/TagsDatasetFacet", tags=listed)} if listed else {}


def _tag(tag: FieldTag) -> Json:
    """Return a tag for the facet: `key=value` is split at its last `=`, other tags have value `true`."""
    key, separator, value = tag.tag.rpartition("=")
    # Readers leave out these values, so they stay part of the name.
    if not separator or not key or value in ("", "true"):
        key, value = tag.tag, "true"
    return {"key": key, "value": value, "source": tag.note.by, "field": tag.field.name}


def run_events(runs: Iterable[tuple[RunDetails, Content]], aliases: Aliases) -> list[Json]:
    """Return one event for each run, in the order given; events of one content share its lists."""
    parts: dict[str, _ContentParts] = {}
    events = []
    for details, content in runs:
        checksum = details.committed.checksum
        if checksum not in parts:
            parts[checksum] = _content_parts(content, aliases)
        events.append(_event(details, parts[checksum]))
    return events


def dataset_event(metadata: DatasetMetadata, tags: Iterable[FieldTag], *, time_ms: int) -> Json:
    """Return metadata and tags of a dataset that do not come from a run as a DatasetEvent at `time_ms`."""
    facets: Json = {}
    if metadata.fields:
        facets["schema"] = _schema((field.name, field.type) for field in metadata.fields)
    if metadata.aliases:
        facets["symlinks"] = _symlinks(metadata.aliases)
    facets |= _documentation(metadata.description) | _with_tags(tags)
    dataset = metadata.dataset
    return {
        "eventTime": event_time(time_ms),
        "producer": EXPORTER,
        "schemaURL": DATASET_SCHEMA,
        "dataset": {"namespace": dataset.namespace, "name": dataset.name, "facets": facets},
    }


def datasets_of_runs(runs: Iterable[tuple[RunDetails, Content]]) -> set[Dataset]:
    """Return all datasets that any of the runs read or wrote, without hidden ones."""
    maps = [content.field_map for _, content in runs]
    datasets = {dataset for field_map in maps for dataset in (*field_map.sources, *field_map.destinations)}
    return {dataset for dataset in datasets if not is_hidden(dataset)}


def _run_facets(details: RunDetails, parts: _ContentParts) -> Iterator[tuple[str, Json]]:
    """Yield the facets of a run by name: `fll_run`, `fll_truncated` if datasets are hidden, then others.

    The others are the latest parent, nominal time and error message of its events.
    """
    run = details.committed.run
    yield (
        EXPORTED_RUN,
        _facet(
            _RUN_FACET,
            namespace=run.namespace,
            run=_run(run),
            operations=parts.operations,
            **unchanged_ids(details.facts),
        ),
    )
    if parts.has_hidden:
        yield "fll_truncated", _facet(_RUN_FACET, truncatedBy=[HIDDEN])
    for name, schema, facets in (
        (
            "parent",
            "1-2-0/ParentRunFacet",
            [parent_ids(facts.parent, facts.root) for facts in details.facts],
        ),
        ("nominalTime", "1-0-1/NominalTimeRunFacet", [_nominal(facts) for facts in details.facts]),
        ("errorMessage", "1-0-1/ErrorMessageRunFacet", [_error(facts.error) for facts in details.facts]),
    ):
        # As when events are merged: the last facet of a kind counts, and an event without it removes nothing.
        latest = next((facet for facet in reversed(facets) if facet), None)
        if latest:
            yield name, _standard(schema, **latest)


def _job_facets(details: RunDetails) -> Iterator[tuple[str, Json]]:
    """Yield the facets of the program of a run by name: its type, and its SQL if recorded."""
    run = details.committed.run
    yield (
        "jobType",
        # The facet requires `processingType`, which is not recorded.
        _standard("2-0-4/JobTypeJobFacet", processingType="BATCH", integration=run.type, jobType="JOB"),
    )
    # Merged events contain the SQL. For a run from a document, the SQL is in the details of the run row.
    sql = details.part.sql if details.part is not None else json.loads(run.details or "{}").get("sql")
    if sql:
        yield "sql", _standard("1-1-0/SQLJobFacet", query=sql)


def _run(run: ProgramRun) -> Json:
    """Return the member `run` of the facet `fll_run`, as in a document of the REST contract.

    All members are present; `startTime` is in ms since 1970.
    """
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
    """Return the operations of a content as JSON, without hidden operations and inputs from them."""
    # The standard has no place for the numbers of hidden datasets; `fll_truncated` says that there are some.
    shown = (item for item in content.operations if not is_hidden_operation(item.name))
    return [operation_to_dict(_without_hidden_inputs(operation)) for operation in shown]


def _without_hidden_inputs(operation: Operation) -> Operation:
    """Return the operation without inputs from hidden operations, or itself if there are none."""
    if isinstance(operation, Read):
        return operation
    inputs = tuple(item for item in operation.inputs if not is_hidden_operation(item.origin))
    return operation if inputs == operation.inputs else replace(operation, inputs=inputs)


def _output(destination: Dataset, content: Content, aliases: Aliases) -> Json:
    """Return an output dataset with its column lineage in a content, marked if PAIRS_MAX truncated it."""
    dataset = _dataset(destination, content, aliases)
    relations = dataset_relations(content.field_map, destination, backward=True, pairs_max=PAIRS_MAX)
    lineage = _column_lineage(relations.by_datasets.values())
    if lineage is not None:
        dataset["facets"]["columnLineage"] = lineage
    if relations.truncated:
        # The facet columnLineage has no member that reports truncation.
        limits = sorted(relations.truncated_by)
        dataset["facets"]["fll_truncated"] = _facet(_DATASET_FACET, truncatedBy=limits)
    return dataset


def _column_lineage(relations: Iterable[DatasetLineage]) -> Json | None:
    """Return the columnLineage facet of a destination, without dropped fields and hidden sources.

    None if no field lineage of the destination is left.
    """
    fields: dict[str, list[Json]] = {}
    dataset_wide: list[Json] = []
    for relation in sorted(relations, key=lambda relation: str(relation.source)):
        if is_hidden(relation.source):
            continue
        for name, inputs in _inputs_by_field(relation):
            fields.setdefault(name, []).extend(inputs)
        if relation.source is not None:
            dataset_wide += [
                _input(relation.source, name, "INDIRECT") for name in sorted(relation.dataset_wide)
            ]
    if not fields and not dataset_wide:
        return None
    columns = {name: {"inputFields": inputs} for name, inputs in sorted(fields.items())}
    return _standard("1-2-0/ColumnLineageDatasetFacet", fields=columns, dataset=dataset_wide)


def _inputs_by_field(relation: DatasetLineage) -> Iterator[tuple[str, list[Json]]]:
    """Yield a destination field for each pair, with its one input, or with no input if it is generated."""
    # A pair that is direct and indirect is direct, as in answers of the API.
    for pairs, dependency in ((relation.direct, "DIRECT"), (relation.indirect - relation.direct, "INDIRECT")):
        for start, end in sorted(pairs, key=str):
            # A dropped field has no output column; `fll_run` contains it.
            if end is None:
                continue
            if start is None or relation.source is None:
                yield end, []
            else:
                yield end, [_input(relation.source, start, dependency)]


def _input(source: Dataset, field: str, dependency: str) -> Json:
    """Return a source field as an input of a column; `dependency` is DIRECT or INDIRECT."""
    transformations = [{"type": dependency}]
    return {
        "namespace": source.namespace,
        "name": source.name,
        "field": field,
        "transformations": transformations,
    }


def _dataset(dataset: Dataset, content: Content, aliases: Aliases) -> Json:
    """Return a dataset of an event with its schema and its aliases, if the content and `aliases` have any."""
    facets: Json = {}
    types = _field_types(content, dataset)
    if types:
        facets["schema"] = _schema(types.items())
    if aliases.get(dataset):
        facets["symlinks"] = _symlinks(aliases[dataset])
    return {"namespace": dataset.namespace, "name": dataset.name, "facets": facets}


def _schema(fields: Iterable[tuple[str, str]]) -> Json:
    """Return the facet `schema` of names and types; an empty type is left out."""
    members = [{"name": name, **({"type": type_} if type_ else {})} for name, type_ in fields]
    return _standard("1-2-0/SchemaDatasetFacet", fields=members)


def _symlinks(aliases: Iterable[Dataset]) -> Json:
    """Return the facet `symlinks` of the aliases of a dataset."""
    # The facet requires a type, but the type of an alias is not recorded.
    identifiers = [{"namespace": alias.namespace, "name": alias.name, "type": "TABLE"} for alias in aliases]
    return _standard("1-0-1/SymlinksDatasetFacet", identifiers=identifiers)


def _field_types(content: Content, dataset: Dataset) -> dict[str, str]:
    """Return by name, sorted, the types of a dataset's fields that the run read or wrote; "" if unknown."""
    # A WRITE only names its inputs: the type belongs to the output that an input refers to.
    by_origin = {
        (operation.name, output.name): output.type
        for operation in content.operations
        for output in outputs_of(operation)
    }
    types: dict[str, str] = {}
    for operation in content.operations:
        for name, type_ in _types_of(operation, dataset, by_origin):
            # An operation that does not know a type says nothing about it.
            types[name] = type_ or types.get(name, "")
    return dict(sorted(types.items()))


def _types_of(
    operation: Operation, dataset: Dataset, types: dict[tuple[str, str], str]
) -> list[tuple[str, str]]:
    """Return the names and types of the fields that an operation reads from or writes to a dataset.

    The types of written fields come from `types`, by operation and output.
    """
    match operation:
        case Read(source=source, outputs=outputs) if source == dataset:
            return [(output.name, output.type) for output in outputs]
        case Write(destination=destination, inputs=inputs) if destination == dataset:
            # An indirect input of a WRITE influences the whole dataset and is not one of its fields.
            direct = [field for field in inputs if field.influence is Influence.DIRECT]
            return [(field.name, types.get((field.origin, field.name), "")) for field in direct]
        case Read() | Write() | Transform():
            return []


def _nominal(facts: EventRunFacts) -> Json | None:
    """Return the members of the facet `nominalTime`, or None without a nominal start."""
    # The facet requires the start: an end alone cannot be exported.
    if not facts.nominal_start:
        return None
    end = {"nominalEndTime": facts.nominal_end} if facts.nominal_end else {}
    return {"nominalStartTime": facts.nominal_start, **end}


def _error(message: str) -> Json | None:
    """Return the members of the facet `errorMessage`, or None for an empty message."""
    # The facet requires the language, which is not recorded.
    return {"message": message, "programmingLanguage": "unknown"} if message else None


def _standard(schema: str, **members: Any) -> Json:
    """Return a facet of the standard; `schema` is version and name, such as `1-0-1/SymlinksDatasetFacet`."""
    return _facet(f"{_SPEC}facets/{schema}.json#/$defs/{schema.partition('/')[2]}", **members)


def _facet(schema: str, **members: Any) -> Json:
    """Return a facet of this exporter with these members; `schema` is the URL of its schema."""
    return {"_producer": EXPORTER, "_schemaURL": schema, **members}
