"""Aspects about a dataset itself: fields, types and description."""

from __future__ import annotations

from collections.abc import Iterator

from fll_hbase.model.datasets import Dataset, DatasetMetadata, DeclaredTag, Field
from fll_hbase.sources.datahub import field_paths
from fll_hbase.sources.datahub.lineage_edges import AspectLineage
from fll_hbase.sources.datahub.proposal import object_without_nulls
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, child_path, items_with_path

PRODUCER = "DataHub"
"""The producer of the tags that aspects carry."""

_TAG = "urn:li:tag:"


def schema(validator: Validator, value: object, value_path: str, dataset: Dataset) -> DatasetMetadata:
    """Read the fields of `schemaMetadata`; paths that end in a type count only if there are no others."""
    data = object_without_nulls(validator, value, value_path)
    types: dict[str, str] = {}
    types_alone: dict[str, str] = {}
    tags: dict[DeclaredTag, None] = {}
    for item, item_path in items_with_path(
        validator.items(data, "fields", value_path), child_path(value_path, "fields")
    ):
        members = object_without_nulls(validator, item, item_path)
        if not isinstance(item, dict):
            continue
        path = validator.required(members, "fieldPath", item_path)
        name = validator.name(
            field_paths.field_name(path), child_path(item_path, "fieldPath"), bytes_max=NAME_BYTES_MAX
        )
        # A path that ends in a type names no field, unless the whole schema is one value.
        field_types = types if field_paths.ends_in_a_name(path) else types_alone
        # Members of a union that share a name are one field; the first type is used.
        field_types.setdefault(name, _type(validator, members, item_path))
        tags |= dict.fromkeys(_tags(validator, members, item_path, name))
    fields = tuple(Field(name, kind) for name, kind in sorted((types or types_alone).items()))
    return DatasetMetadata(dataset, fields, tags=tuple(tags))


def edited_schema(validator: Validator, value: object, value_path: str, dataset: Dataset) -> DatasetMetadata:
    """Read the tags of `editableSchemaMetadata`, which people put beside those of the schema."""
    data = object_without_nulls(validator, value, value_path)
    tags: dict[DeclaredTag, None] = {}
    items = validator.items(data, "editableSchemaFieldInfo", value_path)
    for item, item_path in items_with_path(items, child_path(value_path, "editableSchemaFieldInfo")):
        members = object_without_nulls(validator, item, item_path)
        path = validator.required(members, "fieldPath", item_path)
        name_at = child_path(item_path, "fieldPath")
        name = validator.name(field_paths.field_name(path), name_at, bytes_max=NAME_BYTES_MAX)
        tags |= dict.fromkeys(_tags(validator, members, item_path, name))
    return DatasetMetadata(dataset, tags=tuple(tags))


def description(validator: Validator, value: object, path: str, dataset: Dataset) -> DatasetMetadata:
    """Read the description of `datasetProperties`; its name is part of the urn."""
    return DatasetMetadata(
        dataset, (), validator.optional(object_without_nulls(validator, value, path), "description", path)
    )


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
    data = object_without_nulls(validator, members.get("globalTags", {}), path)
    tags_at = child_path(path, "tags")
    for item, item_path in items_with_path(validator.items(data, "tags", path), tags_at):
        tag = object_without_nulls(validator, item, item_path)
        urn = validator.required(tag, "tag", item_path)
        name = validator.name(urn.removeprefix(_TAG), child_path(item_path, "tag"), bytes_max=ID_BYTES_MAX)
        yield DeclaredTag(field, name, PRODUCER)


def _type(validator: Validator, members: dict[str, object], path: str) -> str:
    """Return the native type, else DataHub's own type name."""
    native = validator.optional(members, "nativeDataType", path)
    if native:
        return native
    item_path = child_path(path, "type")
    union = object_without_nulls(
        validator,
        object_without_nulls(validator, members.get("type", {}), item_path).get("type", {}),
        child_path(item_path, "type"),
    )
    # The type is a union with one member, named by its class: `com.linkedin.schema.StringType`.
    return next(iter(union), "").rpartition(".")[2].removesuffix("Type").lower()
