"""Field reach: where the values of a field come from or go to, over many hops, in several formats."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.queries import reach_answer, reach_formats
from fll_hbase.store.read.reach_walk import ReachQuery

from ..openapi.reach_schemas import ReachSchema
from ..wire import responses
from ..wire.query_params import ReachParams
from .blueprint import Blueprint, store

blueprint = Blueprint("reach", __name__, description="Fields within reach of a field, over many hops")

JSON = "application/json"
_FORMATS = {
    "text/csv": reach_formats.to_csv,
    "application/graphml+xml": reach_formats.to_graphml,
    "text/vnd.mermaid": reach_formats.to_mermaid,
}


@blueprint.route("/v3/namespaces/<namespace:namespace>/endpoints/<name:name>/fields/<field:field>/reach")
@blueprint.arguments(ReachParams(), location="query")
@blueprint.response(200, ReachSchema, description="Nodes by hops and name, edges by name")
@blueprint.problems(400, 404, 503)
def reach(query: dict[str, Any], namespace: str, name: str, field: str) -> Response:
    """Return the fields that lead to a field, that it leads to, or both, over many hops, with their edges.

    An influence on a whole dataset is an edge to its field `*`, which stands before every field of it; `*`
    may also be asked. With `direction=both` nodes and edges have the `direction` in which they
    are. By `Accept` the answer is JSON, `text/csv` (a line for each edge), `application/graphml+xml` or
    `text/vnd.mermaid`.
    """
    dataset, window = Dataset(namespace, name), query["window"]
    retained_from_ms = store().retained_from_ms(dataset, window)
    directions = query.pop("directions")
    body = reach_answer.reach(store(), ReachQuery(DatasetField(dataset, field), **query), directions)
    response = responses.windowed_response(body, window, retained_from_ms=retained_from_ms)
    accepted = request.accept_mimetypes.best_match([JSON, *_FORMATS], default=JSON)
    if accepted in _FORMATS:
        response.set_data(_FORMATS[accepted](body))
        response.mimetype = accepted
    response.vary.add("Accept")
    # Also beside the JSON, whose body has it: the other formats have no place for it.
    if body["truncated"]:
        response.headers["Truncated"] = "true"
        response.headers["Truncated-By"] = ", ".join(body["truncatedBy"])
    return response
