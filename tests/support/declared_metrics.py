"""The metrics that the imported modules declare."""

from __future__ import annotations

from fll_hbase.runtime import metrics
from fll_hbase.runtime.metrics import Metric, Record


def declared_metrics() -> list[Metric]:
    """Return every metric; each records as before."""
    all_metrics: list[Metric] = []

    def note(metric: Metric) -> Record:
        all_metrics.append(metric)
        return metric.record

    metrics.export(note)
    return all_metrics
