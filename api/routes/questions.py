"""Lineage of datasets and fields, and batches of up to 100 GET requests, answered together."""

from __future__ import annotations

from typing import Any

from flask import Response, current_app

from fll_hbase.model.access import Role
from fll_hbase.queries.derivations import Derivations
from fll_hbase.queries.field_lineage import FieldLineage
from fll_hbase.queries.lineage import Lineage
from fll_hbase.queries.query_batch import PATH, Batch, BatchAnswer

from ..batches.batch_answers import answer_batch, parse_batch
from ..openapi.query_schemas import body_schema, reference
from ..wire import responses
from ..wire.query_params import NoParams
from .blueprint import body, store
from .queries import query_blueprint

blueprint = query_blueprint("questions", "Query the lineage of a window", Lineage, FieldLineage, Derivations)


@blueprint.route(PATH, methods=["POST"])
@blueprint.arguments(NoParams(), location="query")
@blueprint.requires(reference(Batch))
@blueprint.response(
    200, body_schema(BatchAnswer), description="In the order of the questions, each with its own status"
)
@blueprint.problems(400, 413, 415)
def questions(query: dict[str, Any]) -> Response:
    """Answer up to 100 questions together.

    A question is the path of a GET request. An invalid question does not stop the others. All share the rows
    that they read and the time of one request. Questions that do not fit into that time are answered with
    503.
    """
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    return responses.json_response(answer_batch(app, store(), parse_batch(body(Role.READER))))
