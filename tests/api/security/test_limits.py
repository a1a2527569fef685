"""Limits of each client: token buckets by their law, and 429 with the time to wait."""

from __future__ import annotations

import gzip
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

import pytest
from flask import Request
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.test import create_environ

from api.security.buckets import KEYS_MAX, TokenBuckets
from api.security.limits import BURST_SECONDS, RequestLimits, Turns
from api.wire import bodies
from api.wire.environ import COUNT_BYTES, IS_ALONE, peer
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from tests.support.api_client import assert_problem
from tests.support.lineage_documents import copying
from tests.support.token_clients import EVERYTHING, LISTS, RemoteTable, app_of, bearer
from tests.support.waiting import PATIENCE_SECONDS, eventually


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class TestBuckets:
    @given(
        st.floats(0.1, 100),
        st.floats(1, 100),
        st.lists(st.tuples(st.floats(0, 10), st.floats(0.01, 300)), max_size=50),
    )
    def test_no_more_than_a_burst_and_the_rate(
        self, rate: float, burst: float, steps: list[tuple[float, float]]
    ) -> None:
        """Whatever is taken before the last amount fits into a full bucket and what came since."""
        clock = Clock()
        buckets = TokenBuckets(per_second=rate, burst=burst, clock=clock)
        total, last = 0.0, 0.0
        for pause, amount in steps:
            clock.now += pause
            if not buckets.take("a", amount):
                assert total + min(amount, burst) <= (burst + rate * clock.now) * (1 + 1e-9) + 1e-6
                total, last = total + amount, amount
        assert total - last <= (burst + rate * clock.now) * (1 + 1e-9) + 1e-6

    @given(st.floats(0.1, 100), st.floats(1, 100), st.lists(st.floats(0.01, 300), max_size=20))
    def test_after_the_wait_it_is_taken(self, rate: float, burst: float, amounts: list[float]) -> None:
        clock = Clock()
        buckets = TokenBuckets(per_second=rate, burst=burst, clock=clock)
        for amount in amounts:
            expected = buckets.seconds_until("a", amount)
            wait = buckets.take("a", amount)
            assert wait == pytest.approx(expected)
            if wait:
                clock.now += wait + 1e-6
                assert buckets.take("a", amount) == 0

    def test_keys_are_apart_and_bounded(self) -> None:
        buckets = TokenBuckets(per_second=1, burst=1, clock=Clock())
        for number in range(KEYS_MAX * 2):
            assert buckets.take(number) == 0
        assert buckets.take(KEYS_MAX * 2 - 1) == 1
        assert len(buckets._levels) == KEYS_MAX


@pytest.fixture
def table(tmp_path: Any) -> RemoteTable:
    return RemoteTable(tmp_path / "store.db")


def client_of(table: RemoteTable, **settings: Any) -> FlaskClient:
    return app_of(table, **{"auth": "none", **settings}).test_client()


def headers_of(table: RemoteTable, name: str) -> dict[str, str]:
    """The header of a new token of that name."""
    return bearer(LineageStore(table).access.create_token(name, EVERYTHING)[1].text())


