"""Lineage aspects: `upstreamLineage`, `dataJobInputOutput` and their predecessors.

Each reader returns the same AspectLineage: datasets read and written, and the derivations of fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.sources.datahub import field_paths
from fll_hbase.sources.datahub.lineage_edges import AspectLineage, Derivation, in_order, merge_entries
from fll_hbase.sources.datahub.proposal import object_without_nulls
from fll_hbase.sources.datahub.urn_lookup import list_items, read_dataset, read_dataset_member, read_field
from fll_hbase.sources.validation import NAME_BYTES_MAX, Validator, child_path

_FIELD_URN = "urn:li:schemaField:"
_STAMPS = ("auditStamp", "created", "lastModified")


def upstream_lineage(validator: Validator, value: object, path: str, dataset: Dataset) -> AspectLineage:
    """Read `upstreamLineage`: upstream datasets and fine-grained entries."""
    data = object_without_nulls(validator, value, path)
    upstreams = [
        (object_without_nulls(validator, *item), item[1])
        for item in list_items(validator, data, "upstreams", path)
    ]
    derivations = _derivations(validator, data, path)
    sources = frozenset(
        read_dataset_member(validator, each_of, "dataset", item_path) for each_of, item_path in upstreams
    )
    return AspectLineage(
        # An aspect without lineage has no destination either, so that it is no run.
        sources=sources,
        destinations=frozenset([dataset] if sources or derivations else []),
        derivations=derivations,
        queries=_queries(validator, upstreams, derivations),
        newest_ms=_newest_ms(validator, upstreams),
    )


def fine_grain_upstream_lineage(
    validator: Validator, value: object, path: str, dataset: Dataset
) -> AspectLineage:
    """Read the first proposal of the aspect (seed 001): upstreams with pairs of field paths."""
    data = object_without_nulls(validator, value, path)
    upstreams = [
        (object_without_nulls(validator, *item), item[1])
        for item in list_items(validator, data, "upstreams", path)
    ]
    sources: set[Dataset] = set()
    constraints: set[DatasetField] = set()
    pairs: list[Derivation] = []
    for upstream, item_path in upstreams:
        source = read_dataset_member(validator, upstream, "dataset", item_path)
        sources.add(source)
        for item, where in list_items(validator, upstream, "fields", item_path):
            pair = object_without_nulls(validator, item, where)
            if isinstance(item, dict):
                start = DatasetField(source, _path(validator, pair, "sourceField", where))
                target = DatasetField(dataset, _path(validator, pair, "targetField", where))
                pairs.append(Derivation((target,), "", "", (start,), ()))
        # Constraints decide which rows are written: indirect inputs of the WRITE, of no single field.
        for item, where in list_items(validator, upstream, "constraints", item_path):
            constraints.add(DatasetField(source, field_paths.field_name(validator.name(item, where))))
    return AspectLineage(
        sources=frozenset(sources),
        destinations=frozenset([dataset] if sources else []),
        derivations=merge_entries(pairs),
        constraints=frozenset(constraints),
        newest_ms=_newest_ms(validator, upstreams),
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
    plain = [read_dataset(validator, *item) for item in list_items(validator, data, f"{name}Datasets", path)]
    edges = list(_edges(validator, data, f"{name}DatasetEdges", path))
    field_edges = list(_edges(validator, data, f"{name}DatasetFields", path))
    ends = [read_dataset_member(validator, edge, "destinationUrn", item_path) for edge, item_path in edges]
    fields = [read_field(validator, edge.get("destinationUrn"), item_path) for edge, item_path in field_edges]
    return _FieldSet(
        frozenset([*plain, *ends, *(field.dataset for field in fields)]),
        frozenset(fields),
        _newest_ms(validator, [*edges, *field_edges]),
    )


def _derivations(validator: Validator, data: dict[str, Any], path: str) -> tuple[Derivation, ...]:
    """Read the fine-grained entries; empty ones are ignored."""
    entries = [
        _derivation(validator, *item) for item in list_items(validator, data, "fineGrainedLineages", path)
    ]
    return merge_entries(
        entry for entry in entries if entry.downstreams or entry.upstreams or entry.dataset_upstreams
    )


def _derivation(validator: Validator, item: object, path: str) -> Derivation:
    data = object_without_nulls(validator, item, path)
    upstreams: list[DatasetField] = []
    datasets: list[Dataset] = []
    for each_of, item_path in list_items(validator, data, "upstreams", path):
        # The urn shows whether it is a field or a dataset, so `upstreamType` is not needed.
        if isinstance(each_of, str) and each_of.startswith(_FIELD_URN):
            upstreams.append(read_field(validator, each_of, item_path))
        else:
            datasets.append(read_dataset(validator, each_of, item_path))
    downstreams = [
        read_field(validator, each_of, item_path)
        for each_of, item_path in list_items(validator, data, "downstreams", path)
    ]
    operation = validator.optional(data, "transformOperation", path)
    query = validator.optional(data, "query", path)
    confidence = _confidence(validator, data, path)
    return Derivation(
        in_order(downstreams), operation, query, in_order(upstreams), in_order(datasets), confidence
    )


def _confidence(validator: Validator, data: dict[str, Any], path: str) -> float:
    value = data.get("confidenceScore", 1.0)
    # True is an int in Python.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    validator.error(child_path(path, "confidenceScore"), "must be a number from 0 to 1")
    return 1.0


def _edges(
    validator: Validator, data: dict[str, Any], name: str, path: str
) -> Iterator[tuple[dict[str, Any], str]]:
    """Iterate over edges: objects, or bare urns as in lists of fields."""
    for item, item_path in list_items(validator, data, name, path):
        if isinstance(item, str):
            yield {"destinationUrn": item}, item_path
        else:
            yield object_without_nulls(validator, item, item_path), item_path


def _path(validator: Validator, pair: dict[str, Any], name: str, path: str) -> str:
    return validator.name(
        field_paths.field_name(validator.required(pair, name, path)),
        child_path(path, name),
        bytes_max=NAME_BYTES_MAX,
    )


def _queries(
    validator: Validator, upstreams: list[tuple[dict[str, Any], str]], derivations: tuple[Derivation, ...]
) -> frozenset[str]:
    queries = [validator.optional(upstream, "query", path) for upstream, path in upstreams]
    return frozenset([*filter(None, queries), *(each_of.query for each_of in derivations if each_of.query)])


def _newest_ms(validator: Validator, holders: list[tuple[dict[str, Any], str]]) -> int:
    """Return the newest audit stamp in ms since 1970; 0 if none is set."""
    newest_ms = 0
    for holder, path in holders:
        for name in _STAMPS:
            item_path = child_path(path, name)
            stamp = object_without_nulls(validator, holder.get(name, {}), item_path)
            # DataHub's own classes write 0 for a stamp that is not set.
            if stamp.get("time", 0) != 0:
                newest_ms = max(newest_ms, validator.integer(stamp, "time", item_path, below=START_LIMIT_MS))
    return newest_ms
