"""Traces: the `traceparent` of W3C Trace Context that a request came with, and spans where they are exported.

A span costs nothing until `export` connects a tracer, as `fll serve` does where OpenTelemetry is installed
and configured (api/otel.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass

VARIABLE = "TRACEPARENT"
"""The environment variable by which schedulers hand a trace to a command."""

# Later versions may have further parts; `ff` is no version (Trace Context, 3.2.2).
_TRACEPARENT = re.compile(r"(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)
_LENGTH_MAX = 512


@dataclass(frozen=True, slots=True)
class TraceContext:
    """The trace of a request, in hexadecimal digits: its id, the id of the caller's span, and flags."""

    trace_id: str
    parent_id: str
    flags: str

    @property
    def traceparent(self) -> str:
        """Return the header that hands the trace on; of version 00, whatever the version received."""
        return f"00-{self.trace_id}-{self.parent_id}-{self.flags}"


def parse_traceparent(text: str) -> TraceContext | None:
    """Return the trace of a `traceparent` header; None for an invalid one, which has to be ignored."""
    match = _TRACEPARENT.fullmatch(text) if 55 <= len(text) <= _LENGTH_MAX else None
    if match is None or (match[1] == "00" and match[5]):
        return None
    context = TraceContext(match[2], match[3], match[4])
    return context if context.trace_id.strip("0") and context.parent_id.strip("0") else None


_current: ContextVar[TraceContext | None] = ContextVar("trace", default=None)


def current() -> TraceContext | None:
    """Return the trace of the current request; None if it has none."""
    return _current.get()


@contextmanager
def using(context: TraceContext | None) -> Iterator[None]:
    """Return a context in which this thread works for a trace."""
    token = _current.set(context)
    try:
        yield
    finally:
        _current.reset(token)


_no_span = nullcontext()


def _ignore(name: str) -> AbstractContextManager[object]:
    return _no_span


_start_span: Callable[[str], AbstractContextManager[object]] = _ignore


def span(name: str) -> AbstractContextManager[object]:
    """Return a context that is one step of the current trace, such as a call to the table."""
    return _start_span(name)


def export(start_span: Callable[[str], AbstractContextManager[object]]) -> None:
    """Let `start_span` make the contexts of all spans."""
    global _start_span
    _start_span = start_span


def outgoing(environment: Mapping[str, str]) -> str:
    """Return the `traceparent` of a request to another server; empty without a trace.

    It is that of the current request, or of the variable TRACEPARENT, if that is valid.
    """
    context = current() or parse_traceparent(environment.get(VARIABLE, ""))
    return context.traceparent if context else ""
