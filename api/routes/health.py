"""Liveness and readiness probes, and metrics."""

from __future__ import annotations

from typing import Any

from flask import Response, current_app, request

from fll_hbase.model.access import Principal, Role
from fll_hbase.runtime.errors import Forbidden
from fll_hbase.tables import is_read_only

from ..observability import exporter
from ..observability.readiness import Readiness
from ..openapi.answer_schemas import Health
from ..openapi.query_schemas import body_schema
from ..wire import responses
from ..wire.environ import METRICS_PATH, PRINCIPAL
from ..wire.query_params import NoParams
from .blueprint import Blueprint, settings

blueprint = Blueprint("health", __name__, description="For load balancers and supervisors")


@blueprint.route("/healthz")
@blueprint.arguments(NoParams(), location="query")
@blueprint.response(200, body_schema(Health), description="The process is alive")
@blueprint.problems(400)
def liveness(query: dict[str, Any]) -> Response:
    """Report that the process is alive."""
    # Without the store: while HBase is down restarts do not help, and processes reconnect by themselves.
    return responses.json_response({"status": "alive"})


@blueprint.route("/readyz")
@blueprint.arguments(NoParams(), location="query")
@blueprint.response(200, body_schema(Health), description="The store answers")
@blueprint.problems(400, 503)
def ready(query: dict[str, Any]) -> Response:
    """Report that the store answers; 503 if it does not.

    With `readOnly` the server may only read it: every write is refused with 403.
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
@blueprint.problems(400, 403, 503)
def metrics(query: dict[str, Any]) -> Response:
    """Return the metrics of all processes of the server, for Prometheus.

    Metrics name routes, never datasets, fields, runs or users, but they count requests of all namespaces.
    With authentication, this route therefore needs the role admin in all namespaces, or FLL_METRICS_TOKEN.
    """
    # Requests with FLL_METRICS_TOKEN have no principal, like all requests without authentication.
    principal: Principal | None = request.environ.get(PRINCIPAL)
    if principal is not None and not principal.may_everywhere(Role.ADMIN):
        raise Forbidden(
            "metrics need the role admin in all namespaces ('*'), or the token of FLL_METRICS_TOKEN"
        )
    return exposition()


def exposition() -> Response:
    """Return the metrics of all processes, without checking rights."""
    return Response(exporter.exposition(), content_type=exporter.MEDIA_TYPE)
