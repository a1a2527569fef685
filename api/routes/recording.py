"""Routes that record: one for each registered document format, and batches of the native format."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flask import Response, request

from fll_hbase.ingest.document_batches import ErrorBudget
from fll_hbase.ingest.ingest import find_conflicts, preview
from fll_hbase.ingest.ndjson import InputLine
from fll_hbase.ingest.outcomes import ParsedDocument, RecordOutcome, RecordResult
from fll_hbase.ingest.registry import FORMATS, DocumentFormat, format_named
from fll_hbase.model.access import Role
from fll_hbase.queries import acknowledgements
from fll_hbase.runtime import deadline
from fll_hbase.runtime.batches import split_batches
from fll_hbase.runtime.errors import (
    BatchStopped,
    ConfigurationError,
    DeadlineExceeded,
    FieldError,
    LineageError,
    StoreUnavailable,
    TooLarge,
)
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.lineage_store import LineageStore

from ..openapi.answer_schemas import DryRun, DryRuns, Recorded, RecordedRuns
from ..openapi.document_schemas import (
    DbtDocument,
    Document,
    FirstDesignDocument,
    LineageDocument,
    PipelineDocument,
    SqlDocument,
)
from ..openapi.query_schemas import body_schema, reference
from ..security.rights import require
from ..wire import bodies, notes, problems, responses
from ..wire.query_params import RecordRunParams, now_ms
from ..wire.responses import to_json
from .blueprint import (
    Blueprint,
    client_left,
    ingest_batch,
    read_document,
    reader,
    settings,
    store,
    turn_of_batch,
)

SPOOLED_BYTES_MAX = 2**23
"""Maximum bytes of an answer in memory. Larger answers move to a temporary file."""

NDJSON = "application/x-ndjson"

# Bounds memory: a body may have 512 MiB, and is decoded and recorded one batch at a time.
BATCH_DOCUMENTS = 2_000

_QUICK_BYTES = 2**16
"""Lines up to this size are read without checking the deadline, whatever they contain."""

NATIVE = format_named("lineage")

_NAMESPACE_PATH = "/v3/namespaces/<namespace:namespace>"

DOCUMENT = responses.route_path(f"{_NAMESPACE_PATH}/{NATIVE.route}")
"""The path that records a native document, in the OpenAPI document."""

_TEXT = {"type": "string"}

_DRY_RUN = (
    "A run id that another program recorded is refused with 409, unless `replace=true`. "
    "With `dryRun=true` nothing is stored, and the answer shows the result of recording."
)

_NOT_COMPARED = FieldError("run.run", "not compared with recorded runs: the store does not answer")


class BatchAnswer:
    """Lines that are sent after the last one was written, at most `bytes_max` bytes and one more line."""

    # Spooled, because a client may send the whole body before it reads, which would deadlock a stream.
    def __init__(self, *, bytes_max: int) -> None:
        self._file = tempfile.SpooledTemporaryFile(SPOOLED_BYTES_MAX)  # noqa: SIM115 (the response closes it)
        self._bytes_max = bytes_max
        self._size_bytes = 0

    @property
    def is_full(self) -> bool:
        """Return whether the answer has reached its largest size."""
        return self._size_bytes >= self._bytes_max

    def write(self, line: Json) -> None:
        """Add a line, even to a full answer."""
        self._size_bytes += self._file.write(to_json(line) + b"\n")

    def stopped(self, number: int) -> BatchStopped:
        """Return the error in place of the answers from line `number` on."""
        return BatchStopped(
            f"the answer has {self._size_bytes} bytes (FLL_BATCH_BYTES_MAX): line {number} and all after it"
            " have no answer; send them again in a smaller batch, which is safe"
        )

    def response(self) -> Response:
        """Return the response with all lines; call it once. Above SPOOLED_BYTES_MAX the file is streamed."""
        self._file.seek(0)
        if self._size_bytes <= SPOOLED_BYTES_MAX:
            # As bytes, so that `responses.finish` can compress the body; streams are not compressed.
            return Response(self._file.read(), mimetype=NDJSON)
        headers = {"Content-Length": str(self._size_bytes)}
        return Response(self._file, mimetype=NDJSON, headers=headers, direct_passthrough=True)


@dataclass(frozen=True, slots=True)
class _RequestShape:
    """The OpenAPI description of the documents of a format: shapes, and notes for users."""

    bodies: tuple[type[Document], ...] = ()
    notes: str = ""


_REQUESTS = {
    "lineage": _RequestShape((LineageDocument, FirstDesignDocument)),
    "sql": _RequestShape(
        (SqlDocument,),
        "Columns that a statement does not name come from `schema`, else from the catalogue; warnings list "
        "what could not be resolved.",
    ),
    "pipelines": _RequestShape(
        (PipelineDocument,),
        "The stages of its config become operations; `arguments` are values of macros. Warnings list what "
        "is unknown.",
    ),
    "dbt": _RequestShape(
        (DbtDocument,),
        "One run for each model, seed and snapshot that dbt built, with the columns of the catalog.",
    ),
}
"""Descriptions by name of the format; any other format is described as a JSON object."""

blueprint = Blueprint("recording", __name__, description="Record the lineage of runs")


@blueprint.route(f"{_NAMESPACE_PATH}/lineage/batch", methods=["POST"])
@blueprint.arguments(RecordRunParams(), location="query")
@blueprint.requires(_TEXT, media_type=NDJSON)
@blueprint.alt_response(
    200, schema=_TEXT, content_type=NDJSON, description="One line for each document: an answer or a problem"
)
@blueprint.problems(400, 413, 415)
def record_batch(query: dict[str, Any], namespace: str) -> Response:
    """Record many runs, one document per line; an invalid line does not stop the others.

    A run whose line is answered with 201 or 200 is durable. The answer begins after the last line was read.
    A run id that another program recorded, also on an earlier line, is refused with 409 unless
    `replace=true`. After too many errors (`FLL_BATCH_ERRORS_MAX`) the rest is not read. The last line of the
    answer is then a problem of type `batch-stopped`, which names the line to continue with.
    """
    require(request.environ, Role.RECORDER, namespace)
    limits = settings()
    lines = bodies.read_lines(
        request,
        line_bytes_max=limits.document_bytes_max,
        bytes_max=limits.batch_bytes_max,
        ratio_max=limits.gzip_ratio_max,
    )
    answer = BatchAnswer(bytes_max=limits.batch_bytes_max)
    stopped = _answer_lines(lines, answer, namespace, query)
    if stopped is not None:
        answer.write(problems.problem_body(stopped))
        bodies.discard_rest(request, bytes_max=limits.batch_bytes_max)
    return answer.response()


def _answer_lines(
    lines: Iterator[InputLine], answer: BatchAnswer, namespace: str, query: Mapping[str, Any]
) -> BatchStopped | None:
    """Record each line, or preview it with `dryRun`, and write its answer.

    Return the error that stopped the batch early (too many errors, a full answer, or a client that left
    between two parts), or None if every line has an answer. Raises CorruptRow.
    """
    budget = ErrorBudget(settings().batch_errors_max)
    batches = split_batches(lines, items_max=BATCH_DOCUMENTS, size_bytes=lambda line: len(line.raw))
    has_begun = False
    while True:
        # The body has arrived completely, so a batch does not wait for its client during its turn.
        # Decompression happens within the turn.
        with turn_of_batch():
            batch = next(batches, None)
            if batch is None:
                return None
            if has_begun and client_left():
                detail = f"the client has left: line {batch[0].number} and all after it were not read"
                return BatchStopped(detail)
            has_begun = True
            documents = list(budget.take(_read_line(line, namespace) for line in batch))
            if query["dry_run"]:
                answers = list(_preview_batch(documents, take_over=query["replace"]))
            else:
                answers = list(_record_batch(documents, budget, take_over=query["replace"]))
        for line, line_answer in zip(batch, answers, strict=False):
            if answer.is_full:
                return answer.stopped(line.number)
            answer.write(line_answer)
        if len(documents) < len(batch):
            return budget.stopped(f"line {batch[len(documents)].number}")


def _read_line(line: InputLine, namespace: str) -> ParsedDocument | LineageError:
    """Return the document of a line, or its error; a long line has the whole time of a request to be read."""
    if line.error is not None:
        return line.error
    if len(line.raw) <= _QUICK_BYTES:
        return reader().try_read(line.raw, NATIVE, namespace=namespace, now_ms=now_ms())
    try:
        with deadline.renewed(), deadline.reading():
            return reader().try_read(line.raw, NATIVE, namespace=namespace, now_ms=now_ms())
    # The error of this line only, because earlier lines may be recorded already.
    except (DeadlineExceeded, TooLarge) as error:
        return error


def _record_batch(
    documents: list[ParsedDocument | LineageError], budget: ErrorBudget, *, take_over: bool
) -> Iterator[Json]:
    """Record documents, count new errors in the budget, and yield an answer or problem each, in order."""
    results = ingest_batch(documents, take_over=take_over)
    budget.count_new(documents, results)
    for result in results:
        if isinstance(result, LineageError):
            yield problems.problem_body(result)
        else:
            yield {"status": _status(result), **_recorded(result, NATIVE)}


def _preview_batch(documents: Sequence[ParsedDocument | LineageError], *, take_over: bool) -> Iterator[Json]:
    """Yield the answer that recording each document would give, or its problem, in order; store nothing."""
    for document in _with_conflicts(documents, take_over=take_over):
        if isinstance(document, LineageError):
            yield problems.problem_body(document)
        else:
            yield {"status": 200, **_preview(document, NATIVE)}


def _with_conflicts(
    documents: Sequence[ParsedDocument | LineageError], *, take_over: bool
) -> list[ParsedDocument | LineageError]:
    """Return the documents, with a RunIdConflict in place of each whose run id another program owns.

    If the store does not answer or has no table, each document gets a warning that its run id was not
    compared.
    """
    try:
        conflicts = find_conflicts(store(), documents, take_over=take_over)
    except (ConfigurationError, StoreUnavailable):
        return [
            document
            if isinstance(document, LineageError)
            else replace(document, warnings=(*document.warnings, _NOT_COMPARED))
            for document in documents
        ]
    return [conflict or document for conflict, document in zip(conflicts, documents, strict=True)]


def record(
    lineage_store: LineageStore,
    document: ParsedDocument,
    document_format: DocumentFormat,
    *,
    take_over: bool = False,
) -> Response:
    """Record one document and return the answer. Raises the error of a refused document.

    Raises StoreUnavailable, ConfigurationError and CorruptRow as `notes.ingest_documents` does.
    """
    (result,) = notes.ingest_documents(lineage_store, [document], take_over=take_over)
    if isinstance(result, LineageError):
        raise result
    return responses.json_response(_recorded(result, document_format), _status(result))


def _status(result: RecordResult) -> int:
    """Return the status of the answer to a recorded document: 201 if it is new, else 200."""
    return 201 if result.outcome is RecordOutcome.RECORDED else 200


def _recorded(result: RecordResult, document_format: DocumentFormat) -> Json:
    """Return the acknowledgement, with warnings: one run if the format has a run id, else a list."""
    if document_format.has_run_id:
        return acknowledgements.recorded_run(result.runs[0], result.warnings)
    answer: Json = {"runs": [acknowledgements.recorded_run(run) for run in result.runs]}
    return answer | ({"warnings": acknowledgements.field_errors(result.warnings)} if result.warnings else {})


def _preview(document: ParsedDocument, document_format: DocumentFormat) -> Json:
    """Return what recording a document would store: one run if the format has a run id, else a list."""
    if document_format.has_run_id:
        return acknowledgements.dry_run(preview(document.runs[0]), document.warnings)
    runs = [acknowledgements.dry_run(preview(run)) for run in document.runs]
    return {"runs": runs, "warnings": acknowledgements.field_errors(document.warnings)}


def _add_route(routes: Blueprint, document_format: DocumentFormat) -> None:
    """Add POST /v3/namespaces/<namespace>/<route> with the OpenAPI description of the format."""
    shape = _REQUESTS.get(document_format.name, _RequestShape())
    recorded, dry_run = (Recorded, DryRun) if document_format.has_run_id else (RecordedRuns, DryRuns)
    view = _view(document_format, shape)
    # Like decorators, from the bottom up: `route` is last because it registers the view that the others made.
    for decorate in (
        routes.problems(400, 409, 413, 415, 422, 503),
        routes.alt_response(
            200,
            schema={"anyOf": [reference(recorded), reference(dry_run)]},
            description="Repeated or replaced, or a dry run",
        ),
        routes.response(201, body_schema(recorded), description="Recorded, durably"),
        routes.requires(_request(shape)),
        routes.arguments(RecordRunParams(), location="query"),
        routes.route(f"{_NAMESPACE_PATH}/{document_format.route}", methods=["POST"]),
    ):
        view = decorate(view)


def _view(document_format: DocumentFormat, shape: _RequestShape) -> Callable[..., Response]:
    """Return the view of the route that records, or with `dryRun` previews, one document of a format."""

    def view(query: dict[str, Any], namespace: str) -> Response:
        document = read_document(document_format, namespace=namespace)
        if not query["dry_run"]:
            return record(store(), document, document_format, take_over=query["replace"])
        (checked,) = _with_conflicts([document], take_over=query["replace"])
        if isinstance(checked, LineageError):
            raise checked
        return responses.json_response(_preview(checked, document_format))

    # flask-smorest takes the summary and description of a route from the docstring of its view.
    view.__doc__ = f"Record {document_format.title}.\n\n{shape.notes} {_DRY_RUN}"
    view.__name__ = "record"
    return view


def _request(shape: _RequestShape) -> Json:
    """Return the schema of the body: one of the shapes, or any object if there are no shapes."""
    schemas = [reference(body) for body in shape.bodies]
    return {"oneOf": schemas} if len(schemas) > 1 else schemas[0] if schemas else {"type": "object"}


def format_blueprints(formats: Iterable[DocumentFormat]) -> list[Blueprint]:
    """Return a blueprint for each format that has a route. Its name is the tag in the OpenAPI document."""
    # One blueprint for each, because routes are named after their view, which is `record` for every format.
    blueprints = []
    for document_format in formats:
        if document_format.route:
            routes = Blueprint(document_format.name, __name__, description=f"Record {document_format.title}")
            _add_route(routes, document_format)
            blueprints.append(routes)
    return blueprints


_add_route(blueprint, NATIVE)
BLUEPRINTS = (
    blueprint,
    *format_blueprints(document_format for document_format in FORMATS if document_format is not NATIVE),
)
