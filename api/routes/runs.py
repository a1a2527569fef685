"""Runs: pages of the runs of a dataset, as JSON or as OpenLineage events, and single runs."""

from __future__ import annotations

from typing import Any

from flask import Response

from api import responses
from api.openapi.answers import ContentSchema, OpenLineageEventSchema, RunDetailsSchema, RunsSchema
from api.query_params import (
    NoParams,
    RunsParams,
    decode_cursor,
    encode_cursor,
    invalid_cursor,
    now_ms,
    window_params,
)
from api.routes.blueprint import store
from api.routes.catalogue import blueprint, page_limit
from fll_hbase import content_json, openlineage_export, rest_json
from fll_hbase.errors import CorruptRow
from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.store.results import RunsPage

__all__ = ["blueprint"]

_DATASET_PATH = "/v3/namespaces/<namespace:namespace>/endpoints/<name:name>"


@blueprint.route(f"{_DATASET_PATH}/runs")
@blueprint.arguments(RunsParams(), location="query")
@blueprint.response(200, RunsSchema, description="Newest first")
@blueprint.problems(400, 404, 503)
def runs(query: dict[str, Any], namespace: str, name: str) -> Response:
    """List the runs of the window that read or wrote a dataset, including failed and aborted ones."""
    page = _read_page(query, namespace, name)
    body = {"runs": [rest_json.run(run, now_ms=now_ms()) for run in page.runs]}
    return _page_response(body, page, query)


@blueprint.route(f"{_DATASET_PATH}/openlineage")
@blueprint.arguments(RunsParams(), location="query")
@blueprint.response(200, OpenLineageEventSchema(many=True), description="Newest first, one event a run")
@blueprint.problems(400, 404, 503)
def openlineage(query: dict[str, Any], namespace: str, name: str) -> Response:
    """List the runs of the window that read or wrote a dataset, as OpenLineage events.

    The answer is an array that the batch route of another store accepts unchanged.
    """
    page = _read_page(query, namespace, name)
    details = store().run_details(page)
    aliases = store().catalogue.aliases(openlineage_export.datasets_of_runs(details))
    return _page_response(openlineage_export.run_events(details, aliases), page, query)


@blueprint.route("/v3/runs/<run:run>")
@blueprint.arguments(NoParams(), location="query")
@blueprint.response(200, RunDetailsSchema, description="Includes the run's OpenLineage events, if any")
@blueprint.problems(400, 404, 503)
def run(query: dict[str, Any], run: str) -> Response:
    """Return everything that is recorded of one run: its datasets, its operations and where they are from."""
    details, content = store().run_with_content(run)
    body = rest_json.run_details(details, now_ms=now_ms())
    body |= content_json.content_members(content.operations)
    return responses.json_response(body)


@blueprint.route("/v3/contents/<checksum:checksum>")
@blueprint.arguments(NoParams(), location="query")
@blueprint.response(200, ContentSchema, description="Never changes: it may be cached for ever")
@blueprint.problems(400, 404, 503)
def content(query: dict[str, Any], checksum: str) -> Response:
    """Return the operations of one content, which all runs with this checksum performed."""
    response = responses.json_response(content_json.content(checksum, store().content(checksum).operations))
    # A year, the most that caches count with; `immutable`: a reload does not ask either (RFC 8246).
    response.headers["Cache-Control"] = "max-age=31536000, immutable"
    return response


def _read_page(query: dict[str, Any], namespace: str, name: str) -> RunsPage:
    """Return the page of runs after the cursor. Raises InvalidQuery for an invalid cursor."""
    # The cursor is the tail of the last reference key (start and run): it stays valid if that run is purged.
    (tail,) = decode_cursor(query["cursor"], 1) or [""]
    try:
        if tail:
            # Text of a client: a tail that no key can have is a 400, not an arbitrary page.
            layout.parse_reference_tail(tail.encode())
    except CorruptRow as error:
        raise invalid_cursor() from error
    return store().runs(
        Dataset(namespace, name), query["window"], limit=page_limit(query), start_after=tail.encode()
    )


def _page_response(body: Any, page: RunsPage, query: dict[str, Any]) -> Response:
    response = responses.windowed_response(body, query["window"])
    if not page.next_after:
        return response
    # With the window as it was resolved: a relative one would move between pages.
    cursor = encode_cursor(page.next_after.decode())
    return responses.with_next_link(response, cursor=cursor, **window_params(query["window"]))
