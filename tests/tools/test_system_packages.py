"""The check of system packages: it passes, or names the one command that helps."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "system-packages"


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A PATH with a shell's own tools: neither Java nor apt, and no Python."""
    for name in ("sh", "sed", "id"):
        program = shutil.which(name)
        assert program
        (tmp_path / name).symlink_to(program)
    return tmp_path


def _check(
    path: Path, *parts: str, python: str = sys.executable, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *parts],
        env={"PATH": str(path), "PYTHON": python, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_what_is_installed_passes_silently(bare_path: Path) -> None:
    result = _check(bare_path, "python")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_missing_packages_are_named_with_the_command(bare_path: Path) -> None:
    result = _check(bare_path, "python", "java")
    assert result.returncode == 1
    assert re.fullmatch(
        "JDK 17 or later and Maven: not found. Install with: "
        r"sudo apt-get update && sudo apt-get install -y \S+-jdk-headless maven\n",
        result.stderr,
    )


def test_another_command_can_be_named(bare_path: Path) -> None:
    result = _check(bare_path, "python", "java", HINT="sudo make system")
    assert result.stderr == "JDK 17 or later and Maven: not found. Install with: sudo make system\n"


def test_the_packages_of_the_page_are_named(bare_path: Path) -> None:
    result = _check(bare_path, "node", "browser")
    assert result.returncode == 1
    assert result.stderr == (
        "Node.js 20 or later with npm and Chromium: not found. Install with: "
        "sudo apt-get update && sudo apt-get install -y nodejs npm chromium-headless-shell\n"
    )


def test_the_packages_of_servers_are_named(bare_path: Path) -> None:
    result = _check(bare_path, "servers")
    names = [
        name for name in ("promtool", "nginx", "systemd-analyze") if not Path("/usr/sbin", name).exists()
    ]
    assert result.returncode == (1 if names else 0)
    assert ("systemd-analyze: not found" in result.stderr) == bool(names)


def test_the_package_of_postgres_is_named(bare_path: Path) -> None:
    result = _check(bare_path, "postgres")
    is_installed = any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    assert result.returncode == (0 if is_installed else 1)
    assert ("PostgreSQL: not found" in result.stderr) != is_installed


def test_an_old_node_is_refused(bare_path: Path) -> None:
    for name, script in {"node": "echo v18.20.4", "npm": ""}.items():
        (bare_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (bare_path / name).chmod(0o755)
    assert "Node.js 20 or later" in _check(bare_path, "node").stderr
    (bare_path / "node").write_text("#!/bin/sh\necho v20.19.0\n")
    assert _check(bare_path, "node").returncode == 0


def test_a_missing_python_is_named(bare_path: Path) -> None:
    result = _check(bare_path, "python", python="python3")
    assert result.returncode == 1
    assert "apt-get install -y python3 python3-venv" in result.stderr


def test_an_old_python_is_refused(bare_path: Path) -> None:
    old = bare_path / "python3.10"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    result = _check(bare_path, "python", python="python3.10")
    assert result.returncode == 1
    assert "PYTHON=python3.11" in result.stderr


def test_an_unknown_part_prints_the_usage(bare_path: Path) -> None:
    result = _check(bare_path, "gateway")
    assert result.returncode == 2
    assert "tools/system-packages java" in result.stderr
