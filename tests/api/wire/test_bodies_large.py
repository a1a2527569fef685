"""Large documents are read a few at a time; others, and batches, beside them."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from werkzeug.test import EnvironBuilder, TestResponse, run_wsgi_app
from werkzeug.wrappers import Request

from api.wire.bodies import DOCUMENTS, LARGE_BYTES, LargeBodies
from api.wire.problems import refuse
from fll_hbase.runtime import deadline
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import LineageError
from tests.support.api_client import assert_problem
from tests.support.waiting import PATIENCE_SECONDS, eventually

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

SETTINGS = Settings(document_bytes_max=10 * LARGE_BYTES)
LARGEST = 10 * LARGE_BYTES
REFUSED = "/v3/namespaces/hidden/sql"


class Waiting:
    """An app that reads its body and answers when an event is set; a document that is refused, at once."""

    def __init__(self) -> None:
        self.running = 0
        self.may_end = threading.Event()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] == REFUSED:
            start_response("403 Forbidden", [])
            return [b""]
        try:
            environ["wsgi.input"].read(1)
        except LineageError as error:
            return refuse(environ, start_response, error, retry_after_seconds=1)
        self.running += 1
        assert self.may_end.wait(PATIENCE_SECONDS)
        start_response("200 OK", [])
        return [b""]


def send(
    app: LargeBodies,
    size: int,
    path: str = "/v3/namespaces/n/sql",
    *,
    encoding: str = "",
    seconds: float = PATIENCE_SECONDS,
) -> TestResponse:
    """Send a request that says how large its body is."""
    environ = EnvironBuilder(path, method="POST").get_environ()
    environ |= {"CONTENT_LENGTH": str(size), "HTTP_CONTENT_ENCODING": encoding}
    with deadline.limited(seconds):
        return TestResponse(*run_wsgi_app(app, environ), request=Request(environ))


@pytest.mark.parametrize(
    ("size", "encoding"),
    [
        (LARGEST, ""),
        # So much may it have when it is decompressed.
        (LARGEST // SETTINGS.gzip_ratio_max + 1, "gzip"),
        # It will be refused, but not before it is read.
        (100 * LARGEST, ""),
    ],
    ids=["json", "gzip", "too large"],
)
def test_one_more_waits_and_all_others_do_not(size: int, encoding: str) -> None:
    waiting = Waiting()
    app = LargeBodies(waiting, SETTINGS)
    with ThreadPoolExecutor() as pool:
        try:
            large = [pool.submit(send, app, size, encoding=encoding) for _ in range(DOCUMENTS + 1)]
            eventually(lambda: waiting.running == DOCUMENTS, "as many run as there is room for")
            eventually(lambda: app._room.waiting_count == 1, "one waits")
            others = [
                pool.submit(send, app, LARGE_BYTES),
                pool.submit(send, app, 0),
                pool.submit(send, app, LARGEST, "/v3/namespaces/n/lineage/batch"),
            ]
            assert send(app, LARGEST, REFUSED).status_code == 403
            eventually(lambda: waiting.running == DOCUMENTS + len(others), "others run")
        finally:
            waiting.may_end.set()
        assert [answer.result().status_code for answer in (*large, *others)] == [200] * (DOCUMENTS + 4)


def test_where_its_time_ends_nothing_was_stored() -> None:
    waiting = Waiting()
    app = LargeBodies(waiting, SETTINGS)
    with ThreadPoolExecutor() as pool:
        try:
            large = [pool.submit(send, app, LARGEST) for _ in range(DOCUMENTS)]
            eventually(lambda: waiting.running == DOCUMENTS, "they run")
            late = send(app, LARGEST, seconds=0.01)
        finally:
            waiting.may_end.set()
        assert [answer.result().status_code for answer in large] == [200] * DOCUMENTS
    problem = assert_problem(late, 503)
    assert "nothing was stored" in problem["detail"]
    assert late.headers["Retry-After"] == "1"
    assert waiting.running == DOCUMENTS
