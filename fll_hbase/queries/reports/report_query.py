"""The query of a report: its field and window, and the queries of its parts."""

from __future__ import annotations

from dataclasses import dataclass

from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.read.reach_walk import ReachQuery


@dataclass(frozen=True, slots=True)
class ReportQuery:
    """The field and the window of a report.

    Without `causal`, runs count whatever their order is. `limit` is the number of runs on a page, and
    `start_after` the reference tail of the last run of the page before.
    """

    field: DatasetField
    window: Window
    causal: bool = True
    failed: bool = False
    limit: int = 1_000
    start_after: bytes = b""

    def reach(self, direction: Direction, *, indirect: bool) -> ReachQuery:
        """Return the query for what is within reach of the field."""
        return ReachQuery(
            self.field,
            self.window,
            direction,
            causal=self.causal,
            indirect=indirect,
            failed=self.failed,
            # The paths over direct edges alone only say which fields are derived directly.
            counts=indirect,
        )


def horizon_member(store: LineageStore, query: ReportQuery) -> Json:
    """Return the retention horizon of the dataset in milliseconds, if the window begins before it."""
    retained_from_ms = store.retained_from_ms(query.field.dataset, query.window)
    return {} if retained_from_ms is None else {"retainedFrom": retained_from_ms}
