"""Where is the server, which processes is it, and how are they hurt."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType

START_SECONDS = 40.0
PROBE_SECONDS = 2.0
_READ_MARKS = range(123, 128)


class Server:
    """`fll serve` over a file on a port of its own, in a process group of its own."""

    def __init__(self, store: Path, *, workers: int = 2, port: int | None = None) -> None:
        self.store = store
        self.port = port or free_port()
        self._workers = workers
        self._process: subprocess.Popen[bytes] | None = None

    @classmethod
    def beside(cls, other: Server) -> Server:
        """Another server over the same file."""
        return cls(other.store)

    def __enter__(self) -> Server:
        self.start()
        self.wait_whole()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self, *, wait: bool = True) -> None:
        """Start; unless told otherwise, wait until it answers."""
        environment = {**os.environ, "HOME": str(self.store.parent)}
        environment.pop("XDG_RUNTIME_DIR", None)
        with open(self.store.with_suffix(".log"), "ab") as log:
            self._process = subprocess.Popen(
                self._command(), stdout=log, stderr=log, env=environment, start_new_session=True
            )
        if wait:
            self.wait_ready()

    def wait_ready(self) -> None:
        eventually(self.answers, START_SECONDS, f"the server answers; its log: {self.log()}")

    def wait_whole(self, seconds: float = START_SECONDS) -> None:
        """Wait until there are as many workers as there should be, and each has answered."""
        answered: set[int] = set()

        def whole() -> bool:
            answered.update(self._answering() or ())
            workers = self.workers()
            return len(workers) == self._workers and answered.issuperset(workers)

        eventually(whole, seconds, f"each of {self._workers} workers answers; its log: {self.log()}")

    @property
    def master(self) -> int:
        """The process that starts workers."""
        assert self._process is not None
        return self._process.pid

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def answers(self) -> bool:
        """Whether it answers on a fresh connection, in the time that a supervisor would give it."""
        assert self.alive(), f"the server ended; its log: {self.log()}"
        return self._answering() is not None

    def workers(self) -> list[int]:
        """The children of the master that live."""
        try:
            children = Path(f"/proc/{self.master}/task/{self.master}/children").read_text()
        except FileNotFoundError:
            return []
        return [pid for pid in map(int, children.split()) if state(pid) not in ("", "Z", "X")]

    def some_workers(self) -> list[int]:
        """The workers, as soon as there are any."""
        eventually(lambda: bool(self.workers()), START_SECONDS, "there is a worker")
        return self.workers()

    def writer(self) -> int:
        """The worker that has the turn to write, as soon as one has."""
        eventually(self.writes, 10, "some worker writes")
        return writing(self.store) or self.writer()

    def writes(self) -> bool:
        """Whether one of the workers has the turn to write."""
        return writing(self.store) in self.workers()

    def kill(self) -> None:
        """SIGKILL to the master and all workers at once."""
        if self._process is None:
            return
        if self._process.poll() is None:
            os.killpg(self.master, signal.SIGKILL)
            self._process.wait(10)
        eventually(lambda: not _group(self.master), 10, "no process of the server is left")
        self._process = None

    def terminate(self, seconds: float) -> int:
        """SIGTERM to the master; its exit code, if it is had in time."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(seconds)

    def log(self) -> str:
        """What the server said."""
        path = self.store.with_suffix(".log")
        return path.read_text(errors="replace") if path.exists() else ""

    def _command(self) -> list[str]:
        fll = str(Path(sys.executable).with_name("fll"))
        options = ["--store", f"sqlite:///{self.store}", "--port", str(self.port)]
        return [fll, "serve", *options, "--workers", str(self._workers)]

    def _answering(self) -> set[int] | None:
        """The workers that hold a fresh connection on which they answered, or None without an answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PROBE_SECONDS)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status != 200:
                return None
            inode = _inode(self.port, connection.sock.getsockname()[1]) if connection.sock else ""
            return {pid for pid in self.workers() if _holds(pid, inode)}
        except OSError:
            return None
        finally:
            connection.close()


def eventually(holds: Callable[[], bool], seconds: float, what: str) -> float:
    """Wait for something; the seconds it took. Raises AssertionError when it takes too long."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < seconds, f"not within {seconds:g} s: {what}"
        time.sleep(0.005)
    return time.monotonic() - began


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def state(pid: int) -> str:
    """The letter that the kernel gives the state of a process, empty where there is none: T is stopped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def writing(store: Path) -> int | None:
    """The process that has the turn to write, if any."""
    inode = os.stat(f"{store}.lock").st_ino
    for line in Path("/proc/locks").read_text().splitlines():
        match line.split():
            case [_, "FLOCK", _, _, pid, place, *_] if int(place.rpartition(":")[2]) == inode:
                return int(pid)
    return None


def reading(store: Path) -> set[int]:
    """The processes that hold a snapshot of the file: SQLite's read marks are five bytes of `-shm`."""
    inode = os.stat(f"{store}-shm").st_ino
    found = set()
    for line in Path("/proc/locks").read_text().splitlines():
        match line.split():
            case [_, "POSIX", _, "READ", pid, place, first, _] if int(place.rpartition(":")[2]) == inode:
                found.update({int(pid)} if int(first) in _READ_MARKS else ())
    return found


def _group(leader: int) -> list[int]:
    members = []
    for path in Path("/proc").glob("[0-9]*"):
        pid = int(path.name)
        try:
            if os.getpgid(pid) == leader and state(pid) not in ("", "Z", "X"):
                members.append(pid)
        except ProcessLookupError:
            continue
    return members


def _inode(server_port: int, client_port: int) -> str:
    """The server's end of a connection on 127.0.0.1, as the kernel lists it."""
    ends = [f"0100007F:{port:04X}" for port in (server_port, client_port)]
    for line in Path("/proc/net/tcp").read_text().splitlines():
        words = line.split()
        if words[1:3] == ends:
            return words[9]
    return ""


def _holds(pid: int, inode: str) -> bool:
    try:
        return any(os.readlink(path) == f"socket:[{inode}]" for path in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False
