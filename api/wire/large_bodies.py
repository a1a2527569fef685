"""Large documents have room in memory: a few are read at a time, in the order in which they came."""

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
"""A document of no more bytes is read beside any others."""

DOCUMENTS = 2
"""Documents of the largest size for which there is room. One takes twenty times its size when it is read."""


class LargeBodies:
    """WSGI middleware in which a large body is read once there is room, else the request is a 503.

    A request that is refused by its head does not wait. Batches are left out: they are read in parts.
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
                # As part of reading: nothing was stored if the time is over here.
                with deadline.reading():
                    stack.enter_context(self._room.hold(size))

            environ["wsgi.input"] = _LateBody(environ["wsgi.input"], wait)
            return self._app(environ, start_response)

    def _size(self, environ: WSGIEnvironment) -> int:
        """Return how many bytes of a document a request may have, decompressed."""
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
