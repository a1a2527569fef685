"""The provenance report (FLL-2): sources of a field, its operations, and how long they stayed the same."""

from __future__ import annotations

import msgspec

from fll_hbase.model.datasets import WHOLE_DATASET, DatasetField
from fll_hbase.model.window import Direction
from fll_hbase.queries import name_json, reach_json, rest_json
from fll_hbase.queries.derivations import derivation_path
from fll_hbase.queries.field_lineage import field_lineage
from fll_hbase.queries.history import stretch
from fll_hbase.queries.reports.reached_fields import ReachedFields
from fll_hbase.queries.reports.report_query import ReportQuery, horizon_member
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.results import FieldLineageResult, Reach


def provenance(store: LineageStore, query: ReportQuery) -> Json:
    """Return the report: true sources, the operations of the field in order, and its history.

    Raises NotFound for a field that was never recorded.
    """
    field, window, failed = query.field, query.window, query.failed
    reached = ReachedFields(store, query, Direction.BACKWARD)
    detailed = store.field_lineage(field, window, failed=failed)
    simple = store.field_lineage(field, window, simple=True, failed=failed)
    derivations = store.field_derivations(field, window, failed=failed)
    history = store.history(field, window, failed=failed)
    upstream = reached.reach.paths.keys() - {field}
    sources = _ultimate_sources(reached.reach, upstream)
    body: Json = {
        "report": "provenance",
        "field": name_json.field(field),
        "sources": reached.to_json(sources),
        "upstream": reached.to_json(upstream - sources),
        "unknown": reach_json.unknown(reached.reach),
        "derivations": msgspec.to_builtins([derivation_path(item) for item in derivations.derivations]),
        "detailed": _graph(detailed),
        "simple": _graph(simple),
        "stretches": msgspec.to_builtins([stretch(item) for item in history.stretches]),
    }
    parts = (detailed, simple, derivations, history)
    truncated_by = reached.truncated_by.union(*(part.truncated_by for part in parts))
    return rest_json.truncatable(body | horizon_member(store, query), sorted(truncated_by))


def _ultimate_sources(reach: Reach, upstream: set[DatasetField]) -> set[DatasetField]:
    """Return the fields that nothing within reach leads to, nor to their dataset as a whole."""
    written = {edge.destination for edge in reach.edges}
    return {
        field
        for field in upstream
        if field not in written and DatasetField(field.dataset, WHOLE_DATASET) not in written
    }


def _graph(result: FieldLineageResult) -> Json:
    """Return the graph of a field without what the report says for all of its parts."""
    body = msgspec.to_builtins(field_lineage(result))
    return {name: body[name] for name in ("nodes", "operations", "connections", "checksums")}
