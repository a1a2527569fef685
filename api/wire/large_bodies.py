"""Memory for large documents: only a few are read at a time, in the order in which they came."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from fll_hbase.runtime import deadline
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import LineageError
from fll_hbase.runtime.room import Room

from .environ import body_bytes
from .problems import refuse

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LARGE_BYTES = 2**18
"""Documents up to this size are read without waiting for room."""

DOCUMENTS = 2
"""How many documents of the largest size fit. Reading one takes twenty times its size in memory."""


class LargeBodies:
    """WSGI middleware that lets requests with large bodies wait for room, or answers 503 at their deadline.

    Batches are exempt because they are read in parts.
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
            try:
                # The wait is part of reading, so an error at the deadline says that nothing was stored.
                with deadline.reading():
                    stack.enter_context(self._room.hold(size))
            except LineageError as error:
                seconds = self._settings.retry_after_seconds
                return refuse(environ, start_response, error, retry_after_seconds=seconds)
            return self._app(environ, start_response)

    def _size(self, environ: WSGIEnvironment) -> int:
        """Return the maximum size in bytes of the decompressed document of a request; 0 for a batch."""
        size = body_bytes(environ)
        if not size or environ.get("PATH_INFO", "").endswith("/lineage/batch"):
            return 0
        ratio = self._settings.gzip_ratio_max if environ.get("HTTP_CONTENT_ENCODING") else 1
        return min(size * ratio, self._settings.document_bytes_max)
