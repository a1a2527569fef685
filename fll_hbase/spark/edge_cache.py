"""Cache of the edges of contents: nightly runs repeat a few contents, whose edges are computed once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

from cachetools import LRUCache

from fll_hbase.spark.arrow_batches import Row

CACHED_EDGES_MAX, CACHED_CONTENT_EDGES_MAX = 200_000, 10_000
"""Edges in a cache, and those of one content; larger contents are computed each time."""


class EdgeCache:
    """Columns of edges by key, for one task. For one thread."""

    def __init__(self) -> None:
        self._rows: LRUCache[Hashable, list[Row]] = LRUCache(
            CACHED_EDGES_MAX, getsizeof=lambda rows: len(rows) + 1
        )

    def rows(self, key: Hashable, compute: Callable[[], Iterable[Row] | None]) -> Iterable[Row]:
        """Return the rows of the key, computed unless they are cached; none if `compute` returns None."""
        cached: list[Row] | None = self._rows.get(key)
        if cached is not None:
            return cached
        computed = compute()
        return () if computed is None else self._fill(key, computed)

    def _fill(self, key: Hashable, computed: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows as they are computed; caches them after the last if they are few."""
        rows: list[Row] = []
        for row in computed:
            if len(rows) <= CACHED_CONTENT_EDGES_MAX:
                rows.append(row)
            yield row
        if len(rows) <= CACHED_CONTENT_EDGES_MAX:
            self._rows[key] = rows
