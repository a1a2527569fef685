"""Liveness and readiness probes, and metrics."""

from __future__ import annotations

from typing import Any

from flask import Response, current_app

from fll_hbase.tables import is_read_only

from ..observability import exporter
from ..observability.readiness import Readiness
from ..openapi.answer_schemas import Health
from ..openapi.query_schemas import body_schema
from ..wire import responses
from ..wire.query_params import NoParams
from .blueprint import Blueprint, settings

METRICS_PATH = "/metrics"

blueprint = Blueprint("health", __name__, description="For load balancers and supervisors")


@blueprint.route("/healthz")
@blueprint.arguments(NoParams(), location="query")
@blueprint.response(200, body_schema(Health), description="The process is alive")
@blueprint.problems(400)
def liveness(query: dict[str, Any]) -> Response:
    """Report that the process is alive."""
    # Without the store: restarting processes does not help while HBase is down, they reconnect by themselves.
    return responses.json_response({"status": "alive"})


@blueprint.route("/readyz")
@blueprint.arguments(NoParams(), location="query")
@blueprint.response(200, body_schema(Health), description="The store answers")
@blueprint.problems(400, 503)
def ready(query: dict[str, Any]) -> Response:
    """Report that the store answers; 503 if it does not.

    With `readOnly` the server may only read it: every write is 403.
    """
    readiness: Readiness = current_app.extensions["fll-readiness"]
    readiness.require()
    body = {"status": "ready"}
    return responses.json_response(body | {"readOnly": True} if is_read_only(settings().store) else body)


@blueprint.route(METRICS_PATH)
@blueprint.arguments(NoParams(), location="query")
@blueprint.alt_response(
    200, schema={"type": "string"}, content_type="text/plain", description="The text format of Prometheus"
)
@blueprint.problems(400, 503)
def metrics(query: dict[str, Any]) -> Response:
    """Return the metrics of all processes of the server, for Prometheus.

    They name routes, never datasets, fields, runs or users.
    """
    return Response(exporter.exposition(), content_type=exporter.MEDIA_TYPE)
