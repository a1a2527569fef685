"""A gateway that hangs: every request is answered in its time, and health at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from api_client import path
from conftest import _fll, _free_port, _wait
from documents import copying, encoded, run
from raw_http import Answer, Server
from support.gateway import PROGRAM

CLIENTS, THREADS, REQUEST_SECONDS = 40, 4, 3
SLACK_SECONDS = 2.5
"""What a busy machine adds to any time; the server's own bounds are a tenth of it."""


@pytest.fixture
def gateway() -> Iterator[tuple[int, int]]:
    """The port and the process of a gateway with an empty table."""
    port = _free_port()
    process = subprocess.Popen([sys.executable, str(PROGRAM), str(port)])
    yield port, process.pid
    process.kill()
    process.wait(10)


@pytest.fixture
def server(gateway: tuple[int, int], tmp_path: Path) -> Iterator[Server]:
    """`fll serve` over this gateway; it waits longer for a call than a request has time."""
    port = _free_port()
    environment = {
        **os.environ,
        "FLL_WORKERS": "1",
        "FLL_THREADS": str(THREADS),
        "FLL_REQUEST_SECONDS": str(REQUEST_SECONDS),
        "FLL_STORE_TIMEOUT_MS": "60000",
    }
    with (tmp_path / "log").open("wb") as log:
        command = [_fll(), "serve", "--store", f"hbase://127.0.0.1:{gateway[0]}/t", "--port", str(port)]
        for _ in range(100):
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            served = Server(port, tmp_path / "log")
            # The gateway may need longer to start than `fll serve` waits for it.
            try:
                _wait(served, process)
                break
            except AssertionError:
                process.wait(10)
        yield served
        process.terminate()
        process.wait(40)


def test_questions_and_documents_are_answered_in_time(server: Server, gateway: tuple[int, int]) -> None:
    assert server.get("/v3/namespaces").json == {"namespaces": []}
    os.kill(gateway[1], signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(CLIENTS) as threads:
            answers = [threads.submit(timed, server, number) for number in range(2 * CLIENTS)]
            statuses = set()
            while not all(answer.done() for answer in answers):
                statuses.add(probed(server, "/readyz"))
                assert probed(server, "/healthz") == 200
        assert 503 in statuses | {probed(server, "/readyz")}
    finally:
        os.kill(gateway[1], signal.SIGCONT)
    for answer in answers:
        payload, seconds = answer.result()
        assert payload.problem["status"] == 503
        assert payload.headers["retry-after"].isdigit()
        assert seconds < REQUEST_SECONDS + SLACK_SECONDS
    deadline = time.monotonic() + 30
    while probed(server, "/readyz") != 200:
        assert time.monotonic() < deadline, "ready again"
        time.sleep(0.1)
    assert server.get("/v3/namespaces").status == 200


def timed(server: Server, number: int) -> tuple[Answer, float]:
    """Ask or record; return the answer and the seconds that it took."""
    began = time.monotonic()
    if number % 2:
        body = encoded(copying("a", "b", "x", run=run(f"{number}")))
        answer = server.post(path("ns1", "lineage"), body)
    else:
        answer = server.get(path("ns1", "endpoints", "a", "fields", "lineage"))
    return answer, time.monotonic() - began


def probed(server: Server, target: str) -> int:
    """Return the status of a probe, which must come at once."""
    began = time.monotonic()
    status = server.get(target).status
    assert time.monotonic() - began < SLACK_SECONDS, target
    return status
