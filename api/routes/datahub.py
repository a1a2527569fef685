"""DataHub's own emitter and SDK: their routes, answered as they expect it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import msgspec
from flask import Response, current_app, request

from api import problems, request_body, responses
from api.openapi.datahub import (
    DELETE,
    AspectQuery,
    AspectSchema,
    AspectsQuery,
    ConfigSchema,
    EntitiesQuery,
    IngestedSchema,
    OpenApiQuery,
)
from api.query_params import NoQuery
from api.routes.blueprint import Blueprint, settings, store
from fll_hbase import clock, rest_json
from fll_hbase.errors import FieldError, LineageError, NotFound, UnreadableDocument
from fll_hbase.model.datasets import Field
from fll_hbase.model.runs import RecordedRun
from fll_hbase.sources import datahub, strict_json
from fll_hbase.sources.datahub import Counted, Form, Ingested, Outcome, aspect_responses, urns
from fll_hbase.store.write.pending_run import CommitResult

blueprint = Blueprint("datahub", __name__, description="As DataHub's clients speak; docs/sources/datahub.md")

_log = logging.getLogger(__name__)

VERSION = "v1.0.1"
"""The first of DataHub whose clients use the newer protocol."""

_DRY_RUNS = {"$ref": "#/components/schemas/DryRuns"}
_INGESTED = {"oneOf": [{"$ref": "#/components/schemas/Ingested"}, _DRY_RUNS]}
_ENTITIES = {
    "oneOf": [{"type": "array", "items": {"$ref": "#/components/schemas/IngestedEntity"}}, _DRY_RUNS]
}
_JSON = {"required": True, "content": {"application/json": {"schema": {}}}}


@blueprint.after_request
def _with_message(response: Response) -> Response:
    """DataHub's clients tell the `message` of a problem, and nothing else of it."""
    if response.mimetype == problems.MEDIA_TYPE:
        told = msgspec.json.decode(response.get_data())
        response.set_data(responses.encoded({**told, "message": told["detail"]}))
    return response


@blueprint.route("/config")
@blueprint.arguments(NoQuery(), location="query")
@blueprint.response(200, ConfigSchema, description="What the server can")
@blueprint.problems(400)
def config(query: dict[str, Any]) -> Response:
    """What DataHub's clients want to know first: both protocols are spoken, and patches taken."""
    said = {
        "noCode": "true",
        "patchCapable": True,
        "statefulIngestionCapable": False,
        "supportsImpactAnalysis": False,
        "managedIngestion": {"enabled": False},
        "telemetry": {"enabledCli": False, "enabledIngestion": False},
        "datahub": {"serverType": "fll-hbase", "serverEnv": "core"},
        "versions": {
            "acryldata/datahub": {"version": VERSION, "commit": f"fll-hbase {version('fll-hbase')}"}
        },
    }
    return responses.json(said)


@blueprint.route("/aspects", methods=["POST"])
@blueprint.arguments(AspectsQuery(), location="query")
@blueprint.doc(requestBody=_JSON)
@blueprint.alt_response(200, schema=_INGESTED, description="Recorded, durably; or a dry run")
@blueprint.problems(400, 409, 413, 415, 422, 503)
def propose(query: dict[str, Any]) -> Response:
    """Take one proposal, a batch of them, or a file of proposals, events, or a query parser's pairs."""
    form = Form(query["action"])
    ingested = _read(form)
    if query["dry_run"]:
        return _dry_run(ingested)
    entities = _ingest(ingested)
    value = entities[0]["urn"] if form is Form.PROPOSAL else "success"
    return responses.json({"value": value, "entities": entities})


@blueprint.route("/entities", methods=["POST"])
@blueprint.arguments(EntitiesQuery(), location="query")
@blueprint.doc(requestBody=_JSON)
@blueprint.alt_response(200, schema=_INGESTED, description="Recorded, durably; or a dry run")
@blueprint.problems(400, 409, 413, 415, 422, 503)
def ingest(query: dict[str, Any]) -> Response:
    """Take snapshots of metadata change events, or a wish to delete, which undoes nothing here."""
    if query["action"] == DELETE:
        said = strict_json.parse(_body())
        if not isinstance(said, dict) or not isinstance(said.get("urn"), str):
            raise UnreadableDocument([FieldError("urn", "must be a string")])
        counted = [] if query["dry_run"] else _remove(said["urn"])
        value = {"urn": said["urn"], "rows": 0, "timeseriesRows": 0}
        return responses.json({"value": value, "entities": counted})
    ingested = _read(Form(query["action"]))
    if query["dry_run"]:
        return _dry_run(ingested)
    return responses.json({"value": None, "entities": _ingest(ingested)})


