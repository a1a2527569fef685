"""Lineage aspects: `upstreamLineage`, `dataJobInputOutput` and their predecessors.

Each reader returns the same AspectLineage: datasets read and written, and the derivations of fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.sources.datahub import schema_paths
from fll_hbase.sources.datahub.lineage_edges import AspectLineage, Derivation, in_order, merge_entries
from fll_hbase.sources.datahub.proposal import object_without_nulls
from fll_hbase.sources.datahub.urn_lookup import list_items, read_dataset, read_dataset_member, read_field
from fll_hbase.sources.openlineage.json_access import members as json_members
from fll_hbase.sources.openlineage.json_access import text
from fll_hbase.sources.validation import NAME_BYTES_MAX, Validator, child_path

_FIELD_URN = "urn:li:schemaField:"
_STAMPS = ("auditStamp", "created", "lastModified")


def upstream_lineage(validator: Validator, value: object, path: str, dataset: Dataset) -> AspectLineage:
    """Read `upstreamLineage`: upstream datasets and fine-grained entries."""
    data = object_without_nulls(validator, value, path)
    upstreams = _readable_upstreams(validator, data, path)
    derivations = _derivations(validator, data, path)
    sources = frozenset(source for source, _, _ in upstreams)
    return AspectLineage(
        # An aspect without lineage has no destination either, so that it is no run.
        sources=sources,
        destinations=frozenset([dataset] if sources or derivations else []),
        derivations=derivations,
        queries=_queries(validator, upstreams, derivations),
        newest_ms=_newest_ms(validator, [upstream[1:] for upstream in upstreams]),
    )


class _Upstream(NamedTuple):
    """The dataset of an upstream, its members, and its JSON path."""

    dataset: Dataset
    members: dict[str, Any]
    path: str


def _readable_upstreams(validator: Validator, data: dict[str, Any], path: str) -> list[_Upstream]:
    """Return the upstreams whose dataset can be read, each with its members and JSON path."""

    def read(item: object, item_path: str) -> _Upstream:
        members = object_without_nulls(validator, item, item_path)
        return _Upstream(read_dataset_member(validator, members, "dataset", item_path), members, item_path)

    return list(validator.readable(list_items(validator, data, "upstreams", path), read))


def input_fields(validator: Validator, value: object, path: str, chart: Dataset) -> AspectLineage:
    """Read `inputFields` of a chart: the fields of datasets that it shows, each under its name there."""
    data = object_without_nulls(validator, value, path)

    def read(item: object, item_path: str) -> Derivation:
        members = object_without_nulls(validator, item, item_path)
        urn_path = child_path(item_path, "schemaFieldUrn")
        upstream = read_field(validator, validator.required(members, "schemaFieldUrn", item_path), urn_path)
        shown = json_members(
            validator, members.get("schemaField"), child_path(item_path, "schemaField"), optional=True
        )
        name = text(validator, shown, "fieldPath", child_path(item_path, "schemaField"))
        downstream = DatasetField(chart, schema_paths.field_name(name) if name else upstream.name)
        return Derivation((downstream,), "", "", (upstream,), ())

    derivations = merge_entries(validator.readable(list_items(validator, data, "fields", path), read))
    return AspectLineage(
        sources=frozenset(field.dataset for entry in derivations for field in entry.upstreams),
        destinations=frozenset([chart] if derivations else []),
        derivations=derivations,
    )


def fine_grain_upstream_lineage(
    validator: Validator, value: object, path: str, dataset: Dataset
) -> AspectLineage:
    """Read `fineGrainUpstreamLineage`, the aspect as first proposed: upstreams with pairs of field paths."""
    data = object_without_nulls(validator, value, path)
    upstreams = _readable_upstreams(validator, data, path)
    sources = {source for source, _, _ in upstreams}
    constraints: set[DatasetField] = set()
    pairs: list[Derivation] = []
    for source, upstream, item_path in upstreams:

        def read_pair(item: object, where: str, source: Dataset = source) -> Derivation:
            pair = object_without_nulls(validator, item, where)
            start = DatasetField(source, _path(validator, pair, "sourceField", where))
            target = DatasetField(dataset, _path(validator, pair, "targetField", where))
            return Derivation((target,), "", "", (start,), ())

        def read_constraint(item: object, where: str, source: Dataset = source) -> DatasetField:
            return DatasetField(source, schema_paths.field_name(validator.name(item, where)))

        pairs += validator.readable(list_items(validator, upstream, "fields", item_path), read_pair)
        # Constraints decide which rows are written: indirect inputs of the WRITE, of no single field.
        items = list_items(validator, upstream, "constraints", item_path)
        constraints.update(validator.readable(items, read_constraint))
    return AspectLineage(
        sources=frozenset(sources),
        destinations=frozenset([dataset] if sources else []),
        derivations=merge_entries(pairs),
        constraints=frozenset(constraints),
        newest_ms=_newest_ms(validator, [upstream[1:] for upstream in upstreams]),
    )


def data_job_input_output(validator: Validator, value: object, path: str) -> AspectLineage:
    """Read `dataJobInputOutput`: inputs and outputs as urns or edges, and fine-grained entries."""
    data = object_without_nulls(validator, value, path)
    inputs = _read_field_set(validator, data, "input", path)
    outputs = _read_field_set(validator, data, "output", path)
    derivations = _derivations(validator, data, path)
    return AspectLineage(
        sources=inputs.end_points,
        destinations=outputs.end_points,
        derivations=derivations,
        fields=inputs.fields | outputs.fields,
        queries=_queries(validator, [], derivations),
        newest_ms=max(inputs.newest_ms, outputs.newest_ms),
    )


class _FieldSet(NamedTuple):
    """Inputs or outputs of a job: datasets, fields, and the newest audit stamp in ms."""

    end_points: frozenset[Dataset]
    fields: frozenset[DatasetField]
    newest_ms: int


def _read_field_set(validator: Validator, data: dict[str, Any], name: str, path: str) -> _FieldSet:
    """Read the inputs or outputs of a job: its lists `{name}Datasets`, `…Edges` and `…DatasetFields`."""
    plain = validator.readable(
        list_items(validator, data, f"{name}Datasets", path), partial(read_dataset, validator)
    )
    edges = list(_edges(validator, data, f"{name}DatasetEdges", path))
    field_edges = list(_edges(validator, data, f"{name}DatasetFields", path))
    ends = validator.readable(
        edges, lambda edge, item_path: read_dataset_member(validator, edge, "destinationUrn", item_path)
    )
    fields = list(
        validator.readable(
            field_edges,
            lambda edge, item_path: read_field(validator, edge.get("destinationUrn"), item_path),
        )
    )
    return _FieldSet(
        frozenset([*plain, *ends, *(field.dataset for field in fields)]),
        frozenset(fields),
        _newest_ms(validator, [*edges, *field_edges]),
    )


def _derivations(validator: Validator, data: dict[str, Any], path: str) -> tuple[Derivation, ...]:
    """Read the fine-grained entries; empty ones are ignored."""
    items = list_items(validator, data, "fineGrainedLineages", path)
    entries = list(validator.readable(items, partial(_derivation, validator)))
    return merge_entries(
        entry for entry in entries if entry.downstreams or entry.upstreams or entry.dataset_upstreams
    )


def _derivation(validator: Validator, item: object, path: str) -> Derivation:
    """Read a fine-grained entry; of its downstreams only fields count."""
    data = object_without_nulls(validator, item, path)
    upstreams = _readable_urns(validator, data, "upstreams", path)
    downstreams = _readable_urns(validator, data, "downstreams", path)
    return Derivation(
        in_order(field for field in downstreams if isinstance(field, DatasetField)),
        text(validator, data, "transformOperation", path),
        text(validator, data, "query", path),
        in_order(field for field in upstreams if isinstance(field, DatasetField)),
        in_order(dataset for dataset in upstreams if isinstance(dataset, Dataset)),
        _confidence(validator, data, path),
    )


def _readable_urns(
    validator: Validator, data: dict[str, Any], name: str, path: str
) -> list[DatasetField | Dataset]:
    """Return the fields and datasets of a list; it is an error if none of its items can be read."""

    def read(item: object, item_path: str) -> DatasetField | Dataset:
        # The urn shows whether it is a field or a dataset, so `upstreamType` is not needed.
        if name == "downstreams" or (isinstance(item, str) and item.startswith(_FIELD_URN)):
            return read_field(validator, item, item_path)
        return read_dataset(validator, item, item_path)

    items = list(list_items(validator, data, name, path))
    readable = list(validator.readable(items, read))
    # Without any upstream, the entry would say that the field is generated.
    if data.get(name) not in (None, []) and not readable:
        validator.error(child_path(path, name), "none of it can be read")
    return readable


def _confidence(validator: Validator, data: dict[str, Any], path: str) -> float:
    """Return the confidence of an entry, 0 to 1; 1 if it is absent, or with a warning if it is invalid."""
    value = data.get("confidenceScore", 1.0)
    # True is an int in Python.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    validator.warning(child_path(path, "confidenceScore"), "must be a number from 0 to 1; left out")
    return 1.0


def _edges(
    validator: Validator, data: dict[str, Any], name: str, path: str
) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield edges with their paths: objects, or bare urns as objects; warn of other values."""
    for item, item_path in list_items(validator, data, name, path):
        if isinstance(item, str):
            yield {"destinationUrn": item}, item_path
        elif isinstance(item, dict):
            yield object_without_nulls(validator, item, item_path), item_path
        else:
            validator.warn_type(item, item_path, "an object")


