"""Images of the build files, and containers of them, by buildah: it needs no daemon, and runs as root.

Containers share the network of the machine, so what runs in them has to listen on 127.0.0.1.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.repository import ROOT
from tests.support.waiting import eventually

BUILD_OPTIONS = "IMAGE_OPTIONS"
"""The variable with options of `buildah build`, such as a proxy or another index of packages."""

END_SECONDS = 120.0
_ENVIRONMENT = {**os.environ, "STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}


def buildah(*arguments: str) -> str:
    """The output of a command that must succeed."""
    ended = subprocess.run(
        ["buildah", *arguments], env=_ENVIRONMENT, cwd=ROOT, capture_output=True, text=True, timeout=1800
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout.strip()


def build_image(dockerfile: Path, name: str, *arguments: str) -> None:
    """Build an image as the head of its build file says, with further arguments of the build."""
    options = shlex.split(os.environ.get(BUILD_OPTIONS, ""))
    # The format of Docker has health checks, that of OCI has none.
    buildah("build", "--format", "docker", *options, *arguments, "-f", str(dockerfile), "-t", name, ".")


class Container:
    """A container, which keeps its files; of its processes one runs in the background at a time."""

    def __init__(self, name: str, log: Path) -> None:
        self._name = name
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start a command of the image, which goes on in the background."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                ["buildah", *self._run(command, environment)], env=_ENVIRONMENT, stdout=log, stderr=log
            )

    def run(self, command: Sequence[str], environment: Mapping[str, str]) -> str:
        """The output of a command of the image that must succeed."""
        return buildah(*self._run(command, environment))

    def end(self, number: signal.Signals) -> int:
        """Send a signal to the first process of the image, as an engine does; the exit code."""
        assert self._process is not None
        os.kill(_innermost(self._process.pid), number)
        return self._process.wait(END_SECONDS)

    def kill(self) -> None:
        """End whatever runs; buildah itself then ends, and removes its files."""
        if self._process is not None and self._process.poll() is None:
            for pid in _descendants(_innermost(self._process.pid)):
                os.kill(pid, signal.SIGKILL)
            self._process.wait(END_SECONDS)

    @property
    def log(self) -> str:
        return self._log.read_text()

    def _run(self, command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
        variables = [f"--env={name}={value}" for name, value in environment.items()]
        return ["run", *variables, self._name, "--", *command]


@contextmanager
def container(image: str) -> Iterator[Container]:
    """A container of an image, which is removed at the end."""
    name = buildah("from", "--pull-never", image)
    with TemporaryDirectory() as folder:
        opened = Container(name, Path(folder) / "log")
        try:
            yield opened
        finally:
            opened.kill()
            buildah("rm", name)


def _innermost(pid: int) -> int:
    """The process of the image, which is below buildah's own ones."""
    pids: list[int] = []

    def is_there() -> bool:
        pids[:] = [below for below in _descendants(pid) if "buildah" not in _name(below)]
        return bool(pids)

    eventually(is_there, "the process of the image runs")
    return pids[0]


def _descendants(pid: int) -> list[int]:
    """A process and all below it, parents first; those that end meanwhile are left out."""
    children: list[str] = []
    # Each thread has children of its own.
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            children += thread.read_text().split()
    return [pid, *(below for child in children for below in _descendants(int(child)))]


def _name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text()
    return "buildah, which has ended"
