"""What does an aspect say of an end point itself: its fields and types, and its description."""

from __future__ import annotations

from collections.abc import Iterator

from fll_hbase.model.datasets import Dataset, DatasetMetadata, Field
from fll_hbase.sources.datahub import field_paths
from fll_hbase.sources.datahub.lineage_edges import Edges
from fll_hbase.sources.datahub.proposal import told
from fll_hbase.sources.validation import NAME_BYTES_MAX, Validator, each, inside


def schema(checks: Validator, value: object, at: str, of: Dataset) -> DatasetMetadata:
    """The fields of a `schemaMetadata`; types on the way to one are none, unless there is nothing else."""
    said = told(checks, value, at)
    types: dict[str, str] = {}
    types_alone: dict[str, str] = {}
    for item, place in each(checks.items(said, "fields", at), inside(at, "fields")):
        members = told(checks, item, place)
        if not isinstance(item, dict):
            continue
        path = checks.required(members, "fieldPath", place)
        name = checks.name(field_paths.field_name(path), inside(place, "fieldPath"), bytes_max=NAME_BYTES_MAX)
        known = types if field_paths.ends_in_a_name(path) else types_alone
        known.setdefault(name, _type(checks, members, place))
    fields = tuple(Field(name, kind) for name, kind in sorted((types or types_alone).items()))
    return DatasetMetadata(of, fields)


def described(checks: Validator, value: object, at: str, of: Dataset) -> DatasetMetadata:
    """The description of a `datasetProperties`; its name is part of the urn."""
    return DatasetMetadata(of, (), checks.optional(told(checks, value, at), "description", at))


def named(edges: Edges) -> Iterator[DatasetMetadata]:
    """Fields that the aspect names, but that no pair holds: the catalogue knows them all the same."""
    names: dict[Dataset, set[str]] = {}
    for named in edges.fields:
        names.setdefault(named.dataset, set()).add(named.name)
    for derivation in edges.derivations:
        for named in (*derivation.downstreams, *derivation.upstreams):
            if derivation.whole or not derivation.downstreams:
                names.setdefault(named.dataset, set()).add(named.name)
    for of, fields in sorted(names.items()):
        yield DatasetMetadata(of, tuple(Field(name) for name in sorted(fields)))


def _type(checks: Validator, members: dict[str, object], at: str) -> str:
    """The type as the platform calls it, else DataHub's word for it."""
    native = checks.optional(members, "nativeDataType", at)
    if native:
        return native
    place = inside(at, "type")
    union = told(checks, told(checks, members.get("type", {}), place).get("type", {}), inside(place, "type"))
    return next(iter(union), "").rpartition(".")[2].removesuffix("Type").lower()
