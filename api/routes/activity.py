"""Recent activity of this server, for users who have just set up a client."""

from __future__ import annotations

from typing import Any, cast

from flask import current_app, request

from fll_hbase.queries.query import Answer
from fll_hbase.queries.server_events import Event, Events, EventsAnswer

from ..observability.recent_activity import SLOTS, WARNED, RecentActivity
from ..wire.environ import PRINCIPAL
from ..wire.notes import REFUSED, Note
from ..wire.query_params import now_ms
from .blueprint import Blueprint
from .queries import add_query

COVERS = (
    f"the last {SLOTS:,} documents of each process of this server; other servers of the table keep their own"
    " lists"
)

blueprint = Blueprint("activity", __name__, description="What clients sent recently")


def _activity(query: Events) -> Answer[EventsAnswer]:
    """Return the newest `limit` documents with the outcome of the query that the principal may see."""
    recent: RecentActivity = current_app.extensions["fll-activity"]
    since_ms = query.since_ms(now_ms=now_ms())
    entries = recent.read(request.environ.get(PRINCIPAL), since_ms=since_ms)
    entries = [entry for entry in entries if query.outcome in ("", _kind(entry))]
    events = tuple(map(_event, entries[: query.limit]))
    return Answer(EventsAnswer(events=events, covers=COVERS, truncated=len(entries) > query.limit))


add_query(blueprint, Events, answer=_activity)


def _kind(entry: Note) -> str:
    """Return what a query calls the outcome of a note: `refused`, `warned` or else `accepted`."""
    if entry.outcome == REFUSED:
        return REFUSED
    return WARNED if entry.warnings else "accepted"


def _event(entry: Note) -> Event:
    """Return a note as an event of the answer."""
    return Event(
        time=entry.time_ms,
        outcome=cast(Any, entry.outcome),
        route=entry.route,
        sender=entry.sender,
        client=entry.client,
        namespace=entry.namespace,
        program=entry.program,
        run=entry.run,
        warnings=entry.warnings,
        reasons=entry.texts,
    )
