"""Spool: a directory of documents that wait to be recorded. Any number of processes may write to it.

A spool is a directory with the marker file `fll-spool`. Nothing is created, changed or deleted in a directory
that has other files and no marker. In a spool, only files whose names have the form below are touched:

    00001763812345678901234-4711-9f3c2a51.json      one document; names sort by the time of writing
    00001763812345678901234-4711-9f3c2a51.refused   a document that was refused and is never sent again
    00001763812345678901234-4711-9f3c2a51.tmp       a document being written, or left by a writer that ended

A document is written to a `.tmp` file, flushed to the disk and renamed, so `.json` files are always complete.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fll_hbase.recorder.marked_directory import Marker, flush_directory, open_marked, os_reason, write_durably
from fll_hbase.runtime.errors import LineageError

MARKER = "fll-spool"
FORMAT = "fll-hbase spool 1\n"
"""The content of the marker. A release that changes the format of the files changes the number."""

MARKED = Marker(MARKER, FORMAT, "a spool")

DOCUMENT, REFUSED, UNFINISHED = ".json", ".refused", ".tmp"
UNFINISHED_SECONDS_MAX = 3600.0
"""Age at which a `.tmp` file counts as left by a killed writer; writing a document takes seconds."""

SHARE = 8
"""A writer may use an eighth of the free space before it measures it again, since others write, too."""

_NAME = re.compile(r"\d{23}-\d+-[0-9a-f]{8}\.(?:json|refused|tmp)")


class SpoolError(LineageError):
    """A spool that is full, is sent by another process, or cannot be read or written."""


@dataclass(frozen=True, slots=True)
class SpoolLimits:
    """Limits of a spool in files and bytes, including refused and unfinished documents."""

    files_max: int
    bytes_max: int


@dataclass(slots=True)
class _Space:
    files: int = 0
    bytes: int = 0


class Spool:
    """An open spool. Threads may share it, and processes may open the same directory.

    The limits hold over all writers. Writers that use the last free part at the same time may each exceed the
    limits by one document.
    """

    def __init__(self, path: Path, limits: SpoolLimits) -> None:
        self.path = path
        self._limits = limits
        self._lock = threading.Lock()
        self._usable = _Space()
        self._last_ns = 0

    def write(self, document: bytes) -> Path:
        """Add a document and return its file once it is on the disk. Raises SpoolError."""
        with self._lock, _spool_error(f"the spool {self.path} cannot be written"):
            self._reserve(len(document))
            return self._write(document)

    def documents(self) -> list[Path]:
        """Return the files of complete documents in the order of writing. Raises SpoolError."""
        with _spool_error(f"the spool {self.path} cannot be read"):
            names = sorted(filter(_NAME.fullmatch, os.listdir(self.path)))
        return [self.path / name for name in names if name.endswith(DOCUMENT)]

    def remove(self, *documents: Path) -> None:
        """Remove documents that were acknowledged; absent ones are ignored. Raises SpoolError."""
        with _spool_error(f"documents of {self.path} are recorded, but cannot be removed"):
            for document in documents:
                document.unlink(missing_ok=True)
            # A file that returns after a power failure would replace what its run recorded since.
            flush_directory(self.path)

    def set_aside(self, document: Path) -> Path:
        """Rename a refused document, so that it is not sent again; return its new path. Raises SpoolError."""
        with _spool_error(f"{document} is refused, but cannot be renamed"):
            return document.rename(document.with_suffix(REFUSED))

    def remove_unfinished(self) -> None:
        """Remove files left unfinished more than UNFINISHED_SECONDS_MAX ago. Raises SpoolError."""
        with _spool_error(f"the spool {self.path} cannot be cleaned"):
            for entry in self._entries():
                age = time.time() - entry.stat().st_mtime
                if entry.name.endswith(UNFINISHED) and age > UNFINISHED_SECONDS_MAX:
                    Path(entry.path).unlink(missing_ok=True)

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Return a context in which other processes cannot send documents of this spool.

        Raises SpoolError at once if another process, or another such context of this one, sends them. Two
        that send at the same time could store documents of a run in the wrong order.
        """
        with _spool_error(f"the spool {self.path} cannot be read"):
            descriptor = os.open(self.path / MARKER, os.O_RDWR)
        try:
            _lock(descriptor, self.path)
            yield
        finally:
            os.close(descriptor)

    def _reserve(self, size: int) -> None:
        """Count the space of one document of `size` bytes as used. Raises SpoolError if the spool is full."""
        # Counting files at each write would take time quadratic in their number. A shared counter would need
        # a lock, and a stopped process that holds it would block all others.
        if self._usable.files < 1 or self._usable.bytes < size:
            self._usable = self._find_space(size)
        self._usable.files -= 1
        self._usable.bytes -= size

    def _find_space(self, size: int) -> _Space:
        """Return a share of the space left, at least one file of `size` bytes. Raises SpoolError if full."""
        sizes = [entry.stat().st_size for entry in self._entries()]
        free_files, free_bytes = self._limits.files_max - len(sizes), self._limits.bytes_max - sum(sizes)
        if free_files < 1 or free_bytes < size:
            raise SpoolError(
                f"the spool {self.path} is full: {len(sizes)} of {self._limits.files_max} files,"
                f" {sum(sizes)} of {self._limits.bytes_max} bytes, a document of {size} bytes does not fit;"
                f" run `fll replay {self.path}`, or raise FLL_SPOOL_FILES_MAX or FLL_SPOOL_BYTES_MAX"
            )
        return _Space(max(1, free_files // SHARE), max(size, free_bytes // SHARE))

    def _entries(self) -> Iterator[os.DirEntry[str]]:
        """Yield the spool's files, including refused and unfinished ones; skip files removed meanwhile."""
        with os.scandir(self.path) as entries:
            for entry in entries:
                if _NAME.fullmatch(entry.name):
                    try:
                        entry.stat()  # cached by the entry
                    except FileNotFoundError:
                        continue
                    yield entry

    def _write(self, document: bytes) -> Path:
        """Write a document durably under a new name, complete or not at all. Raises OSError."""
        unfinished = self.path / f"{self._new_stem()}{UNFINISHED}"
        try:
            write_durably(unfinished, document)
            complete = unfinished.with_suffix(DOCUMENT)
            unfinished.rename(complete)
            flush_directory(self.path)
        except OSError:
            # Remove what a full disk kept of the document. A document reported as lost must not be replayed.
            unfinished.unlink(missing_ok=True)
            unfinished.with_suffix(DOCUMENT).unlink(missing_ok=True)
            raise
        return complete

    def _new_stem(self) -> str:
        """Return a unique file name without ending, which sorts after all earlier names of this object."""
        # Later than the last one even if the clock was set back, so that names of a process stay in order.
        self._last_ns = max(self._last_ns + 1, time.time_ns())
        # The current process id, since a forked process has a copy of this object.
        return f"{self._last_ns:023}-{os.getpid()}-{secrets.token_hex(4)}"


def open_spool(path: str | Path, limits: SpoolLimits, *, create: bool = True) -> Spool:
    """Open the spool at `path`; `create` makes the directory, or marks an existing empty one.

    Raises ConfigurationError for a directory that is missing or has no marker, unless `create` gives it one,
    for a spool of another release, and if it cannot be read or written.
    """
    return Spool(open_marked(Path(path), MARKED, create=create), limits)


def _lock(descriptor: int, directory: Path) -> None:
    """Lock a marker until it is closed or this process ends. Raises SpoolError if another process has it."""
    with _spool_error(f"the spool {directory} cannot be locked"):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SpoolError(f"another process sends the spool {directory}; wait until it ends") from error


@contextmanager
def _spool_error(fault: str) -> Iterator[None]:
    """Return a context that raises SpoolError, a fault and its reason, instead of OSError."""
    try:
        yield
    except OSError as error:
        raise SpoolError(f"{fault}: {os_reason(error)}") from error
