"""Retention horizons of datasets, cached: runs started before a horizon may have been deleted.

Horizons come from the row of retention, and for purges of earlier releases from marks in catalogue rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from itertools import chain
from typing import NamedTuple

from cachetools import LRUCache

from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import Window
from fll_hbase.runtime.errors import in_row
from fll_hbase.store.components import Reader, StoreComponents
from fll_hbase.tables import Row

HORIZONS_MAX = 10_000
"""Maximum number of datasets with a cached horizon."""

LIFETIME_MS = 60_000
"""Lifetime of a cached horizon. Retention moves horizons once a day, and a catalogue row may be wide."""


class _Marks(NamedTuple):
    """The latest mark in the catalogue rows of a dataset, its names, and when both expire from the cache."""

    latest_ms: int
    names: tuple[Dataset, ...]
    until_ms: int


class HorizonReader(Reader):
    """Reads the horizons of datasets. Threads may share it; `clock` returns milliseconds since 1970.

    Methods raise StoreUnavailable and CorruptRow.
    """

    def __init__(self, components: StoreComponents, *, clock: Callable[[], int]) -> None:
        super().__init__(components)
        self._clock = clock
        self._cache: LRUCache[Dataset, _Marks] = LRUCache(HORIZONS_MAX)
        self._lock = threading.Lock()

    def retained_from_ms(self, dataset: Dataset, window: Window) -> int | None:
        """Return the horizon of a dataset, at most LIFETIME_MS old, if a window begins before it, else None.

        The horizon is the latest one under any name of the dataset, in milliseconds since 1970.
        """
        if window.empty:
            return None
        return _if_later(self.load([dataset])[dataset], window)

    def retained_with_ms(
        self, datasets: Iterable[Dataset], window: Window, retained_from_ms: int | None
    ) -> int | None:
        """Return the latest of a horizon from `retained_from_ms` and the horizons of more datasets.

        Returns None if the window is empty or does not begin before it. Reads nothing, and therefore knows
        only purges of this release.
        """
        horizons = self._requests.last_read()
        latest_ms = max(map(horizons.deleted_before_ms, {*datasets}), default=0)
        return _if_later(max(latest_ms, retained_from_ms or 0), window)

    def any_retained_from_ms(self, window: Window, may_read: Callable[[str], bool]) -> int | None:
        """Return the latest horizon (ms) of lists of runs if a window begins before it, else None.

        Requests for all readable datasets count, but no requests for single datasets.
        """
        return _if_later(self._requests.current().latest_ms(may_read), window)

    def load(self, datasets: Collection[Dataset]) -> dict[Dataset, int]:
        """Return the horizons of datasets (0 without one). Uncached marks are read in two calls."""
        now_ms = self._clock()
        with self._lock:
            cached = {dataset: self._cache.get(dataset) for dataset in datasets}
        marks = {dataset: item for dataset, item in cached.items() if item and now_ms < item.until_ms}
        missing = [dataset for dataset in cached if dataset not in marks]
        read = self._read(missing, until_ms=now_ms + LIFETIME_MS) if missing else {}
        with self._lock:
            self._cache.update(read)
        horizons = self._requests.current()
        return {
            dataset: max(item.latest_ms, *map(horizons.deleted_before_ms, item.names))
            for dataset, item in (marks | read).items()
        }

    def _read(self, datasets: Collection[Dataset], *, until_ms: int) -> dict[Dataset, _Marks]:
        """Return the marks of each dataset under all its names."""
        aliases = self._catalogue.aliases(datasets)
        names = {dataset: (dataset, *aliases.get(dataset, ())) for dataset in datasets}
        keys = dict.fromkeys(map(layout.dataset_row, chain(*names.values())))
        rows = self._table.rows(list(keys), columns=(layout.LIGHT,))
        latest = {key: _latest(key, row) for key, row in rows.items()}
        return {
            dataset: _Marks(max(latest.get(layout.dataset_row(name), 0) for name in listed), listed, until_ms)
            for dataset, listed in names.items()
        }


def _if_later(horizon_ms: int, window: Window) -> int | None:
    """Return a horizon if a window begins before it, else None."""
    return horizon_ms if not window.empty and window.start_ms < horizon_ms else None


def _latest(key: bytes, row: Row) -> int:
    """Return the latest horizon in a catalogue row, or 0 without one. Raises CorruptRow."""
    with in_row(key):
        return layout.latest_horizon_ms(row)
