"""Client of a server that implements the REST contract."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
import requests
from msgspec import to_builtins

from fll_hbase.client.connection import Connection
from fll_hbase.client.remote import problems
from fll_hbase.client.remote.http_session import ACKNOWLEDGEMENT_MEMBERS, HttpSession
from fll_hbase.ingest.outcomes import RecordResult
from fll_hbase.model.window import Window
from fll_hbase.queries.query import Answer, BodyT, Changeable, Posted, Query
from fll_hbase.queries.query_batch import PATH, QUERIES_MAX, BatchAnswer, BatchedAnswer
from fll_hbase.runtime import typed_json
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.errors import FieldError, LineageError, UnreadableDocument

if TYPE_CHECKING:
    from fll_hbase.ingest.document_batches import LocatedDocument
    from fll_hbase.queries.acknowledgements import DocumentPreview
    from fll_hbase.queries.policies import PolicyBody
    from fll_hbase.queries.tags import TagBody

ResultT = TypeVar("ResultT")
Read: TypeAlias = Callable[[Mapping[str, Any]], ResultT]
"""A function that returns the result in an answer."""

BATCH_FORMAT = "lineage"
"""The name and route of the only format with another route, `/batch`, for many documents."""

_CLIENT_ROUTES: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "openlineage": (("api", "v1", "lineage"), {}),
    "datahub": (("aspects",), {"action": "ingestFile"}),
}
"""Path and query string, by format, of routes for other clients, which contain no namespace."""


class HttpClient(Connection):
    """Client of a server, whose clock gives the `now` of windows.

    `timeout_seconds` bounds the retries of a request, `read_seconds` the time that each attempt waits for
    data. `token` is sent with each request.
    """

    def __init__(
        self, url: str, *, timeout_seconds: float = 60.0, read_seconds: float = 60.0, token: str = ""
    ) -> None:
        self._session = HttpSession(
            url, timeout_seconds=timeout_seconds, read_seconds=read_seconds, token=token
        )

    def record(
        self,
        documents: Sequence[LocatedDocument],
        *,
        take_over: bool = False,
        wait_seconds: float | None = None,
    ) -> list[RecordResult | LineageError]:
        """Send the documents of the batch format in one request per namespace, all others one by one."""
        with self._session.limit(wait_seconds):
            return self._send(documents, {"replace": "true"} if take_over else {}, _result)

    def preview(
        self, documents: Sequence[LocatedDocument], *, take_over: bool = False
    ) -> list[DocumentPreview | LineageError]:
        """Send documents as `record` does, with `dryRun=true`."""
        return self._send(
            documents, {"dryRun": "true"} | ({"replace": "true"} if take_over else {}), _preview
        )

    def _send(
        self, documents: Sequence[LocatedDocument], params: Mapping[str, str], read: Read[ResultT]
    ) -> list[ResultT | LineageError]:
        """Send documents; return `read(answer)` or the error for each, in order.

        Documents that can be lines are sent in one request per namespace, after all others. A document with
        an error already is not sent. Raises a LineageError that is not the fault of one document.
        """
        # The requests may change the order of the documents; the batches of `batch_documents` allow this.
        results: dict[int, ResultT | LineageError] = {}
        by_namespace: dict[str, list[int]] = {}
        for index, document in enumerate(documents):
            if _can_be_line(document):
                by_namespace.setdefault(document.namespace, []).append(index)
            else:
                error = document.line.error
                results[index] = self._send_one(document, params, read) if error is None else error
        for namespace, indexes in by_namespace.items():
            if len(indexes) == 1:
                results[indexes[0]] = self._send_one(documents[indexes[0]], params, read)
                continue
            # The namespace is part of the path, so a request has the documents of one only.
            path = ("v3", "namespaces", namespace, BATCH_FORMAT, "batch")
            lines = [documents[index].line.raw for index in indexes]
            answers = self._session.post_lines(*path, lines=lines, params=params)
            read_lines = (_read_line(answer, read) for answer in answers)
            results.update(zip(indexes, read_lines, strict=True))
        return [results[index] for index in range(len(documents))]

    def _send_one(
        self, document: LocatedDocument, params: Mapping[str, str], read: Read[ResultT]
    ) -> ResultT | LineageError:
        """Send a document to the route of its format; return its result, or the error that refuses it.

        A document without a namespace, where the route needs one, is not sent. Raises any other LineageError.
        """
        document_format = document.head.format
        if document_format.name in _CLIENT_ROUTES:
            path, action = _CLIENT_ROUTES[document_format.name]
            # These routes never refuse a run id, so they do not have the parameter `replace`.
            params = action | {name: value for name, value in params.items() if name != "replace"}
        elif document.namespace:
            path = ("v3", "namespaces", document.namespace, document_format.route)
        else:
            return _without_namespace(document)
        try:
            return read(self._session.post(*path, body=document.line.raw, params=params))
        # These are faults of this document only. Other errors, such as refused access, concern all documents.
        except problems.DOCUMENT_FAULTS as error:
            return error

    def read_answer(self, query: Query[BodyT]) -> Answer[BodyT]:
        """Return the answer of the server to one GET, or POST for `Posted`. Raises LineageError."""
        method, body = ("POST", _json(query.request_body())) if isinstance(query, Posted) else ("GET", None)
        response = self._session.request(method, *query.segments(), params=query.params(), body=body)
        return _decode(query, response)

    def put(self, query: Changeable[BodyT], body: TagBody | PolicyBody) -> BodyT:
        """Send PUT to the path of a query; return what the server stored."""
        response = self._session.request("PUT", *query.segments(), params=query.params(), body=_json(body))
        return _decode(query, response).body

    def delete(self, query: Changeable[Any]) -> None:
        """Send DELETE to the path of a query."""
        self._session.request("DELETE", *query.segments(), params=query.params())

    def read_batch(self, queries: Sequence[Mapping[str, str]]) -> BatchAnswer:
        """Send POST /v3/questions with up to 100 queries per request, and join the answers."""
        answers: list[BatchedAnswer] = []
        bounds: set[str] = set()
        for begin in range(0, len(queries), QUERIES_MAX):
            body = _json({"questions": list(queries[begin : begin + QUERIES_MAX])})
            part = _decode_body(self._session.request("POST", *PATH[1:].split("/"), body=body), BatchAnswer)
            answers += part.answers
            bounds.update(part.truncated_by)
        limits = tuple(sorted(bounds))
        return BatchAnswer(answers=tuple(answers), truncated=bool(limits), truncated_by=limits)

    def close(self) -> None:
        self._session.close()


def _json(body: Any) -> bytes:
    return json.dumps(to_builtins(body)).encode()


def _can_be_line(document: LocatedDocument) -> bool:
    """Return whether a document can be one line of a batch request.

    It needs BATCH_FORMAT, a namespace, no error, and no line feed except at its end.
    """
    return (
        document.line.error is None
        and document.head.format.name == BATCH_FORMAT
        and bool(document.namespace)
        and b"\n" not in document.line.raw.rstrip()
    )


def _without_namespace(document: LocatedDocument) -> LineageError:
    """Return the error of a document whose URL cannot be built, because no namespace is known.

    The error equals the error of a local store, with all errors of the document.
    """
    # Imported here, because the server reads all other documents.
    from fll_hbase.ingest.registry import DocumentReader

    # The reader needs no catalogue: a document without a namespace is refused whatever its columns are.
    reader = DocumentReader(columns=lambda _: None)
    parsed = reader.try_read(document.line.raw, document.head, namespace=None, now_ms=now_ms())
    if isinstance(parsed, LineageError):
        return parsed
    return UnreadableDocument([FieldError("namespace", "missing")])


def _read_line(answer: Mapping[str, Any], read: Read[ResultT]) -> ResultT | LineageError:
    """Return `read(answer)` for one line of a batch response, or the error that the line reports."""
    if answer.keys().isdisjoint(ACKNOWLEDGEMENT_MEMBERS):
        return problems.error_from_problem(answer)
    return read(answer)


def _preview(answer: Mapping[str, Any]) -> DocumentPreview:
    """Return the preview in the answer to a dry run, of one run or of `runs`. Raises Refused."""
    # Imported here, because only dry runs need it.
    from fll_hbase.queries.acknowledgements import document_preview

    warnings = problems.field_errors(answer.get("warnings", ()))
    try:
        return document_preview(answer.get("runs", [answer]), warnings)
    except msgspec.ValidationError as error:
        raise problems.Refused(f"the server has recorded, or has no dry run: {error}") from error


def _result(answer: Mapping[str, Any]) -> RecordResult:
    """Return the result in an acknowledgement of one run, of `runs`, or of the runs of `entities`."""
    # Imported here, like the rest of recording, because clients that only query do not need it.
    from fll_hbase.store.results import CommitResult

    if "entities" in answer:
        runs = [run for entity in answer["entities"] for run in entity["runs"]]
    else:
        runs = answer.get("runs", [answer])
    return RecordResult(
        tuple(
            CommitResult(
                checksum=run.get("checksum", ""),
                run=run.get("run", ""),
                recorded=run["recorded"],
                replaced=run.get("replaced", False),
            )
            for run in runs
        ),
        warnings=problems.field_errors(answer.get("warnings", ())),
    )


def _decode(query: Query[BodyT], response: requests.Response) -> Answer[BodyT]:
    """Return the answer of a response. Raises Refused if the body does not fit the query."""
    body = _decode_body(response, query.body_type())
    page = _next_page(response)
    return Answer(
        body,
        window=_window(query, response),
        retained_from_ms=_header_ms(response, "Retained-From"),
        cursor=page.get("cursor", ""),
        truncated_by=_truncated_by(body, response),
        principal=unquote(response.headers.get("Principal", "")),
    )


def _decode_body(response: requests.Response, body_type: type[BodyT]) -> BodyT:
    """Return the body of a response. Raises Refused if it does not have this type."""
    try:
        return typed_json.decode(response.content, body_type)
    except msgspec.MsgspecError as error:
        raise problems.unexpected_response(response) from error


def _truncated_by(body: Any, response: requests.Response) -> tuple[str, ...]:
    """Return the limits that cut an answer, from the headers if the body has no such member (decision 8).

    An answer that is cut by no named limit has the limit "a bound of the server".
    """
    if hasattr(body, "truncated_by"):
        limits, is_truncated = body.truncated_by, body.truncated
    else:
        header = response.headers.get("Truncated-By", "")
        limits = tuple(header.split(", ")) if header else ()
        is_truncated = response.headers.get("Truncated") == "true"
    return (limits or ("a bound of the server",)) if is_truncated else ()


def _window(query: Query[BodyT], response: requests.Response) -> Window | None:
    """Return the window in the headers of a query's response, or None unless they have both ends."""
    start_ms, stop_ms = (_header_ms(response, f"Window-{end}") for end in ("Start", "End"))
    if start_ms is None or stop_ms is None:
        return None
    return Window(start_ms, stop_ms, failed=getattr(query, "failed", False))


def _header_ms(response: requests.Response, name: str) -> int | None:
    """Return a header in seconds with three decimals as milliseconds, or None if missing or malformed."""
    header = response.headers.get(name, "")
    seconds, _, decimals = header.partition(".")
    # Parsed as digits: a float has too few for the milliseconds of late starts.
    return int(seconds + decimals) if seconds.isdecimal() and len(decimals) == 3 else None


def _next_page(response: requests.Response) -> dict[str, str]:
    """Return the query parameters of the next page, none after the last."""
    # Only the query of the link is used: behind a proxy, the server's path may differ from the client's.
    link = response.links.get("next", {}).get("url", "")
    return dict(parse_qsl(urlsplit(link).query, keep_blank_values=True))
