"""Lineage queries: of a dataset over many hops, of a field in detail, and the derivations of a field."""

from __future__ import annotations

from typing import Any

from flask import Response

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.queries import rest_json
from fll_hbase.queries.cursors import decode_skip_cursor, encode_cursor
from fll_hbase.queries.field_lineage import FieldLineage
from fll_hbase.queries.lineage import Lineage

from ..openapi.answer_schemas import FieldDerivationsSchema
from ..wire import responses
from ..wire.query_params import DerivationsParams, window_params
from .blueprint import Blueprint, store
from .catalogue import page_limit
from .queries import add_query

blueprint = Blueprint("questions", __name__, description="Query the lineage of a window")

_ENDPOINT_PATH = "/v3/namespaces/<namespace:namespace>/endpoints/<name:name>"
_DATASET_PATH = "/v3/namespaces/<namespace:namespace>/datasets/<name:name>"


add_query(blueprint, Lineage)
add_query(blueprint, FieldLineage)


@blueprint.route(f"{_DATASET_PATH}/fields/<field:field>/lineage")
@blueprint.arguments(DerivationsParams(), location="query")
@blueprint.response(200, FieldDerivationsSchema, description="One path per distinct derivation, newest first")
@blueprint.problems(400, 404, 503)
def field_derivations(query: dict[str, Any], namespace: str, name: str, field: str) -> Response:
    """Return each distinct derivation of a field with its newest runs, in the shape of the first design.

    `limit` is how many runs of each derivation are listed; the next page has those that are older.
    """
    dataset_field = DatasetField(Dataset(namespace, name), field)
    window = query["window"]
    retained_from_ms = store().retained_from_ms(dataset_field.dataset, window)
    derivations = store().field_derivations(
        dataset_field,
        window,
        failed=query["failed"],
        limit=page_limit(query),
        skip=decode_skip_cursor(query["cursor"]),
    )
    body = rest_json.field_derivations(field, window, derivations)
    response = responses.windowed_response(body, window, retained_from_ms=retained_from_ms)
    if not derivations.next_skip:
        return response
    cursor = encode_cursor(str(derivations.next_skip))
    return responses.with_next_link(response, cursor=cursor, **window_params(window))
