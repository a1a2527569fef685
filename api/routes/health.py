"""Is it alive, and does its store answer."""

from __future__ import annotations

from typing import Any

from flask import Response

from api import responses
from api.openapi.schemas import HealthSchema
from api.query_params import NoQuery
from api.routes.blueprint import Blueprint, store

blueprint = Blueprint("health", __name__, description="For load balancers and supervisors")


@blueprint.route("/healthz")
@blueprint.arguments(NoQuery(), location="query")
@blueprint.response(200, HealthSchema, description="The process answers")
@blueprint.problems(400)
def alive(query: dict[str, Any]) -> Response:
    """Whether the process is alive."""
    return responses.json({"status": "alive"})


@blueprint.route("/readyz")
@blueprint.arguments(NoQuery(), location="query")
@blueprint.response(200, HealthSchema, description="The store answers")
@blueprint.problems(400, 503)
def ready(query: dict[str, Any]) -> Response:
    """Whether the store answers."""
    store().ready()
    return responses.json({"status": "ready"})
