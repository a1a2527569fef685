"""The direct way and the long way answer alike: random requests in sequences, over two equal stores."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from typing import Any

import pytest
from flask import Flask, request_started
from hypothesis import given
from hypothesis import strategies as st

from api import create_app
from api.wire.budget import RequestBudget
from api.wire.paths import RawPath
from fll_hbase.runtime import clock
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import DeadlineExceeded, StoreUnavailable
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Table, open_table
from fll_hbase.tables.sqlite import SqliteTable
from tests.support.lineage_documents import START_MS, copying, encoded, run

DOCUMENT_BYTES_MAX = 20_000
REQUEST_SECONDS = 60
NOW_MS = 1_800_000_000_000
NATIVE, EVENT = "/v3/namespaces/ns1/lineage", "/api/v1/lineage"
QUESTION = "/v3/namespaces/ns1/endpoints/b/fields/lineage"
JSON = {"CONTENT_TYPE": "application/json"}
EVENT_BODY = {
    "eventType": "COMPLETE",
    "eventTime": "2026-03-01T00:00:00Z",
    "producer": "https://example.com/producer",
    "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    "run": {"runId": "0199f1f0-0000-7000-8000-000000000001"},
    "job": {"namespace": "ns1", "name": "job"},
    "inputs": [{"namespace": "ns1", "name": "a"}],
    "outputs": [{"namespace": "ns1", "name": "b"}],
}


@dataclass(frozen=True)
class Request:
    """A request as a server passes it to the app."""

    method: str
    path: str
    query: str = ""
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    uri: str = "REQUEST_URI"
    """The member for the raw path, as waitress and most test clients name it."""

    def environ(self) -> dict[str, Any]:
        """The WSGI environment, with our own id so that answers compare equal."""
        return {
            "REQUEST_METHOD": self.method,
            self.uri: self.path + (f"?{self.query}" if self.query else ""),
            "PATH_INFO": self.path,
            "QUERY_STRING": self.query,
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "8080",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "127.0.0.1:8080",
            "HTTP_X_REQUEST_ID": "one",
            "CONTENT_LENGTH": str(len(self.body)) if self.body else "",
            "wsgi.url_scheme": "http",
            "wsgi.input": BytesIO(self.body),
            **self.headers,
        }


Answer = tuple[str, dict[str, str], bytes]


class Ways:
    """An app over an empty store of its own; `long_requests` counts those that Flask answered."""

    def __init__(self, table: Table) -> None:
        config = Settings(document_bytes_max=DOCUMENT_BYTES_MAX, request_seconds=REQUEST_SECONDS)
        self.app = create_app(LineageStore(table), config)
        self.long_requests = 0
        request_started.connect(self._count, self.app)

    def direct(self, request: Request) -> Answer:
        return answer(self.app, request)

    def long(self, request: Request) -> Answer:
        """Without DirectRoutes: what the app is before the middleware is put around it."""
        flask = RawPath(partial(Flask.wsgi_app, self.app))
        return answer(RequestBudget(flask, seconds=REQUEST_SECONDS), request)

    def _count(self, _: Flask) -> None:
        self.long_requests += 1


def answer(app: Any, request: Request) -> Answer:
    """Status, headers and body."""
    begun: list[tuple[str, list[tuple[str, str]]]] = []
    body: Iterable[bytes] = app(
        request.environ(), lambda status, headers, *_: begun.append((status, headers))
    )
    data = b"".join(body)
    ((status, headers),) = begun
    assert len(dict(headers)) == len(headers), "no header twice"
    # The next second may begin between both ways.
    return status, {name: value for name, value in headers if name != "Date"}, data


@contextmanager
def ways() -> Iterator[Ways]:
    with closing(open_table("sqlite:///:memory:")) as table, pytest.MonkeyPatch.context() as patch:
        # Answers name their window, which would end at another millisecond on each way.
        patch.setattr(clock, "now_ms", lambda: NOW_MS)
        yield Ways(table)


@pytest.fixture
def first() -> Iterator[Ways]:
    with ways() as opened:
        yield opened


def native(source: str, destination: str, run_id: str, *fields: str) -> bytes:
    return encoded(copying(source, destination, *fields, run=run(run_id)))


PLAIN = [
    Request("POST", NATIVE, "", native("a", "b", "r1", "x"), JSON),
    Request(
        "POST", NATIVE, "", native("a", "b", "r1", "x"), {"CONTENT_TYPE": "application/json;charset=UTF-8"}
    ),
    Request("POST", "/v3/namespaces/ns%2F1/lineage", "", native("a", "b", "r2", "x"), JSON),
    Request("POST", EVENT, "", json.dumps(EVENT_BODY).encode(), JSON),
    Request("GET", QUESTION),
    Request("GET", QUESTION, uri="RAW_URI"),
    Request("GET", QUESTION, "start=0&end=now&direction=backward&level=3&indirect=false&failed=true"),
    Request("GET", "/v3/namespaces/ns1/endpoints/%C3%A4b/fields/lineage", "start=now-7d%2B1h"),
    Request(
        "GET", QUESTION, "start=1", b"", {"HTTP_ACCEPT_ENCODING": "gzip, deflate", "HTTP_PREFER": "wait=5"}
    ),
    Request("GET", QUESTION, "start=1", b"", {"HTTP_IF_NONE_MATCH": "*"}),
]


@pytest.mark.parametrize("sent", PLAIN, ids=range(len(PLAIN)))
def test_plain_requests_take_the_direct_way(first: Ways, sent: Request) -> None:
    assert first.direct(sent)[0][:3] in ("200", "201", "304", "404")
    assert first.long_requests == 0


NOT_PLAIN = [
    Request("HEAD", QUESTION),
    Request("POST", QUESTION),
    Request("GET", QUESTION, "level=0"),
    Request("GET", QUESTION, "level=33"),
    Request("GET", QUESTION, "start="),
    Request("GET", QUESTION, "start=2&end=1"),
    Request("GET", QUESTION, "start=1&start=1"),
    Request("GET", QUESTION, "stat=1"),
    Request("GET", QUESTION, "direction=up"),
    Request("GET", QUESTION, "", b"", {"HTTP_HOST": "example.com"}),
    Request("GET", QUESTION, "", b"", {"SCRIPT_NAME": "/mounted"}),
    Request("POST", NATIVE, "dryRun=true", native("a", "b", "r1", "x"), JSON),
    Request("POST", NATIVE, "", native("a", "b", "r1", "x")),
    Request("POST", NATIVE, "", native("a", "b", "r1", "x"), {"CONTENT_TYPE": "text/plain"}),
    Request("POST", NATIVE, "", native("a", "b", "r1", "x"), {**JSON, "HTTP_ORIGIN": "http://example.com"}),
    Request("POST", NATIVE, "", native("a", "b", "r1", "x"), {**JSON, "HTTP_CONTENT_ENCODING": "br"}),
    Request("POST", NATIVE, "", b"{", JSON),
    Request("POST", NATIVE, "", b'{"run": {}, "operations": []}', JSON),
    Request("POST", NATIVE, "", b" " * (DOCUMENT_BYTES_MAX + 1), JSON),
    Request(
        "POST",
        NATIVE,
        "",
        gzip.compress(native("a", "b", "r3", "x")),
        {**JSON, "HTTP_CONTENT_ENCODING": "gzip"},
    ),
    Request("POST", "/v3/namespaces//lineage", "", native("a", "b", "r1", "x"), JSON),
    Request("POST", "/v3/namespaces/%zz/lineage", "", native("a", "b", "r1", "x"), JSON),
    Request("POST", f"/v3/namespaces/{'n' * 3000}/lineage", "", native("a", "b", "r1", "x"), JSON),
    Request("POST", NATIVE, "", native("a", "b", "r1", "x"), {**JSON, "CONTENT_LENGTH": "9" * 5_000}),
    Request("POST", NATIVE, "", native("a", "b", "r1", "x"), {**JSON, "CONTENT_LENGTH": ""}),
    Request("POST", EVENT, "", b"[]", JSON),
    Request("GET", "/v3/namespaces"),
]


@pytest.mark.parametrize("sent", NOT_PLAIN, ids=range(len(NOT_PLAIN)))
def test_all_others_take_the_long_way(first: Ways, sent: Request) -> None:
    with ways() as second:
        assert first.direct(sent) == second.long(sent)
    assert first.long_requests == 1


_values = st.sampled_from(
    ["0", "1", "now", "now-1d", "2015-09-21", "1442863938.0005", "", "both", "forward", "true", "2", "40"]
)
_params = st.lists(
    st.tuples(st.sampled_from(["start", "end", "level", "direction", "indirect", "failed", "x"]), _values),
    max_size=4,
)
_questions = st.builds(
    lambda name, params: Request(
        "GET", f"/v3/namespaces/ns1/endpoints/{name}/fields/lineage", "&".join(map("=".join, params))
    ),
    st.sampled_from(["a", "b", "c", "b%20", "ü"]),
    _params,
)
_windows = st.builds(
    lambda name, start, end: Request(
        "GET", f"/v3/namespaces/ns1/endpoints/{name}/fields/lineage", f"start={start}&end={end}&level=3"
    ),
    st.sampled_from("abc"),
    st.sampled_from([0, START_MS / 1000]),
    st.sampled_from([START_MS / 1000, START_MS / 1000 + 1]),
)
_headers = st.fixed_dictionaries(
    {},
    optional={
        "CONTENT_TYPE": st.sampled_from(["application/json", "text/plain"]),
        "HTTP_ACCEPT_ENCODING": st.sampled_from(["gzip", "gzip;q=0", "identity", "*"]),
        "HTTP_IF_NONE_MATCH": st.sampled_from(["*", '"x"', ""]),
        "HTTP_HOST": st.sampled_from(["localhost", "example.com"]),
        "HTTP_PREFER": st.just("wait=9"),
    },
)
_fields = st.lists(st.sampled_from(["x", "y", "z" * 700]), min_size=1, max_size=3, unique=True)
_documents = st.builds(
    lambda names, run_id, fields, headers: Request(
        "POST", NATIVE, "", native(*names, run_id, *fields), {**JSON, **headers}
    ),
    st.sampled_from(["ab", "bc", "ca"]),
    st.sampled_from(["r1", "r2"]),
    _fields,
    _headers,
)
_events = st.builds(
    lambda kind, inputs: Request(
        "POST", EVENT, "", json.dumps({**EVENT_BODY, "eventType": kind, "inputs": inputs}).encode(), JSON
    ),
    st.sampled_from(["START", "COMPLETE", "FAIL", "NONSENSE"]),
    st.sampled_from([[], EVENT_BODY["inputs"], [{"namespace": "ns1"}]]),
)
_requests = st.one_of(
    _documents, _events, _windows, st.builds(replace, st.one_of(_questions, _windows), headers=_headers)
)


@pytest.mark.slow
@given(st.lists(_requests, max_size=8))
def test_both_ways_answer_alike(requests: list[Request]) -> None:
    with ways() as first, ways() as second:
        for request in requests:
            assert first.direct(request) == second.long(request)
        assert first.long_requests <= second.long_requests


class Hidden(Exception):
    """An error of no known class."""


@pytest.mark.parametrize("error", [StoreUnavailable("busy"), DeadlineExceeded("late"), Hidden("secret")])
@pytest.mark.parametrize("sent", [PLAIN[0], PLAIN[3], PLAIN[5]], ids=["document", "event", "question"])
def test_errors_of_the_store_are_answered_alike(
    first: Ways,
    sent: Request,
    error: Exception,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(SqliteTable, "rows", fail)
    monkeypatch.setattr(SqliteTable, "scan_many", fail)
    status, headers, body = first.direct(sent)
    assert first.long_requests == 0
    assert "request one: " in caplog.text
    assert (status, headers, body) == first.long(sent)
    assert status[:3] == ("500" if isinstance(error, Hidden) else "503")
    assert b"secret" not in body
