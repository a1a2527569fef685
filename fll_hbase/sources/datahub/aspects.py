"""Aspects of lineage (`upstreamLineage`, `dataJobInputOutput`), and of datasets themselves.

Each reader of lineage returns an AspectLineage: datasets read and written, and the derivations of fields. The
readers of other aspects return the fields, types, tags or description of a dataset.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fll_hbase.model.datasets import Dataset, DatasetField, DatasetMetadata, DeclaredTag, Field
from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.runtime import deadline
from fll_hbase.sources.datahub import schema_paths
from fll_hbase.sources.datahub.aspect_operations import AspectLineage, Derivation, in_order, merge_entries
from fll_hbase.sources.datahub.proposal import without_nulls
from fll_hbase.sources.datahub.urns import read_dataset, read_dataset_member, read_field
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Part, readable

_FIELD_URN = "urn:li:schemaField:"
_STAMPS = ("auditStamp", "created", "lastModified")
PRODUCER = "DataHub"
"""The producer of the tags that aspects carry."""

_TAG = "urn:li:tag:"


def upstream_lineage(aspect: Part, dataset: Dataset) -> AspectLineage:
    """Read `upstreamLineage`: upstream datasets and fine-grained entries, or an empty lineage without any."""
    data = without_nulls(aspect)
    upstreams = _readable_upstreams(data)
    derivations = _derivations(data)
    sources = frozenset(source for source, _ in upstreams)
    return AspectLineage(
        # An aspect without lineage gets no destination, so that it does not become a run.
        sources=sources,
        destinations=frozenset([dataset] if sources or derivations else []),
        derivations=derivations,
        queries=_queries(upstreams, derivations),
        newest_ms=_newest_ms([members for _, members in upstreams]),
    )


def _readable_upstreams(data: Part) -> list[tuple[Dataset, Part]]:
    """Return the upstreams with a readable dataset, each with its members; warn of the others."""

    def read(item: Part) -> tuple[Dataset, Part]:
        """Return an upstream; add errors for an invalid dataset."""
        members = without_nulls(item)
        return read_dataset_member(members, "dataset"), members

    return list(readable(data.optional_items("upstreams"), read))


def input_fields(aspect: Part, chart: Dataset) -> AspectLineage:
    """Read `inputFields` of a chart: the dataset fields that it shows, each under its name in the chart."""

    def read(item: Part) -> Derivation:
        """Return the derivation of one field of the chart from a field of a dataset."""
        members = without_nulls(item)
        urn = Part(item.validator, members.required("schemaFieldUrn"), members.path_of("schemaFieldUrn"))
        upstream = read_field(urn)
        name = members.optional_object("schemaField").text("fieldPath")
        downstream = DatasetField(chart, schema_paths.field_name(name) if name else upstream.name)
        return Derivation((downstream,), "", "", (upstream,), ())

    derivations = merge_entries(readable(without_nulls(aspect).optional_items("fields"), read))
    return AspectLineage(
        sources=frozenset(field.dataset for entry in derivations for field in entry.upstreams),
        destinations=frozenset([chart] if derivations else []),
        derivations=derivations,
    )


def fine_grain_upstream_lineage(aspect: Part, dataset: Dataset) -> AspectLineage:
    """Read `fineGrainUpstreamLineage`, the first form of the aspect: upstreams with pairs of field paths."""
    upstreams = _readable_upstreams(without_nulls(aspect))
    sources = {source for source, _ in upstreams}
    constraints: set[DatasetField] = set()
    pairs: list[Derivation] = []
    for source, upstream in upstreams:

        def read_pair(item: Part, source: Dataset = source) -> Derivation:
            """Return the derivation of a field of the dataset from a field of the upstream."""
            pair = without_nulls(item)
            start = DatasetField(source, _path(pair, "sourceField"))
            target = DatasetField(dataset, _path(pair, "targetField"))
            return Derivation((target,), "", "", (start,), ())

        def read_constraint(item: Part, source: Dataset = source) -> DatasetField:
            """Return the field of the upstream that a constraint names."""
            return DatasetField(source, schema_paths.field_name(item.name()))

        pairs += readable(upstream.optional_items("fields"), read_pair)
        # Constraints decide which rows are written, so they are indirect inputs of the whole WRITE.
        constraints.update(readable(upstream.optional_items("constraints"), read_constraint))
    return AspectLineage(
        sources=frozenset(sources),
        destinations=frozenset([dataset] if sources else []),
        derivations=merge_entries(pairs),
        constraints=frozenset(constraints),
        newest_ms=_newest_ms([members for _, members in upstreams]),
    )


def data_job_input_output(aspect: Part) -> AspectLineage:
    """Read `dataJobInputOutput`: input and output datasets and fields, and fine-grained entries.

    The datasets of listed fields count as well. `inputDatajobs` are ignored.
    """
    data = without_nulls(aspect)
    inputs = _read_field_set(data, "input")
    outputs = _read_field_set(data, "output")
    derivations = _derivations(data)
    return AspectLineage(
        sources=inputs.end_points,
        destinations=outputs.end_points,
        derivations=derivations,
        fields=inputs.fields | outputs.fields,
        queries=_queries([], derivations),
        newest_ms=max(inputs.newest_ms, outputs.newest_ms),
    )


def process_instance_datasets(aspect: Part, name: str) -> frozenset[Dataset]:
    """Return the datasets in the `input` or `output` (`name`) of a run, a `dataProcessInstance`."""
    data = without_nulls(aspect)
    edges = _edges(data, f"{name}Edges")
    return frozenset(
        [
            *readable(data.optional_items(f"{name}s"), read_dataset),
            *readable(edges, lambda edge: read_dataset_member(edge, "destinationUrn")),
        ]
    )


class _FieldSet(NamedTuple):
    """Inputs or outputs of a job: datasets, fields, and the newest audit stamp in ms."""

    end_points: frozenset[Dataset]
    fields: frozenset[DatasetField]
    newest_ms: int


def _read_field_set(data: Part, name: str) -> _FieldSet:
    """Read the inputs or outputs of a job: its lists `{name}Datasets`, `…Edges` and `…DatasetFields`."""
    plain = list(readable(data.optional_items(f"{name}Datasets"), read_dataset))
    edges = list(_edges(data, f"{name}DatasetEdges"))
    field_edges = list(_edges(data, f"{name}DatasetFields"))
    ends = list(readable(edges, lambda edge: read_dataset_member(edge, "destinationUrn")))
    fields = list(
        readable(
            field_edges, lambda edge: read_field(Part(edge.validator, edge.get("destinationUrn"), edge.path))
        )
    )
    return _FieldSet(
        frozenset([*plain, *ends, *(field.dataset for field in fields)]),
        frozenset(fields),
        _newest_ms([*edges, *field_edges]),
    )


def _derivations(data: Part) -> tuple[Derivation, ...]:
    """Return the fine-grained entries, sorted and merged, without empty or (warned) unreadable entries."""
    entries = list(readable(data.optional_items("fineGrainedLineages"), _derivation))
    return merge_entries(
        entry for entry in entries if entry.downstreams or entry.upstreams or entry.dataset_upstreams
    )


def _derivation(item: Part) -> Derivation:
    """Read a fine-grained entry, with only the fields among its downstreams."""
    data = without_nulls(item)
    upstreams = _readable_urns(data, "upstreams")
    downstreams = _readable_urns(data, "downstreams")
    return Derivation(
        in_order(field for field in downstreams if isinstance(field, DatasetField)),
        data.text("transformOperation"),
        data.text("query"),
        in_order(field for field in upstreams if isinstance(field, DatasetField)),
        in_order(dataset for dataset in upstreams if isinstance(dataset, Dataset)),
        _confidence(data),
    )


def _readable_urns(data: Part, name: str) -> list[DatasetField | Dataset]:
    """Return the fields, and in `upstreams` the datasets, of a list; add an error if no item is readable."""

    def read(urn: Part) -> DatasetField | Dataset:
        """Return the field of a schemaField urn or, in `upstreams`, a dataset; add an error if invalid."""
        # The urn shows whether it is a field or a dataset, so `upstreamType` is not needed.
        if name == "downstreams" or (isinstance(urn.value, str) and urn.value.startswith(_FIELD_URN)):
            return read_field(urn)
        return read_dataset(urn)

    listed: list[DatasetField | Dataset] = list(readable(data.optional_items(name), read))
    # An entry without any upstream would mean that the field is generated.
    if data.get(name) not in (None, []) and not listed:
        data.error("no entry can be read", name)
    return listed


def _confidence(data: Part) -> float:
    """Return the confidence of an entry, 0 to 1; absent is 1, and so is invalid, with a warning."""
    value = data.get("confidenceScore", 1.0)
    # True is an int in Python.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    data.warning("must be a number from 0 to 1; left out", "confidenceScore")
    return 1.0


def _edges(data: Part, name: str) -> Iterator[Part]:
    """Yield edges, and bare urns as edges; warn of other values."""
    for item in data.optional_items(name):
        if isinstance(item.value, str):
            yield Part(item.validator, {"destinationUrn": item.value}, item.path)
        elif item.is_object:
            yield without_nulls(item)
        else:
            item.warn_type("an object")


def _path(pair: Part, name: str) -> str:
    """Return the field name of a required member with a field path; `?` with an error if invalid."""
    field_name = schema_paths.field_name(pair.required(name))
    return pair.validator.name(field_name, pair.path_of(name), bytes_max=NAME_BYTES_MAX)


def _queries(upstreams: list[tuple[Dataset, Part]], derivations: tuple[Derivation, ...]) -> frozenset[str]:
    """Return the urns of the queries that upstreams and derivations name."""
    queries = [members.text("query") for _, members in upstreams]
    return frozenset([*filter(None, queries), *(each_of.query for each_of in derivations if each_of.query)])


def _newest_ms(holders: list[Part]) -> int:
    """Return the newest audit stamp of all objects in ms since 1970, or 0; warn of invalid stamps."""

    def read(stamp: Part) -> int:
        """Return the time of a stamp; 0 if it is unset, or 0 with an error if it is invalid."""
        # DataHub's own classes write 0 for an unset stamp.
        is_set = without_nulls(stamp).get("time", 0) != 0
        return stamp.integer("time", below=START_LIMIT_MS) if is_set else 0

    stamps = (holder.member(name, {}) for holder in deadline.watched(holders) for name in _STAMPS)
    return max(readable(stamps, read), default=0)


def schema(aspect: Part, dataset: Dataset) -> DatasetMetadata:
    """Read fields and tags of `schemaMetadata`; use paths that end in a type only if there are no others."""
    types: dict[str, str] = {}
    types_alone: dict[str, str] = {}
    tags: dict[DeclaredTag, None] = {}
    for path, name, members in _fields(aspect, "fields"):
        # A path that ends in a type does not name a field, unless the whole schema is one value.
        field_types = types if schema_paths.ends_in_a_name(path) else types_alone
        # Members of a union that share a name are one field; the first type is used.
        field_types.setdefault(name, _type(members))
        tags.update(dict.fromkeys(_tags(members, name)))
    fields = tuple(Field(name, kind) for name, kind in sorted((types or types_alone).items()))
    return DatasetMetadata(dataset, fields, tags=tuple(tags))


def edited_schema(aspect: Part, dataset: Dataset) -> DatasetMetadata:
    """Return the tags of `editableSchemaMetadata`, without fields; people add them to the schema's tags."""
    fields = _fields(aspect, "editableSchemaFieldInfo")
    tags = dict.fromkeys(tag for _, name, members in fields for tag in _tags(members, name))
    return DatasetMetadata(dataset, tags=tuple(tags))


