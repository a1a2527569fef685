"""A server process under test: its address, its workers, and signals to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import TracebackType

from tests.support.ports import free_port
from tests.support.processes import group, has_socket, server_end, state, writing
from tests.support.waiting import eventually

PROBE_SECONDS = 10.0
PROBES_MAX = 8
"""Connections of probes that stay open while a worker is still missing."""

END_SECONDS = 60.0


class Server:
    """`fll serve` over a store on a port of its own, in a process group of its own."""

    def __init__(self, store: Path, *, workers: int = 2, url: str = "") -> None:
        """The store is the file, unless `url` names another; the log lies beside the file."""
        self.store = store
        self._url = url or f"sqlite:///{store}"
        self.port = free_port()
        self._workers = workers
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Server:
        self.start()
        self.wait_for_all_workers()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self, *, wait: bool = True) -> None:
        """Start; unless told otherwise, wait until it answers."""
        environment = dict(os.environ)
        if self._url.startswith("sqlite:"):
            # Nobody is refused because the machine is busy; a store that is locked is busy after ten seconds.
            environment.setdefault("FLL_REQUEST_SECONDS", "60")
        with open(self.store.with_suffix(".log"), "ab") as log:
            self._process = subprocess.Popen(
                self._command(), stdout=log, stderr=log, env=environment, start_new_session=True
            )
        if wait:
            self.wait_ready()

    def wait_ready(self) -> None:
        self._eventually(self.answers, "the server answers")

    def wait_for_all_workers(self, *, path: str = "/readyz", status: int = 200) -> list[int]:
        """Wait until there are as many workers as there should be, and each has answered so; the workers."""
        answered: set[int] = set()

        def has_all_workers() -> bool:
            probes.append(self._connection())
            if len(probes) > PROBES_MAX:
                probes.pop(0).close()
            answered.update(self._answering(probes[-1], path, status) or ())
            workers = self.workers()
            return len(workers) == self._workers and answered.issuperset(workers)

        # A worker with open connections accepts later, so that others get the next ones.
        probes: list[HTTPConnection] = []
        try:
            self._eventually(has_all_workers, f"each of {self._workers} workers answers {path} with {status}")
        finally:
            for connection in probes:
                connection.close()
        return self.workers()

    @property
    def master(self) -> int:
        """The process that starts workers."""
        assert self._process is not None
        return self._process.pid

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def answers(self) -> bool:
        """Whether it answers on a fresh connection, in the time that a supervisor would give it."""
        assert self.alive(), f"the server ended: {self.log()}"
        with closing(self._connection()) as connection:
            return self._answering(connection) is not None

    def workers(self) -> list[int]:
        """The children of the master that live."""
        try:
            children = Path(f"/proc/{self.master}/task/{self.master}/children").read_text()
        except FileNotFoundError:
            return []
        return [pid for pid in map(int, children.split()) if state(pid) not in ("", "Z", "X")]

    def some_workers(self) -> list[int]:
        """The workers, as soon as there are any."""
        eventually(lambda: bool(self.workers()), "there is a worker")
        return self.workers()

    def writer(self) -> int:
        """The worker that has the turn to write, as soon as one has."""
        seen: list[int] = []

        def writes() -> bool:
            pid = writing(self.store)
            seen.extend([pid] if pid in self.workers() else [])
            return bool(seen)

        eventually(writes, "some worker writes")
        return seen[0]

    def writes(self) -> bool:
        """Whether one of the workers has the turn to write."""
        return writing(self.store) in self.workers()

    def kill(self) -> None:
        """SIGKILL to the master and all workers at once."""
        if self._process is None:
            return
        if self._process.poll() is None or group(self.master):
            os.killpg(self.master, signal.SIGKILL)
            self._process.wait(END_SECONDS)
        eventually(lambda: not group(self.master), "no process of the server is left")
        self._process = None

    def terminate(self, seconds: float) -> int:
        """SIGTERM to the master; its exit code, if it is had in time."""
        assert self._process is not None
        self._process.terminate()
        return self.ends(seconds)

    def ends(self, seconds: float) -> int:
        """The exit code of the master, if it ends in time."""
        assert self._process is not None
        return self._process.wait(seconds)

    def log(self) -> str:
        """Return the log of the server."""
        path = self.store.with_suffix(".log")
        return path.read_text(errors="replace") if path.exists() else ""

    def _eventually(self, holds: Callable[[], bool], description: str) -> None:
        try:
            eventually(holds, description)
        except AssertionError as error:
            raise AssertionError(f"{error}; its log: {self.log()}") from error

    def _command(self) -> list[str]:
        fll = str(Path(sys.executable).with_name("fll"))
        options = ["--store", self._url, "--port", str(self.port)]
        return [fll, "serve", *options, "--workers", str(self._workers)]

    def _connection(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=PROBE_SECONDS)

    def _answering(
        self, connection: HTTPConnection, path: str = "/readyz", status: int = 200
    ) -> set[int] | None:
        """The workers that hold a connection on which they answered so; None without such an answer."""
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            response.read()
            if response.status != status:
                return None
            inode = server_end(self.port, connection.sock.getsockname()[1]) if connection.sock else ""
            return {pid for pid in self.workers() if has_socket(pid, inode)}
        except (OSError, HTTPException):
            return None
