"""Spans for OpenTelemetry, where it is installed and OTEL_TRACES_EXPORTER names an exporter.

OpenTelemetry's own variables configure the rest: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME,
OTEL_TRACES_SAMPLER and so on. OpenTelemetry is not imported without OTEL_TRACES_EXPORTER.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from http import HTTPStatus
from typing import TYPE_CHECKING

from fll_hbase.runtime import tracing
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.runtime.tracing import RequestSpan, TraceContext

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span

VARIABLE = "OTEL_TRACES_EXPORTER"
SERVICE_NAME = "fll"


def configure(environment: Mapping[str, str]) -> None:
    """Export the spans of this process as the variables say. Call it after a fork, since it starts a thread.

    Raises ConfigurationError for an exporter that is unknown or not installed.
    """
    exporter = span_exporter(environment)
    if exporter is None:
        return
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # The SDK reads the variable itself, but an explicit name would override it.
    name = {} if "OTEL_SERVICE_NAME" in environment else {"service.name": SERVICE_NAME}
    provider = TracerProvider(resource=Resource.create(name))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracing.export(OtelTracer(provider))


def span_exporter(environment: Mapping[str, str]) -> SpanExporter | None:
    """Return the exporter that the variables name, or None if there is none. Raises ConfigurationError."""
    name = environment.get(VARIABLE, "").strip().lower()
    if name in ("", "none") or environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    try:
        if name == "otlp":
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            return OTLPSpanExporter()
        if name == "console":
            from opentelemetry.sdk.trace.export import ConsoleSpanExporter

            return ConsoleSpanExporter()
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{VARIABLE}={name} needs {error.name}, which is not installed: pip install '.[server,otel]' in"
            " the source tree, or append [server,otel] to the wheel's name"
        ) from error
    raise ConfigurationError(f"invalid value {VARIABLE}={name!r}: expected otlp, console or none")


class OtelTracer:
    """Makes spans with a provider of OpenTelemetry."""

    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("fll_hbase")

    @contextmanager
    def request(self, caller: TraceContext | None) -> Iterator[RequestSpan]:
        """Return a context that is the server span of a request, below the span of its caller unless None."""
        from opentelemetry import trace
        from opentelemetry.context import Context

        parent = Context()
        if caller is not None:
            remote = trace.SpanContext(
                int(caller.trace_id, 16),
                int(caller.parent_id, 16),
                is_remote=True,
                trace_flags=trace.TraceFlags(int(caller.flags, 16)),
            )
            parent = trace.set_span_in_context(trace.NonRecordingSpan(remote), parent)
        kind = trace.SpanKind.SERVER
        with self._tracer.start_as_current_span("request", context=parent, kind=kind) as span:
            yield _OtelRequestSpan(span)

    def step(self, name: str) -> AbstractContextManager[object]:
        """Return a context that is a span below the current one, or none without a request."""
        from opentelemetry import trace

        # Checks of readiness, for example, belong to no request.
        if not trace.get_current_span().get_span_context().is_valid:
            return nullcontext()
        return self._tracer.start_as_current_span(name, kind=trace.SpanKind.CLIENT)


class _OtelRequestSpan:
    """The span of a request."""

    def __init__(self, span: Span) -> None:
        self._span = span

    @property
    def context(self) -> TraceContext | None:
        """Return the trace context to send to other servers: this span becomes the parent."""
        ids = self._span.get_span_context()
        return TraceContext(f"{ids.trace_id:032x}", f"{ids.span_id:016x}", f"{ids.trace_flags:02x}")

    def end(self, method: str, route: str, status: str) -> None:
        """Name the span by its route, never by its path, and note the status of the answer."""
        from opentelemetry.trace import StatusCode

        self._span.update_name(f"{method} {route}")
        self._span.set_attributes(
            {"http.request.method": method, "http.route": route, "http.response.status_code": int(status)}
        )
        if int(status) >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self._span.set_status(StatusCode.ERROR)
