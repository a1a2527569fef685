"""Runs of the programs of a namespace, or of all namespaces, as JSON or as OpenLineage events."""

from __future__ import annotations

from typing import Any

from flask import Response

from fll_hbase.keys import layout
from fll_hbase.queries import openlineage_export, run_list_json
from fll_hbase.queries.cursors import invalid_cursor
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.read.namespace_runs import RunsQuery
from fll_hbase.store.results import RunsPage

from ..openapi.answer_schemas import OpenLineageEventSchema
from ..openapi.run_schemas import NamespaceRunsSchema
from ..wire.query_params import NamespaceRunsParams, decode_cursor, now_ms
from .blueprint import store
from .catalogue import page_limit
from .runs import blueprint, page_response

__all__ = ["blueprint"]

_NAMESPACE_PATH = "/v3/namespaces/<namespace:namespace>"


@blueprint.route("/v3/runs")
@blueprint.arguments(NamespaceRunsParams(), location="query")
@blueprint.response(200, NamespaceRunsSchema, description="Newest first")
@blueprint.problems(400, 503)
def all_runs(query: dict[str, Any]) -> Response:
    """List the runs of the window in all namespaces, including failed and aborted ones.

    A page may have fewer runs than its limit and still a next page.
    """
    return _runs_response(query, "")


@blueprint.route(f"{_NAMESPACE_PATH}/runs")
@blueprint.arguments(NamespaceRunsParams(), location="query")
@blueprint.response(200, NamespaceRunsSchema, description="Newest first")
@blueprint.problems(400, 404, 503)
def namespace_runs(query: dict[str, Any], namespace: str) -> Response:
    """List the runs of the window of the programs of a namespace, including failed and aborted ones.

    The namespace is that of the programs, whatever datasets they read and wrote. A page may have fewer runs
    than its limit and still a next page.
    """
    return _runs_response(query, namespace)


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


def _runs_response(query: dict[str, Any], namespace: str) -> Response:
    page = _read_page(query, namespace)
    return page_response(run_list_json.runs(page, now_ms=now_ms()), page, query)


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
    # The cursor is the tail of a key of the run index (start and run): it stays valid if that run is purged.
    (tail,) = decode_cursor(query["cursor"], 1) or [""]
    try:
        if tail:
            layout.parse_run_index_tail(tail.encode())
    except CorruptRow as error:
        raise invalid_cursor() from error
    return store().namespace_runs(
        RunsQuery(namespace, query["window"], query["program"], query["state"]),
        limit=page_limit(query),
        start_after=tail.encode(),
    )
