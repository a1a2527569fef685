"""What does an aspect say of lineage: `upstreamLineage`, `dataJobInputOutput` and what came before them.

Whatever the form, it comes to edges: end points read and written, and which fields were derived of which.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.sources.datahub import field_paths
from fll_hbase.sources.datahub.lineage_edges import Derivation, Edges, in_order, joined
from fll_hbase.sources.datahub.proposal import told
from fll_hbase.sources.datahub.urn_lookup import end_point_in, listed, read_end_point, read_field
from fll_hbase.sources.validation import NAME_BYTES_MAX, Validator, inside

_FIELD_URN = "urn:li:schemaField:"
_STAMPS = ("auditStamp", "created", "lastModified")


def upstream_lineage(checks: Validator, value: object, at: str, dataset: Dataset) -> Edges:
    """A dataset's upstreams; its fine-grained entries tell how."""
    said = told(checks, value, at)
    upstreams = [(told(checks, *item), item[1]) for item in listed(checks, said, "upstreams", at)]
    derivations = _derivations(checks, said, at)
    sources = frozenset(end_point_in(checks, each_of, "dataset", place) for each_of, place in upstreams)
    return Edges(
        sources=sources,
        destinations=frozenset([dataset] if sources or derivations else []),
        derivations=derivations,
        queries=_queries(checks, upstreams, derivations),
        newest_ms=_newest_ms(checks, upstreams),
    )


def fine_grain_upstream_lineage(checks: Validator, value: object, at: str, dataset: Dataset) -> Edges:
    """The aspect that was first proposed (seed 001): upstreams with pairs of field paths."""
    said = told(checks, value, at)
    upstreams = [(told(checks, *item), item[1]) for item in listed(checks, said, "upstreams", at)]
    sources: set[Dataset] = set()
    constraints: set[DatasetField] = set()
    pairs: list[Derivation] = []
    for upstream, place in upstreams:
        source = end_point_in(checks, upstream, "dataset", place)
        sources.add(source)
        for item, where in listed(checks, upstream, "fields", place):
            pair = told(checks, item, where)
            if isinstance(item, dict):
                start = DatasetField(source, _path(checks, pair, "sourceField", where))
                made = DatasetField(dataset, _path(checks, pair, "targetField", where))
                pairs.append(Derivation((made,), "", "", (start,), ()))
        for item, where in listed(checks, upstream, "constraints", place):
            constraints.add(DatasetField(source, field_paths.field_name(checks.name(item, where))))
    return Edges(
        sources=frozenset(sources),
        destinations=frozenset([dataset] if sources else []),
        derivations=joined(pairs),
        constraints=frozenset(constraints),
        newest_ms=_newest_ms(checks, upstreams),
    )


def data_job_input_output(checks: Validator, value: object, at: str) -> Edges:
    """What a job reads and writes, as urns or as edges, and its fine-grained entries."""
    said = told(checks, value, at)
    inputs = _side(checks, said, "input", at)
    outputs = _side(checks, said, "output", at)
    derivations = _derivations(checks, said, at)
    return Edges(
        sources=inputs.end_points,
        destinations=outputs.end_points,
        derivations=derivations,
        fields=inputs.fields | outputs.fields,
        queries=_queries(checks, [], derivations),
        newest_ms=max(inputs.newest_ms, outputs.newest_ms),
    )


class _Side(NamedTuple):
    """The inputs or the outputs of a job."""

    end_points: frozenset[Dataset]
    fields: frozenset[DatasetField]
    newest_ms: int


def _side(checks: Validator, said: dict[str, Any], name: str, at: str) -> _Side:
    plain = [read_end_point(checks, *item) for item in listed(checks, said, f"{name}Datasets", at)]
    edges = list(_edges(checks, said, f"{name}DatasetEdges", at))
    field_edges = list(_edges(checks, said, f"{name}DatasetFields", at))
    ends = [end_point_in(checks, edge, "destinationUrn", place) for edge, place in edges]
    fields = [read_field(checks, edge.get("destinationUrn"), place) for edge, place in field_edges]
    return _Side(
        frozenset([*plain, *ends, *(field.dataset for field in fields)]),
        frozenset(fields),
        _newest_ms(checks, [*edges, *field_edges]),
    )


def _derivations(checks: Validator, said: dict[str, Any], at: str) -> tuple[Derivation, ...]:
    """The fine-grained entries; those that name nothing at all say nothing."""
    entries = [_derivation(checks, *item) for item in listed(checks, said, "fineGrainedLineages", at)]
    return joined(entry for entry in entries if entry.downstreams or entry.upstreams or entry.whole)


def _derivation(checks: Validator, item: object, at: str) -> Derivation:
    said = told(checks, item, at)
    upstreams: list[DatasetField] = []
    whole: list[Dataset] = []
    for each_of, place in listed(checks, said, "upstreams", at):
        if isinstance(each_of, str) and each_of.startswith(_FIELD_URN):
            upstreams.append(read_field(checks, each_of, place))
        else:
            whole.append(read_end_point(checks, each_of, place))
    downstreams = [
        read_field(checks, each_of, place) for each_of, place in listed(checks, said, "downstreams", at)
    ]
    operation = checks.optional(said, "transformOperation", at)
    query = checks.optional(said, "query", at)
    confidence = _confidence(checks, said, at)
    return Derivation(
        in_order(downstreams), operation, query, in_order(upstreams), in_order(whole), confidence
    )


def _confidence(checks: Validator, said: dict[str, Any], at: str) -> float:
    value = said.get("confidenceScore", 1.0)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    checks.error(inside(at, "confidenceScore"), "must be a number from 0 to 1")
    return 1.0


def _edges(
    checks: Validator, said: dict[str, Any], name: str, at: str
) -> Iterator[tuple[dict[str, Any], str]]:
    """Edges, each an object or, as fields are listed, a bare urn."""
    for item, place in listed(checks, said, name, at):
        if isinstance(item, str):
            yield {"destinationUrn": item}, place
        else:
            yield told(checks, item, place), place


def _path(checks: Validator, pair: dict[str, Any], name: str, at: str) -> str:
    return checks.name(
        field_paths.field_name(checks.required(pair, name, at)), inside(at, name), bytes_max=NAME_BYTES_MAX
    )


def _queries(
    checks: Validator, upstreams: list[tuple[dict[str, Any], str]], derivations: tuple[Derivation, ...]
) -> frozenset[str]:
    named = [checks.optional(upstream, "query", at) for upstream, at in upstreams]
    return frozenset([*filter(None, named), *(each_of.query for each_of in derivations if each_of.query)])


def _newest_ms(checks: Validator, holders: list[tuple[dict[str, Any], str]]) -> int:
    """The newest time of all audit stamps; emitters that know none say 0."""
    newest_ms = 0
    for holder, at in holders:
        for name in _STAMPS:
            place = inside(at, name)
            stamp = told(checks, holder.get(name, {}), place)
            if stamp.get("time", 0) != 0:
                newest_ms = max(newest_ms, checks.integer(stamp, "time", place, below=START_LIMIT_MS))
    return newest_ms
