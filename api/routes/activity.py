"""Recent activity of this server, for whoever has just pointed a client at it."""

from __future__ import annotations

from typing import Any

from flask import Response, current_app, request

from fll_hbase.runtime.json_types import Json

from ..observability.activity_ring import SLOTS
from ..observability.recent_activity import REFUSED, WARNED, Entry, RecentActivity
from ..openapi.activity_schemas import ActivitySchema
from ..wire import responses
from ..wire.environ import PRINCIPAL
from .activity_params import ActivityParams
from .blueprint import Blueprint

COVERS = (
    f"the last {SLOTS:,} documents of each process of this server; other servers of the table have their own"
)

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


def _kind(entry: Entry) -> str:
    if entry.outcome == REFUSED:
        return REFUSED
    return WARNED if entry.warnings else "accepted"


def _event(entry: Entry) -> Json:
    """Return an entry as JSON, without empty members."""
    body: Json = {"time": entry.time_ms, "outcome": entry.outcome, "route": entry.route}
    for name in ("sender", "client", "namespace", "program", "run", "warnings"):
        if value := getattr(entry, name):
            body[name] = value
    if entry.texts:
        body["reasons"] = list(entry.texts)
    return body
