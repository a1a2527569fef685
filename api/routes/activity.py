"""Recent activity of this server, for whoever has just pointed a client at it."""

from __future__ import annotations

from math import ceil
from typing import Any

import marshmallow as ma
from flask import Response, current_app, request
from marshmallow import validate

from fll_hbase.runtime.json_types import Json

from ..observability.recent_activity import SLOTS, WARNED, RecentActivity
from ..openapi.activity_schemas import ActivitySchema
from ..wire import responses
from ..wire.environ import PRINCIPAL
from ..wire.notes import REFUSED, Note
from ..wire.query_params import CountParam, NoParams, TimeParam, now_ms
from .blueprint import Blueprint

DEFAULT_MS = 3_600_000
"""The last hour."""

LIMIT_DEFAULT, LIMIT_MAX = 100, 1_000

COVERS = (
    f"the last {SLOTS:,} documents of each process of this server; other servers of the table have their own"
)


class ActivityParams(NoParams):
    """Documents since a time, loaded as `since_ms`; `outcome` is None for all."""

    since_s = TimeParam(
        data_key="since",
        load_default=None,
        metadata={"description": "Epoch seconds, ISO 8601 or `now-5m`; default `now-1h`"},
    )
    outcome = ma.fields.String(
        load_default=None,
        validate=validate.OneOf(["accepted", WARNED, REFUSED]),
        metadata={"description": "Only documents that were accepted, accepted with warnings, or refused"},
    )
    limit = CountParam(
        load_default=LIMIT_DEFAULT,
        validate=validate.Range(min=1, max=LIMIT_MAX),
        metadata={"minimum": 1, "maximum": LIMIT_MAX},
    )

    @ma.post_load
    def _load_since(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        since_s = data.pop("since_s")
        return {**data, "since_ms": now_ms() - DEFAULT_MS if since_s is None else ceil(since_s * 1000)}


blueprint = Blueprint("activity", __name__, description="What clients sent lately")


@blueprint.route("/v3/events")
@blueprint.arguments(ActivityParams(), location="query")
@blueprint.response(200, ActivitySchema, description="Newest first")
@blueprint.problems(400)
def activity(query: dict[str, Any]) -> Response:
    """List the documents that arrived lately: from whom, accepted, with warnings, or refused and why.

    `since` is included. Of documents that others sent, a caller sees those whose program is in a namespace
    that it may read, without the texts of their warnings, and none that was refused.
    """
    recent: RecentActivity = current_app.extensions["fll-activity"]
    entries = recent.read(request.environ.get(PRINCIPAL), since_ms=query["since_ms"])
    entries = [entry for entry in entries if query["outcome"] in (None, _kind(entry))]
    body = {
        "events": [_event(entry) for entry in entries[: query["limit"]]],
        "covers": COVERS,
        "truncated": len(entries) > query["limit"],
    }
    return responses.json_response(body)


def _kind(entry: Note) -> str:
    if entry.outcome == REFUSED:
        return REFUSED
    return WARNED if entry.warnings else "accepted"


def _event(entry: Note) -> Json:
    """Return an entry as JSON, without empty members."""
    body: Json = {"time": entry.time_ms, "outcome": entry.outcome, "route": entry.route}
    for name in ("sender", "client", "namespace", "program", "run", "warnings"):
        if value := getattr(entry, name):
            body[name] = value
    if entry.texts:
        body["reasons"] = list(entry.texts)
    return body
