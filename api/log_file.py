"""Files of lines that several processes append to: lines are whole, and a file that was renamed is left."""

from __future__ import annotations

import errno
import fcntl
import os
import threading

from fll_hbase.errors import ConfigurationError

STANDARD_ERROR = "-"


class LogFile:
    """A file of lines, or standard error as `-`. Threads may share it, and processes the file.

    A file that was renamed or removed, as log rotation does, is created again by the next line.
    """

    def __init__(self, path: str) -> None:
        """Open the file; raises OSError."""
        self._path = path
        self._lock = threading.Lock()
        self._descriptor = -1
        if path != STANDARD_ERROR:
            self._open()

    @property
    def is_terminal(self) -> bool:
        """Return whether a person reads the lines as they are written."""
        return self._path == STANDARD_ERROR and os.isatty(2)

    def write(self, line: bytes) -> None:
        """Append a line. Raises OSError; then nothing of the line is in the file."""
        with self._lock:
            if self._path == STANDARD_ERROR:
                _write_all(2, line)
                return
            if self._is_replaced():
                self._open()
            # One call appends all of it, unless the disk becomes full. The lock of the file is for that case
            # alone: without it, the part of this line would be mixed with what others append to it.
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            try:
                self._append(line)
            finally:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    def _append(self, line: bytes) -> None:
        written = os.write(self._descriptor, line)
        if written < len(line):
            end = os.fstat(self._descriptor).st_size
            os.ftruncate(self._descriptor, end - written)
            raise OSError(errno.ENOSPC, "no room for a whole line", self._path)

    def _is_replaced(self) -> bool:
        if self._descriptor < 0:
            return True
        try:
            current = os.stat(self._path)
        except FileNotFoundError:
            return True
        opened = os.fstat(self._descriptor)
        return (current.st_dev, current.st_ino) != (opened.st_dev, opened.st_ino)

    def _open(self) -> None:
        self._close()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        # Names of datasets and users: for the owner and its group.
        self._descriptor = os.open(self._path, flags, 0o640)

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


def open_log(path: str, *, setting: str) -> LogFile | None:
    """Return the log file of a setting, None for an empty one. Raises ConfigurationError."""
    if not path:
        return None
    try:
        return LogFile(path)
    except OSError as error:
        raise ConfigurationError(
            f"{setting}={path!r} cannot be opened: {error.strerror}; name a file in a directory that may be"
            f" written, or {STANDARD_ERROR} for standard error"
        ) from error


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