def _fields(aspect: Part, name: str) -> Iterator[tuple[str, str, Part]]:
    """Yield path, name and members of each field in the list `name`; warn of unreadable ones."""

    def read(item: Part) -> tuple[str, str, Part]:
        """Return path, name and members of a field; add an error for an invalid path."""
        members = without_nulls(item)
        path = members.required("fieldPath")
        field_name = Part(item.validator, schema_paths.field_name(path), members.path_of("fieldPath"))
        return path, field_name.name(bytes_max=NAME_BYTES_MAX), members

    return readable(without_nulls(aspect).optional_items(name), read)


def description(aspect: Part, dataset: Dataset) -> DatasetMetadata:
    """Return the description in `datasetProperties`, or "" if it is missing; the name is ignored."""
    return DatasetMetadata(dataset, (), without_nulls(aspect).text("description"))


def mentioned_fields(edges: AspectLineage) -> Iterator[DatasetMetadata]:
    """Yield, sorted by dataset, the fields that a lineage aspect names outside pairs of fields."""
    names: dict[Dataset, set[str]] = {}
    for field in edges.fields:
        names.setdefault(field.dataset, set()).add(field.name)
    for derivation in deadline.watched(edges.derivations):
        for field in (*derivation.downstreams, *derivation.upstreams):
            # Such an entry cannot be expressed as pairs of fields, but its fields exist.
            if derivation.dataset_upstreams or not derivation.downstreams:
                names.setdefault(field.dataset, set()).add(field.name)
    for dataset, fields in deadline.watched(sorted(names.items())):
        yield DatasetMetadata(dataset, tuple(Field(name) for name in sorted(fields)))


def _tags(members: Part, field: str) -> Iterator[DeclaredTag]:
    """Yield the `globalTags` of a schema's field, named without `urn:li:tag:`; warn of unreadable tags."""

    def read(item: Part) -> DeclaredTag:
        """Return a tag of the field from PRODUCER; add an error for an invalid name."""
        tag = without_nulls(item)
        urn = Part(item.validator, tag.required("tag").removeprefix(_TAG), tag.path_of("tag"))
        return DeclaredTag(field, urn.name(bytes_max=ID_BYTES_MAX), PRODUCER)

    return readable(members.optional_object("globalTags").optional_items("tags"), read)


def _type(members: Part) -> str:
    """Return the native type of a field, else DataHub's own type name in lower case, else ""."""
    native = members.text("nativeDataType")
    if native:
        return native
    union = members.optional_object("type").optional_object("type").members
    # The type is a union with one member, which is named by its class: `com.linkedin.schema.StringType`.
    return next(iter(union), "").rpartition(".")[2].removesuffix("Type").lower()
