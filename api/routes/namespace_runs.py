"""Runs of the programs of a namespace, or of all namespaces, as JSON or as OpenLineage events."""

from __future__ import annotations

from typing import Any

from flask import Response

from fll_hbase.keys import layout
from fll_hbase.queries import openlineage_export
from fll_hbase.queries.cursors import decode_runs_cursor
from fll_hbase.queries.runs import AllRuns, NamespaceRuns
from fll_hbase.store.read.namespace_runs import RunsQuery
from fll_hbase.store.results import RunsPage

from ..openapi.answer_schemas import OpenLineageEventSchema
from ..wire.query_params import NamespaceRunsParams
from .blueprint import store
from .catalogue import page_limit
from .queries import add_query
from .runs import blueprint, page_response

__all__ = ["blueprint"]

_NAMESPACE_PATH = "/v3/namespaces/<namespace:namespace>"


add_query(blueprint, AllRuns)
add_query(blueprint, NamespaceRuns)


@blueprint.route("/v3/openlineage")
@blueprint.arguments(NamespaceRunsParams(), location="query")
@blueprint.response(200, OpenLineageEventSchema(many=True), description="Newest first, one event a run")
@blueprint.problems(400, 503)
def all_openlineage(query: dict[str, Any]) -> Response:
    """List the runs of the window in all namespaces, as OpenLineage events."""
    return _openlineage_response(query, "")


@blueprint.route(f"{_NAMESPACE_PATH}/openlineage")
@blueprint.arguments(NamespaceRunsParams(), location="query")
@blueprint.response(200, OpenLineageEventSchema(many=True), description="Newest first, one event a run")
@blueprint.problems(400, 404, 503)
def namespace_openlineage(query: dict[str, Any], namespace: str) -> Response:
    """List the runs of the window of the programs of a namespace, as OpenLineage events.

    The answer is an array that the batch route of another store accepts unchanged.
    """
    return _openlineage_response(query, namespace)


def _openlineage_response(query: dict[str, Any], namespace: str) -> Response:
    page = _read_page(query, namespace)
    details = store().run_details(page)
    events = openlineage_export.export_runs(store().catalogue, store().tags, details)
    response = page_response(events, page, query)
    if page.truncated_by:
        # The body is a bare array, so truncation is in headers (decision 8).
        response.headers["Truncated"] = "true"
        response.headers["Truncated-By"] = ", ".join(page.truncated_by)
    return response


def _read_page(query: dict[str, Any], namespace: str) -> RunsPage:
    """Return the page of runs after the cursor. Raises InvalidQuery for an invalid cursor."""
    return store().namespace_runs(
        RunsQuery(namespace, query["window"], query["program"], query["state"]),
        limit=page_limit(query),
        start_after=decode_runs_cursor(query["cursor"], layout.parse_run_index_tail),
    )
