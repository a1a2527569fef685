"""Retention by request: older runs are hidden at once, and a retention job deletes them later."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from fll_hbase.keys import layout, ranges
from fll_hbase.keys.retention import PURGE, REQUESTS_ROW, RetentionRequest, purge_columns, request_column
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.window import Window
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.components import StoreComponents
from fll_hbase.store.maintenance import garbage_collection, liveness
from fll_hbase.store.read.requested_horizons import decode_horizons, requests_in
from fll_hbase.store.read.run_reader import RunReader
from fll_hbase.store.rows import run_rows
from fll_hbase.tables import CellKey, Put, Table

COUNT_SHARE = 0.5
"""The share of a request's time for counting; the rest is for storing the request."""


@dataclass(frozen=True, slots=True)
class Affected:
    """How many runs a request affects; a lower bound if `truncated_by` names what ended the count."""

    runs: int
    truncated_by: tuple[str, ...] = ()


class RetentionRequests:
    """Counts and stores requests. Threads may share it; methods raise StoreUnavailable and CorruptRow."""

    def __init__(self, components: StoreComponents) -> None:
        self._components = components
        self._runs = RunReader(components)

    def count(self, request: RetentionRequest) -> Affected:
        """Return how many currently shown runs the request affects, within COUNT_SHARE of the time left.

        For a dataset, these read or wrote it. Raises NotFound for a dataset that was never recorded.
        """
        if request.dataset is not None:
            self._components.catalogue.require_dataset(request.dataset)
        with deadline.shared(COUNT_SHARE):
            if request.dataset is None:
                return self._count_runs(request)
            return self._count_of_dataset(request.dataset, request.before_ms)

    def put(self, request: RetentionRequest) -> None:
        """Store a request durably; an earlier request with a later time stays in force.

        A request for a dataset applies to all its names. Other processes use it within 10 s. Raises TooLarge.
        """
        dataset = request.dataset
        names: list[Dataset | None] = [dataset]
        if dataset is not None:
            names += self._components.catalogue.aliases([dataset]).get(dataset, ())
        requests = [request._replace(dataset=name) for name in names]
        self._components.table.write([[Put(REQUESTS_ROW, request_column(item), b"") for item in requests]])
        self._components.requests.forget()

    def _count_of_dataset(self, dataset: Dataset, before_ms: int) -> Affected:
        """Count the runs before a time that read or wrote a dataset, or 0 if the deadline passes."""
        try:
            counts = self._runs.run_counts(dataset, Window(0, before_ms), buckets=1)
        except DeadlineExceeded:
            return Affected(0, (deadline.limit(),))
        total = sum(bucket.complete + bucket.failed for bucket in counts.buckets)
        return Affected(total, counts.truncated_by)

    def _count_runs(self, request: RetentionRequest) -> Affected:
        """Count the shown runs before the time of a request; a lower bound if the deadline passes."""
        total = 0
        try:
            shown_from_ms = self._components.requests.current().default_ms
            for page in garbage_collection.pages(self._components.table, *ranges.prefix_range(layout.RUNS)):
                deadline.check()
                for key, row in page.items():
                    head = liveness.decode_head(key, run_rows.commit_value(row))
                    total += head is not None and shown_from_ms <= head.start_ms < request.before_ms
        except DeadlineExceeded:
            return Affected(total, (deadline.limit(),))
        return Affected(total)


def put_purge(table: Table, policy: RetentionPolicy) -> None:
    """Store, durably, the policy of a purge before it deletes runs, so that answers report missing runs."""
    table.write([[Put(REQUESTS_ROW, column, b"") for column in purge_columns(policy)]])


def remove_superseded(table: Table, *, until_ms: int) -> None:
    """Delete requests, put at `until_ms` or earlier, that a later request of the same dataset covers.

    All purges are merged into one, with the latest cut-offs.
    """
    row = table.get(REQUESTS_ROW)
    horizons = decode_horizons(row)
    superseded = {
        request_column(RetentionRequest(dataset, before_ms))
        for dataset, before_ms in requests_in(row)
        if before_ms < (horizons.datasets_ms[dataset] if dataset else horizons.default_ms)
    }
    if len(horizons.purges) > 1:
        merged = reduce(RetentionPolicy.merged, horizons.purges)
        put_purge(table, merged)
        superseded |= {column for column in row if column.startswith(PURGE)} - {*purge_columns(merged)}
    if superseded:
        table.delete([CellKey(REQUESTS_ROW, column) for column in sorted(superseded)], until_ms=until_ms)
