"""Aspects that describe a dataset itself: fields, types and description."""

from __future__ import annotations

from collections.abc import Iterator

from fll_hbase.model.datasets import Dataset, DatasetMetadata, DeclaredTag, Field
from fll_hbase.runtime import deadline
from fll_hbase.sources.datahub import schema_paths
from fll_hbase.sources.datahub.aspect_operations import AspectLineage
from fll_hbase.sources.datahub.proposal import without_nulls
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Part, readable

PRODUCER = "DataHub"
"""The producer of the tags that aspects carry."""

_TAG = "urn:li:tag:"


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
