"""Find processes, listening sockets and files that tests leave behind; the last test of their module fails.

Looked for when a module has ended, its fixtures included. What fixtures of the session started may stay until
the session ends.
"""

from __future__ import annotations

import gc
import os
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.support.waiting import eventually

MARK = "STARTED_BY_TESTS"
"""Environment variable of every process that tests start, also of one that outlives its parent."""

TEST = b"PYTEST_CURRENT_TEST="

UNTIL_EXIT = ("pyspark-shell", "multiprocessing.resource_tracker", "multiprocessing.forkserver")
"""In the command lines of processes that their libraries stop when Python exits."""

METRICS = "fll-metrics-"
"""Beginning of the directories of servers that were killed: the next server removes them."""

Left = dict[str, str]
"""Texts of what is left, by a key that nothing else has."""


class Leaks:
    """Hooks of pytest in a process that runs tests."""

    def __init__(self, *, patience_seconds: float = 30.0) -> None:
        self._patience_seconds = patience_seconds
        self._mark = f"{MARK}={uuid4().hex}".encode()
        self._folder = ""
        self._others: set[tuple[int, str]] = set()
        self._allowed: set[str] = set()
        self._reported: set[str] = set()

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Mark all processes that are started from now on, and give their temporary files a directory."""
        self._folder = str(session.config._tmp_path_factory.mktemp("t"))  # type: ignore[attr-defined]
        name, _, value = self._mark.decode().partition("=")
        os.environ |= {name: value, "TMPDIR": self._folder}
        tempfile.tempdir = None

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Note what a fixture of the session starts."""
        if fixturedef.scope != "session":
            return (yield)
        earlier = self._scan()
        result = yield
        self._allowed |= self._scan().keys() - earlier.keys()
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, None, None]:
        """Fail where something is left after the fixtures of a module, or after those of the session."""
        yield
        if nextitem is not None and nextitem.path == item.path:
            return
        is_last = nextitem is None
        if is_last:
            self._allowed.clear()
        if item.get_closest_marker("java") is not None:
            # Drivers of Spark that a test kills leave directories of pyspark.
            self._reported |= self._files().keys()
        if self._left(jvms=is_last):
            # Libraries close files in finalizers, and cycles of their objects wait for the collector.
            gc.collect()
        try:
            # A process that was told to end needs a moment.
            eventually(
                lambda: not self._left(jvms=is_last), "nothing is left", seconds=self._patience_seconds
            )
        except AssertionError:
            left = self._left(jvms=is_last)
            self._reported |= left.keys()
            pytest.fail(f"tests of {item.path.name} left behind: " + "; ".join(left.values()), pytrace=False)

    def _left(self, *, jvms: bool) -> Left:
        left = self._scan(jvms=jvms)
        return {key: text for key, text in left.items() if key not in self._allowed | self._reported}

    def _scan(self, *, jvms: bool = True) -> Left:
        lines = self._lines()
        # Sessions of Spark share a JVM, and start another one where a test stopped it.
        ignored = UNTIL_EXIT if jvms else (*UNTIL_EXIT, "java")
        commands = {pid: _command(pid) for line in lines for pid in line}
        left = {}
        for line in lines:
            keys = [f"process {pid} {started}" for pid, started in line.items()]
            is_ignored = any(name in commands[pid] for name in ignored for pid in line)
            if commands[pid := next(iter(line))] and not is_ignored and self._allowed.isdisjoint(keys):
                left[keys[0]] = f"process {pid}, {commands[pid][:200]!r}, started by {_test(pid)}"
        is_spark = any("pyspark-shell" in command for command in commands.values())
        # pyspark listens as long as its JVM runs.
        return left | self._files() | ({} if is_spark else _listening())

    def _lines(self) -> list[dict[int, str]]:
        """The processes that tests started, each with its parents below this one, and the starts of all."""
        stats = {int(name): _stat(int(name)) for name in os.listdir("/proc") if name.isdigit()}
        lines = []
        for pid, stat in stats.items():
            line = {}
            parent = pid
            while parent != os.getpid() and (stat := stats.get(parent)):
                line[parent] = stat[1]
                parent = stat[0]
            if line and (parent == os.getpid() or self._is_marked(pid, line[pid])):
                lines.append(line)
        return lines

    def _is_marked(self, pid: int, started: str) -> bool:
        if (pid, started) in self._others:
            return False
        is_marked = self._mark in _environment(pid)
        if not is_marked:
            self._others.add((pid, started))
        return is_marked

    def _files(self) -> Left:
        """The temporary files outside of the directories that pytest gives to tests."""
        names = [name for name in os.listdir(self._folder) if not name.startswith(METRICS)]
        return {f"file {name}": f"{self._folder}/{name}" for name in names}


def _stat(pid: int) -> tuple[int, str] | None:
    """The parent and the start of a process that has not ended."""
    try:
        state, parent, *words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state in "ZX" else (int(parent), words[17])


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _test(pid: int) -> str:
    """The test during which a program was started."""
    names = [variable[len(TEST) :] for variable in _environment(pid) if variable.startswith(TEST)]
    return names[0].decode() if names else "an unknown test"


def _listening() -> Left:
    """The ports at which this process listens."""
    inodes = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]:
            _, address, _, state, *_ = words = line.split()
            if state == "0A":
                inodes[f"socket:[{words[9]}]"] = int(address.rpartition(":")[2], 16)
    left = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue
        if target in inodes:
            left[target] = f"a server at port {inodes[target]} of the process of the tests"
    return left


class Tree:
    """Hooks of pytest that fail a run which changes the project's tree; for CI, where nobody else does."""

    def __init__(self) -> None:
        self._earlier = _tree()
        self._changes: set[str] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Compare."""
        self._changes = _tree() ^ self._earlier
        if self._changes:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name what changed."""
        for change in sorted(self._changes):
            terminalreporter.line(f"left behind by the tests: {change}", red=True)


def _tree() -> set[str]:
    """Return what differs from the last commit."""
    status = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, check=True)
    return set(status.stdout.splitlines())
