"""Aspects about a dataset itself: fields, types and description."""

from __future__ import annotations

from collections.abc import Iterator

from fll_hbase.model.datasets import Dataset, DatasetMetadata, DeclaredTag, Field
from fll_hbase.sources.datahub import schema_paths
from fll_hbase.sources.datahub.lineage_edges import AspectLineage
from fll_hbase.sources.datahub.proposal import object_without_nulls
from fll_hbase.sources.datahub.urn_lookup import list_items
from fll_hbase.sources.openlineage import json_access
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, child_path

PRODUCER = "DataHub"
"""The producer of the tags that aspects carry."""

_TAG = "urn:li:tag:"


def schema(validator: Validator, value: object, value_path: str, dataset: Dataset) -> DatasetMetadata:
    """Read fields and tags of `schemaMetadata`; paths that end in a type count only without other paths."""
    data = object_without_nulls(validator, value, value_path)
    types: dict[str, str] = {}
    types_alone: dict[str, str] = {}
    tags: dict[DeclaredTag, None] = {}

    def read_field(item: object, item_path: str) -> None:
        members = object_without_nulls(validator, item, item_path)
        errors_before = validator.errors.count
        path = validator.required(members, "fieldPath", item_path)
        name = validator.name(
            schema_paths.field_name(path), child_path(item_path, "fieldPath"), bytes_max=NAME_BYTES_MAX
        )
        if not isinstance(item, dict) or validator.errors.count > errors_before:
            return
        # A path that ends in a type names no field, unless the whole schema is one value.
        field_types = types if schema_paths.ends_in_a_name(path) else types_alone
        # Members of a union that share a name are one field; the first type is used.
        field_types.setdefault(name, _type(validator, members, item_path))
        tags.update(dict.fromkeys(_tags(validator, members, item_path, name)))

    # As a list: reading an item adds to the collections above.
    list(validator.readable(list_items(validator, data, "fields", value_path), read_field))
    fields = tuple(Field(name, kind) for name, kind in sorted((types or types_alone).items()))
    return DatasetMetadata(dataset, fields, tags=tuple(tags))


def edited_schema(validator: Validator, value: object, value_path: str, dataset: Dataset) -> DatasetMetadata:
    """Read the tags of `editableSchemaMetadata`, which people add to those of the schema."""
    data = object_without_nulls(validator, value, value_path)
    tags: dict[DeclaredTag, None] = {}

    def read_field(item: object, item_path: str) -> None:
        members = object_without_nulls(validator, item, item_path)
        errors_before = validator.errors.count
        path = validator.required(members, "fieldPath", item_path)
        name_at = child_path(item_path, "fieldPath")
        name = validator.name(schema_paths.field_name(path), name_at, bytes_max=NAME_BYTES_MAX)
        if isinstance(item, dict) and validator.errors.count == errors_before:
            tags.update(dict.fromkeys(_tags(validator, members, item_path, name)))

    list(validator.readable(list_items(validator, data, "editableSchemaFieldInfo", value_path), read_field))
    return DatasetMetadata(dataset, tags=tuple(tags))


def description(validator: Validator, value: object, path: str, dataset: Dataset) -> DatasetMetadata:
    """Read the description of `datasetProperties`; its name is part of the urn."""
    data = object_without_nulls(validator, value, path)
    return DatasetMetadata(dataset, (), json_access.text(validator, data, "description", path))


def mentioned_fields(edges: AspectLineage) -> Iterator[DatasetMetadata]:
    """Yield, sorted by dataset, the fields that a lineage aspect names outside pairs of fields."""
    names: dict[Dataset, set[str]] = {}
    for field in edges.fields:
        names.setdefault(field.dataset, set()).add(field.name)
    for derivation in edges.derivations:
        for field in (*derivation.downstreams, *derivation.upstreams):
            # No pair of fields expresses such an entry, but its fields exist.
            if derivation.dataset_upstreams or not derivation.downstreams:
                names.setdefault(field.dataset, set()).add(field.name)
    for dataset, fields in sorted(names.items()):
        yield DatasetMetadata(dataset, tuple(Field(name) for name in sorted(fields)))


def _tags(validator: Validator, members: dict[str, object], path: str, field: str) -> Iterator[DeclaredTag]:
    """Yield the `globalTags` of a field of a schema, named without `urn:li:tag:`."""
    path = child_path(path, "globalTags")
    data = json_access.members(validator, members.get("globalTags"), path, optional=True)

    def read(item: object, item_path: str) -> DeclaredTag:
        tag = object_without_nulls(validator, item, item_path)
        urn = validator.required(tag, "tag", item_path)
        name = validator.name(urn.removeprefix(_TAG), child_path(item_path, "tag"), bytes_max=ID_BYTES_MAX)
        return DeclaredTag(field, name, PRODUCER)

    yield from validator.readable(list_items(validator, data, "tags", path), read)


def _type(validator: Validator, members: dict[str, object], path: str) -> str:
    """Return the native type, else DataHub's own type name."""
    native = json_access.text(validator, members, "nativeDataType", path)
    if native:
        return native
    item_path = child_path(path, "type")
    holder = json_access.members(validator, members.get("type"), item_path, optional=True)
    union = json_access.members(validator, holder.get("type"), child_path(item_path, "type"), optional=True)
    # The type is a union with one member, named by its class: `com.linkedin.schema.StringType`.
    return next(iter(union), "").rpartition(".")[2].removesuffix("Type").lower()
