"""HTTP sessions retry a busy server, give up a hopeless one, and raise the errors of problems."""

from __future__ import annotations

import json
import re
import socket
import time
from email.utils import formatdate
from typing import Any

import pytest

from fll_hbase.client.remote import http_session
from fll_hbase.client.remote.http_session import HttpSession
from fll_hbase.client.remote.problems import Refused, Unanswered
from fll_hbase.runtime.errors import (
    BatchStopped,
    ChecksumConflict,
    ConfigurationError,
    CorruptRow,
    FieldError,
    Forbidden,
    InvalidLineage,
    InvalidQuery,
    LineageError,
    NotFound,
    StoreUnavailable,
    TooLarge,
    UnreadableDocument,
)
from tests.support.scripted_server import Reply, serving
from tests.support.waiting import PATIENCE_SECONDS, patience

KIND = "urn:fll-hbase:problem:"
GOOD = Reply(201, b'{"checksum": "c", "run": "r", "recorded": true}')


def problem(kind: str, status: int, **also: Any) -> Reply:
    members = {"type": KIND + kind, "title": "t", "status": status, "detail": "why", **also}
    return Reply(status, json.dumps(members).encode(), {"Content-Type": "application/problem+json"})


def record(
    url: str, timeout_seconds: float = PATIENCE_SECONDS, read_seconds: float = PATIENCE_SECONDS
) -> dict[str, Any]:
    session = HttpSession(url, timeout_seconds=timeout_seconds, read_seconds=read_seconds)
    try:
        return session.post("v3", "namespaces", "my/ns %", "lineage", body=b'{"a": 1}')
    finally:
        session.close()


@pytest.mark.slow
@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_server_is_asked_again_with_the_very_same(status: int) -> None:
    with serving(Reply(status), Reply(status), GOOD) as server:
        assert record(server.url)["checksum"] == "c"
    assert server.requests == [("/v3/namespaces/my%2Fns%20%25/lineage", b'{"a": 1}')] * 3


@pytest.mark.slow
@pytest.mark.parametrize("form", ["seconds", "date"])
def test_no_sooner_than_it_says(form: str) -> None:
    date = int(time.time()) + 3
    value = "2" if form == "seconds" else formatdate(date, usegmt=True)
    begun = time.monotonic()
    with serving(Reply(503, headers={"Retry-After": value}), GOOD) as server:
        record(server.url)
    assert time.monotonic() - begun >= 2 if form == "seconds" else time.time() >= date


def test_an_unreadable_retry_after_is_none() -> None:
    with serving(Reply(503, headers={"Retry-After": "soon"}), GOOD) as server:
        assert record(server.url)["run"] == "r"


def test_a_wait_beyond_its_patience_is_not_begun() -> None:
    with (
        patience(),
        serving(Reply(503, headers={"Retry-After": "3600"})) as server,
        pytest.raises(StoreUnavailable, match="503"),
    ):
        record(server.url)
    assert len(server.requests) == 1


def test_patience_ends() -> None:
    # On a busy machine a second may be over after the first attempt.
    seconds, requests = 0.5, 1
    while requests == 1:
        seconds *= 2
        with patience(), serving(Reply(503)) as server, pytest.raises(StoreUnavailable, match="is busy: 503"):
            record(server.url, timeout_seconds=seconds)
        requests = len(server.requests)


def test_a_server_that_hangs_up_is_asked_again() -> None:
    with serving(Reply(cut=True), GOOD) as server:
        assert record(server.url)["run"] == "r"


def test_no_server_is_reported_with_its_address_and_never_its_password() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(
            StoreUnavailable, match=f"http://127.0.0.1:{port} does not answer: .*refused"
        ) as raised:
            record(f"http://user:secret@127.0.0.1:{port}", timeout_seconds=0.3)
    assert "secret" not in str(raised.value)


def counted_attempts(host: str) -> tuple[int, str]:
    """Return how often a connection to a port without a server is tried, and the error."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(Unanswered) as raised:
            record(f"http://{host}:{free.getsockname()[1]}")
    attempts = re.search(r"[(](\d+) attempts[)]", str(raised.value))
    return int(attempts[1]) if attempts else 1, str(raised.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_port_of_this_machine_without_a_server_is_tried_once(
    host: str, caplog: pytest.LogCaptureFixture
) -> None:
    attempts, text = counted_attempts(host)
    assert attempts == 1
    assert "Connection refused; is it running?" in text
    assert not caplog.records


def attempts_elsewhere(host: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the error for a host that is tried more than once, but not for long."""
    monkeypatch.setenv("NO_PROXY", "*")
    # On a busy machine the time may be over after the first attempt.
    attempts, text, seconds = 1, "", http_session.UNCONNECTED_SECONDS / 2
    while attempts == 1:
        seconds *= 2
        monkeypatch.setattr(http_session, "UNCONNECTED_SECONDS", seconds)
        with patience():
            attempts, text = counted_attempts(host)
    # Waits of 0.25, 0.5 and 1 s, and a random part of each; the next one would end too late.
    assert 0.25 * (2 ** (attempts - 1) - 1) <= seconds
    return text


@pytest.mark.slow
def test_another_machine_that_refuses_is_tried_for_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    # An address that this machine refuses although it is none of its loopback ones.
    assert "refused" in attempts_elsewhere("[::ffff:127.0.0.1]", monkeypatch)


@pytest.mark.slow
def test_a_name_that_is_not_known_is_tried_for_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert "not known" in attempts_elsewhere("no-such-server.invalid", monkeypatch)


