"""Diffs as JSON of the REST contract."""

from __future__ import annotations

from fll_hbase.model.derivation_parts import DerivationParts, Edge, OperationIdentity
from fll_hbase.model.masking import is_hidden_operation
from fll_hbase.model.operations import Influence
from fll_hbase.queries import field_lineage, name_json, rest_json
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.results import DatasetDiff, FieldDiff

_NO_PARTS = DerivationParts()


def diff(result: FieldDiff) -> Json:
    """Return the parts that the derivations of a field gained and lost; `omitted` names those not known."""
    return rest_json.truncatable(_difference(result), result.truncated_by)


def dataset_diff(result: DatasetDiff) -> Json:
    """Return the fields whose derivations differ, each with what `diff` says of it."""
    fields = [{"field": field.name, **_difference(field.diff)} for field in result.fields]
    return rest_json.truncatable({"fields": fields}, result.truncated_by)


def _difference(result: FieldDiff) -> Json:
    parts = {"gained": result.gained, "lost": result.lost}
    body: Json = {name: _parts(_NO_PARTS if value is None else value) for name, value in parts.items()}
    body["kept"] = result.common
    if omitted := [name for name, value in parts.items() if value is None]:
        body["omitted"] = omitted
    return body


def _parts(parts: DerivationParts) -> Json:
    edges = [_edge(edge) for edge in parts.edges]
    operations = [operation for operation in parts.operations if not is_hidden_operation(operation.name)]
    return {
        "operations": [_operation(operation) for operation in sorted(operations, key=_operation_key)],
        "edges": sorted(
            edges,
            key=lambda item: (item["from"], item["to"], item["operation"], item.get("influence", "")),
        ),
        "sources": [name_json.field(source) for source in sorted(parts.sources)],
    }


def _operation_key(operation: OperationIdentity) -> tuple[str, ...]:
    # A TRANSFORM has no dataset, and Python compares None with nothing.
    dataset = operation.dataset
    names = (dataset.namespace, dataset.name) if dataset else ()
    return (operation.name, operation.type, operation.description, *names)


def _operation(operation: OperationIdentity) -> Json:
    body: Json = {
        "name": operation.name,
        "description": operation.description,
        "type": operation.type,
    }
    if operation.dataset is not None:
        body["endPoint"] = name_json.dataset(operation.dataset)
    return body


def _edge(edge: Edge) -> Json:
    body = {
        "from": field_lineage.node_id(edge.start),
        "to": field_lineage.node_id(edge.end),
        "operation": field_lineage.operation_name(edge.operation),
    }
    if edge.influence is Influence.INDIRECT:
        body["influence"] = edge.influence.value
    return body
