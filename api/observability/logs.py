"""Logs of the server: a line of JSON for each event, or of text on a terminal.

Several processes may append to a file: lines stay whole, and log rotation is followed.

Names, paths and error texts come from clients. Their control characters are escaped, so that no request can
write a line of its own.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from io import FileIO
from logging.handlers import WatchedFileHandler
from typing import Any

import msgspec

from fll_hbase.runtime import tracing
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.runtime.escape import escape_control

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request that this thread answers."""

STANDARD_ERROR = "-"


def configure(level: str) -> None:
    """Log messages of at least `level` (FLL_LOG_LEVEL) to standard error: text on a terminal, else JSON.

    Replaces all handlers of the root logger.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextFormatter() if sys.stderr.isatty() else JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())


def to_line(members: Mapping[str, Any]) -> bytes:
    """Return one line of JSON with its line end, without the members that are empty text."""
    clean = {
        name: _escape(value) if isinstance(value, str) else value
        for name, value in members.items()
        if value != ""
    }
    return msgspec.json.encode(clean) + b"\n"


def to_text(members: Mapping[str, Any]) -> bytes:
    """Return one line of text for a person with its line end, without the members that are empty text."""
    parts = [f"{name}={escape_control(str(value))}" for name, value in members.items() if value != ""]
    return " ".join(parts).encode(errors="backslashreplace") + b"\n"


def line_format(file: LogFile) -> Callable[[Mapping[str, Any]], bytes]:
    """Return the function that makes a line for a file: `to_text` on a terminal, else `to_line`."""
    return to_text if file.is_terminal else to_line


def _escape(text: str) -> str:
    """Escape control characters of a string, except line ends."""
    # JSON escapes the control characters of ASCII, but not other control characters or line ends of Unicode.
    return text if text.isprintable() else "\n".join(map(escape_control, text.split("\n")))


def format_time(seconds: float) -> str:
    """Return a time in seconds since 1970 as UTC with milliseconds (RFC 3339)."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class JsonFormatter(logging.Formatter):
    """Formats a message as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without its end."""
        trace = tracing.current()
        members = {
            "time": format_time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": request_id.get(),
            "trace_id": trace.trace_id if trace else "",
            "pid": record.process,
            "exception": self.formatException(record.exc_info) if record.exc_info else "",
        }
        return to_line(members).decode().rstrip("\n")


class TextFormatter(logging.Formatter):
    """Formats a message as text for a person, and below it the error that it is about."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the message and, indented below it, its traceback, without the end of the last line."""
        moment = f"{datetime.fromtimestamp(record.created):%H:%M:%S}"
        first = f"{moment} {record.levelname:<8}{record.name}: {escape_control(record.getMessage())}"
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        # Indented, because the text of an error may contain lines that look like lines of a log.
        return "\n".join([first, *(f"    {escape_control(line)}" for line in trace.splitlines())])


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
