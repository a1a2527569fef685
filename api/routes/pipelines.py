"""Recording by pipeline config: the stages of one run, flattened into its operations."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from api import request_body
from api.openapi.schemas import RecordedSchema
from api.query_params import RecordQuery
from api.routes.blueprint import Blueprint, settings
from api.routes.recording import RECORDED_OR_DRY_RUN, answered
from fll_hbase.sources import cdap, strict_json

blueprint = Blueprint("pipelines", __name__, description="Record runs of pipelines by their configs")

_DOCUMENT = {
    "required": True,
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/PipelineDocument"}}},
}


@blueprint.route("/v3/namespaces/<namespace:namespace>/pipelines", methods=["POST"])
@blueprint.arguments(RecordQuery(), location="query")
@blueprint.doc(requestBody=_DOCUMENT)
@blueprint.response(201, RecordedSchema, description="Recorded, durably")
@blueprint.alt_response(
    200, schema=RECORDED_OR_DRY_RUN, description="The very same again, a replacement, or a dry run"
)
@blueprint.problems(400, 409, 413, 415, 422, 503)
def record_pipeline(query: dict[str, Any], namespace: str) -> Response:
    """Record one run of a pipeline.

    Its config tells the operations, its arguments the values of macros; warnings tell what is not known. With
    `dryRun=true` nothing is stored, and the answer tells what would be.
    """
    raw = request_body.whole(request, bytes_max=settings().document_bytes_max)
    reading = cdap.read_document(strict_json.parse(raw), namespace=namespace)
    return answered(reading, dry_run=query["dry_run"])
