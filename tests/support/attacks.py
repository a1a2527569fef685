"""Attacks that take the time of a server: hostile clients in a process of their own, with few rights."""

from __future__ import annotations

import gzip
import itertools
import json
import multiprocessing
import resource
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from multiprocessing.sharedctypes import SynchronizedArray
from multiprocessing.synchronize import Event
from typing import Any, TypeAlias

from bench import wide
from bench.layers import LARGE, NAMESPACE, ROOT, Layers
from tests.support.costly_sql import COSTLY
from tests.support.large_documents import DOCUMENTS
from tests.support.lineage_documents import copying, run
from tests.support.silent_crowd import connect_for_ever, connection_from, sources

PAUSE_SECONDS = 0.01
"""Between two requests of a client: those that are refused at once shall not measure the clients."""

_WINDOW = "start=0"
_HOME = f"/v3/namespaces/{NAMESPACE}"


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a hostile client."""

    method: str
    target: str
    body: bytes = b""
    encoding: str = "identity"
    accept: str = "application/json"


Requests: TypeAlias = Callable[[int], list[Request]]
"""Builds what is sent, by the bytes of a large document."""

WIDE = "wide"
NAMESPACES = NAMESPACE, WIDE
"""What the attackers may record and ask."""


@dataclass(frozen=True, slots=True)
class Attack:
    """So many `clients` that send these requests again and again; `has_right` to what they ask."""

    requests: Requests
    clients: int = 16
    has_right: bool = True


def _document(members: dict[str, Any]) -> bytes:
    return json.dumps({"run": run("costly"), **members}).encode()


def _documents(size: int) -> list[Request]:
    """Documents of an honest client with much to record."""
    count = min(size // 1_000, 20_000)
    name = time.time_ns()
    bodies = (_document(copying("a", "b", "x", run=run(f"small-{name}-{number}"))) for number in range(count))
    return [Request("POST", f"{_HOME}/lineage", body) for body in bodies]


def _sql(_: int) -> list[Request]:
    return [
        Request("POST", f"{_HOME}/sql", _document({"sql": sql, "dialect": dialect}))
        for name, (dialect, sql) in COSTLY.items()
        if name not in ("cross joins", "a long text")
    ]


def _derived(_: int) -> list[Request]:
    dialect, sql = COSTLY["cross joins"]
    return [Request("POST", f"{_HOME}/sql", _document({"sql": sql, "dialect": dialect}))]


def _statements(size: int) -> list[Request]:
    """Honest statements, as many as a script may have."""
    sql = ";".join(f"INSERT INTO o{n} SELECT a, b, c + d AS e FROM t{n}" for n in range(size // 50))
    return [Request("POST", f"{_HOME}/sql", _document({"sql": sql[:900_000].rpartition(";")[0]}))]


def _refused(size: int) -> list[Request]:
    names = "wrong_operations", "nested"
    return [
        Request("POST", f"{_HOME}/lineage", json.dumps(DOCUMENTS[name][1](size)).encode()) for name in names
    ]


def _urns(size: int) -> list[Request]:
    names = "pairs", "commas_of_a_urn", "proposals"
    return [
        Request("POST", "/aspects?action=ingestFile", json.dumps(DOCUMENTS[name][1](size)).encode())
        for name in names
    ]


def _events(size: int) -> list[Request]:
    names = "one_output_again_and_again", "inputs_with_lineage"
    return [
        Request("POST", "/api/v1/lineage", json.dumps(DOCUMENTS[name][1](size)).encode()) for name in names
    ]


def _batch(size: int) -> bytes:
    text = json.dumps(copying("a", "b", "x", run=run("RUN")))
    lines = (text.replace('"RUN"', f'"batch-{time.time_ns()}-{line}"') for line in range(size // 750))
    return gzip.compress("\n".join(lines).encode(), 1)


def _batches(size: int) -> list[Request]:
    return [Request("POST", f"{_HOME}/lineage/batch", _batch(size), "gzip") for _ in range(14)]


def _gzip(size: int) -> list[Request]:
    """Bodies that decompress to nothing, or to a thousand times as much."""
    target = f"{_HOME}/lineage/batch"
    return [
        Request("POST", target, body, "gzip")
        for body in (gzip.compress(b"") * (size // 20), gzip.compress(b"\n" * 30 * size))
    ]


def _gets(*targets: str, accept: tuple[str, ...] = ("application/json",)) -> Requests:
    return lambda _: [Request("GET", target, accept=kind) for target in targets for kind in accept]


_FIELD = f"{_HOME}/endpoints/{ROOT}/fields/field_00"
_LINEAGE = f"/v3/namespaces/{WIDE}/endpoints/target/fields/lineage?{_WINDOW}"
_REACH = f"{_FIELD}/reach?{_WINDOW}&direction=forward"
_REPORT = f"/v3/reports/consumption?{_WINDOW}&namespace={NAMESPACE}&endpoint={ROOT}&field=field_00"


def _questions(_: int) -> list[Request]:
    targets = [
        f"{_HOME}/endpoints/d{number:03}/fields/field_{field:02}/reach?{_WINDOW}&direction=both"
        for number in range(10)
        for field in range(10)
    ]
    body = json.dumps({"questions": [{"path": target} for target in targets]}).encode()
    return [Request("POST", "/v3/questions", body)]


ATTACKS: dict[str, Attack] = {
    "no attack, small documents": Attack(_documents),
    "SQL without a right": Attack(_sql, has_right=False),
    "SQL of repeated tokens": Attack(_sql),
    "SQL that derives columns": Attack(_derived),
    "SQL of many statements": Attack(_statements),
    "documents that are refused": Attack(_refused),
    "urns": Attack(_urns),
    "events": Attack(_events),
    "batches": Attack(_batches, clients=14),
    "gzip of nothing": Attack(_gzip, clients=8),
    "deep lineage": Attack(_gets(_REACH)),
    "wide lineage": Attack(_gets(_LINEAGE)),
    "search": Attack(_gets(*(f"/v3/search?q={text}&limit=1000" for text in ("d", "field", "e", "zzz")))),
    "lists of runs": Attack(
        _gets(
            f"/v3/runs?{_WINDOW}&limit=1000",
            f"{_HOME}/endpoints/b/runs?{_WINDOW}&limit=1000",
            f"{_HOME}/endpoints/b/openlineage?{_WINDOW}&limit=1000",
            f"{_HOME}/endpoints/b/runs/counts?{_WINDOW}&buckets=1000",
        )
    ),
    "reports": Attack(_gets(_REPORT, accept=("application/json", "text/csv", "text/html"))),
    "questions": Attack(_questions, clients=8),
}
"""By name; what takes connections and not the time of threads is in CROWDS."""


def prepare(size: int) -> Iterator[Request]:
    """Requests that record, in the namespace of the attackers, what they ask for."""
    layers = LARGE if size > 1_000_000 else Layers(datasets=50, fields=20, pairs=600, height=7)
    lines = b"\n".join(layers.documents(1_763_683_200_000))
    yield Request("POST", f"{_HOME}/lineage/batch", lines)
    document = {"run": run("wide"), "operations": wide.all_to_all(min(size // 3_000, 1_000))}
    yield Request("POST", f"/v3/namespaces/{WIDE}/lineage", json.dumps(document).encode())
    yield Request("POST", f"{_HOME}/lineage/batch", _batch(size // 4), "gzip")


def _unfinished(port: int) -> None:
    """Heads of 120 kB that never end, on as many connections as are taken."""
    addresses = itertools.cycle(sources(200))
    crowd = []
    for _ in range(3_000):
        connection = connection_from(next(addresses), port)
        connection.setblocking(True)
        crowd.append(connection)
    unfinished = b"GET /x HTTP/1.1\r\nHost: localhost\r\nX-A: " + b"a" * 120_000
    while True:
        for number, connection in enumerate(crowd):
            try:
                connection.sendall(unfinished)
            except OSError:
                crowd[number].close()
                crowd[number] = connection_from(next(addresses), port)
                crowd[number].setblocking(True)


CROWDS: dict[str, Callable[[int], None]] = {
    "silent connections": lambda port: connect_for_ever(port, 1_500, sources(200)),
    "unfinished heads": _unfinished,
}


class Attackers:
    """Another process, which attacks inside a block; then `answers` counts what it got by status."""

    def __init__(self, name: str, port: int, token: str, size: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._counts = context.Array("q", 600)
        self._is_ready, self._may_begin = context.Event(), context.Event()
        arguments = name, port, token, size, self._counts, self._is_ready, self._may_begin
        self._process = context.Process(target=_run, args=arguments, daemon=True)
        self.answers: Counter[int] = Counter()

    def __enter__(self) -> Attackers:
        self._process.start()
        assert self._is_ready.wait(60), "the attackers are ready"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.is_alive(), "the attack ended early"
        self._process.kill()
        self._process.join()
        self.answers.update({status: count for status, count in enumerate(self._counts) if count})

    def begin(self) -> None:
        self._may_begin.set()


def _run(
    name: str,
    port: int,
    token: str,
    size: int,
    counts: SynchronizedArray[int],
    is_ready: Event,
    may_begin: Event,
) -> None:
    """Attack for ever; `counts` are the answers by status, 0 is a broken connection."""
    requests = ATTACKS[name].requests(size) if name in ATTACKS else []
    is_ready.set()
    may_begin.wait()
    if name in CROWDS:
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        CROWDS[name](port)
    clients = ATTACKS[name].clients
    for number in range(clients):
        begin = number * len(requests) // clients
        mine = itertools.islice(itertools.cycle(requests), begin, None)
        threading.Thread(target=_send, args=(port, token, mine, counts), daemon=True).start()
    threading.Event().wait()


def _send(port: int, token: str, requests: Iterator[Request], counts: SynchronizedArray[int]) -> None:
    """Send one request after the other, whatever the answers are."""
    connection = HTTPConnection("127.0.0.1", port, timeout=300)
    for request in requests:
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": request.accept,
            "Content-Type": "application/json",
            "Content-Encoding": request.encoding,
        }
        try:
            connection.request(request.method, request.target, request.body or None, headers)
            with connection.getresponse() as response:
                while response.read(2**20):
                    pass
                status = response.status
        except (OSError, HTTPException):
            connection.close()
            status = 0
        with counts.get_lock():
            counts[status] += 1
        time.sleep(PAUSE_SECONDS)
