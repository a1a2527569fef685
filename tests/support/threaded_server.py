"""Servers in a thread of the test process."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any, Protocol

from werkzeug.serving import make_server

from api import create_app
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table

POLL_SECONDS = 0.01
"""Interval at which a server looks whether it shall end; the usual half second outlasts most tests."""


class Server(Protocol):
    """The members that servers of the standard library and of werkzeug share."""

    def serve_forever(self, poll_interval: float = ...) -> None: ...

    def shutdown(self) -> None: ...

    def server_close(self) -> None: ...


class HttpServer(ThreadingHTTPServer):
    """A server whose clients may leave early, which must not print into the output of another test."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def in_thread(server: Server) -> Iterator[None]:
    """Serve in a thread; the end waits for it, and closes the server."""
    thread = threading.Thread(target=server.serve_forever, args=(POLL_SECONDS,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def serving_in_thread(settings: Settings) -> Iterator[str]:
    """The URL of a server over an empty store."""
    store = LineageStore(open_table("sqlite:///:memory:"), settings)
    server = make_server("127.0.0.1", 0, create_app(store), threaded=True)
    with in_thread(server):
        yield f"http://127.0.0.1:{server.server_port}"
    store.close()
