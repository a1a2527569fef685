"""Runs: pages of them, as JSON or as OpenLineage events, counts, programs, single runs and contents."""

from __future__ import annotations

from typing import Any

from flask import Response

from fll_hbase.model.datasets import Dataset
from fll_hbase.queries import openlineage_export
from fll_hbase.queries.contents import Content
from fll_hbase.queries.cursors import decode_runs_cursor
from fll_hbase.queries.programs import Programs
from fll_hbase.queries.run_counts import RunCounts
from fll_hbase.queries.run_details import Run
from fll_hbase.queries.runs import Runs
from fll_hbase.store.results import RunsPage

from ..openapi.answer_schemas import OpenLineageEventSchema
from ..wire import responses
from ..wire.query_params import RunsParams, encode_cursor, window_params
from .blueprint import store
from .catalogue import blueprint, page_limit
from .queries import add_query

__all__ = ["blueprint"]

_DATASET_PATH = "/v3/namespaces/<namespace:namespace>/endpoints/<name:name>"


add_query(blueprint, Runs)
add_query(blueprint, RunCounts)
add_query(blueprint, Programs)


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
    body = openlineage_export.export_runs(store().catalogue, store().tags, details)
    return page_response(body, page, query, Dataset(namespace, name))


add_query(blueprint, Run)
add_query(blueprint, Content)


def _read_page(query: dict[str, Any], namespace: str, name: str) -> RunsPage:
    """Return the page of runs after the cursor. Raises InvalidQuery for an invalid cursor."""
    return store().runs(
        Dataset(namespace, name),
        query["window"],
        limit=page_limit(query),
        start_after=decode_runs_cursor(query["cursor"]),
        field=query["field"],
        program=query["program"],
        state=query["state"],
    )


def page_response(
    body: Any, page: RunsPage, query: dict[str, Any], dataset: Dataset | None = None
) -> Response:
    """Return a page of runs with its window, and a link to the next page if there is one.

    Runs of a dataset are retained from its horizon.
    """
    window = query["window"]
    retained_from_ms = None if dataset is None else store().retained_from_ms(dataset, window)
    response = responses.windowed_response(body, window, retained_from_ms=retained_from_ms)
    if not page.next_after:
        return response
    # With the window as it was resolved: a relative one would move between pages.
    cursor = encode_cursor(page.next_after.decode())
    return responses.with_next_link(response, cursor=cursor, **window_params(query["window"]))
