"""Counts of the runs of a window, in parts of equal length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import msgspec

from fll_hbase.queries.parameters import About
from fll_hbase.queries.query import FIELD_HELP, Answer, Body, DatasetQuery, Windowed
from fll_hbase.queries.tables import TableShape, member_rows
from fll_hbase.queries.time_window import short_seconds
from fll_hbase.store.lineage_store import LineageStore

BUCKETS_MAX = 1_000


class RunBucket(Body, frozen=True, kw_only=True):
    """The runs that start between `start`, in epoch seconds, and the next bucket."""

    start: int | float
    complete: Annotated[int, msgspec.Meta(description="Runs that neither failed nor were aborted")]
    failed: int


class RunCountsAnswer(Body, frozen=True, kw_only=True):
    """Counts of the runs of a window, the oldest part first."""

    buckets: tuple[RunBucket, ...]
    truncated: bool
    truncated_by: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RunCounts(Windowed, DatasetQuery[RunCountsAnswer]):
    """Count the runs that read or wrote a dataset, over the window.

    The buckets divide the window evenly; there are fewer than `buckets` if it has fewer milliseconds. Every
    run of the window is read.

    >>> [bucket.complete for bucket in client.run_counts("bank", "RiskScores", buckets=3).body.buckets]
    [19, 19, 20]
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints/{name}/runs/counts"
    result: ClassVar[str] = "The oldest bucket first"
    table: ClassVar[TableShape] = TableShape(("start", "complete", "failed"), member_rows("buckets"))

    buckets: Annotated[int, About("Parts of the window", minimum=1, maximum=BUCKETS_MAX)] = 30
    field: Annotated[str, About(FIELD_HELP, minimum=1)] = ""

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[RunCountsAnswer]:
        """Return the counts. Raises NotFound for names that were never recorded."""
        window = self.window(now_ms)
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        counts = store.run_counts(self.dataset, window, buckets=self.buckets, field=self.field)
        body = RunCountsAnswer(
            buckets=tuple(
                RunBucket(
                    start=short_seconds(bucket.start_ms), complete=bucket.complete, failed=bucket.failed
                )
                for bucket in counts.buckets
            ),
            truncated=bool(counts.truncated_by),
            truncated_by=counts.truncated_by,
        )
        return Answer(body, window, retained_from_ms, counts.truncated_by)
