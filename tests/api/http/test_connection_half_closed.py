"""Clients that send no more: half a connection gets its answer, one that is closed ends its request."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import pytest

from api.http import connection
from api.wire.budget import CLIENT_LEFT
from tests.support.raw_http import answer, head
from tests.support.served_app import serving
from tests.support.waiting import PATIENCE_SECONDS, eventually

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

BATCH = head("POST", "/v3/namespaces/n/lineage/batch", Content_Length="1") + b"x"
QUESTION = head("GET", "/v3/namespaces")
DOCUMENT = head("POST", "/v3/namespaces/n/lineage", Content_Length="1") + b"x"


class Waiting:
    """An app that answers when an event is set, and knows whether the client has left."""

    def __init__(self) -> None:
        self.has_begun = threading.Event()
        self.may_end = threading.Event()
        self.served = 0
        self.has_left: Callable[[], bool] = bool

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        self.has_left = environ[CLIENT_LEFT]
        self.has_begun.set()
        assert self.may_end.wait(PATIENCE_SECONDS)
        self.served += 1
        start_response("200 OK", [("Content-Length", "5")])
        return [b"hello"]


def ended(connection: socket.socket) -> bool:
    """Whether an interim answer has come: the server knows that its client sends no more."""
    return connection.recv(100, socket.MSG_PEEK).startswith(b"HTTP/1.1 100")


@pytest.mark.parametrize("sent", [BATCH, QUESTION], ids=["batch", "question"])
class TestWhatEndsWithItsClient:
    def test_half_a_connection_gets_its_answer(self, sent: bytes) -> None:
        app = Waiting()
        with serving(app) as server, server.connected() as client:
            client.sendall(sent)
            assert app.has_begun.wait(PATIENCE_SECONDS)
            client.shutdown(socket.SHUT_WR)
            assert ended(client)
            assert not app.has_left()
            app.may_end.set()
            payload = answer(client)
        assert (payload.status, payload.body) == (200, b"hello")

    def test_a_closed_connection_is_noticed(self, sent: bytes) -> None:
        app = Waiting()
        with serving(app) as server:
            with server.connected() as client:
                client.sendall(sent)
                assert app.has_begun.wait(PATIENCE_SECONDS)
            eventually(app.has_left, "the server knows that the client has left")
            app.may_end.set()

    def test_half_a_connection_that_is_closed_later_is_noticed(
        self, sent: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connection, "PROBE_SECONDS", 0.1)
        app = Waiting()
        with serving(app) as server:
            with server.connected() as client:
                client.sendall(sent)
                assert app.has_begun.wait(PATIENCE_SECONDS)
                client.shutdown(socket.SHUT_WR)
                assert ended(client)
                assert not app.has_left()
                # Else the system would break the connection because of what was not read.
                client.recv(100)
            eventually(app.has_left, "the server knows that the client has left")
            app.may_end.set()

    def test_of_http_1_0_half_a_connection_is_none(self, sent: bytes) -> None:
        """Such a client takes no interim answer, and its proxy closes the whole connection."""
        app = Waiting()
        with serving(app) as server, server.connected() as client:
            client.sendall(sent.replace(b"HTTP/1.1", b"HTTP/1.0"))
            assert app.has_begun.wait(PATIENCE_SECONDS)
            client.shutdown(socket.SHUT_WR)
            eventually(app.has_left, "the server takes the client for one that has left")
            app.may_end.set()
            assert answer(client).status == 200


@pytest.mark.parametrize("sent", [BATCH, DOCUMENT], ids=["batch", "document"])
def test_what_is_sent_before_the_client_leaves_is_begun(sent: bytes) -> None:
    """Also where it waits for a thread: who sends a document and leaves wants it to be recorded."""
    app = Waiting()
    with serving(app) as server, server.connected() as first:
        # One thread for batches, two for documents with that which is kept.
        others = [server.connected() for _ in range(8)]
        first.sendall(BATCH)
        assert app.has_begun.wait(PATIENCE_SECONDS)
        for other in others:
            other.sendall(sent)
            other.close()
        # Some turns of the event loop: what it tries now breaks connections before their requests begin.
        time.sleep(0.3)
        app.may_end.set()
        eventually(lambda: app.served == len(others) + 1, "all were served")


def test_an_answer_that_has_begun_has_nothing_in_its_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PROBE_SECONDS", 0.01)
    may_end = threading.Event()

    def stream(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        start_response("200 OK", [("Content-Length", "10")])
        yield b"12345"
        assert may_end.wait(PATIENCE_SECONDS)
        yield b"67890"

    with serving(stream) as server, server.connected() as client:
        client.sendall(QUESTION)
        client.shutdown(socket.SHUT_WR)
        time.sleep(0.5)
        may_end.set()
        assert answer(client).body == b"1234567890"
