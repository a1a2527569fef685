"""Routes of DataHub's emitter and SDK, with the answers that these clients expect."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
from flask import Response, current_app, request

from fll_hbase.ingest.ingest import preview
from fll_hbase.ingest.outcomes import ParsedDocument
from fll_hbase.model.access import Role
from fll_hbase.model.datasets import Field
from fll_hbase.model.run_events import IncomingEvent
from fll_hbase.queries import acknowledgements
from fll_hbase.runtime import deadline, release
from fll_hbase.runtime.errors import FieldError, LineageError, NotFound, UnreadableDocument
from fll_hbase.runtime.json_types import Json
from fll_hbase.sources import datahub, strict_json
from fll_hbase.sources.datahub import (
    AspectCount,
    AspectOutcome,
    MessageFormat,
    ParsedMessage,
    aspect_responses,
    urns,
)
from fll_hbase.sources.validation import Part, Validator

from ..openapi.datahub_schemas import (
    DELETE,
    Aspect,
    AspectParams,
    AspectsParams,
    Config,
    EntitiesParams,
    Ingested,
    IngestedEntity,
    MessageDryRun,
    OpenApiParams,
)
from ..openapi.query_schemas import body_schema, reference
from ..wire import notes, problems, responses
from ..wire.query_params import NoParams, now_ms
from .blueprint import Blueprint, body, store

blueprint = Blueprint("datahub", __name__, description="DataHub's clients; docs/record/datahub.md")

_log = logging.getLogger(__name__)

VERSION = "v1.0.1"
"""The first version with which DataHub's SDK uses the newer protocol, `/openapi/v3`."""

OTHERS_RECORDED = "the other proposals of the message are recorded"

_DRY_RUNS = reference(MessageDryRun)
_INGESTED = {"anyOf": [reference(Ingested), _DRY_RUNS]}
_ENTITIES = {"anyOf": [{"type": "array", "items": reference(IngestedEntity)}, _DRY_RUNS]}


@blueprint.after_request
def _add_message(response: Response) -> Response:
    """Repeat the detail of a problem as `message` in its body; return any response."""
    # DataHub's clients show only this member of an error.
    if response.mimetype == problems.MEDIA_TYPE:
        problem = msgspec.json.decode(response.get_data())
        response.set_data(responses.to_json({**problem, "message": problem["detail"]}))
    return response


@blueprint.route("/config")
@blueprint.arguments(NoParams(), location="query")
@blueprint.response(200, body_schema(Config), description="The configuration of the server")
@blueprint.problems(400)
def config(query: dict[str, Any]) -> Response:
    """Return the capabilities of the server, which DataHub's clients request first.

    Both protocols and patches are supported.
    """
    answer = {
        # A text, not a boolean: the emitter refuses a server unless this equals the text `true`.
        "noCode": "true",
        "patchCapable": True,
        "statefulIngestionCapable": False,
        "supportsImpactAnalysis": False,
        "managedIngestion": {"enabled": False},
        "telemetry": {"enabledCli": False, "enabledIngestion": False},
        "datahub": {"serverType": "fll-hbase", "serverEnv": "core"},
        "versions": {"acryldata/datahub": {"version": VERSION, "commit": f"fll-hbase {release.VERSION}"}},
    }
    return responses.json_response(answer)


@blueprint.route("/aspects", methods=["POST"])
@blueprint.arguments(AspectsParams(), location="query")
@blueprint.requires({})
@blueprint.alt_response(200, schema=_INGESTED, description="Recorded durably, or checked in a dry run")
@blueprint.problems(400, 409, 413, 415, 422, 503)
def ingest_proposals(query: dict[str, Any]) -> Response:
    """Record a proposal, a batch of proposals, or a file of proposals, events or query parser output."""
    form = MessageFormat(query["action"])
    message = _read(form)
    if query["dry_run"]:
        return _dry_run(message)
    entities, warnings = _ingest(message)
    # DataHub answers a single proposal with its urn.
    value = entities[0]["urn"] if form is MessageFormat.PROPOSAL else "success"
    return responses.json_response({"value": value, "entities": entities, **_warnings(warnings)})


@blueprint.route("/entities", methods=["POST"])
@blueprint.arguments(EntitiesParams(), location="query")
@blueprint.requires({})
@blueprint.alt_response(200, schema=_INGESTED, description="Recorded durably, or checked in a dry run")
@blueprint.problems(400, 409, 413, 415, 422, 503)
def ingest_snapshots(query: dict[str, Any]) -> Response:
    """Record snapshots of metadata change events; a deletion is counted and removes nothing."""
    if query["action"] == DELETE:
        urn = _deleted_urn()
        entities = [] if query["dry_run"] else _count_removal(urn)
        value = {"urn": urn, "rows": 0, "timeseriesRows": 0}
        return responses.json_response({"value": value, "entities": entities})
    message = _read(MessageFormat(query["action"]))
    if query["dry_run"]:
        return _dry_run(message)
    entities, warnings = _ingest(message)
    return responses.json_response({"value": None, "entities": entities, **_warnings(warnings)})


@blueprint.route("/openapi/v3/entity/<name:entity>", methods=["POST", "PATCH"])
@blueprint.arguments(OpenApiParams(), location="query")
@blueprint.requires({})
@blueprint.alt_response(200, schema=_ENTITIES, description="Recorded durably, or checked in a dry run")
@blueprint.problems(400, 409, 413, 415, 422, 503)
def upsert(query: dict[str, Any], entity: str) -> Response:
    """Record entities with their aspects. With PATCH, the lineage that JSON patches add to them."""
    message = _read(MessageFormat.PATCHES if request.method == "PATCH" else MessageFormat.ENTITIES)
    return _dry_run(message) if query["dry_run"] else responses.json_response(_ingest(message)[0])


