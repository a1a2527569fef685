"""Policies on the age of data: put, removed and listed."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from fll_hbase.queries import retention_json
from fll_hbase.queries.policies import Policies, Policy, PolicyByName, policy_body
from fll_hbase.queries.reports import retention_page
from fll_hbase.sources import tag_bodies
from fll_hbase.store.read.retention_report import expired_query

from ..openapi.query_schemas import body_schema
from ..openapi.retention_schemas import RetentionReportSchema
from ..wire import csv_response, responses
from ..wire.query_params import NoParams, RetentionParams, now_ms
from .blueprint import Blueprint, body, store
from .queries import add_query, rule

HTML = "text/html"
_TYPES = ("application/json", csv_response.CSV, HTML)
_RULE = rule(PolicyByName)
_SCHEMA = body_schema(Policy)
_BODY = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {"$ref": "#/components/schemas/PolicyBody"},
            "example": {"maxAge": "90d", "tag": "PII", "description": "Deleted after three months"},
        }
    },
}

blueprint = Blueprint(
    "policies", __name__, description="How long data, and what is derived from it, may live"
)


@blueprint.route(_RULE, methods=["PUT"])
@blueprint.arguments(NoParams(), location="query")
@blueprint.doc(requestBody=_BODY)
@blueprint.alt_response(200, schema=_SCHEMA, description="It existed: updated, or the same again")
@blueprint.response(201, _SCHEMA, description="The policy is stored, durably")
@blueprint.problems(400, 404, 413, 415, 503)
def put_policy(_: dict[str, Any], policy: str) -> Response:
    """Put a policy: how long data of all fields with a tag, or of one field, may live.

    The same again changes nothing and keeps `at`. 404 if it names a field that was never recorded.
    """
    parsed = tag_bodies.read_policy(body(), name=policy)
    stored, is_new = store().policies.put(parsed.policy)
    return responses.json_response(policy_body(stored, parsed.warnings), 201 if is_new else 200)


add_query(blueprint, PolicyByName)


@blueprint.route(_RULE, methods=["DELETE"])
@blueprint.arguments(NoParams(), location="query")
@blueprint.response(204, description="Removed, durably")
@blueprint.problems(400, 403, 404, 503)
def remove_policy(_: dict[str, Any], policy: str) -> Response:
    """Remove a policy. 404 if there is none of that name."""
    store().policies.remove(policy)
    return Response(status=204)


add_query(blueprint, Policies)


@blueprint.route("/v3/reports/retention")
@blueprint.arguments(RetentionParams(), location="query")
@blueprint.response(200, RetentionReportSchema, description="By namespace, dataset and field")
@blueprint.problems(400, 404, 503)
def retention_report(query: dict[str, Any]) -> Response:
    """Report where data of the fields of a policy, or derived from it, is older than the policy allows.

    The runs are those of the window that started before now minus `maxAge`. `indirect=true` follows indirect
    dependencies, too. By `Accept` the answer is JSON, `text/csv`, a line for each field and program, or
    `text/html`, a page to print. 404 if there is no policy of that name.
    """
    stored = store().policies.get(query.pop("policy"))
    question = expired_query(stored, now_ms=now_ms(), **query)
    report = store().retention_report(question)
    body = retention_json.retention_report(report)
    response = responses.windowed_response(body, question.window)
    accepted = request.accept_mimetypes.best_match(_TYPES, default=_TYPES[0])
    if accepted == csv_response.CSV:
        response.set_data(retention_json.to_csv(body))
    elif accepted == HTML:
        response.set_data(retention_page.to_html(body, now_ms=now_ms()))
    response.mimetype = accepted
    response.vary.add("Accept")
    # Also beside the JSON, whose body has them: CSV has no place for them.
    csv_response.add_limits(response, report.truncated_by)
    if "retainedFrom" in body:
        response.headers["Retained-From"] = responses.epoch_seconds(body["retainedFrom"])
    return response