def _path(validator: Validator, pair: dict[str, Any], name: str, path: str) -> str:
    """Return the field name of a required member with a field path."""
    return validator.name(
        schema_paths.field_name(validator.required(pair, name, path)),
        child_path(path, name),
        bytes_max=NAME_BYTES_MAX,
    )


def _queries(
    validator: Validator, upstreams: list[_Upstream], derivations: tuple[Derivation, ...]
) -> frozenset[str]:
    """Return the urns of the queries that upstreams and derivations name."""
    queries = [text(validator, upstream.members, "query", upstream.path) for upstream in upstreams]
    return frozenset([*filter(None, queries), *(each_of.query for each_of in derivations if each_of.query)])


def _newest_ms(validator: Validator, holders: list[tuple[dict[str, Any], str]]) -> int:
    """Return the newest audit stamp in ms since 1970; 0 if none is set."""
    newest_ms = 0
    for holder, path in holders:
        for name in _STAMPS:
            item_path = child_path(path, name)
            errors_before = validator.errors.count
            stamp = object_without_nulls(validator, holder.get(name, {}), item_path)
            # DataHub's own classes write 0 for a stamp that is not set.
            if stamp.get("time", 0) != 0:
                time_ms = validator.integer(stamp, "time", item_path, below=START_LIMIT_MS)
                newest_ms = max(newest_ms, time_ms)
            validator.leave_out(item_path, errors_before=errors_before)
    return newest_ms
