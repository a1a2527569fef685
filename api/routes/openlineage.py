"""Recording: OpenLineage events, as the clients of OpenLineage send them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import Response, current_app, request

from api import problems, request_body, responses
from api.openapi.schemas import EventRecordedSchema, EventsRecordedSchema
from api.query_params import NoQuery, RecordQuery
from api.routes.blueprint import Blueprint, settings, store
from fll_hbase import rest_json
from fll_hbase.errors import (
    ConfigurationError,
    FieldError,
    LineageError,
    StoreUnavailable,
    UnreadableDocument,
)
from fll_hbase.model import event_operations, lineage, run_events
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.sources import openlineage
from fll_hbase.sources.name_rules import NameRules
from fll_hbase.sources.openlineage import Reading
from fll_hbase.store.write.commit import Recorded

PATH = "/api/v1/lineage"
HINT = (
    f"nothing is recorded here: OpenLineage events go to {PATH} or {PATH}/batch (in a client: this server as "
    f"`url`, `{PATH[1:]}` as `endpoint`); our own documents go to /v3/namespaces/<namespace>/lineage"
)

blueprint = Blueprint("openlineage", __name__, description="Record OpenLineage events")

_EVENT = {"type": "object", "description": "A run, job or dataset event of OpenLineage 2-0-2"}
_BODY = {"required": True, "content": {"application/json": {"schema": _EVENT}}}
_BODIES = {
    "required": True,
    "content": {"application/json": {"schema": {"type": "array", "items": _EVENT}}},
}


@blueprint.route("/", methods=["POST"])
@blueprint.arguments(NoQuery(), location="query")
@blueprint.problems(400, 404)
def hint(query: dict[str, Any]) -> Response:
    """Tells where to record; stores nothing."""
    return problems.not_here(HINT)


@blueprint.route(PATH, methods=["POST"])
@blueprint.arguments(RecordQuery(), location="query")
@blueprint.doc(requestBody=_BODY)
@blueprint.response(
    201, EventRecordedSchema, description="Recorded, durably; `recorded` is false for one sent before"
)
@blueprint.alt_response(200, schema={"$ref": "#/components/schemas/DryRun"}, description="A dry run")
@blueprint.problems(400, 409, 413, 415, 503)
def record_event(query: dict[str, Any]) -> Response:
    """Record one event.

    Events of a run add up, in whatever order they come. With `dryRun=true` nothing is stored, and the answer
    tells what this event alone would come to.
    """
    raw = request_body.whole(request, bytes_max=settings().document_bytes_max)
    reading = openlineage.read(openlineage.parse(raw), rules=_rules())
    if query["dry_run"]:
        return responses.json(rest_json.dry_run(_alone(reading)))
    if reading.event is None:
        store().describe(reading.schemas)
        return responses.json(rest_json.catalogued(reading.schemas), 201)
    return responses.json(rest_json.recorded(store().record_one(reading.event)), 201)


@blueprint.route(f"{PATH}/batch", methods=["POST"])
@blueprint.arguments(RecordQuery(), location="query")
@blueprint.doc(requestBody=_BODIES)
@blueprint.response(
    200, EventsRecordedSchema, description="How many were recorded, and which were refused, and why"
)
@blueprint.problems(400, 413, 415, 503)
def record_events(query: dict[str, Any]) -> Response:
    """Record an array of events; one that is refused does not stop the others.

    With `dryRun=true` nothing is stored, and the answer tells which would be refused.
    """
    raw = request_body.whole(request, bytes_max=settings().document_bytes_max)
    said = openlineage.parse(raw)
    if not isinstance(said, list):
        raise UnreadableDocument(
            [FieldError("", "must be an array of events; one event alone goes to " + PATH)]
        )
    readings = [_read(item) for item in said]
    told_of = readings if query["dry_run"] else _record(readings)
    refused = {
        number: problems.body(error)
        for number, error in enumerate(told_of)
        if isinstance(error, LineageError)
    }
    return responses.json(rest_json.events_recorded(len(said), refused))


def _read(item: object) -> Reading | LineageError:
    try:
        return openlineage.read(item, rules=_rules())
    except LineageError as error:
        return error


def _record(readings: Sequence[Reading | LineageError]) -> list[Reading | Recorded | LineageError]:
    """What became of each; where the store is away, of all that could be read."""
    good = [reading for reading in readings if isinstance(reading, Reading)]
    try:
        store().describe(schema for reading in good if reading.event is None for schema in reading.schemas)
        recorded = iter(store().record([reading.event for reading in good if reading.event is not None]))
    except (StoreUnavailable, ConfigurationError) as error:
        return [reading if isinstance(reading, LineageError) else error for reading in readings]
    return [
        next(recorded) if isinstance(reading, Reading) and reading.event is not None else reading
        for reading in readings
    ]


def _alone(reading: Reading) -> FieldLineageInfo:
    """What an event would come to if it were the only one of its run."""
    if reading.event is None:
        return lineage.partial(())
    part = run_events.parsed_part(reading.event.texts[reading.event.event.part])
    return lineage.partial(event_operations.operations(part))


def _rules() -> NameRules:
    found: NameRules = current_app.extensions["fll-name-rules"]
    return found