@blueprint.route("/openapi/v3/entity/<name:entity>", methods=["POST", "PATCH"])
@blueprint.arguments(OpenApiQuery(), location="query")
@blueprint.doc(requestBody=_JSON)
@blueprint.alt_response(200, schema=_ENTITIES, description="Recorded, durably; or a dry run")
@blueprint.problems(400, 409, 413, 415, 422, 503)
def upsert(query: dict[str, Any], entity: str) -> Response:
    """Take entities with their aspects; as PATCH, what JSON patches add to them."""
    ingested = _read(Form.PATCHES if request.method == "PATCH" else Form.ENTITIES)
    return _dry_run(ingested) if query["dry_run"] else responses.json(_ingest(ingested))


@blueprint.route("/openapi/v3/entity/<name:entity>/<urn:urn>", methods=["DELETE"])
@blueprint.arguments(OpenApiQuery(), location="query")
@blueprint.response(200, IngestedSchema, description="Counted; nothing is undone")
@blueprint.problems(400)
def delete(query: dict[str, Any], entity: str, urn: str) -> Response:
    """Take a wish to delete an entity: what was so until now stays, in its windows."""
    return responses.json({"value": None, "entities": [] if query["dry_run"] else _remove(urn)})


@blueprint.route("/aspects/<urn:urn>")
@blueprint.arguments(AspectQuery(), location="query")
@blueprint.response(200, AspectSchema, description="In DataHub's words")
@blueprint.problems(400, 404, 503)
def aspect(query: dict[str, Any], urn: str) -> Response:
    """The key or the schema of a dataset that the catalogue knows; no other aspect is kept."""
    try:
        of = urns.end_point(urn)
    except ValueError as error:
        raise NotFound(str(error)) from error
    fields = store().catalogue.fields(of)
    if fields is None or query["aspect"] not in (aspect_responses.KEY, aspect_responses.SCHEMA):
        raise NotFound(f"no {query['aspect']} of {urn!r} is known")
    if query["aspect"] == aspect_responses.KEY:
        return responses.json(aspect_responses.key(of))
    if not fields:
        raise NotFound(f"no field of {urn!r} is known")
    return responses.json(aspect_responses.schema(of, (Field(each.name, each.type) for each in fields)))


def _body() -> bytes:
    return request_body.whole(request, bytes_max=settings().document_bytes_max)


def _read(form: Form) -> Ingested:
    return datahub.read(strict_json.parse(_body()), form=form, now_ms=clock.now_ms())


def _ingest(ingested: Ingested) -> list[dict[str, Any]]:
    """Record all; what became of it, by entity. Raises the first refusal, then sending all again is safe."""
    recorded = _record(ingested.runs)
    store().put_metadata(ingested.schemas)
    _count(ingested.counted)
    told = {run.run.run: run.run.program for run in ingested.runs}
    entities = _entities(ingested.counted)
    for answer in recorded:
        entities[told[answer.run]]["runs"].append(rest_json.recorded_run(answer))
    return list(entities.values())


def _record(runs: Sequence[RecordedRun]) -> list[CommitResult]:
    if len(runs) == 1:
        return [store().record_one(runs[0])]
    recorded = []
    for answer in store().record(runs):
        if isinstance(answer, LineageError):
            raise answer
        recorded.append(answer)
    return recorded


def _remove(urn: str) -> list[dict[str, Any]]:
    counted = Counter([Counted(urn, "", Outcome.REMOVED)])
    _count(counted)
    return list(_entities(counted).values())


def _entities(counted: Counter[Counted]) -> dict[str, dict[str, Any]]:
    entities: dict[str, dict[str, Any]] = {}
    for each, number in counted.items():
        entity = entities.setdefault(each.urn, {"urn": each.urn, "aspects": [], "runs": []})
        entity["aspects"].append({"aspect": each.aspect, "outcome": each.outcome.value, "count": number})
    return entities


def _dry_run(ingested: Ingested) -> Response:
    """What would be recorded; where it is one run, as for a document of one run, too."""
    told = [rest_json.dry_run(run.info) for run in ingested.runs]
    return responses.json({**(told[0] if len(told) == 1 else {}), "runs": told})


def _count(counted: Counter[Counted]) -> None:
    counts: datahub.Counts = current_app.extensions["fll-datahub-counts"]
    counts.add(counted)
    for each, number in counted.items():
        _log.info("%s: %s %s %d", each.urn, each.aspect or "all", each.outcome.value, number)
