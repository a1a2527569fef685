"""Horizons of retention requests, which hide older runs from queries, and of purges, which deleted runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from fll_hbase.keys.retention import (
    REQUEST,
    REQUESTS_ROW,
    RetentionRequest,
    parse_purges,
    parse_request,
)
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.retention_policy import NEVER_MS, RetentionPolicy
from fll_hbase.model.window import Window
from fll_hbase.runtime.errors import in_row
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.tables import Row, Table

LIFETIME_MS = 10_000
"""How long a process relies on its last read, unless it made a request itself."""


@dataclass(frozen=True, slots=True)
class Horizons:
    """The latest requested times of all datasets, and of single datasets, in milliseconds since 1970.

    `purges` are the policies under which runs were deleted.
    """

    default_ms: int = NEVER_MS
    datasets_ms: Mapping[Dataset, int] = field(default_factory=dict)
    purges: tuple[RetentionPolicy, ...] = ()

    def horizon_ms(self, dataset: Dataset) -> int:
        """Return the time before which a dataset's runs are hidden, or 0 without a request."""
        return max(self.default_ms, self.datasets_ms.get(dataset, NEVER_MS))

    def deleted_before_ms(self, dataset: Dataset) -> int:
        """Return the time before which a dataset's runs are hidden or may have been deleted, else 0."""
        return max(self.horizon_ms(dataset), *(purge.cutoff_ms(dataset) for purge in self.purges), NEVER_MS)

    def latest_ms(self, may_read: Callable[[str], bool]) -> int:
        """Return the time before which runs of any readable dataset may have been deleted, else 0.

        Ignores requests for single datasets, which hide no runs from lists of all runs.
        """
        cutoffs_ms = [self.default_ms]
        for purge in self.purges:
            cutoffs_ms.append(purge.default_ms)
            cutoffs_ms += [ms for name, ms in purge.namespaces_ms.items() if may_read(name)]
            cutoffs_ms += [ms for dataset, ms in purge.datasets_ms.items() if may_read(dataset.namespace)]
        return max(cutoffs_ms)

    def merged_with(self, policy: RetentionPolicy) -> RetentionPolicy:
        """Return a policy with the later cut-offs of `policy` and the requested times."""
        datasets_ms = {dataset: self.horizon_ms(dataset) for dataset in self.datasets_ms}
        return policy.merged(RetentionPolicy(self.default_ms, {}, datasets_ms))


def decode_horizons(row: Row) -> Horizons:
    """Return the latest requests and all purges in the row of retention. Raises CorruptRow."""
    default_ms = NEVER_MS
    datasets_ms: dict[Dataset, int] = {}
    with in_row(REQUESTS_ROW):
        for request in requests_in(row):
            if request.dataset is None:
                default_ms = max(default_ms, request.before_ms)
            else:
                datasets_ms[request.dataset] = max(
                    datasets_ms.get(request.dataset, NEVER_MS), request.before_ms
                )
        purges = tuple(parse_purges(row).values())
    return Horizons(default_ms, datasets_ms, purges)


def requests_in(columns: Iterable[bytes]) -> list[RetentionRequest]:
    """Return the requests of a row, ignoring columns unknown to this release. Raises CorruptRow."""
    return [parse_request(column) for column in columns if column.startswith(REQUEST)]


def read_horizons(table: Table) -> Horizons:
    """Read all requested horizons and all purges. Raises CorruptRow and StoreUnavailable."""
    return decode_horizons(table.get(REQUESTS_ROW))


class RequestedHorizons:
    """Restricts queries to the runs that requests leave. Threads may share it; reads a row every LIFETIME_MS.

    `clock` returns milliseconds since 1970.
    """

    def __init__(self, table: Table, *, clock: Callable[[], int]) -> None:
        self._table = table
        self._clock = clock
        self._lock = threading.Lock()
        self._read = Horizons(), 0

    def current(self) -> Horizons:
        """Return the horizons, at most LIFETIME_MS old. Raises CorruptRow and StoreUnavailable."""
        now_ms = self._clock()
        with self._lock:
            horizons, until_ms = self._read
        if now_ms >= until_ms:
            horizons = read_horizons(self._table)
            with self._lock:
                self._read = horizons, now_ms + LIFETIME_MS
        return horizons

    def last_read(self) -> Horizons:
        """Return the horizons as last read, for the end of a query that began with `current`."""
        with self._lock:
            return self._read[0]

    def forget(self) -> None:
        """Make the next query read the row again, because this process has written it."""
        with self._lock:
            self._read = self._read[0], 0

    def restrict(self, query: WindowQuery) -> WindowQuery:
        """Return the query for what requests leave of its window. Raises CorruptRow and StoreUnavailable."""
        window = restrict_window(query.window, self.current().horizon_ms(query.dataset))
        return query if window is query.window else replace(query, window=window)


def restrict_window(window: Window, horizon_ms: int) -> Window:
    """Return the part of a window from the horizon on, maybe empty, or the same object if that is all."""
    if window.start_ms >= horizon_ms:
        return window
    return window.within(horizon_ms, window.stop_ms)
