"""A server of any app in a thread of this process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from api.http.event_server import HttpServer
from api.observability.observer import RequestObserver
from fll_hbase.runtime.config import Settings
from tests.support.raw_http import Server
from tests.support.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


@contextmanager
def serving(
    app: WSGIApplication, settings: Settings | None = None, observer: RequestObserver | None = None
) -> Iterator[Server]:
    """A server of this app in a thread."""
    listener = socket.create_server(("127.0.0.1", 0))
    http = HttpServer(app, listener, settings or Settings(threads=2), observer or RequestObserver())
    stopped = threading.Event()
    thread = threading.Thread(target=http.serve, args=[lambda: not stopped.is_set()])
    thread.start()
    try:
        yield Server(listener.getsockname()[1], Path("no log"))
    finally:
        stopped.set()
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()
