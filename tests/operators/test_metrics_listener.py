"""The listener of metrics: `/metrics` and nothing else, at an address of its own."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest
import requests

from tests.operators.conftest import StartServer
from tests.support.api_process import fll_program
from tests.support.ports import free_port

SECRET = "scrape" * 8


def get(port: int, path: str, **headers: str) -> requests.Response:
    return requests.get(f"http://127.0.0.1:{port}{path}", headers=headers, timeout=120)


@pytest.mark.slow
class TestListener:
    def test_metrics_of_all_processes_without_a_token(self, start_server: StartServer) -> None:
        port = free_port()
        server = start_server(FLL_METRICS_HOST="127.0.0.1", FLL_METRICS_PORT=str(port), FLL_AUTH="tokens")
        assert f"; metrics at http://127.0.0.1:{port}/metrics" in server.log()
        assert get(server.port, "/metrics").status_code == 401, "there a token is needed"
        for _ in range(4):
            answer = get(port, "/metrics")
            assert answer.status_code == 200
            assert "\nfll_workers 2.0\n" in answer.text
        others = ("/v3/namespaces", "/readyz", "/", "/docs", "/metrics/x")
        assert {get(port, path).status_code for path in others} == {404}
        assert get(port, "/metrics", Host="evil.example").status_code == 421

    def test_with_a_token_it_needs_that(self, start_server: StartServer) -> None:
        port = free_port()
        settings = {"FLL_METRICS_HOST": "0.0.0.0", "FLL_METRICS_PORT": str(port)}
        start_server(workers=1, FLL_METRICS_TOKEN=SECRET, **settings)
        assert get(port, "/metrics").status_code == 401
        assert get(port, "/metrics", Authorization=f"Bearer {SECRET}").status_code == 200

    def test_silent_clients_do_not_stop_it(self, start_server: StartServer) -> None:
        port = free_port()
        start_server(workers=1, FLL_METRICS_HOST="127.0.0.1", FLL_METRICS_PORT=str(port))
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
        assert get(port, "/metrics").status_code == 200
        for connection in silent:
            connection.close()


def serve(tmp_path: Path, *options: str, **environment: str) -> str:
    """The error of a server that does not start."""
    command = [fll_program(), "serve", "--store", f"sqlite:///{tmp_path}/s.db", "--port", str(free_port())]
    command += options
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (1, 2), done
    return done.stderr


def test_others_are_not_let_in_by_accident(tmp_path: Path) -> None:
    output = serve(tmp_path, FLL_METRICS_HOST="0.0.0.0")
    assert "anyone who reaches 0.0.0.0:9464 could read the metrics: set FLL_METRICS_TOKEN" in output


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        output = serve(tmp_path, FLL_METRICS_HOST="127.0.0.1", FLL_METRICS_PORT=port)
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in output
    assert "choose another port with FLL_METRICS_PORT" in output


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "is_warned"), [(0o600, False), (0o640, True), (0o604, True)])
def test_a_store_that_others_may_read_is_warned_of(
    tmp_path: Path, start_server: StartServer, mode: int, is_warned: bool
) -> None:
    store = tmp_path / "store.db"
    start_server(workers=1).kill()
    store.chmod(mode)
    log = start_server(workers=1).log()
    assert ("others may read the file" in log) == is_warned


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_the_port_of_the_api_is_none_for_metrics(tmp_path: Path, host: str) -> None:
    port = str(free_port())
    output = serve(
        tmp_path, "--port", port, FLL_METRICS_HOST=host, FLL_METRICS_PORT=port, FLL_METRICS_TOKEN=SECRET
    )
    reason = "Address already in use; choose another port with FLL_METRICS_PORT"
    assert output.splitlines()[-1:] == [f"fll: cannot listen on {host}:{port}: {reason}"]
