"""Recording: one run, or a batch of them line by line."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from flask import Response, current_app, request

from api import problems, request_body, responses
from api.openapi.schemas import RecordedSchema
from api.query_params import RecordQuery
from api.request_body import Line
from api.routes.blueprint import Blueprint, settings, store
from fll_hbase import rest_json
from fll_hbase.errors import ConfigurationError, LineageError, StoreUnavailable
from fll_hbase.sources.native.cached_reader import DocumentReader
from fll_hbase.sources.native.document import Reading
from fll_hbase.store.write.commit import Recorded

BATCH_RUNS, BATCH_BYTES = 2_000, 2**23
"""How much of a batch is recorded at once: whichever is reached first."""

SPOOLED_BYTES_MAX = 2**23
NDJSON = "application/x-ndjson"

blueprint = Blueprint("recording", __name__, description="Record the lineage of runs")

_DOCUMENT = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "oneOf": [
                    {"$ref": "#/components/schemas/LineageDocument"},
                    {"$ref": "#/components/schemas/FirstDesignDocument"},
                ]
            }
        }
    },
}
RECORDED_OR_DRY_RUN = {
    "oneOf": [{"$ref": "#/components/schemas/Recorded"}, {"$ref": "#/components/schemas/DryRun"}]
}
_TEXT = {"type": "string"}
_BATCH = {"required": True, "content": {NDJSON: {"schema": _TEXT}}}


@blueprint.route("/v3/namespaces/<namespace:namespace>/lineage", methods=["POST"])
@blueprint.arguments(RecordQuery(), location="query")
@blueprint.doc(requestBody=_DOCUMENT)
@blueprint.response(201, RecordedSchema, description="Recorded, durably")
@blueprint.alt_response(
    200, schema=RECORDED_OR_DRY_RUN, description="The very same again, a replacement, or a dry run"
)
@blueprint.problems(400, 409, 413, 415, 422, 503)
def record(query: dict[str, Any], namespace: str) -> Response:
    """Record one run.

    With `dryRun=true` nothing is stored, and the answer tells what would be.
    """
    raw = request_body.whole(request, bytes_max=settings().document_bytes_max)
    return answered(_reader().read(raw, namespace=namespace), dry_run=query["dry_run"])


@blueprint.route("/v3/namespaces/<namespace:namespace>/lineage/batch", methods=["POST"])
@blueprint.arguments(RecordQuery(), location="query")
@blueprint.doc(requestBody=_BATCH)
@blueprint.alt_response(
    200, schema=_TEXT, content_type=NDJSON, description="One line for each, in order: an answer or a problem"
)
@blueprint.problems(400, 413, 415)
def record_batch(query: dict[str, Any], namespace: str) -> Response:
    """Record many runs, one document a line; a bad line does not stop the others.

    Every line answered 201 or 200 is durable. The answer comes after the last line.
    """
    limits = settings()
    lines = request_body.lines(
        request, line_bytes_max=limits.document_bytes_max, bytes_max=limits.batch_bytes_max
    )
    told = tempfile.SpooledTemporaryFile(SPOOLED_BYTES_MAX)  # noqa: SIM115 (the response closes it)
    for batch in _grouped(lines):
        answered = _dry_run(batch, namespace) if query["dry_run"] else _record(batch, namespace)
        told.writelines(responses.encoded(line) + b"\n" for line in answered)
    length = told.tell()
    told.seek(0)
    if length <= SPOOLED_BYTES_MAX:
        return Response(told.read(), mimetype=NDJSON)
    return Response(told, mimetype=NDJSON, headers={"Content-Length": str(length)}, direct_passthrough=True)


def answered(reading: Reading, *, dry_run: bool) -> Response:
    """Record what one document says, or only tell what would be recorded."""
    if dry_run:
        return responses.json(rest_json.dry_run(reading.recorded.info, reading.warnings))
    answer = store().record_one(reading.recorded)
    return responses.json(rest_json.recorded(answer, reading.warnings), _status(answer))


def _grouped(lines: Iterator[Line]) -> Iterator[list[Line]]:
    group: list[Line] = []
    size = 0
    for line in lines:
        group.append(line)
        size += len(line.raw)
        if len(group) == BATCH_RUNS or size >= BATCH_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _record(batch: Iterable[Line], namespace: str) -> list[dict[str, Any]]:
    readings = [_read(line, namespace) for line in batch]
    good = [reading for reading in readings if isinstance(reading, Reading)]
    recorded: Iterator[Recorded | LineageError]
    try:
        recorded = iter(store().record([reading.recorded for reading in good]))
    except (StoreUnavailable, ConfigurationError) as error:
        recorded = iter([error] * len(good))
    return [
        problems.body(reading) if isinstance(reading, LineageError) else _told(next(recorded), reading)
        for reading in readings
    ]


def _dry_run(batch: Iterable[Line], namespace: str) -> Iterator[dict[str, Any]]:
    for line in batch:
        reading = _read(line, namespace)
        if isinstance(reading, LineageError):
            yield problems.body(reading)
        else:
            yield {"status": 200, **rest_json.dry_run(reading.recorded.info, reading.warnings)}


def _read(line: Line, namespace: str) -> Reading | LineageError:
    if line.error is not None:
        return line.error
    try:
        return _reader().read(line.raw, namespace=namespace)
    except LineageError as error:
        return error


def _told(answer: Recorded | LineageError, reading: Reading) -> dict[str, Any]:
    if isinstance(answer, LineageError):
        return problems.body(answer)
    return {"status": _status(answer), **rest_json.recorded(answer, reading.warnings)}


def _status(answer: Recorded) -> int:
    return 201 if answer.recorded and not answer.replaced else 200


def _reader() -> DocumentReader:
    found: DocumentReader = current_app.extensions["fll-reader"]
    return found
