"""Metrics of the store: counters, gauges and histograms, whose calls do nothing until they are exported.

The package needs no library for metrics. `export` connects them to a library, as `fll serve` does with
prometheus_client (api/observability/exporter.py). docs/operate/monitoring.md describes each metric.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

Record: TypeAlias = Callable[[float, tuple[str, ...]], None]
"""A function that adds a value to a metric, or observes it, with these values of its labels."""


def _ignore(value: float, labels: tuple[str, ...]) -> None:
    """Record nothing, while no exporter is connected."""


class Metric:
    """A named number with labels. Each label has few values, never names of datasets, users or paths."""

    def __init__(self, name: str, description: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.description = description
        self.labels = tuple(labels)
        self.record: Record = _ignore
        _metrics.append(self)


class Counter(Metric):
    """A number that only grows. Its name ends with `_total`."""

    def add(self, amount: float = 1, *labels: str) -> None:
        """Add `amount`, which is not negative, to the counter with these values of its labels."""
        self.record(amount, labels)


class Gauge(Metric):
    """A number that rises and falls, summed over the running processes."""

    def add(self, amount: float, *labels: str) -> None:
        """Add `amount`, which may be negative, to the gauge with these values of the labels."""
        self.record(amount, labels)


class Histogram(Metric):
    """A distribution; `buckets` are inclusive upper bounds in ascending order."""

    def __init__(
        self, name: str, description: str, labels: Sequence[str] = (), *, buckets: Sequence[float]
    ) -> None:
        super().__init__(name, description, labels)
        self.buckets = tuple(buckets)

    def observe(self, value: float, *labels: str) -> None:
        """Record one value, with these values of the labels."""
        self.record(value, labels)


_metrics: list[Metric] = []


def export(exporter: Callable[[Metric], Record]) -> None:
    """Connect each metric created so far to what `exporter` returns for it, replacing an earlier exporter."""
    for metric in _metrics:
        metric.record = exporter(metric)


QUERIES = Counter("fll_questions_total", "Questions to the store.", ["kind"])
QUERY_CALLS = Counter("fll_question_calls_total", "Calls to the table that questions made.", ["kind"])
QUERY_ROWS = Counter("fll_question_rows_total", "Rows of the table that questions read.", ["kind"])
CACHE_HITS = Counter("fll_content_cache_hits_total", "Values that were in the content cache.")
CACHE_MISSES = Counter("fll_content_cache_misses_total", "Values that were not in the content cache.")

DOCUMENTS = Counter("fll_documents_total", "Documents and events that were recorded.", ["outcome"])
WARNINGS = Counter("fll_document_warnings_total", "Warnings about parts of documents that were recorded.")
PASSES = Counter("fll_commit_passes_total", "Passes of the commit protocol.")
RESTARTS = Counter("fll_commit_restarts_total", "Passes after which a run had to start over.")
GROUP_RUNS = Histogram(
    "fll_group_commit_runs", "Runs that one group commit recorded together.", buckets=(1, 2, 3, 4)
)

CONNECTIONS = Gauge("fll_store_connections_in_use", "Connections to HBase gateways that calls use.")
WAITING = Gauge("fll_store_connections_waiting", "Calls that wait for a connection to an HBase gateway.")
GATEWAY_FAILURES = Counter(
    "fll_gateway_failures_total", "Connections to HBase gateways that failed or broke."
)