@pytest.mark.slow
def test_a_server_that_has_answered_is_waited_for() -> None:
    # On a busy machine the time may be over after the first attempt.
    seconds, text = 0.5, ""
    while "attempts" not in text:
        seconds *= 2
        with serving(GOOD) as server:
            session = HttpSession(server.url, timeout_seconds=seconds)
            session.post("first", body=b"{}")
        with patience(), pytest.raises(Unanswered, match="refused") as raised:
            session.post("second", body=b"{}")
        text = str(raised.value)


def test_a_long_wait_is_reported_while_it_lasts(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_session, "SILENT_SECONDS", 0.2)
    with serving(Reply(503), Reply(503), GOOD) as server:
        record(server.url)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(Unanswered):
            record(url, timeout_seconds=0.0, read_seconds=0.5)
    assert caplog.messages == [
        f"{server.url} is busy: 503 Service Unavailable; trying again for up to 120 s",
        f"{url} has not answered for 0.2 s; waiting for up to 0.5 s",
    ]


def test_a_silent_server_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(
            StoreUnavailable, match=r"accepts connections, but does not answer within 0\.3 s; is it running"
        ):
            record(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_seconds=0.3, read_seconds=0.3)


@pytest.mark.parametrize("url", ["hppt://localhost:1", "localhost", "http://"])
def test_a_url_of_no_server_is_reported(url: str) -> None:
    with pytest.raises(ConfigurationError, match="http://host:port"):
        record(url)


FAULTS = [{"at": "run.type", "detail": "missing"}]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (
            problem("unreadable-document", 400, errors=FAULTS),
            UnreadableDocument([FieldError("run.type", "missing")]),
        ),
        (problem("invalid-lineage", 422, errors=FAULTS), InvalidLineage([FieldError("run.type", "missing")])),
        (problem("bad-question", 400, errors=FAULTS), InvalidQuery([FieldError("run.type", "missing")])),
        (problem("never-seen", 404), NotFound("why")),
        (problem("checksum-conflict", 409), ChecksumConflict("why")),
        (problem("too-large", 413), TooLarge("why")),
        (problem("corrupt-row", 500), CorruptRow("why")),
        (problem("internal", 500), Refused("the server says 500: why")),
        (problem("forbidden", 403), Forbidden("why")),
    ],
)
def test_problems_are_errors_and_are_not_tried_again(reply: Reply, error: LineageError) -> None:
    with serving(reply) as server, pytest.raises(type(error)) as raised:
        record(server.url)
    assert str(raised.value) == str(error)
    assert getattr(raised.value, "errors", ()) == getattr(error, "errors", ())
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply(404, b"<html>"),
        Reply(200, b"<html>"),
        Reply(200, b"{}"),
        Reply(200, b"[1]"),
        Reply(500, b"[]"),
        Reply(302, b"", {"Location": "http://elsewhere/"}),
    ],
)
def test_what_is_no_server_of_ours_is_reported(reply: Reply) -> None:
    with serving(reply) as server, pytest.raises(Refused, match="check the server URL"):
        record(server.url)
    assert len(server.requests) == 1


def line(status: int, **also: Any) -> bytes:
    return json.dumps({"status": status, **also}).encode() + b"\n"


def batch(url: str, lines: list[bytes], timeout_seconds: float = PATIENCE_SECONDS) -> list[dict[str, Any]]:
    session = HttpSession(url, timeout_seconds=timeout_seconds)
    try:
        return session.post_lines("v3", "namespaces", "ns", "lineage", "batch", lines=lines)
    finally:
        session.close()


def test_a_batch_is_one_line_each() -> None:
    with serving(Reply(200, line(201) + line(422))) as server:
        assert batch(server.url, [b"{1}\r\n", b"{2}"]) == [{"status": 201}, {"status": 422}]
    assert server.requests == [("/v3/namespaces/ns/lineage/batch", b"{1}\n{2}\n")]


@pytest.mark.parametrize("first", [line(201) + line(503, detail="away"), line(201)])
def test_a_batch_that_was_not_answered_whole_is_sent_again(first: bytes) -> None:
    with serving(Reply(200, first), Reply(200, line(200) + line(201))) as server:
        assert [answer["status"] for answer in batch(server.url, [b"1", b"2"])] == [200, 201]
    assert len(server.requests) == 2


def test_what_a_server_leaves_unread_is_sent_again() -> None:
    stopped = line(413, type=KIND + "batch-stopped", detail="10 errors")
    replies = [Reply(200, line(201) + line(400) + stopped), Reply(200, line(201) * 2), Reply(200, line(200))]
    with serving(*replies) as server:
        answers = batch(server.url, [b"1", b"2", b"3", b"4", b"5"])
    assert [answer["status"] for answer in answers] == [201, 400, 201, 201, 200]
    assert [body for _, body in server.requests] == [b"1\n2\n3\n4\n5\n", b"3\n4\n", b"5\n"]


def test_a_server_that_reads_nothing_is_reported() -> None:
    stopped = line(413, type=KIND + "batch-stopped", detail="0 errors")
    with serving(Reply(200, stopped)) as server, pytest.raises(BatchStopped, match="0 errors"):
        batch(server.url, [b"1", b"2"])


@pytest.mark.parametrize("body", [line(201) * 2, b"<html>", b"[]", b"{}", b"7"])
def test_lines_that_are_no_answer_to_a_batch_are_reported(body: bytes) -> None:
    with serving(Reply(200, body)) as server, pytest.raises(Refused, match="check the server URL"):
        batch(server.url, [b"1"])


def test_a_batch_whose_store_stays_away_is_reported() -> None:
    reply = Reply(200, line(503, detail="the disk is full"))
    with serving(reply) as server, pytest.raises(StoreUnavailable, match="the disk is full"):
        batch(server.url, [b"1"], timeout_seconds=0.5)
