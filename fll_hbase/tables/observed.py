"""A table that counts the calls of each query and the rows that they read, and times them as spans."""

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
    """Calls and rows of one query, whose threads share it."""

    __slots__ = ("_lock", "calls", "rows")

    def __init__(self) -> None:
        self.calls = self.rows = 0
        self._lock = threading.Lock()

    def add(self, calls: int, rows: int) -> None:
        """Add a number of calls and of rows."""
        with self._lock:
            self.calls += calls
            self.rows += rows


_current: ContextVar[_Reads | None] = ContextVar("reads", default=None)


def counted(query: Callable[P, T]) -> Callable[P, T]:
    """Count calls of a query, and what each reads, by the name of the query, not those inside of another."""
    kind = query.__name__

    @wraps(query)
    def count(*args: P.args, **options: P.kwargs) -> T:
        """Call the query, count it in metrics if it is not inside of another one, and return its result."""
        if _current.get() is not None:
            return query(*args, **options)
        reads = _Reads()
        token = _current.set(reads)
        try:
            return query(*args, **options)
        finally:
            _current.reset(token)
            metrics.QUERIES.add(1, kind)
            # A query that the caches answer makes no calls.
            if reads.calls:
                metrics.QUERY_CALLS.add(reads.calls, kind)
                metrics.QUERY_ROWS.add(reads.rows, kind)

    return count


class ObservedTable:
    """Passes every call on to a table of any engine."""

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
        # Without a span: the rows are read while the caller works with those before.
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
        """Return what the table returns; neither counted nor a span."""
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
    """Count one call and its rows for the query of this context; nothing outside of a query."""
    reads = _current.get()
    if reads is not None:
        reads.add(1, rows)


def _counted_rows(rows: Iterator[tuple[bytes, Row]], reads: _Reads) -> Iterator[tuple[bytes, Row]]:
    """Yield the rows; at the end, also an early one, add one call and the rows yielded to `reads`."""
    count = 0
    try:
        for row in rows:
            count += 1
            yield row
    finally:
        # The engine's iterator ends with the one over it, as it would without.
        reads.add(1, count)
