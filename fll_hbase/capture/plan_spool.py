"""Spool of plans: a directory in which the plans of applications wait until their lineage is recorded.

The directory has the marker file `fll-capture`. Nothing is created, changed or deleted in a directory that
has other files and no marker. In a spool, only files whose names have the form below are touched. Each
application has:

    00001763812345678901234-4711-9f3c2a51.plans     lines that the listener in the JVM of Spark appends
    00001763812345678901234-4711-9f3c2a51.head      their destination, as JSON; locked by the sending process
    00001763812345678901234-4711-9f3c2a51.ack       numbers of recorded bytes and of lost executions
    00001763812345678901234-4711-9f3c2a51.refused   events that the server refused, one per line
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from fll_hbase.recorder.marked_directory import Marker, open_marked, os_reason, write_durably
from fll_hbase.runtime import typed_json
from fll_hbase.runtime.errors import LineageError

MARKED = Marker("fll-capture", "fll-hbase capture spool 1\n", "a spool of capture")

PLANS, HEAD, ACKNOWLEDGED, REFUSED = ".plans", ".head", ".ack", ".refused"

_NAME = re.compile(r"(\d{23}-\d+-[0-9a-f]{8})\.(?:plans|head|ack|refused)")
_HEAD_BYTES_MAX = 100_000
_NUMBER_BYTES = 21
"""Bytes of each number of an `.ack` file: twenty digits and a line feed."""


class PlanSpoolError(LineageError):
    """A spool of plans that cannot be read or written."""


@dataclass(frozen=True, slots=True)
class PlanHead:
    """Destination of the lineage of one plan file, without any credentials.

    `bytes_max` bounds the bytes of the plan file; refused events are stored beyond it.
    """

    destination: str
    namespace: str
    literals: bool
    bytes_max: int


@dataclass(frozen=True, slots=True)
class Losses:
    """Executions missing from the file: `unwritten` did not fit, `unseen` ended without an event."""

    unwritten: int = 0
    unseen: int = 0

    def __bool__(self) -> bool:
        """Return whether any execution was lost."""
        return bool(self.unwritten or self.unseen)


class PlanFile:
    """The files of one application, locked by this process until `close` or `remove`; call one of both."""

    def __init__(self, stem: Path, head: PlanHead, descriptor: int) -> None:
        self.path = stem.with_name(stem.name + PLANS)
        self.head = head
        self._stem = stem
        self._lock = descriptor
        self._acknowledged = os.open(self._file(ACKNOWLEDGED), os.O_RDWR | os.O_CREAT, 0o600)

    @property
    def refused_path(self) -> Path:
        """The file of events that the server refused; absent if there are none."""
        return self._file(REFUSED)

    def idle_seconds(self) -> float:
        """Return the seconds since the plan file was last changed. Raises OSError if it is absent."""
        return time.time() - self.path.stat().st_mtime

    def acknowledged(self) -> int:
        """Return how many bytes from the beginning of the plan file are recorded; 0 if none is stored."""
        return self._number(0)

    def acknowledge(self, offset: int) -> None:
        """Store that the first `offset` bytes of the plan file are recorded. Raises PlanSpoolError."""
        self._overwrite(offset, 0)

    def losses(self) -> Losses:
        """Return the stored numbers of executions missing from the file; 0 if none are stored."""
        return Losses(self._number(1), self._number(2))

    def store_losses(self, losses: Losses) -> None:
        """Store how many executions are missing from the file. Raises PlanSpoolError."""
        self._overwrite(losses.unwritten, 1)
        self._overwrite(losses.unseen, 2)

    def refuse(self, events: Sequence[bytes]) -> None:
        """Append refused events, one per line. Raises PlanSpoolError."""
        try:
            descriptor = os.open(self.refused_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with open(descriptor, "wb") as file:
                file.write(b"".join(event + b"\n" for event in events))
        except OSError as error:
            raise PlanSpoolError(f"{self.refused_path} cannot be written: {os_reason(error)}") from error

    def close(self) -> None:
        """Unlock the files and keep them, so that the next sending process may take them. Call it once."""
        os.close(self._acknowledged)
        os.close(self._lock)

    def remove(self) -> None:
        """Remove the files except refused events, and unlock them, even after PlanSpoolError."""
        try:
            # Remove the head last: without it the other files would never be found again.
            for ending in (PLANS, ACKNOWLEDGED, HEAD):
                self._file(ending).unlink(missing_ok=True)
        except OSError as error:
            raise PlanSpoolError(
                f"{self.path} is recorded, but cannot be removed: {os_reason(error)}"
            ) from error
        finally:
            self.close()

    def _number(self, position: int) -> int:
        """Return the number at a position in the `.ack` file, or 0 if it is missing or not digits."""
        text = os.pread(self._acknowledged, _NUMBER_BYTES, position * _NUMBER_BYTES).strip()
        # A file of an earlier release has fewer numbers.
        return int(text) if text.isdigit() else 0

    def _overwrite(self, number: int, position: int) -> None:
        """Write a number of the `.ack` file, by position. Raises PlanSpoolError."""
        try:
            # The number of bytes stays the same, so that a full disk has room for them.
            os.pwrite(self._acknowledged, b"%020d\n" % number, position * _NUMBER_BYTES)
        except OSError as error:
            path = self._file(ACKNOWLEDGED)
            raise PlanSpoolError(f"{path} cannot be written: {os_reason(error)}") from error

    def _file(self, ending: str) -> Path:
        """Return the path of the application's file with an ending such as HEAD."""
        return self._stem.with_name(self._stem.name + ending)


