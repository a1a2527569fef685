"""Lineage of datasets and fields, and batches of up to 100 GET requests, answered together.

Each query of a batch is answered like its own GET request: it goes through the app with the headers of the
batch, so all checks of requests apply to it (decision 35). All share the rows that they read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from flask import Flask, Response, current_app, g, request

from fll_hbase.model.access import Role
from fll_hbase.queries.derivations import Derivations
from fll_hbase.queries.field_lineage import FieldLineage
from fll_hbase.queries.lineage import Lineage
from fll_hbase.queries.query import FirstReads, Query
from fll_hbase.queries.query_batch import PATH, QUERIES_MAX, Batch, BatchAnswer, BatchedAnswer, BatchQuery
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded, LineageError, TooLarge, UnreadableDocument
from fll_hbase.sources import strict_json
from fll_hbase.sources.validation import ID_BYTES_MAX, Part, Validator
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.read import shared_reads

from ..openapi.query_schemas import body_schema, parameter_schema, reference
from ..wire import problems, responses
from ..wire.query_params import NoParams, QueryParser, now_ms
from .blueprint import body, store
from .queries import query_blueprint

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

ANSWER_BYTES_MAX = 2**26
"""Size of answers (64 MiB) from which on further queries are refused. A single answer may exceed it."""

ANSWER_HEADERS = (
    "Link",
    "Truncated",
    "Truncated-By",
    "Window-Start",
    "Window-End",
    "Base-Start",
    "Base-End",
    "Retained-From",
    "Retry-After",
)
"""Headers that describe an answer and are listed with it."""

_PREFIX = "/v3/"
# Variables that apply to the batch itself, not to its queries: body, accepted types and conditions.
_BATCH_VARIABLES = (
    *("CONTENT_", "HTTP_CONTENT_", "HTTP_TRANSFER_", "HTTP_ACCEPT", "HTTP_IF_", "HTTP_RANGE"),
    *("wsgi.input", "werkzeug."),
)


@dataclass(frozen=True, slots=True)
class _Answer:
    """Status, headers and JSON of an answer."""

    status: int
    headers: dict[str, str]
    body: bytes


def parse_batch(raw: bytes) -> Batch:
    """Parse 1 to QUERIES_MAX queries of a batch. Raises UnreadableDocument with every error, or TooLarge."""
    validator = Validator()
    document = _with_members(Part(validator, strict_json.parse(raw)), "questions")
    items = list(document.items("questions", required=not validator.errors))
    if len(items) > QUERIES_MAX:
        document.error(f"has {len(items)} items, the limit is {QUERIES_MAX}; split it", "questions")
    elif document.get("questions") == []:
        document.error("must not be empty", "questions")
    queries = tuple(map(_query, items[:QUERIES_MAX]))
    if validator.errors:
        raise UnreadableDocument(validator.errors)
    return Batch(queries=queries)


def answer_batch(app: Flask, store: LineageStore, batch: Batch) -> BatchAnswer:
    """Return one answer for each query of a batch, in order; queries with equal paths share an answer.

    After the deadline, or beyond ANSWER_BYTES_MAX, the remaining queries are answered with a problem.
    """
    asker = _Asker(app, request.environ, clock_ms=now_ms())
    paths = list(dict.fromkeys(query.path for query in batch.queries))
    with shared_reads.shared():
        # Ignore failures, because each query repeats its reads and answers with its own error.
        with suppress(LineageError):
            reads = [asker.first_reads(path) for path in paths]
            store.read_ahead(
                [window for read in reads for window in read.contents],
                [window for read in reads for window in read.times],
            )
        listed = [(query.id, asker.answer(query.path)) for query in batch.queries]
    answers = tuple(
        BatchedAnswer(id=name, status=answer.status, headers=answer.headers, body=msgspec.Raw(answer.body))
        for name, answer in listed
    )
    bounds = tuple(sorted(asker.truncated_by))
    return BatchAnswer(answers=answers, truncated=bool(bounds), truncated_by=bounds)


class _Asker:
    """Sends queries to the app on behalf of a client, until the batch reaches a limit (`truncated_by`)."""

    def __init__(self, app: Flask, environ: WSGIEnvironment, *, clock_ms: int) -> None:
        """Ask with the environment of the batch's request, and `clock_ms` as the `now` of every query."""
        self.truncated_by: set[str] = set()
        self._app = app
        self._environ = environ
        self._clock_ms = clock_ms
        self._size_bytes = 0
        self._answers: dict[str, _Answer] = {}

    def first_reads(self, path: str) -> FirstReads:
        """Return the windows that a query reads first, or none without a valid query in the path."""
        with self._context(path):
            try:
                query = _requested_query()
                return FirstReads() if query is None else query.first_reads(now_ms=now_ms())
            except LineageError:
                # The query itself is answered with this error later.
                return FirstReads()

    def answer(self, path: str) -> _Answer:
        """Return the answer to a query, or a problem if earlier answers are too large or the time is over."""
        # Equal queries share one answer, which is sent for each of them and counts each time.
        if self._size_bytes > ANSWER_BYTES_MAX:
            self.truncated_by.add(f"answer_bytes_max={ANSWER_BYTES_MAX}")
            return self._refusal(
                TooLarge(f"the earlier answers have over {ANSWER_BYTES_MAX} bytes; ask in a batch of its own")
            )
        if path not in self._answers:
            self._answers[path] = self._ask(path)
        self._size_bytes += len(self._answers[path].body)
        return self._answers[path]

    def _ask(self, path: str) -> _Answer:
        """Send a query through the app, or return a problem if the time of the batch is over."""
        if deadline.is_over():
            self.truncated_by.add(deadline.limit())
            return self._refusal(
                DeadlineExceeded("the batch ran out of time before this question; ask it again")
            )
        with self._context(path):
            return _to_answer(self._app.full_dispatch_request())

    def _refusal(self, error: LineageError) -> _Answer:
        """Return an error as an answer in problem JSON; a 503 has `Retry-After`."""
        is_retryable = error.status == HTTPStatus.SERVICE_UNAVAILABLE
        seconds = str(self._app.config["FLL_RETRY_AFTER_SECONDS"])
        headers = {"Retry-After": seconds} if is_retryable else {}
        return _Answer(error.status.value, headers, responses.to_json(problems.problem_body(error)))

    @contextmanager
    def _context(self, path: str) -> Iterator[None]:
        """Return a context in which a GET of the path is the current request, at the batch's `now`."""
        # A separate app context, because `g` belongs to one request.
        with self._app.app_context():
            g.now_ms = self._clock_ms
            with self._app.request_context(_query_environ(self._environ, path)):
                yield


