"""A server in a thread of the test process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from werkzeug.serving import make_server

from api import create_app
from fll_hbase.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table


@contextmanager
def serving_in_thread(settings: Settings) -> Iterator[str]:
    """The URL of a server over an empty store."""
    store = LineageStore(open_table("sqlite:///:memory:"), settings)
    server = make_server("127.0.0.1", 0, create_app(store), threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()
    store.close()
