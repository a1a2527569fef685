"""Requests as waitress parses them, and the tasks that answer them: by the app, or with a problem."""

from __future__ import annotations

import re
import time
from http import HTTPStatus
from typing import Any

from waitress.adjustments import Adjustments
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.task import ErrorTask, WSGITask
from waitress.utilities import BadRequest, Error, RequestEntityTooLarge, RequestHeaderFieldsTooLarge

from fll_hbase.runtime.errors import FieldError, LineageError, TooLarge, UnreadableDocument
from fll_hbase.runtime.json_types import Json

from ..observability.logs import request_id
from ..wire import problems, responses
from ..wire.budget import CLIENT_LEFT, QUERY_PATHS, RECEIVED, is_read
from ..wire.environ import IS_ALONE, QUERIED

CHUNK_LINE_BYTES_MAX = 16_384
"""Longest trailer of a chunked body, and longest line with the size of a chunk, in bytes."""

TLS_HANDSHAKE = b"\x16"
"""First byte of a TLS connection. No HTTP method begins with this byte."""

FIELDS_MAX = 200
"""Maximum number of fields of a head; browsers and proxies send about thirty."""

REQUEST_BYTES, FIELD_BYTES = 600, 200
"""Approximate memory of a request, and of a field of its head, in addition to the text."""

_BATCH_SUFFIX = "/lineage/batch"
_CONTROL = re.compile(r"[\x00-\x20\x7f]")


class Refusal(Error):  # type: ignore[misc]
    """A problem that answers a request without the app, and closes the connection if `closes`."""

    def __init__(self, problem: Json, *, closes: bool, retry_after_seconds: int | None = None) -> None:
        super().__init__(problem["detail"])
        self.code = problem["status"]
        self.reason = HTTPStatus(self.code).phrase
        self.problem = problem
        self.closes = closes
        self.headers = [("Retry-After", str(retry_after_seconds))] if retry_after_seconds is not None else []


def refusal_of(
    error: LineageError, *, closes: bool = True, retry_after_seconds: int | None = None
) -> Refusal:
    """Return an error as the answer to a request that the app does not get."""
    return Refusal(problems.problem_body(error), closes=closes, retry_after_seconds=retry_after_seconds)


