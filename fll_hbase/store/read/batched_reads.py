"""Batched reads: queries run side by side, and one call reads what all of them need next.

A query is a generator that yields its next read and receives the rows. The number of calls depends on the
query with the most steps, not the number of queries.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Generic, TypeAlias, TypeVar, cast

from fll_hbase.keys import layout
from fll_hbase.store.read.content_cache import ContentCache
from fll_hbase.tables import Row, Scan, Table
from fll_hbase.tables.base import Columns

T = TypeVar("T")

BATCH_ROWS_MAX = 1_000
"""Maximum number of rows per call of `RowKeys`, except that a single query may read more."""


@dataclass(frozen=True, slots=True)
class RowKeys:
    """Rows to read by key, by default their light columns. The query receives the existing rows by key."""

    keys: Collection[bytes]
    columns: Columns = (layout.LIGHT,)


@dataclass(frozen=True, slots=True)
class Contents:
    """Checksums of contents whose field maps to read into the cache. The query receives nothing."""

    checksums: Collection[str]


@dataclass(frozen=True, slots=True)
class Alone:
    """A wait, for a query that needs much memory, until all other queries have ended or wait, too."""


_Request: TypeAlias = Scan | RowKeys | Contents | Alone

Reads: TypeAlias = Generator[_Request, Any, T]
"""A query whose result is a T. For a `Scan` it receives a list of pairs of a key and a row."""


@dataclass(frozen=True, slots=True)
class _Result(Generic[T]):
    value: T


class BatchedReader:
    """Runs queries over a table. Threads may share it."""

    def __init__(self, table: Table, contents: ContentCache) -> None:
        self._table = table
        self._contents = contents

    def run(self, queries: Sequence[Reads[T]]) -> list[T]:
        """Run all queries side by side and return their results in order. Raises the first error."""
        steps = [_advance(query, None) for query in queries]
        while batch := _next_batch(steps):
            received = self._read([cast(_Request, steps[number]) for number in batch])
            for number, rows in zip(batch, received, strict=True):
                steps[number] = _advance(queries[number], rows)
        return [cast(_Result[T], step).value for step in steps]

    def _read(self, requests: Sequence[_Request]) -> Sequence[object]:
        """Return the answer to each request, None for `Contents` and `Alone`; all must be of one kind."""
        if isinstance(requests[0], Scan):
            return self._table.scan_many(cast(Sequence[Scan], requests))
        if isinstance(requests[0], RowKeys):
            return self._rows(cast(Sequence[RowKeys], requests))
        contents = (request for request in requests if isinstance(request, Contents))
        self._contents.load({checksum for request in contents for checksum in request.checksums})
        return [None] * len(requests)

    def _rows(self, requests: Sequence[RowKeys]) -> list[dict[bytes, Row]]:
        """Return the existing rows of each request by key, with one call per set of columns."""
        keys: dict[Columns, dict[bytes, None]] = {}
        for request in requests:
            keys.setdefault(request.columns, {}).update(dict.fromkeys(request.keys))
        read = {columns: self._table.rows(list(wanted), columns=columns) for columns, wanted in keys.items()}
        return [
            {key: read[request.columns][key] for key in request.keys if key in read[request.columns]}
            for request in requests
        ]


def _advance(query: Reads[T], received: object) -> _Request | _Result[T]:
    """Return the next read of a query, or its result."""
    try:
        return query.send(received)
    except StopIteration as end:
        return _Result(end.value)


def _next_batch(steps: Sequence[_Request | _Result[T]]) -> list[int]:
    """Return the numbers of the queries that read next, all of one kind, or [] when all have results.

    Scans come first, then rows, contents, and a single `Alone`. Queries of rows take turns: the first of them
    with at most BATCH_ROWS_MAX rows in all, or one.
    """
    # Rows wait until no query scans, and contents until no query reads rows, so that one call reads for all.
    for kind in (Scan, RowKeys, Contents, Alone):
        numbers = [number for number, step in enumerate(steps) if isinstance(step, kind)]
        if kind is RowKeys and numbers:
            sizes = accumulate(len(cast(RowKeys, steps[number]).keys) for number in numbers)
            within = [number for number, size in zip(numbers, sizes, strict=True) if size <= BATCH_ROWS_MAX]
            return within or numbers[:1]
        if numbers:
            return numbers[:1] if kind is Alone else numbers
    return []