class TestRequests:
    def test_beyond_is_429_with_the_time_to_wait(self, table: RemoteTable) -> None:
        client = client_of(table, rate_requests=1)
        statuses = [client.get(LISTS).status_code for _ in range(BURST_SECONDS + 2)]
        assert statuses == [200] * BURST_SECONDS + [429] * 2
        answer = client.get(LISTS)
        problem = assert_problem(answer, 429)
        assert problem["type"] == "urn:fll-hbase:problem:too-many-requests"
        assert answer.headers["Retry-After"] == "1"
        assert answer.headers["X-Request-ID"]

    def test_each_address_has_its_own(self, table: RemoteTable) -> None:
        client = client_of(table, rate_requests=1)
        for address in ("192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:0:1::1"):
            environ = {"REMOTE_ADDR": address}
            statuses = [client.get(LISTS, environ_overrides=environ).status_code for _ in range(11)]
            assert statuses == [200] * 10 + [429]

    def test_each_principal_has_its_own_wherever_it_is(self, table: RemoteTable) -> None:
        client = client_of(table, rate_requests=1, auth="tokens")
        # Of one name, too: who asks is the token.
        for name in ("a", "b", "b"):
            headers = headers_of(table, name)
            addresses = ({"REMOTE_ADDR": f"192.0.2.{number}"} for number in range(11))
            statuses = [
                client.get(LISTS, headers=headers, environ_overrides=item).status_code for item in addresses
            ]
            assert statuses == [200] * 10 + [429]

    def test_probes_are_not_limited(self, table: RemoteTable) -> None:
        client = client_of(table, rate_requests=1)
        assert {client.get("/healthz").status_code for _ in range(30)} == {200}
        assert client.get(LISTS).status_code == 200

    def test_documents_on_the_direct_way_count(self, table: RemoteTable) -> None:
        client = client_of(table, rate_requests=1)
        post = lambda: client.post("/v3/namespaces/ns1/lineage", json=copying("a", "b", "x"))  # noqa: E731
        assert {post().status_code for _ in range(10)} <= {200, 201}
        assert post().status_code == 429


class TestBytes:
    def test_bodies_are_counted(self, table: RemoteTable) -> None:
        client = client_of(table, rate_bytes=3_000)
        body = b" " * 1_000
        post = lambda: client.post("/v3/namespaces/ns1/lineage", data=body, content_type="application/json")  # noqa: E731
        assert [post().status_code for _ in range(4)] == [400, 400, 400, 429]
        assert int(post().headers["Retry-After"]) in range(15, 21)
        assert client.get(LISTS).status_code == 200

    def test_a_large_one_is_taken_once_and_paid_later(self, table: RemoteTable) -> None:
        client = client_of(table, rate_bytes=100)
        body = b" " * 1_000
        post = lambda: client.post("/v3/namespaces/ns1/lineage", data=body, content_type="application/json")  # noqa: E731
        assert post().status_code == 400
        assert int(post().headers["Retry-After"]) in range(590, 601)

    def test_gzip_counts_as_what_it_decompresses_to(self, table: RemoteTable) -> None:
        client = client_of(table, rate_bytes=100_000)
        for route, body in (("lineage", b" " * 500_000), ("lineage/batch", b"{}\n" * 1_000)):
            packed = gzip.compress(body)
            headers = {"Content-Encoding": "gzip"}
            environ = {"REMOTE_ADDR": f"192.0.2.{len(route)}"}
            post = lambda: client.post(  # noqa: E731
                f"/v3/namespaces/ns1/{route}",  # noqa: B023
                data=packed,  # noqa: B023
                content_type="application/json",
                headers=headers,  # noqa: B023
                environ_overrides=environ,  # noqa: B023
            )
            assert post().status_code in (200, 400)
            missing = len(body) - 100_000 + len(packed)
            if missing > 0:
                assert int(post().headers["Retry-After"]) == pytest.approx(missing / 100_000 * 60, abs=2)
            else:
                assert post().status_code == 200

    @pytest.mark.parametrize("data", [b"x" * 10, b"x" * 100_000, os.urandom(100_000)])
    def test_nothing_counts_twice(self, data: bytes) -> None:
        """Bytes as sent and decompressed ones are together as many as the larger number."""
        counted: list[int] = []
        packed = gzip.compress(data)
        environ = create_environ(
            method="POST",
            input_stream=BytesIO(packed),
            content_length=len(packed),
            content_type="application/json",
            headers={"Content-Encoding": "gzip"},
        )
        request = Request({**environ, COUNT_BYTES: counted.append})
        assert bodies.read_body(request, bytes_max=10**6, ratio_max=10**6) == data
        assert len(packed) + sum(counted) == max(len(packed), len(data))


