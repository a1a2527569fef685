"""The program `fll`, a free port for it, and the wait until it serves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.raw_http import Server
from tests.support.waiting import eventually


def fll_program() -> str:
    return str(Path(sys.executable).with_name("fll"))


def wait_until_ready(server: Server, process: subprocess.Popen[bytes]) -> None:
    def is_ready() -> bool:
        assert process.poll() is None, f"the server did not start: {server.log.read_text()}"
        try:
            return server.get("/readyz").status == 200
        except OSError:
            return False

    eventually(is_ready, f"the server is ready, see {server.log}")
