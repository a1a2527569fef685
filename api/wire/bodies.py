"""Request bodies: decompressed, limited in size, read as a whole or by lines, few large ones at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, BinaryIO

from flask import Request
from werkzeug.exceptions import HTTPException, UnsupportedMediaType

from fll_hbase.ingest import ndjson
from fll_hbase.ingest.ndjson import GZIP_ERRORS, InputLine
from fll_hbase.runtime import deadline
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import FieldError, TooLarge, UnreadableDocument
from fll_hbase.runtime.threads import Room

from .environ import COUNT_BYTES

if TYPE_CHECKING:
    from _typeshed.wsgi import InputStream, StartResponse, WSGIApplication, WSGIEnvironment

JSON_TYPES = ("application/json",)
_DISCARDED_BYTES = 2**18
NDJSON_TYPES = ("application/x-ndjson", "application/jsonl", "application/json")
LARGE_BYTES = 2**18
"""Documents up to this size are read without waiting for room."""

DOCUMENTS = 2
"""How many documents of the largest size fit. Reading one takes twenty times its size in memory."""


def read_body(request: Request, *, bytes_max: int, ratio_max: int) -> bytes:
    """Return the whole body, decompressed.

    Raises TooLarge for more than `bytes_max` bytes, sent or decompressed, and for gzip that expands more than
    `ratio_max` times. Raises UnreadableDocument for broken gzip or a broken connection. Raises
    UnsupportedMediaType for a Content-Type that is not JSON in UTF-8 or a Content-Encoding other than gzip,
    and DeadlineExceeded if the time ends during decompression or while a large body waits for room.
    """
    body = _open_body(request, JSON_TYPES, bytes_max, ratio_max)
    try:
        # One byte more than allowed shows the excess: 16 MiB of gzip can decompress to 16 GiB.
        with deadline.reading() if request.content_encoding else nullcontext():
            raw = body.read(bytes_max + 1)
    except GZIP_ERRORS as error:
        detail = f"the body is not gzip as its Content-Encoding says: {error}"
        raise UnreadableDocument([FieldError("", detail)]) from error
    if len(raw) > bytes_max:
        raise TooLarge(f"the body is larger than {bytes_max} bytes; split it")
    return raw


def read_lines(
    request: Request, *, line_bytes_max: int, bytes_max: int, ratio_max: int
) -> Iterator[InputLine]:
    """Yield the lines of the body that are not blank, decompressed, each with its number or an error.

    A line may have `line_bytes_max` bytes, all lines together `bytes_max`. gzip may expand `ratio_max` times.
    Raises TooLarge before the first line if Content-Length is above `bytes_max`. Raises UnsupportedMediaType
    for a Content-Type that is neither JSON nor NDJSON in UTF-8 or a Content-Encoding other than gzip.
    """
    body = _open_body(request, NDJSON_TYPES, bytes_max, ratio_max)
    return ndjson.read_lines(body, line_bytes_max=line_bytes_max, bytes_max=bytes_max)


def check_media_type(request: Request, types: tuple[str, ...]) -> None:
    """Raise UnsupportedMediaType unless the body declares one of the types, in UTF-8 (also by default)."""
    # A missing type is refused too, because a page of another site can send such a body unchecked (CORS).
    charset = request.mimetype_params.get("charset", "utf-8").lower()
    if request.mimetype not in types or charset not in ("utf-8", "utf8"):
        content_type = request.headers.get("Content-Type")
        fault = f"is {content_type}" if content_type else "has no Content-Type"
        raise UnsupportedMediaType(f"the body {fault}; send {' or '.join(types)} in UTF-8")


def body_bytes(environ: WSGIEnvironment) -> int:
    """Return the size of the body as sent, which our server also knows if it is chunked; 0 if unknown."""
    text = environ.get("CONTENT_LENGTH") or ""
    # isdigit() alone accepts digits such as `²`; int() refuses thousands of them.
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else 0


def discard_rest(request: Request, *, bytes_max: int) -> None:
    """Read and discard the rest of a body, about `bytes_max` bytes as sent; end quietly if it breaks off.

    A client that sends its whole body before it reads would never see an earlier answer.
    """
    try:
        while bytes_max > 0 and (data := request.stream.read(_DISCARDED_BYTES)):
            bytes_max -= len(data)
    except (OSError, HTTPException):
        # The client has left. The answer is written anyway, and the connection ends.
        return


def _open_body(request: Request, types: tuple[str, ...], bytes_max: int, ratio_max: int) -> BinaryIO:
    """Return the body as a decompressed stream.

    Reading raises UnreadableDocument if the connection breaks, GZIP_ERRORS for broken gzip, TooLarge for gzip
    that expands more than `ratio_max` times, DeadlineExceeded. This function raises TooLarge if
    Content-Length is above `bytes_max`, and UnsupportedMediaType for a Content-Type not in `types` or a
    Content-Encoding other than gzip.
    """
    check_media_type(request, types)
    # Refused before a byte is read. Bytes that decompression adds are counted while reading.
    if request.content_length is not None and request.content_length > bytes_max:
        detail = f"the body is {request.content_length} bytes, the limit is {bytes_max}; split it"
        raise TooLarge(detail)
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise UnsupportedMediaType(f"Content-Encoding {encoding!r} is not supported; send gzip or none")

    def read(size_bytes: int) -> bytes:
        try:
            return request.stream.read(size_bytes)
        # werkzeug raises ClientDisconnected for an early end, which Flask would answer with a 500 although
        # the client is at fault.
        except (OSError, HTTPException) as error:
            raise UnreadableDocument([FieldError("", f"the body broke off: {error}")]) from error

    # `x-gzip` is an alias of `gzip` (RFC 9110, 8.4.1.3).
    return ndjson.open_stream(
        read, gzipped="gzip" in encoding, ratio_max=ratio_max, on_decompressed=_counter(request)
    )


def _counter(request: Request) -> Callable[[int], None]:
    """Return a function that counts decompressed bytes for the limits of the client.

    The bytes of the body as sent have already been counted, and are not counted again.
    """
    count: Callable[[int], None] | None = request.environ.get(COUNT_BYTES)
    counted = request.content_length or 0

    def count_more(size_bytes: int) -> None:
        nonlocal counted
        more = max(size_bytes - counted, 0)
        counted = max(counted - size_bytes, 0)
        if count is not None and more:
            count(more)

    return count_more


class LargeBodies:
    """WSGI middleware that lets a request above LARGE_BYTES wait for room when it reads the body.

    At its deadline it gets 503. A request that is refused by its head does not wait. Batches are exempt
    because they are read in parts.
    """

    def __init__(self, app: WSGIApplication, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._room = Room(DOCUMENTS * settings.document_bytes_max)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        size = self._size(environ)
        if size <= LARGE_BYTES:
            return self._app(environ, start_response)
        with ExitStack() as stack:

            def wait() -> None:
                # The wait is part of reading, so an error at the deadline says that nothing was stored.
                with deadline.reading():
                    stack.enter_context(self._room.hold(size))

            environ["wsgi.input"] = _LateBody(environ["wsgi.input"], wait)
            return self._app(environ, start_response)

    def _size(self, environ: WSGIEnvironment) -> int:
        """Return the maximum size in bytes of the decompressed document of a request; 0 for a batch."""
        size = body_bytes(environ)
        if not size or environ.get("PATH_INFO", "").endswith("/lineage/batch"):
            return 0
        ratio = self._settings.gzip_ratio_max if environ.get("HTTP_CONTENT_ENCODING") else 1
        return min(size * ratio, self._settings.document_bytes_max)


class _LateBody:
    """A body whose first read calls `wait` before it. Its errors are raised by the read."""

    def __init__(self, body: InputStream, wait: Callable[[], None]) -> None:
        self._body = body
        self._wait: Callable[[], None] | None = wait

    def read(self, size: int = -1, /) -> bytes:
        return self._ready().read(size)

    def readline(self, size: int = -1, /) -> bytes:
        return self._ready().readline(size)

    def readlines(self, hint: int = -1, /) -> list[bytes]:
        return self._ready().readlines(hint)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._ready())

    def _ready(self) -> InputStream:
        """Return the body, after `wait` has ended without an error once."""
        if self._wait is not None:
            self._wait()
            self._wait = None
        return self._body
