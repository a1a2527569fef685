"""Recording by SQL: the statements of one run, read as the column lineage of what they write."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from api import request_body
from api.openapi.schemas import RecordedSchema
from api.query_params import RecordQuery
from api.routes.blueprint import Blueprint, settings, store
from api.routes.recording import RECORDED_OR_DRY_RUN, answered
from fll_hbase.sources import sql, strict_json

blueprint = Blueprint("sql", __name__, description="Record runs by the SQL they ran")

_DOCUMENT = {
    "required": True,
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/SqlDocument"}}},
}


@blueprint.route("/v3/namespaces/<namespace:namespace>/sql", methods=["POST"])
@blueprint.arguments(RecordQuery(), location="query")
@blueprint.doc(requestBody=_DOCUMENT)
@blueprint.response(201, RecordedSchema, description="Recorded, durably")
@blueprint.alt_response(
    200, schema=RECORDED_OR_DRY_RUN, description="The very same again, a replacement, or a dry run"
)
@blueprint.problems(400, 409, 413, 415, 422, 503)
def record_sql(query: dict[str, Any], namespace: str) -> Response:
    """Record one run by its SQL.

    Columns that a statement does not spell out are those of `schema`, else of the catalogue; warnings name
    what could not be resolved. With `dryRun=true` nothing is stored, and the answer tells what would be.
    """
    raw = request_body.whole(request, bytes_max=settings().document_bytes_max)
    reading = sql.read_document(strict_json.parse(raw), namespace=namespace, columns=store().catalogue.field_names)
    return answered(reading, dry_run=query["dry_run"])
