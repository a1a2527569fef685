"""`fll serve` serves the address that it prints, and ends soon after Ctrl-C."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from tests.support.commands import printed, serving
from tests.support.server_process import Server
from tests.support.waiting import PATIENCE_SECONDS

PARTS = [
    b"",
    b"GET /readyz HTTP/1.1\r\nHo",
    b"POST /aspects HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
]


_NO_FLASK = """
import sys
sys.modules["flask"] = None
from fll_hbase.api.command import main
main(["serve"])
"""
"""The command line where the extra `server` was not installed."""


def test_without_the_extra_it_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", _NO_FLASK], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the server needs flask, which is not installed: pip install '.[server]'" in done.stderr


@pytest.mark.slow
def test_an_ipv6_address_serves_and_is_printed_as_a_url(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/store.db", tmp_path, host="::1") as url:
        assert url.startswith("http://[::1]:")
        assert requests.get(f"{url}/readyz", timeout=120).json() == {"status": "ready"}
        assert "No dataset or field has 'x'" in printed("find", "x", "--server", url)
    assert f"at {url}/ (the API: /docs)" in (tmp_path / "server.log").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_ctrl_c_to_all_processes_ends_them_despite_slow_clients(tmp_path: Path, part: bytes) -> None:
    with Server(tmp_path / "store.db") as server:
        clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(8)]
        for client in clients:
            client.sendall(part)
        # As a terminal sends it: to the master and to the workers.
        os.killpg(server.master, signal.SIGINT)
        assert server.ends(PATIENCE_SECONDS) == 0
        assert "SIGKILL" not in server.log(), "a process that does not end by itself is killed after 30 s"
        for client in clients:
            client.close()