class TestTurns:
    def test_one_for_each_client(self) -> None:
        turns = Turns()
        log: list[str] = []
        ends = threading.Event()

        def record(address: str) -> None:
            with turns.hold({"REMOTE_ADDR": address}):
                log.append(address)
                ends.wait(PATIENCE_SECONDS)

        threads = [
            threading.Thread(target=record, args=(address,))
            for address in ("192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2")
        ]
        for thread in threads:
            thread.start()
        eventually(lambda: len(log) == 2, "two clients have a turn")
        assert sorted(log) == ["192.0.2.1", "192.0.2.2"]
        ends.set()
        for thread in threads:
            thread.join()
        assert len(log) == 4
        assert not turns._running, "nothing grows"

    def test_a_client_that_is_alone_has_two_until_another_one_comes(self) -> None:
        turns, is_alone, log = Turns(), [True], list[threading.Event]()

        def record() -> None:
            ends = threading.Event()
            with turns.hold({"REMOTE_ADDR": "192.0.2.1", IS_ALONE: lambda: is_alone[0]}):
                log.append(ends)
                ends.wait(PATIENCE_SECONDS)

        with ThreadPoolExecutor() as pool:
            parts = [pool.submit(record) for _ in range(4)]
            eventually(lambda: len(log) == 2, "two have a turn")
            is_alone[0] = False
            log[0].set()
            eventually(lambda: sum(part.done() for part in parts) == 1, "one has ended")
            assert len(log) == 2
            log[1].set()
            eventually(lambda: len(log) == 3, "one has a turn")
            is_alone[0] = True
            log[2].set()
            eventually(lambda: len(log) == 4, "the last one has a turn")
            log[3].set()
        assert not turns._running


class TestQuestions:
    def test_so_many_at_once(self) -> None:
        began, ends = threading.Semaphore(0), threading.Event()

        def app(environ: Any, start_response: Any) -> list[bytes]:
            began.release()
            ends.wait(120)
            start_response("200 OK", [])
            return [b""]

        limits = RequestLimits(app, Settings(questions_max=2))
        statuses: list[int] = []

        def ask(address: str = "192.0.2.1", method: str = "GET") -> None:
            environ = {
                "REQUEST_METHOD": method,
                "REQUEST_URI": LISTS,
                "PATH_INFO": LISTS,
                "REMOTE_ADDR": address,
            }
            start = lambda line, headers, *_: statuses.append(int(line[:3]))  # noqa: E731
            answer = limits(environ, start)  # type: ignore[arg-type]
            list(answer)
            getattr(answer, "close", lambda: None)()

        threads = [threading.Thread(target=ask) for _ in range(2)]
        threads += [threading.Thread(target=ask, args=("192.0.2.2",))]
        threads += [threading.Thread(target=ask, args=("192.0.2.1", "POST"))]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert began.acquire(timeout=PATIENCE_SECONDS)
        ask()
        assert statuses == [429]
        ends.set()
        for thread in threads:
            thread.join()
        ask()
        assert statuses == [429, 200, 200, 200, 200, 200]
        assert not limits._running

    def test_one_that_fails_ends(self) -> None:
        def app(environ: Any, start_response: Any) -> list[bytes]:
            raise RuntimeError

        limits = RequestLimits(app, Settings(questions_max=1))
        for _ in range(3):
            with pytest.raises(RuntimeError):
                limits({"REQUEST_METHOD": "GET", "REQUEST_URI": LISTS}, None)  # type: ignore[arg-type]
        assert not limits._running

    def test_one_after_the_other(self, table: RemoteTable) -> None:
        client = client_of(table, questions_max=1)
        # Buffered, as a server does it: the answer is closed once it is sent.
        assert {client.get(LISTS, buffered=True).status_code for _ in range(5)} == {200}


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
        ("x" * 1_000, "x" * 100),
        ("", "unknown"),
    ],
)
def test_addresses(address: str, expected: str) -> None:
    assert peer({"REMOTE_ADDR": address}) == expected


@pytest.mark.slow
def test_without_limits_nothing_is_counted(table: RemoteTable) -> None:
    client = client_of(table)
    assert {client.get("/healthz").status_code for _ in range(200)} == {200}
