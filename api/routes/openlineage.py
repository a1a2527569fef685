"""Routes that record OpenLineage events, for unchanged OpenLineage clients."""

from __future__ import annotations

from typing import Any

from flask import Response
from werkzeug.exceptions import NotFound as RouteNotFound

from fll_hbase.ingest.document_batches import ErrorBudget
from fll_hbase.ingest.ingest import preview
from fll_hbase.ingest.outcomes import ParsedDocument
from fll_hbase.ingest.registry import format_named, parse_event
from fll_hbase.model import lineage
from fll_hbase.model.access import Role
from fll_hbase.queries import acknowledgements
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import FieldError, LineageError, UnreadableDocument
from fll_hbase.sources import openlineage
from fll_hbase.store.lineage_store import LineageStore

from ..openapi.answer_schemas import DryRun, EventRecorded, EventsRecorded
from ..openapi.query_schemas import body_schema, reference
from ..wire import notes, problems, responses
from ..wire.query_params import NoParams, RecordParams
from .blueprint import Blueprint, body, ingest_batch, read_document, reader, settings, store, turn_of_batch

PATH = "/api/v1/lineage"
PREFIX = "/api/v1"
"""Path prefix of the event routes. The answer to an unknown path below it names these routes."""

HINT = (
    f"nothing is recorded here: OpenLineage events go to {PATH} or {PATH}/batch (in a client: this server as "
    f"`url`, `{PATH[1:]}` as `endpoint`); our own documents go to /v3/namespaces/<namespace>/lineage"
)

problems.PATH_HINTS[PREFIX] = HINT
problems.METHOD_HINTS |= dict.fromkeys(
    (PATH, f"{PATH}/batch"),
    "OpenLineage clients POST their events here, and nothing is read here: the lineage of a dataset is at"
    " /v3/namespaces/<namespace>/endpoints/<name>/fields/lineage, recent documents at /v3/events",
)

blueprint = Blueprint("openlineage", __name__, description="Record OpenLineage events")

_EVENT = {"type": "object", "description": "A run, job or dataset event of OpenLineage 2-0-2"}


@blueprint.route("/", methods=["POST"])
@blueprint.arguments(NoParams(), location="query")
@blueprint.problems(400, 404)
def wrong_path_hint(query: dict[str, Any]) -> Response:
    """Return a 404 that names the routes that record."""
    # A client with a wrong `endpoint` setting posts here, and a bare 404 would not explain the fault.
    raise RouteNotFound(HINT)


@blueprint.route(PATH, methods=["POST"])
@blueprint.arguments(RecordParams(), location="query")
@blueprint.requires(_EVENT)
@blueprint.response(
    201, body_schema(EventRecorded), description="Recorded, durably; `recorded` is false for a repeated event"
)
@blueprint.alt_response(200, schema=reference(DryRun), description="A dry run")
@blueprint.problems(400, 409, 413, 415, 503)
def record_event(query: dict[str, Any]) -> Response:
    """Record one event.

    The events of a run are merged, in whatever order they arrive. With `dryRun=true` nothing is stored, and
    the answer shows the lineage of this event alone.
    """
    document = read_document(format_named("openlineage"), namespace=None)
    if query["dry_run"]:
        # A dataset event may have no run, and gets an answer of the same shape, without operations.
        info = preview(document.runs[0]) if document.runs else lineage.build_lineage_lenient(())
        return responses.json_response(acknowledgements.dry_run(info, document.warnings))
    return record(store(), document)


def record(lineage_store: LineageStore, document: ParsedDocument) -> Response:
    """Record the event of a document and return the answer, always a 201. Raises a refused event's error.

    Raises StoreUnavailable, ConfigurationError and CorruptRow as `notes.ingest_documents` does.
    """
    (result,) = notes.ingest_documents(lineage_store, [document])
    if isinstance(result, LineageError):
        raise result
    # A repeated event gets a 201, unlike a repeated document, which gets a 200 (docs/record/openlineage.md).
    if result.runs:
        return responses.json_response(acknowledgements.recorded_run(result.runs[0], result.warnings), 201)
    return responses.json_response(acknowledgements.recorded_metadata(result.metadata, result.warnings), 201)


@blueprint.route(f"{PATH}/batch", methods=["POST"])
@blueprint.arguments(RecordParams(), location="query")
@blueprint.requires({"type": "array", "items": _EVENT})
@blueprint.response(
    200, body_schema(EventsRecorded), description="How many were recorded, which were refused and why"
)
@blueprint.problems(400, 413, 415, 503)
def record_events(query: dict[str, Any]) -> Response:
    """Record an array of events; an event that is refused does not stop the others.

    After too many errors (`FLL_BATCH_ERRORS_MAX`) the rest is not read: the last failed event then represents
    all from its index on. With `dryRun=true` nothing is stored, and the answer lists the events that would
    be refused.
    """
    events = openlineage.parse(body(Role.RECORDER))
    if not isinstance(events, list):
        detail = f"must be an array of events; send a single event to {PATH}"
        raise UnreadableDocument([FieldError("", detail)])
    budget = ErrorBudget(settings().batch_errors_max)
    with turn_of_batch():
        with deadline.reading():
            documents = list(budget.take(map(_try_parse, deadline.watched(events))))
        results = documents if query["dry_run"] else ingest_batch(documents)
    refused = {
        index: problems.problem_body(result)
        for index, result in enumerate(results)
        if isinstance(result, LineageError)
    }
    unread = len(events) - len(documents)
    if unread:
        refused[len(documents)] = problems.problem_body(budget.stopped(f"event {len(documents)}"))
    warned = {
        index: result.warnings
        for index, result in enumerate(results)
        if not isinstance(result, LineageError) and result.warnings
    }
    summary = acknowledgements.event_batch_summary(len(events), refused, unread=unread, warned=warned)
    return responses.json_response(summary)


def _try_parse(event: object) -> ParsedDocument | LineageError:
    """Return an event as a document, or its error. Raises the errors of `deadline.reading`."""
    try:
        return parse_event(event, name_rules=reader().name_rules)
    except LineageError as error:
        deadline.check_reading()
        return error
