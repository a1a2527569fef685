"""Reports about a field, as JSON, CSV, or a page to print."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.window import Window
from fll_hbase.queries.cursors import decode_runs_cursor
from fll_hbase.queries.reports import html_report as page
from fll_hbase.queries.reports import report_csv
from fll_hbase.queries.reports.consumption import consumption as consumption_report
from fll_hbase.queries.reports.provenance import provenance as provenance_report
from fll_hbase.queries.reports.report_query import ReportQuery
from fll_hbase.runtime.json_types import Json

from ..openapi.report_schemas import ConsumptionSchema, ProvenanceSchema
from ..wire import csv_response, responses
from ..wire.query_params import encode_cursor, now_ms, window_params
from ..wire.report_params import ConsumptionParams, ProvenanceParams
from .blueprint import Blueprint, store
from .catalogue import page_limit

HTML = "text/html"
_TYPES = ("application/json", csv_response.CSV, HTML)

blueprint = Blueprint("reports", __name__, description="Answer for a field and its data")


@blueprint.route("/v3/reports/consumption")
@blueprint.arguments(ConsumptionParams(), location="query")
@blueprint.response(200, ConsumptionSchema, description="Runs and programs newest first")
@blueprint.problems(400, 404, 503)
def consumption(query: dict[str, Any]) -> Response:
    """Return the programs and runs that read a field, and every field made from it, each with a path.

    `runs` is paged by the link to the next page, on which it is alone. By `Accept` the answer is JSON,
    `text/csv` (one `part` of it) or `text/html`, a page to print.
    """
    report_query = _report_query(
        query, limit=page_limit(query), start_after=decode_runs_cursor(query["cursor"])
    )
    body, runs = consumption_report(store(), report_query, now_ms=now_ms())
    body["moreRuns"] = bool(runs.next_after)
    response = _response(body, query)
    if not runs.next_after:
        return response
    cursor = encode_cursor(runs.next_after.decode())
    return responses.with_next_link(response, cursor=cursor, **window_params(query["window"]))


@blueprint.route("/v3/reports/provenance")
@blueprint.arguments(ProvenanceParams(), location="query")
@blueprint.response(200, ProvenanceSchema, description="Derivations and stretches newest first")
@blueprint.problems(400, 404, 503)
def provenance(query: dict[str, Any]) -> Response:
    """Return the sources of a field, its operations in order, and the stretches of runs with the same ones.

    By `Accept` the answer is JSON, `text/csv` (one `part` of it) or `text/html`, a page to print.
    """
    return _response(provenance_report(store(), _report_query(query)), query)


def _report_query(query: dict[str, Any], **page: Any) -> ReportQuery:
    field = DatasetField(Dataset(query["namespace"], query["endpoint"]), query["field"])
    return ReportQuery(field, query["window"], causal=query["causal"], failed=query["failed"], **page)


def _response(body: Json, query: dict[str, Any]) -> Response:
    """Return the report in the form that the request accepts."""
    window: Window = query["window"]
    causal: bool = query["causal"]
    response = responses.windowed_response(body, window, retained_from_ms=body.get("retainedFrom"))
    accepted = request.accept_mimetypes.best_match(_TYPES, default=_TYPES[0])
    if accepted == csv_response.CSV:
        response.set_data(report_csv.to_csv(body, query["part"], causal=causal))
    elif accepted == HTML:
        times = {"start_ms": window.start_ms, "stop_ms": window.stop_ms, "now_ms": now_ms()}
        response.set_data(page.to_html(body, causal=causal, **times))
    response.mimetype = accepted
    response.vary.add("Accept")
    return csv_response.add_limits(response, body.get("truncatedBy", ()))
