"""Logs of the server on standard error: a line of JSON for each event, or of text on a terminal.

Names, paths and error texts come from clients. Their control characters are escaped, so that no request can
write a line of its own.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import msgspec

from fll_hbase.runtime import tracing
from fll_hbase.runtime.escape import escape_control

from .log_file import LogFile

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request that this thread answers."""


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