def raw_answer(refusal: Refusal) -> bytes:
    """Return a refusal as the bytes of an answer, for a connection that has not sent a request yet."""
    body = responses.to_json(refusal.problem)
    headers = [
        ("Content-Type", problems.MEDIA_TYPE),
        ("Content-Length", str(len(body))),
        ("Connection", "close"),
        *refusal.headers,
    ]
    lines = [f"HTTP/1.1 {refusal.code} {refusal.reason}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode() + body


class RequestParser(HTTPRequestParser):  # type: ignore[misc]
    """A request while it is received: its head and its body, which is in a temporary file if large.

    Its route decides the limits of the body: a batch may be larger than a document.
    """

    adj: Adjustments
    completed: bool
    headers: dict[str, str]
    header_plus: bytes
    body_rcv: Any

    def __init__(self, adj: Adjustments) -> None:
        super().__init__(adj)
        self.began = time.monotonic()
        self.received_at = 0.0

    @property
    def is_read(self) -> bool:
        """Return whether the request changes nothing."""
        return is_read(getattr(self, "command", ""), getattr(self, "path", ""))

    @property
    def is_batch(self) -> bool:
        """Return whether the request has many documents or questions, and may take long."""
        path: str = getattr(self, "path", "")
        return path.endswith(_BATCH_SUFFIX) or path in QUERY_PATHS

    @property
    def memory_bytes(self) -> int:
        """Return about how many bytes of memory the request takes; a body in a temporary file counts 0."""
        # The WSGI environment contains the request line four times.
        text = len(self.header_plus) or 4 * self.header_bytes_received + FIELD_BYTES * len(self.headers)
        head = REQUEST_BYTES + text
        if self.body_rcv is None:
            return head
        return head if self.body_rcv.getbuf().overflowed else head + self.body_bytes_received

    def release(self) -> None:
        """Free the received bytes of a refused request; keep the headers that its answer needs."""
        self.close()
        self.body_rcv, self.header_plus = None, b""
        self.header_bytes_received = self.body_bytes_received = 0
        names = ("CONNECTION", "TRACEPARENT", "X_REQUEST_ID")
        self.headers = {name: self.headers[name] for name in names if name in self.headers}

    def received(self, data: bytes) -> int:
        """Take the bytes of this request from `data` and return how many it took.

        A TLS handshake, or a line of a chunked body above CHUNK_LINE_BYTES_MAX, ends it with an `error`.
        """
        if self.body_rcv is None and not self.header_plus and data.startswith(TLS_HANDSHAKE):
            # Without an error now, the client would wait until the time for the head is over.
            self.error = BadRequest("this port speaks plain HTTP; write http:// in the URL")
            self.completed = True
            return len(data)
        consumed: int = super().received(data)
        if self.headers_finished:
            # waitress keeps the first part of the head, which is parsed now.
            self.header_plus = b""
        if self.completed:
            # The body is complete, so the client needs no 100. waitress would send it, and then read on.
            self.expect_continue = False
        if self.chunked and self.body_rcv is not None and not self.completed:
            receiver = self.body_rcv
            if max(len(receiver.control_line), len(receiver.trailer)) > CHUNK_LINE_BYTES_MAX:
                self.error = BadRequest("a line of the chunked body is too long")
                self.completed = True
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the head and set the route's body limit; refuse a head with more than FIELDS_MAX fields.

        Raises ParsingError for an unsafe head, TransferEncodingNotImplemented for another one than chunked.
        """
        if header_plus.count(b"\n") > FIELDS_MAX + 2:
            # Parsing them would block the event loop for longer than a thread needs for most requests.
            super().parse_header(header_plus[: header_plus.find(b"\n") + 1])
            self.error = RequestHeaderFieldsTooLarge(f"the head has more than {FIELDS_MAX} fields")
            return
        try:
            super().parse_header(header_plus)
        except ValueError as error:
            raise ParsingError("a number in the head is too long") from error
        # In HTTP/1.1, waitress removes the header. A length together with chunks allows request smuggling.
        if "TRANSFER_ENCODING" in self.headers or (self.chunked and "CONTENT_LENGTH" in self.headers):
            raise ParsingError("Transfer-Encoding needs HTTP/1.1 and no Content-Length")
        if _CONTROL.search(self.request_uri):
            raise ParsingError("the path contains a control character; percent-encode it")
        document, batch = self.adj.body_limits
        self.adj = batch if self.path.endswith(_BATCH_SUFFIX) else document


class ProblemTask(ErrorTask):  # type: ignore[misc]
    """Answers a request with a problem instead of the app."""

    def execute(self) -> None:
        """Write the problem that refuses the request, without the body for HEAD."""
        error = self.request.error
        refusal = error if isinstance(error, Refusal) else _refusal(self.request)
        body = responses.to_json(refusal.problem)
        self.status = f"{refusal.code} {refusal.reason}"
        self.response_headers += [
            ("Content-Type", problems.MEDIA_TYPE),
            ("X-Request-ID", request_id.get()),
            *responses.security_headers(self.channel.server.adj.url_scheme),
            *refusal.headers,
        ]
        self.content_length = len(body)
        if refusal.closes:
            self.set_close_on_finish()
        # The answer to HEAD has the length of the body, without the body.
        self.write(b"" if getattr(self.request, "command", "") == "HEAD" else body)


def _refusal(request: RequestParser) -> Refusal:
    """Return an error of waitress's parser as the refusal to answer with; the connection closes after it."""
    error = request.error
    if isinstance(error, RequestEntityTooLarge):
        return refusal_of(TooLarge("the body is larger than a body of this route may be; split it"))
    if isinstance(error, BadRequest) and request.body_rcv is not None:
        return refusal_of(UnreadableDocument([FieldError("", error.body)]))
    return Refusal(problems.status_problem(HTTPStatus(error.code), error.body), closes=True)


class RequestTask(WSGITask):  # type: ignore[misc]
    """Has the app answer a request."""

    environ: dict[str, Any] | None = None
    # waitress would close the connection now, only because the answer comes without a Content-Length.
    _ends_with_head = False

    def get_environment(self) -> dict[str, Any]:
        """Return the WSGI environment, with this server's own variables such as RECEIVED and CLIENT_LEFT."""
        environ: dict[str, Any] = super().get_environment()
        # Without waitress's wrapper werkzeug uses its own, so that answers are always bytes.
        environ.pop("wsgi.file_wrapper", None)
        environ["wsgi.multiprocess"] = True
        environ[RECEIVED] = self.request.received_at
        environ[CLIENT_LEFT] = self.channel.has_left
        environ[IS_ALONE] = self.channel.is_alone
        environ[QUERIED] = []
        # The same id as in logs, even if the client did not send one.
        environ["HTTP_X_REQUEST_ID"] = request_id.get()
        self.environ = environ
        return environ

    def build_response_header(self) -> bytes:
        """Return status line and headers; close the connection after the answer if the server is stopping."""
        if self.channel.server.is_stopping:
            self.set_close_on_finish()
        is_last = self.version == "1.0" or self.request.headers.get("CONNECTION", "").lower() == "close"
        self._ends_with_head = not (self.has_body or is_last)
        header: bytes = super().build_response_header()
        self._ends_with_head = False
        return header

    def set_close_on_finish(self) -> None:
        """Close the connection after the answer, except after a 304, which has neither body nor length."""
        if not self._ends_with_head:
            super().set_close_on_finish()