class PlanSpool:
    """A directory of plan files. Any number of processes may use it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, destination: str, namespace: str, *, literals: bool, bytes_max: int) -> PlanFile:
        """Create the files of one application, locked. After PlanSpoolError no file stays.

        The file may have half of the part of `bytes_max` that all applications in the spool leave unused, or
        0 bytes if they use all.
        """
        stem = self.path / f"{time.time_ns():023}-{os.getpid()}-{os.urandom(4).hex()}"
        try:
            share = max(bytes_max - self._used_bytes(), 0) // 2
            return _create(stem, PlanHead(destination, namespace, literals, share))
        except OSError as error:
            raise PlanSpoolError(f"the spool {self.path} cannot be written: {os_reason(error)}") from error

    def left(self, destination: str | None) -> Iterator[PlanFile]:
        """Yield the files for `destination` (None: for any) that no process sends, locked, oldest first.

        Files without a readable head are left out. The caller closes or removes each. Raises PlanSpoolError.
        """
        for stem in self._stems():
            plan_file = _lock_left(stem, destination)
            if plan_file is not None:
                yield plan_file

    def destinations(self) -> list[str]:
        """Return the sorted destinations of all plan files, each once. Raises PlanSpoolError."""
        heads = (_read_head(stem.with_name(stem.name + HEAD)) for stem in self._stems())
        return sorted({head.destination for head in heads if head})

    def refused(self) -> list[Path]:
        """Return the paths of the files of refused events, oldest first. Raises PlanSpoolError."""
        return sorted(self.path / name for name in self._names() if name.endswith(REFUSED))

    def _stems(self) -> list[Path]:
        """Return the paths of the applications in the spool without their endings, oldest first."""
        return sorted({self.path / name.removesuffix(HEAD) for name in self._names() if name.endswith(HEAD)})

    def _names(self) -> list[str]:
        """Return the names of applications' files (_NAME) in no order, no others. Raises PlanSpoolError."""
        try:
            return [name for name in os.listdir(self.path) if _NAME.fullmatch(name)]
        except OSError as error:
            raise PlanSpoolError(f"the spool {self.path} cannot be read: {os_reason(error)}") from error

    def _used_bytes(self) -> int:
        """Return the bytes of all files. A running application counts with its `bytes_max` or more."""
        used: dict[str, int] = {}
        for name in self._names():
            stem, ending = os.path.splitext(name)
            used[stem] = used.get(stem, 0) + _size(self.path / name)
            if ending == HEAD and _is_locked(self.path / name):
                head = _read_head(self.path / name)
                used[stem] = max(used[stem], head.bytes_max if head else 0)
        return sum(used.values())


def open_plan_spool(path: Path, *, create: bool = True) -> PlanSpool:
    """Open the spool at `path`; `create` makes the directory, or marks an existing empty one.

    Raises ConfigurationError for a directory that is missing, has other files and no marker, was written by
    another release, or cannot be written.
    """
    return PlanSpool(open_marked(path, MARKED, create=create))


def _create(stem: Path, head: PlanHead) -> PlanFile:
    """Create and lock the files of an application, all or nothing. Raises PlanSpoolError and OSError."""
    unlocked = stem.with_name(stem.name + HEAD)
    descriptor = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    # A file that stayed would count with all bytes that it may use until this process ends.
    with ExitStack() as on_failure:
        on_failure.callback(os.close, descriptor)
        on_failure.callback(unlocked.unlink)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(descriptor, json.dumps(asdict(head)).encode())
        plan_file = PlanFile(stem, head, descriptor)
        on_failure.pop_all()
        on_failure.callback(plan_file.remove)
        plan_file.acknowledge(0)
        plan_file.store_losses(Losses())
        # Created here, because the JVM would let other users read it.
        write_durably(plan_file.path, b"")
        on_failure.pop_all()
    return plan_file


def _lock_left(stem: Path, destination: str | None) -> PlanFile | None:
    """Lock and return a stem's files, or None if locked, gone, unreadable or for another destination."""
    try:
        descriptor = os.open(stem.with_name(stem.name + HEAD), os.O_RDWR)
    except OSError:
        return None
    head = None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Without a link, the process that sent the file removed it between the two calls.
        if os.fstat(descriptor).st_nlink:
            head = _read_head(stem.with_name(stem.name + HEAD))
        if head is not None and destination in (None, head.destination):
            return PlanFile(stem, head, descriptor)
    except OSError:
        head = None
    os.close(descriptor)
    return None


def _is_locked(path: Path) -> bool:
    """Return whether a process holds an exclusive lock on a file; False if the file cannot be opened."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _read_head(path: Path) -> PlanHead | None:
    """Return the head in a file, or None if it is absent, unreadable or not a whole PlanHead in JSON."""
    try:
        with path.open("rb") as file:
            return typed_json.decode(file.read(_HEAD_BYTES_MAX), PlanHead)
    except (OSError, ValueError):
        return None


def _size(path: Path) -> int:
    """Return the bytes of a file, or 0 if it is absent."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
