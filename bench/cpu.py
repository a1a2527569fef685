"""CPU of one request, by stage: the store alone, the app on both its ways, and the server with its sockets.

The stages take turns, so that another process on the machine slows all of them. A 30-day question reads a
history of a tenth of the smallest size; cost does not follow the history.
"""

from __future__ import annotations

import http.client
import io
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import count
from typing import Any

from flask import Flask

from api import create_app
from api.wire.budget import RequestBudget
from api.wire.paths import RawPath
from bench import documents, openlineage, queries
from bench.documents import FIRST_DAY_MS, NAMESPACE
from bench.report import print_figure
from bench.server import Server, call
from fll_hbase.ingest.ingest import ingest
from fll_hbase.ingest.registry import detect
from fll_hbase.model.window import Direction
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table

ROUNDS, ROUND_REQUESTS = 12, 250
HISTORY_RUNS_MAX = 10_000
REQUEST_SECONDS = 60
DOCUMENT_PATH = f"/v3/namespaces/{NAMESPACE}/lineage"

Request = tuple[str, str, bytes]
"""Method, path with query, and body."""

Stage = tuple[Callable[[Sequence[Request]], None], Callable[[], float]]
"""A function that sends requests, and a clock of the CPU seconds that they use."""


def bench(sizes: Sequence[int]) -> None:
    """Measure documents, events and questions."""
    with tempfile.TemporaryDirectory() as folder:
        history = min(sizes[0], HISTORY_RUNS_MAX)
        url = f"sqlite:///{folder}/cpu.db"
        with closing(open_table(url)) as table:
            store = LineageStore(table)
            app = create_app(store)
            reader = app.extensions["fll-views"].select({}).reader
            ingest(store, [_parsed(reader, line) for line in documents.generate(history)])
            server = Server(url, workers=1)
            try:
                for title, requests, alone in (
                    ("document", _documents(), partial(_record, store, reader)),
                    ("event", _events(), partial(_record, store, reader)),
                    ("30-day question", _questions(), partial(_ask, store)),
                ):
                    _measure(title, requests, _stages(app, server, alone))
            finally:
                server.stop()


def _measure(title: str, requests: Iterator[Request], stages: dict[str, Stage]) -> None:
    """Print the median of the rounds of each stage."""
    times: dict[str, list[float]] = {stage: [] for stage in stages}
    for _ in range(ROUNDS):
        for stage, (send, clock) in stages.items():
            sent = [next(requests) for _ in range(ROUND_REQUESTS)]
            started = clock()
            send(sent)
            times[stage].append((clock() - started) / ROUND_REQUESTS)
    for stage, seconds in times.items():
        print_figure(f"{title}: CPU, {stage}", 1_000_000 * statistics.median(seconds), "µs")


def _stages(app: Flask, server: Server, alone: Callable[[Sequence[Request]], None]) -> dict[str, Stage]:
    long_way = RequestBudget(RawPath(partial(Flask.wsgi_app, app)), seconds=REQUEST_SECONDS)
    connection = server.connect()
    return {
        "the store alone": (alone, time.process_time),
        "app, direct way": (partial(_call_app, app), time.process_time),
        "app, long way": (partial(_call_app, long_way), time.process_time),
        "server": (partial(_call_server, connection), server.cpu_seconds),
    }


def _record(store: LineageStore, reader: Any, requests: Iterable[Request]) -> None:
    for _, _, body in requests:
        (result,) = ingest(store, [_parsed(reader, body)])
        if isinstance(result, Exception):
            raise result


def _parsed(reader: Any, body: bytes) -> Any:
    return reader.read(body, detect(body), namespace=NAMESPACE, now_ms=FIRST_DAY_MS)


def _ask(store: LineageStore, requests: Iterable[Request]) -> None:
    for _ in requests:
        store.lineage(queries.DATASET, queries.WINDOW, directions=(Direction.BACKWARD,))


def _call_app(app: Any, requests: Iterable[Request]) -> None:
    for request in requests:
        statuses: list[str] = []
        b"".join(app(_environ(*request), lambda status, *_, into=statuses: into.append(status)))
        if not statuses[0].startswith("20"):
            raise RuntimeError(f"{request[:2]} was answered {statuses[0]}")


def _call_server(connection: http.client.HTTPConnection, requests: Iterable[Request]) -> None:
    for method, path, body in requests:
        status, answer = call(connection, method, path, body or None)
        if status not in (200, 201):
            raise RuntimeError(f"{method} {path} was answered {status}: {answer[:500]!r}")


def _environ(method: str, path: str, body: bytes) -> dict[str, Any]:
    """The WSGI environment that our server passes."""
    return {
        "REQUEST_METHOD": method,
        "REQUEST_URI": path,
        "PATH_INFO": path.partition("?")[0],
        "QUERY_STRING": path.partition("?")[2],
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8080",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "127.0.0.1:8080",
        "CONTENT_TYPE": "application/json" if body else "",
        "CONTENT_LENGTH": str(len(body)) if body else "",
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
    }


def _documents() -> Iterator[Request]:
    for number in count():
        yield "POST", DOCUMENT_PATH, documents.single(number, FIRST_DAY_MS + number)


def _events() -> Iterator[Request]:
    for body in openlineage.real_events():
        yield "POST", openlineage.PATH, body


def _questions() -> Iterator[Request]:
    while True:
        yield "GET", queries.query_path(queries.WINDOW), b""
