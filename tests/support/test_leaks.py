"""A test that leaves something behind fails, and what it left is named."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFTEST = """
import subprocess
import pytest
from tests.support.leaks import Leaks

def pytest_configure(config):
    config.pluginmanager.register(Leaks(patience_seconds=0.5))

@pytest.fixture(scope="session")
def kept():
    with subprocess.Popen(["sleep", "301"]) as process:
        yield process
        process.kill()
"""
LEAKING = "import socket, subprocess, tempfile\nleft = []\n\ndef test_it(kept):\n    "
LEAKS = {
    "child": ("subprocess.Popen(['sleep', '302'])", "sleep 302"),
    "orphan": ("subprocess.run('sleep 303 & true', shell=True)", "sleep 303"),
    "server": ("left.append(socket.create_server(('127.0.0.1', 0)))", "a server at port"),
    "temporary": ("tempfile.mkdtemp(prefix='forgotten')", "/forgotten"),
    "tidy": ("assert kept.poll() is None", ""),
}


def kill_all(command: str) -> None:
    """End the programs that a run left behind, which have this command line."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        if path.exists() and path.read_bytes() == command.replace(" ", "\0").encode() + b"\0":
            os.kill(int(path.parent.name), signal.SIGKILL)


@pytest.mark.slow
def test_what_is_left_fails_the_module_that_left_it(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name, (statement, _) in LEAKS.items():
        (tmp_path / f"test_{name}.py").write_text(f"{LEAKING}{statement}\n")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-rA", "--basetemp", str(tmp_path / "base"), str(tmp_path)],
            cwd=tmp_path,
            # Executed lines are counted in this process alone.
            env={**os.environ, "PYTHONPATH": str(ROOT), "SLIPCOVER_ENABLED": ""},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        kill_all("sleep 302")
        kill_all("sleep 303")
    lines = done.stdout.splitlines()
    assert f"{len(LEAKS)} passed, {len(LEAKS) - 1} errors" in done.stdout, done.stdout + done.stderr
    for name, (_, text) in LEAKS.items():
        complaints = [line for line in lines if line.startswith(f"tests of test_{name}.py left")]
        assert len(complaints) == (name != "tidy")
        assert all(text in complaint for complaint in complaints)
    for name in ("child", "orphan"):
        assert any(f"started by test_{name}.py::test_it (call)" in line for line in lines)