@blueprint.route("/openapi/v3/entity/<name:entity>/<urn:urn>", methods=["DELETE"])
@blueprint.arguments(OpenApiParams(), location="query")
@blueprint.response(200, body_schema(Ingested), description="Counted; nothing is undone")
@blueprint.problems(400, 403)
def delete(query: dict[str, Any], entity: str, urn: str) -> Response:
    """Count the deletion of an entity; windows before it still return its lineage."""
    entities = [] if query["dry_run"] else _count_removal(urn)
    return responses.json_response({"value": None, "entities": entities})


@blueprint.route("/aspects/<urn:urn>")
@blueprint.arguments(AspectParams(), location="query")
@blueprint.response(200, body_schema(Aspect), description="As DataHub answers")
@blueprint.problems(400, 404, 503)
def aspect(query: dict[str, Any], urn: str) -> Response:
    """Return the key or the schema of a dataset in the catalogue; other aspects are not stored."""
    try:
        dataset = urns.parse_dataset(urn)
    except ValueError as error:
        # 404 and not 400: clients ask for aspects of any entity, and take 404 for `no such aspect`.
        raise NotFound(str(error)) from error
    fields = store().catalogue.fields(dataset)
    if fields is None or query["aspect"] not in (aspect_responses.KEY, aspect_responses.SCHEMA):
        raise NotFound(f"no {query['aspect']} of {urn!r} is known")
    if query["aspect"] == aspect_responses.KEY:
        return responses.json_response(aspect_responses.key(dataset))
    if not fields:
        raise NotFound(f"no field of {urn!r} is known")
    fields_of_schema = (Field(field.name, field.type) for field in fields)
    return responses.json_response(aspect_responses.schema(dataset, fields_of_schema))


def _read(form: MessageFormat) -> ParsedMessage:
    """Read the body as a DataHub message of this form. Raises the errors of `body` and of the catalogue."""
    # All proposals are parsed before the first is recorded, so an unreadable message records nothing.
    raw = body(Role.RECORDER)
    with deadline.reading():
        return datahub.read(
            strict_json.parse_with_halves(raw),
            form=form,
            now_ms=now_ms(),
            columns=store().catalogue.field_names,
        )


def _deleted_urn() -> str:
    """Return the urn in a deletion's body, which may have other members. Raises the errors of `body`."""
    deletion = Part(Validator(), strict_json.parse_with_halves(body(Role.RECORDER))).as_object()
    urn = deletion.required("urn")
    if deletion.validator.errors:
        raise UnreadableDocument(deletion.validator.errors)
    return urn


def _ingest(message: ParsedMessage) -> tuple[list[Json], tuple[FieldError, ...]]:
    """Record a message; return its outcomes by entity, and the warnings.

    Raises the error of the first refused run, or UnreadableDocument if some proposals cannot be read. The
    rest is recorded in both cases. Raises StoreUnavailable, ConfigurationError and CorruptRow; any of the
    message may then be stored. Sending the whole message again is safe in every case.
    """
    (result,) = notes.ingest_documents(
        store(), [ParsedDocument(message.runs, message.schemas, message.warnings)]
    )
    if isinstance(result, LineageError):
        raise result
    # After recording, because a failed message is sent again and would be counted twice.
    _count(message.counted)
    # The program of a run from DataHub is the urn of its entity (docs/record/datahub.md).
    heads = (item if isinstance(item, IncomingEvent) else item.run for item in message.runs)
    urn_of_run = {head.run: head.program for head in heads}
    entities = _entities(message.counted)
    for run in result.runs:
        entities[urn_of_run[run.run]]["runs"].append(acknowledgements.recorded_run(run))
    if message.refused:
        # Raised after recording, so that the other proposals are kept. DataHub's clients report only errors.
        raise UnreadableDocument([*message.refused, *result.warnings, FieldError("", OTHERS_RECORDED)])
    return list(entities.values()), result.warnings


def _warnings(warnings: Sequence[FieldError]) -> Json:
    """Return the member `warnings` of an answer, or no member if there are none."""
    return {"warnings": acknowledgements.field_errors(warnings)} if warnings else {}


def _count_removal(urn: str) -> list[Json]:
    """Count and log the removal of an entity; return its outcome as answers list it."""
    counts = Counter([AspectCount(urn, "", AspectOutcome.REMOVED)])
    _count(counts)
    return list(_entities(counts).values())


def _entities(counts: Counter[AspectCount]) -> dict[str, Json]:
    """Return for each urn its aspects with outcomes and counts, and an empty list of runs to fill."""
    entities: dict[str, Json] = {}
    for key, count in counts.items():
        entity = entities.setdefault(key.urn, {"urn": key.urn, "aspects": [], "runs": []})
        entity["aspects"].append({"aspect": key.aspect, "outcome": key.outcome.value, "count": count})
    return entities


def _dry_run(message: ParsedMessage) -> Response:
    """Return the dry run of each run in order; the members of a single run are also at the top level.

    Raises UnreadableDocument for refused proposals, as recording the message would.
    """
    if message.refused:
        raise UnreadableDocument([*message.refused, *message.warnings])
    # The answer to one proposal then has the same form as for one run on every recording route.
    runs = [acknowledgements.dry_run(preview(run)) for run in message.runs]
    single = runs[0] if len(runs) == 1 else {}
    return responses.json_response({**single, "runs": runs, **_warnings(message.warnings)})


def _count(counts: Counter[AspectCount]) -> None:
    """Add the counts of aspects to the counters of the app, and log each."""
    counters: datahub.AspectCounters = current_app.extensions["fll-datahub-counts"]
    counters.add(counts)
    for key, count in counts.items():
        _log.info("%s: %s %s %d", key.urn, key.aspect or "all", key.outcome.value, count)
