"""Retention horizons of datasets, cached: runs that started before may have been deleted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from itertools import chain

from cachetools import LRUCache

from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import Window
from fll_hbase.runtime.errors import in_row
from fll_hbase.store.components import Reader, StoreComponents
from fll_hbase.tables import Row

HORIZONS_MAX = 10_000
"""Datasets whose horizon is cached."""

LIFETIME_MS = 60_000
"""How long a horizon is cached. Retention moves horizons once a day; a catalogue row may be wide."""


class HorizonReader(Reader):
    """Reads the horizons of datasets. Threads may share it; `clock` returns milliseconds since 1970."""

    def __init__(self, components: StoreComponents, *, clock: Callable[[], int]) -> None:
        super().__init__(components)
        self._clock = clock
        self._cache: LRUCache[Dataset, tuple[int, int]] = LRUCache(HORIZONS_MAX)
        self._lock = threading.Lock()

    def retained_from_ms(self, dataset: Dataset, window: Window) -> int | None:
        """Return the horizon of a dataset if a window begins before it, else None; at most LIFETIME_MS old.

        The latest of the horizons under all its names, in milliseconds since 1970.
        """
        if window.empty:
            return None
        horizon_ms = self.load([dataset])[dataset]
        return horizon_ms if window.start_ms < horizon_ms else None

    def load(self, datasets: Collection[Dataset]) -> dict[Dataset, int]:
        """Return the horizons of datasets, 0 without one; those that are not cached are read in two calls."""
        now_ms = self._clock()
        with self._lock:
            cached = {dataset: self._cache.get(dataset, (0, 0)) for dataset in datasets}
        horizons = {dataset: horizon_ms for dataset, (horizon_ms, until) in cached.items() if now_ms < until}
        missing = [dataset for dataset in cached if dataset not in horizons]
        read = self._read(missing) if missing else {}
        with self._lock:
            self._cache.update({dataset: (ms, now_ms + LIFETIME_MS) for dataset, ms in read.items()})
        requested = self._requests.current()
        return {dataset: max(ms, requested.horizon_ms(dataset)) for dataset, ms in (horizons | read).items()}

    def _read(self, datasets: Collection[Dataset]) -> dict[Dataset, int]:
        """Return the latest horizon of each dataset under all its names, 0 without one."""
        aliases = self._catalogue.aliases(datasets)
        keys = {
            dataset: [layout.dataset_row(name) for name in (dataset, *aliases.get(dataset, ()))]
            for dataset in datasets
        }
        rows = self._table.rows(list(dict.fromkeys(chain(*keys.values()))), columns=(layout.LIGHT,))
        latest = {key: _latest(key, row) for key, row in rows.items()}
        return {dataset: max(latest.get(key, 0) for key in names) for dataset, names in keys.items()}


def _latest(key: bytes, row: Row) -> int:
    """Return the latest horizon in a catalogue row, 0 without one. Raises CorruptRow."""
    with in_row(key):
        return layout.latest_horizon_ms(row)
