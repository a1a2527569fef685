"""Traces: the `traceparent` of a request (W3C Trace Context), and spans if they are exported.

Spans do nothing until `export` connects a tracer, as `fll serve` does if OpenTelemetry is installed and
configured (api/observability/otel.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

VARIABLE = "TRACEPARENT"
"""The environment variable in which schedulers pass a trace to a command."""

# Later versions may have further parts, and `ff` is invalid as a version (Trace Context, 3.2.2).
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
        """Return the header that passes the trace on, always in version 00."""
        return f"00-{self.trace_id}-{self.parent_id}-{self.flags}"


def parse_traceparent(text: str) -> TraceContext | None:
    """Return the trace of a `traceparent` header, or None if it is invalid and must be ignored."""
    match = _TRACEPARENT.fullmatch(text) if 55 <= len(text) <= _LENGTH_MAX else None
    if match is None or (match[1] == "00" and match[5]):
        return None
    context = TraceContext(match[2], match[3], match[4])
    return context if context.trace_id.strip("0") and context.parent_id.strip("0") else None


_current: ContextVar[TraceContext | None] = ContextVar("trace", default=None)


def current() -> TraceContext | None:
    """Return the trace of the current request, or None if it has none."""
    return _current.get()


class RequestSpan(Protocol):
    """The span of a request that this process answers."""

    @property
    def context(self) -> TraceContext | None:
        """Return the trace to pass on to other requests, or None without a trace."""

    def end(self, method: str, route: str, status: str) -> None:
        """Note how the request was answered."""


class Tracer(Protocol):
    """An exporter of spans."""

    def request(self, caller: TraceContext | None) -> AbstractContextManager[RequestSpan]:
        """Return a context that is the span of a request, below the span of its caller if there is one."""

    def step(self, name: str) -> AbstractContextManager[object]:
        """Return a context that is a child span of the current one, or no span outside of a request."""


@dataclass(frozen=True, slots=True)
class _NoSpan:
    """The span of a request while no tracer is connected, which only has the trace of its caller."""

    context: TraceContext | None = None

    def end(self, method: str, route: str, status: str) -> None:
        """Note nothing."""


_no_step: AbstractContextManager[None] = nullcontext()
_untraced: AbstractContextManager[RequestSpan] = nullcontext(_NoSpan())
_tracer: Tracer | None = None


def export(tracer: Tracer | None) -> None:
    """Connect all spans to a tracer, or disconnect them for None."""
    global _tracer
    _tracer = tracer


def span(name: str) -> AbstractContextManager[object]:
    """Return a context that is one step of the current request, such as a call to the table."""
    return _no_step if _tracer is None else _tracer.step(name)


def request(traceparent: str) -> AbstractContextManager[RequestSpan]:
    """Return a context in which this thread answers a request; `traceparent` is its header, or ""."""
    if _tracer is None and not traceparent:
        return _untraced
    return _traced(parse_traceparent(traceparent))


@contextmanager
def _traced(caller: TraceContext | None) -> Iterator[RequestSpan]:
    """Yield the span of a request whose caller has this trace; meanwhile its trace is the current one."""
    started = nullcontext(_NoSpan(caller)) if _tracer is None else _tracer.request(caller)
    with started as request_span:
        token = _current.set(request_span.context)
        try:
            yield request_span
        finally:
            _current.reset(token)


def outgoing(environment: Mapping[str, str]) -> str:
    """Return the `traceparent` header for a request to another server, or "" without a trace.

    The trace of the current request comes first, then the variable TRACEPARENT of `environment` if it is
    valid.
    """
    context = current() or parse_traceparent(environment.get(VARIABLE, ""))
    return context.traceparent if context else ""
