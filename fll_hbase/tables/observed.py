"""A table that counts the calls of each query and the rows they read, and records calls as spans."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

from fll_hbase.runtime import metrics, tracing
from fll_hbase.tables.base import Batch, CellKey, Columns, Row, Scan, StampedPut, Sync, Table

P = ParamSpec("P")
T = TypeVar("T")


class _Reads:
    """Calls and rows of one query, shared by its threads."""

    __slots__ = ("_lock", "calls", "rows")

    def __init__(self) -> None:
        self.calls = self.rows = 0
        self._lock = threading.Lock()

    def add(self, calls: int, rows: int) -> None:
        """Add numbers of calls and rows."""
        with self._lock:
            self.calls += calls
            self.rows += rows


_current: ContextVar[_Reads | None] = ContextVar("reads", default=None)


def counted(query: Callable[P, T]) -> Callable[P, T]:
    """Decorate a query to count it, its calls to the table and the rows they read, by the query's name.

    A query that raises an error is counted, too. A query that runs inside another one is not counted, and
    its calls and rows count for the outer one.
    """
    kind = query.__name__

    @wraps(query)
    def count(*args: P.args, **options: P.kwargs) -> T:
        """Call the query and return its result; count it in metrics unless it runs inside another query."""
        if _current.get() is not None:
            return query(*args, **options)
        reads = _Reads()
        token = _current.set(reads)
        try:
            return query(*args, **options)
        finally:
            _current.reset(token)
            metrics.QUERIES.add(1, kind)
            # A query answered from caches makes no calls.
            if reads.calls:
                metrics.QUERY_CALLS.add(reads.calls, kind)
                metrics.QUERY_ROWS.add(reads.rows, kind)

    return count


class ObservedTable:
    """Passes every call on to a table of any engine, counting reads."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.parallel_calls = table.parallel_calls

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        """Return what the table returns; count one call, and one row if it is not empty."""
        with tracing.span("table.get"):
            answer = self._table.get(row, columns=columns)
        _count(1 if answer else 0)
        return answer

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        """Return what the table returns; count one call and its rows."""
        with tracing.span("table.rows"):
            answer = self._table.rows(keys, columns=columns)
        _count(len(answer))
        return answer

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        """Return the table's iterator, counted when it ends: one call and the rows read, without a span."""
        # Do not record a span, because the caller processes rows while the scan continues.
        rows = self._table.scan(start, stop, columns=columns, limit=limit)
        reads = _current.get()
        return rows if reads is None else _counted_rows(rows, reads)

    def scan_many(self, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
        """Return what the table returns; count one call for all scans, and their rows."""
        with tracing.span("table.scan_many"):
            pages = self._table.scan_many(scans)
        _count(sum(map(len, pages)))
        return pages

    def splits(self, start: bytes, stop: bytes, *, parts: int) -> list[bytes]:
        """Return what the table returns, without counting it or recording a span."""
        return self._table.splits(start, stop, parts=parts)

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        """Write to the table, as a span."""
        with tracing.span("table.write"):
            self._table.write(batches, sync=sync)

    def put_stamped(self, puts: Sequence[StampedPut]) -> None:
        """Put stamped cells into the table, as a span."""
        with tracing.span("table.put_stamped"):
            self._table.put_stamped(puts)

    def delete(self, cells: Sequence[CellKey], *, until_ms: int) -> None:
        """Delete cells of the table, as a span."""
        with tracing.span("table.delete"):
            self._table.delete(cells, until_ms=until_ms)

    def close(self) -> None:
        """Close the table."""
        self._table.close()


def _count(rows: int) -> None:
    """Count one call and its rows for the query of this context; do nothing outside a query."""
    reads = _current.get()
    if reads is not None:
        reads.add(1, rows)


def _counted_rows(rows: Iterator[tuple[bytes, Row]], reads: _Reads) -> Iterator[tuple[bytes, Row]]:
    """Yield the rows and finally, even if stopped early, add one call and the yielded rows to `reads`."""
    count = 0
    try:
        for row in rows:
            count += 1
            yield row
    finally:
        # Nothing to close: the engine's iterator ends together with this one.
        reads.add(1, count)
