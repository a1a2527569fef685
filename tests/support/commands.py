"""Commands run in this process with a fixed clock, and a server in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests
from click.testing import CliRunner, Result

from api.command import main
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE_SECONDS, eventually

END_MS = 1_760_000_000_000
"""The clock of the command line, and the end of the sample."""

WINDOW = ("--start", "1757408000", "--end", "1760000000")
"""The thirty days before, for a server, which has a clock of its own."""

FLL = str(Path(sys.executable).with_name("fll"))


def fll(*arguments: str, stdin: bytes | None = None) -> Result:
    """Run a command; where it is 2025-10-09 08:53:20."""
    return CliRunner().invoke(main, list(arguments), input=stdin, obj=lambda: END_MS)


def complaints(result: Result) -> list[str]:
    """The lines of standard error before the ids of recorded runs and what to ask next."""
    lines = result.stderr.splitlines()
    ends = [number for number, line in enumerate(lines) if line.endswith(". Ask next:")]
    return lines[: ends[0]] if ends else lines


def printed(*arguments: str) -> str:
    """The output of a command that succeeds and complains of nothing."""
    result = fll(*arguments)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    return result.stdout


def complaint(*arguments: str, code: int) -> str:
    """The one line that a command which fails says."""
    result = fll(*arguments)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


@contextmanager
def serving(store_url: str, home: Path, *, host: str = "127.0.0.1") -> Iterator[str]:
    """The URL of a server over a store, for as long as it is needed."""
    port = str(free_port(host))
    command = [FLL, "serve", "--store", store_url, "--host", host, "--port", port, "--workers", "1"]
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        _wait(url, process, home / "server.log")
        yield url
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    def answers() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            return requests.get(f"{url}/readyz", timeout=PATIENCE_SECONDS).ok
        except requests.ConnectionError:
            return False

    eventually(answers, f"the server is ready, see {log}")