def _requested_query() -> Query[Any] | None:
    """Return the query of the current request, or None for a route without a query. Raises InvalidQuery."""
    view = current_app.view_functions.get(request.endpoint or "")
    query: type[Query[Any]] | None = getattr(view, "query", None)
    if query is None:
        return None
    parameters = QueryParser().parse(parameter_schema(query)(), request, location="query")
    return query(**(request.view_args or {}), **parameters)


def _query_environ(environ: WSGIEnvironment, path: str) -> WSGIEnvironment:
    """Return the environment of a GET request for a path, with the other headers of the batch."""
    others = {name: value for name, value in environ.items() if not name.startswith(_BATCH_VARIABLES)}
    # Characters beyond ASCII become escapes of UTF-8. Existing escapes stay, since `%` is safe.
    raw, _, query = quote(path, safe="/%:@!$&'()*+,;=?-._~").partition("?")
    target = {"REQUEST_METHOD": "GET", "PATH_INFO": raw, "QUERY_STRING": query, "REQUEST_URI": path}
    ids = {"HTTP_X_REQUEST_ID": g.get("request_id", "")} if "request_id" in g else {}
    return {**others, **target, **ids, "HTTP_ACCEPT": "application/json", "wsgi.input": BytesIO()}


def _to_answer(response: Response) -> _Answer:
    """Return a response as an answer; a 406 problem if the response is not JSON, such as a page."""
    if not response.is_json:
        detail = (
            f"the answer is {response.mimetype}, which a batch cannot hold; ask it in a request of its own"
        )
        body = responses.to_json(problems.status_problem(HTTPStatus.NOT_ACCEPTABLE, detail))
        return _Answer(HTTPStatus.NOT_ACCEPTABLE.value, {}, body)
    headers = {name: response.headers[name] for name in ANSWER_HEADERS if name in response.headers}
    return _Answer(response.status_code, headers, response.get_data())


def _query(item: Part) -> BatchQuery:
    """Return one query. A malformed query is an error of the batch, but a path without a route is not."""
    _with_members(item, "id", "path")
    target = item.required("path") if item.is_object else ""
    if target not in ("", "?") and not target.startswith(_PREFIX):
        item.error(f"must begin with {_PREFIX}: the path of a GET request", "path")
    elif target.partition("?")[0] == PATH:
        item.error("must not be the path of a batch", "path")
    return BatchQuery(path=target, id=item.optional("id", bytes_max=ID_BYTES_MAX))


def _with_members(part: Part, *names: str) -> Part:
    """Return the part as an object; add an error for each member whose name is not one of `names`."""
    for name in part.with_members(*names).members:
        if name not in names:
            part.error(f"unknown member; members here: {', '.join(names)}", name)
    return part


blueprint = query_blueprint("questions", "Query the lineage of a window", Lineage, FieldLineage, Derivations)


@blueprint.route(PATH, methods=["POST"])
@blueprint.arguments(NoParams(), location="query")
@blueprint.requires(reference(Batch))
@blueprint.response(
    200, body_schema(BatchAnswer), description="In the order of the questions, each with its own status"
)
@blueprint.problems(400, 413, 415)
def questions(query: dict[str, Any]) -> Response:
    """Answer up to 100 questions together.

    A question is the path of a GET request. An invalid question does not stop the others. All share the rows
    that they read and the time of one request. Questions that do not fit into that time are answered with
    503.
    """
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    return responses.json_response(answer_batch(app, store(), parse_batch(body(Role.READER))))
