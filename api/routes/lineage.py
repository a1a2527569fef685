"""The three questions of the design: high level, detailed, and the first design's."""

from __future__ import annotations

from typing import Any

from flask import Response

from api import responses
from api.openapi.schemas import EntrySchema, FieldLineageSchema, FieldWaysSchema
from api.query_params import FieldLineageQuery, LineageQuery, RunsOfWindowQuery
from api.routes.blueprint import Blueprint, store
from fll_hbase import rest_json
from fll_hbase.model.datasets import Dataset, DatasetField

blueprint = Blueprint("questions", __name__, description="Ask about the lineage of a window")

_END_POINT = "/v3/namespaces/<namespace:namespace>/endpoints/<name:name>"
_DATASET = "/v3/namespaces/<namespace:namespace>/datasets/<name:name>"


@blueprint.route(f"{_END_POINT}/fields/lineage")
@blueprint.arguments(LineageQuery(), location="query")
@blueprint.response(200, EntrySchema(many=True), description="By level, source and destination")
@blueprint.problems(400, 404, 503)
def lineage(query: dict[str, Any], namespace: str, name: str) -> Response:
    """Which fields of which end points made which, many hops each way."""
    answer = store().lineage(Dataset(namespace, name), **query)
    response = responses.json(rest_json.dataset_lineage(answer))
    if answer.truncated_by:
        response.headers["Truncated"] = "true"
        response.headers["Truncated-By"] = ", ".join(answer.truncated_by)
    return response


@blueprint.route(f"{_END_POINT}/fields/<field:field>/lineage")
@blueprint.arguments(FieldLineageQuery(), location="query")
@blueprint.response(200, FieldLineageSchema, description="Nodes by id, operations by name")
@blueprint.problems(400, 404, 503)
def field_lineage(query: dict[str, Any], namespace: str, name: str, field: str) -> Response:
    """By which operations a field was made, or what was made of it: one level."""
    simple = query.pop("view") == "simple"
    asked = DatasetField(Dataset(namespace, name), field)
    return responses.json(rest_json.field_lineage(store().field_lineage(asked, simple=simple, **query)))


@blueprint.route(f"{_DATASET}/fields/<field:field>/lineage")
@blueprint.arguments(RunsOfWindowQuery(), location="query")
@blueprint.response(200, FieldWaysSchema, description="One path per distinct way, newest first")
@blueprint.problems(400, 404, 503)
def field_ways(query: dict[str, Any], namespace: str, name: str, field: str) -> Response:
    """Every distinct way a field was made, with the runs that made it so (the first design's question)."""
    asked = DatasetField(Dataset(namespace, name), field)
    return responses.json(rest_json.field_derivations(field, query["window"], store().field_derivations(asked, **query)))
