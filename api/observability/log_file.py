"""Files of lines that several processes append to: lines stay whole, and log rotation is followed."""

from __future__ import annotations

import errno
import fcntl
import os
from functools import partial
from io import FileIO
from logging.handlers import WatchedFileHandler
from typing import Any

from fll_hbase.runtime.errors import ConfigurationError

STANDARD_ERROR = "-"


class LogFile(WatchedFileHandler):
    """A file of lines, or standard error as `-`. Threads may share it; processes may share the file.

    If the file was renamed or removed, as by log rotation, the next line creates it again.
    """

    stream: Any

    def __init__(self, path: str) -> None:
        """Open the file at once, unless it is standard error. Raises OSError."""
        self._is_standard_error = path == STANDARD_ERROR
        super().__init__(path, delay=self._is_standard_error)

    @property
    def is_terminal(self) -> bool:
        """Return whether a person reads the lines as they are written: standard error, on a terminal."""
        return self._is_standard_error and os.isatty(2)

    def write(self, line: bytes) -> None:
        """Append a line, which includes its line end. Raises OSError if nothing of it is in the file."""
        self.acquire()
        try:
            if self._is_standard_error:
                _write_all(2, line)
                return
            self.reopenIfNeeded()
            self.stream = self.stream or self._open()
            _append(self.stream, line)
        finally:
            self.release()

    def _open(self) -> Any:
        """Return the file opened for appending without a buffer; a new one is readable by owner and group."""
        # Lines contain names of datasets and users, which are only for the owner and its group.
        return open(self.baseFilename, "ab", buffering=0, opener=partial(os.open, mode=0o640))


def _append(file: FileIO, line: bytes) -> None:
    """Append a whole line under a lock. Raises OSError if nothing of the line is in the file."""
    # One call appends the whole line unless the disk becomes full. The lock is only for that case: without
    # it, other processes could append to a part of this line.
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        written = file.write(line)
        if written < len(line):
            file.truncate(os.fstat(file.fileno()).st_size - written)
            raise OSError(errno.ENOSPC, "no room for a whole line", file.name)
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def open_log(path: str, *, setting: str) -> LogFile | None:
    """Return the log file of a setting, or None if it is empty. Raises ConfigurationError."""
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
    """Write all bytes to a descriptor, in several calls if needed. Raises OSError."""
    while data:
        data = data[os.write(descriptor, data) :]
