"""Endpoints of contents: the datasets that a content reads and writes, from its row, cached."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from cachetools import LRUCache

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import Direction
from fll_hbase.runtime.errors import CorruptRow, in_row
from fll_hbase.tables import Row, Table

CACHED_CONTENTS_MAX = 100_000
"""Maximum number of contents whose endpoints are cached."""


@dataclass(frozen=True, slots=True)
class ContentEndpoints:
    """The datasets that a content reads (sources) and writes (destinations)."""

    checksum: str
    # The checksum identifies the content. The hash is computed for every run, as key of a cache of prefixes.
    sources: tuple[Dataset, ...] = field(hash=False)
    destinations: tuple[Dataset, ...] = field(hash=False)

    def by_direction(self) -> Iterator[tuple[Direction, Dataset]]:
        """Yield (backward, dataset) for each destination, then (forward, dataset) for each source."""
        for dataset in self.destinations:
            yield Direction.BACKWARD, dataset
        for dataset in self.sources:
            yield Direction.FORWARD, dataset


@dataclass(frozen=True, slots=True)
class EndpointKeys:
    """A dataset that a content reads or writes, with the key prefixes of its references and ways.

    References of runs that started before `horizon_ms` (milliseconds since 1970) may have been purged.
    """

    dataset: Dataset
    references: bytes
    ways: bytes
    horizon_ms: int


Horizons: TypeAlias = Callable[[Collection[Dataset]], Mapping[Dataset, int]]
"""Returns the horizon of each dataset in milliseconds since 1970, or 0 if there is none."""


def decode_endpoints(key: bytes, row: Row) -> ContentEndpoints:
    """Return the datasets that a content row names, with its checksum. Raises CorruptRow."""
    with in_row(key):
        return ContentEndpoints(
            ranges.checksum_of(key), _datasets(row, layout.SOURCES), _datasets(row, layout.DESTINATIONS)
        )


def read_endpoints(table: Table, keys: Iterable[bytes]) -> dict[bytes, ContentEndpoints | CorruptRow]:
    """Read the endpoints of content rows in one call, and return them by row key.

    Missing rows are left out; an unreadable row has its error as value.
    """
    # Errors are values: an audit reports an unreadable row and continues, while garbage collection raises it.
    keys = list(keys)
    rows = table.rows(keys, columns=(layout.SOURCES, layout.DESTINATIONS)) if keys else {}
    endpoints: dict[bytes, ContentEndpoints | CorruptRow] = {}
    for key, row in rows.items():
        try:
            endpoints[key] = decode_endpoints(key, row)
        except CorruptRow as error:
            endpoints[key] = error
    return endpoints


def readable_endpoints(table: Table, checksums: Iterable[str]) -> dict[str, ContentEndpoints]:
    """Return, by checksum, the endpoints of the contents that exist and can be read, in one call."""
    read = read_endpoints(table, [layout.content_row(checksum) for checksum in sorted(checksums)])
    return {item.checksum: item for item in read.values() if isinstance(item, ContentEndpoints)}


class EndpointCache:
    """Endpoints of many contents with the horizons of their datasets, for one scan in one thread."""

    def __init__(self, table: Table, horizons: Horizons) -> None:
        self._table = table
        self._horizons = horizons
        self._keys: LRUCache[bytes, tuple[EndpointKeys, ...]] = LRUCache(CACHED_CONTENTS_MAX)

    def read(self, keys: Iterable[bytes]) -> dict[bytes, tuple[EndpointKeys, ...] | CorruptRow]:
        """Return endpoints by content row, leaving out missing rows; unreadable rows have their error."""
        keys = set(keys)
        cached = {key: hit for key in keys if (hit := self._keys.get(key)) is not None}
        stored = read_endpoints(self._table, sorted(keys - cached.keys()))
        readable = {key: read for key, read in stored.items() if isinstance(read, ContentEndpoints)}
        horizons = self._horizons(
            {dataset for read in readable.values() for _, dataset in read.by_direction()}
        )
        decoded = {
            key: tuple(
                EndpointKeys(
                    dataset,
                    layout.reference_prefix(direction, dataset),
                    calendars.ways_prefix(direction, dataset),
                    horizons[dataset],
                )
                for direction, dataset in read.by_direction()
            )
            for key, read in readable.items()
        }
        # Missing and unreadable rows are not cached: a writer may put them before the next page.
        self._keys.update(decoded)
        # Use `decoded` instead of the cache, which may already have evicted some entries.
        errors = {key: read for key, read in stored.items() if isinstance(read, CorruptRow)}
        return {**cached, **decoded, **errors}


def _datasets(row: Row, column: bytes) -> tuple[Dataset, ...]:
    """Return the datasets in a column of a content row. Raises CorruptRow, even for a missing column."""
    try:
        pairs = json.loads(row[column].value)
        "".join(text for pair in pairs for text in pair).encode()  # raises ValueError for lone surrogates
        return tuple(Dataset(namespace, name) for namespace, name in pairs)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptRow(f"{column!r} of a content row is not a list of datasets") from error
