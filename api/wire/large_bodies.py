"""Memory for large documents: only a few are read at a time, in the order in which they came."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from fll_hbase.runtime import deadline
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.room import Room

from .environ import body_bytes

if TYPE_CHECKING:
    from _typeshed.wsgi import InputStream, StartResponse, WSGIApplication, WSGIEnvironment

LARGE_BYTES = 2**18
"""Documents up to this size are read without waiting for room."""

DOCUMENTS = 2
"""How many documents of the largest size fit. Reading one takes twenty times its size in memory."""


class LargeBodies:
    """WSGI middleware that lets a request with a large body wait for room when it reads the body.

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
