"""A gateway that hangs: every request is answered in its time, and health at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.api_client import path
from tests.support.api_process import fll_program, wait_until_ready
from tests.support.gateway import PROGRAM
from tests.support.lineage_documents import copying, encoded, run
from tests.support.ports import free_port
from tests.support.raw_http import SECONDS_MAX, Answer, Server
from tests.support.waiting import PATIENCE_SECONDS, eventually

CLIENTS, THREADS, REQUEST_SECONDS = 40, 4, 3


@pytest.fixture
def gateway() -> Iterator[tuple[int, int]]:
    """The port and the process of a gateway with an empty table."""
    port = free_port()
    process = subprocess.Popen([sys.executable, str(PROGRAM), str(port)])
    yield port, process.pid
    process.kill()
    process.wait()


@pytest.fixture
def server(gateway: tuple[int, int], tmp_path: Path) -> Iterator[Server]:
    """`fll serve` over this gateway; it waits longer for a call than a request has time."""
    port = free_port()
    environment = {
        **os.environ,
        "FLL_WORKERS": "1",
        "FLL_THREADS": str(THREADS),
        "FLL_REQUEST_SECONDS": str(REQUEST_SECONDS),
        # For longer than a client of this test.
        "FLL_STORE_TIMEOUT_MS": str(5_000 * SECONDS_MAX),
    }
    with (tmp_path / "log").open("wb") as log:
        command = [
            fll_program(),
            "serve",
            "--store",
            f"hbase://127.0.0.1:{gateway[0]}/t",
            "--port",
            str(port),
        ]
        for _ in range(100):
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            served = Server(port, tmp_path / "log")
            # The gateway may need longer to start than `fll serve` waits for it.
            try:
                wait_until_ready(served, process)
                break
            except AssertionError:
                process.wait()
        yield served
        process.terminate()
        process.wait(PATIENCE_SECONDS)


@pytest.mark.slow
def test_questions_and_documents_are_answered_in_time(server: Server, gateway: tuple[int, int]) -> None:
    assert server.get("/v3/namespaces").json == {"namespaces": []}
    os.kill(gateway[1], signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(CLIENTS) as threads:
            answers = [threads.submit(ask_or_record, server, number) for number in range(2 * CLIENTS)]
            meanwhile = 0
            while not all(answer.done() for answer in answers):
                assert server.get("/healthz").status == 200
                meanwhile += not all(answer.done() for answer in answers)
        assert meanwhile, "health is answered while others wait"
        # A check of the store has two seconds, and its last result counts for four.
        eventually(lambda: server.get("/readyz").status == 503, "not ready")
    finally:
        os.kill(gateway[1], signal.SIGCONT)
    for answer in answers:
        payload = answer.result()
        assert payload.problem["status"] == 503
        assert payload.headers["retry-after"].isdigit()
    eventually(lambda: server.get("/readyz").status == 200, "ready again")
    assert server.get("/v3/namespaces").status == 200


def ask_or_record(server: Server, number: int) -> Answer:
    """Send a question or a document."""
    if number % 2:
        body = encoded(copying("a", "b", "x", run=run(f"{number}")))
        return server.post(path("ns1", "lineage"), body)
    return server.get(path("ns1", "endpoints", "a", "fields", "lineage"))
