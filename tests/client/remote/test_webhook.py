"""Webhooks deliver signed CloudEvents, or say that they did not."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from time import sleep
from typing import Any

import pytest

from fll_hbase.client.remote.webhook import NotDelivered, Webhook
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.runtime.retry import RetryPolicy
from tests.support.ports import free_port
from tests.support.threaded_server import HttpServer, in_thread

SECRET = "a secret of the tests"
FAST = RetryPolicy(attempts_max=3, wait_first_seconds=0.001)
EVENT = {"specversion": "1.0", "id": "0b6f", "data": {"policy": "é"}}


@contextmanager
def receiver(*statuses: int) -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]]]]:
    """URL of a server that answers with these statuses, the last one again and again, its requests."""
    left, requests = list(statuses), []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(left.pop(0) if len(left) > 1 else left[0])
            self.send_header("Location", f"http://127.0.0.1:{server.server_port}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HttpServer(("127.0.0.1", 0), Handler)
    with in_thread(server):
        yield f"http://127.0.0.1:{server.server_port}/hook?key=1", requests


def test_an_event_is_signed_over_its_id_time_and_body() -> None:
    with receiver(204) as (url, requests):
        for secret in (SECRET, "whsec_" + base64.b64encode(SECRET.encode()).decode()):
            Webhook(url, secret).send(EVENT)
    for headers, body in requests:
        assert json.loads(body) == EVENT
        assert headers["content-type"] == "application/cloudevents+json; charset=utf-8"
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        digest = hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()
        assert headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()
        assert headers["webhook-id"] == EVENT["id"]


@pytest.mark.parametrize("status", [500, 503, 429, 408])
def test_a_busy_receiver_gets_the_event_again(status: int) -> None:
    with receiver(status, status, 200) as (url, requests):
        Webhook(url, SECRET, retry=FAST).send(EVENT)
    assert len(requests) == 3
    assert len({body for _, body in requests}) == 1


@pytest.mark.parametrize(("status", "attempts"), [(500, 3), (400, 1), (404, 1), (302, 1), (308, 1)])
def test_what_is_not_accepted_is_an_error(status: int, attempts: int) -> None:
    with receiver(status) as (url, requests):
        # Redirects are not followed: the event would go to an address that is not configured.
        with pytest.raises(NotDelivered, match=f"answers {status}") as raised:
            Webhook(url, SECRET, retry=FAST).send(EVENT)
        assert len(requests) == attempts
    assert "key=1" not in str(raised.value)


@pytest.mark.parametrize("part", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: "])
def test_an_answer_without_end_is_an_error(part: bytes) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            for _ in range(60):
                self.wfile.write(part)
                sleep(0.01)

    server = HttpServer(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{server.server_port}/"
    once = RetryPolicy(attempts_max=1)
    with in_thread(server), pytest.raises(NotDelivered, match=r"does not answer in 0.2 s"):
        Webhook(url, SECRET, retry=once, answer_seconds=0.2).send(EVENT)


@pytest.mark.parametrize("host", ["a..b", f"{'a' * 70}.example"])
def test_a_host_without_a_valid_name_is_an_error(host: str) -> None:
    with pytest.raises(NotDelivered, match="cannot be reached") as raised:
        Webhook(f"http://{host}/?{'q' * 1000}", SECRET, retry=FAST).send(EVENT)
    assert len(str(raised.value)) < 300


def test_a_closed_port_is_an_error() -> None:
    with pytest.raises(NotDelivered, match="cannot be reached"):
        Webhook(f"http://127.0.0.1:{free_port()}", SECRET, retry=FAST).send(EVENT)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "file:///etc/passwd",
        "ftp://h/x",
        "//h/x",
        "http://",
        "http://[::1",
        "http://h:99999/",
        "http://h/a b",
        "http://user:word@h/",
        "http://h/#f",
    ],
)
def test_another_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Webhook(url, SECRET)
    assert "word" not in str(raised.value).replace("password", "")


@pytest.mark.parametrize("secret", ["", "short", "whsec_", "whsec_!!", "whsec_YWJj"])
def test_a_weak_secret_is_refused(secret: str) -> None:
    with pytest.raises(ConfigurationError, match="secret"):
        Webhook("https://h/", secret)
