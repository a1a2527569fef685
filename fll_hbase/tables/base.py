"""The interface of storage engines: rows of cells, sorted by row key."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

K = TypeVar("K")


class Cell(NamedTuple):
    """A value and the time it was put: milliseconds since 1970 by the engine's clock."""

    value: bytes
    stamp_ms: int


class Put(NamedTuple):
    """One cell to write; `column` is `family:qualifier`."""

    row: bytes
    column: bytes
    value: bytes


class StampedPut(NamedTuple):
    """One cell to write with its own time: milliseconds since 1970."""

    row: bytes
    column: bytes
    value: bytes
    stamp_ms: int


class CellKey(NamedTuple):
    """Row key and column of a cell."""

    row: bytes
    column: bytes


Row: TypeAlias = dict[bytes, Cell]
"""The cells of one row by column; a row without cells does not exist."""

Batch: TypeAlias = Sequence[Put]

Columns: TypeAlias = Collection[bytes]
"""Columns to read: full names, or `family:` for a whole family. An empty collection reads all columns."""


class Scan(NamedTuple):
    """A range of rows to read, with the arguments of `Table.scan`."""

    start: bytes
    stop: bytes
    columns: Columns = ()
    limit: int | None = None


class Sync(Enum):
    """When a write is durable: on return, or no later than the next write with NOW."""

    NOW = "now"
    LATER = "later"


class Table(Protocol):
    """A storage engine. Methods raise StoreUnavailable if the engine does not answer in time.

    They raise CorruptRow for a damaged file, TooLarge for a cell that HBase refuses, ReadOnlyStore for a
    write without write access, and ConfigurationError for an absent or unsafe HBase table.

    Threads may share a table; an iterator must stay in the thread that created it. `parallel_calls` is how
    many calls one request should make at a time: 1 if the engine executes them one after another anyway.
    """

    parallel_calls: int

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        """Return the cells of one row, or {} if the row lacks all of the columns."""

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        """Return several rows by key in one call, leaving out rows that lack all of the columns."""

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        """Iterate over rows from `start` (included) to `stop` (excluded) in key order, at most `limit`.

        The engine skips rows that lack all of the columns, and does not count them.
        """

    def scan_many(self, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
        """Return the rows of each scan, in the order of `scans`; an engine may read several at once.

        All rows are in memory: callers must bound the number of scans, and the rows of each.
        """

    def splits(self, start: bytes, stop: bytes, *, parts: int) -> list[bytes]:
        """Return sorted keys between `start` and `stop` (both excluded) that split rows into similar ranges.

        Aims at `parts` ranges; an engine with its own partitions returns their boundaries.
        """

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        """Put all cells. Each batch is visible, and durable as `sync` requires, before the next one begins.

        Batches are consumed one by one, as late as the engine can. An exception from the iterable passes
        through, and earlier batches may stay written. On StoreUnavailable the outcome is unknown: any number
        of whole batches, and part of one more, may have been written or may still be. Putting the same cells
        again is safe.
        """

    def put_stamped(self, puts: Sequence[StampedPut]) -> None:
        """Put cells with their own times, each cell once, for copies of a store; durable on return.

        An engine may put one time after another. If a cell has a later time, readers may see either put. On
        HBase, if a cell with a later time was deleted, readers see neither until a major compaction. On
        StoreUnavailable any of the cells may be written; putting again is safe.
        """

    def delete(self, cells: Sequence[CellKey], *, until_ms: int) -> None:
        """Delete the cells that were put at `until_ms` or earlier; durable on return.

        `until_ms` must be well in the past: an HBase delete also hides later puts with an older stamp.
        On StoreUnavailable any of the cells may be deleted; deleting again is safe.
        """

    def close(self) -> None:
        """Close files and connections; the table must not be used afterwards."""


def read_rows(table: Table, keys: Mapping[bytes, K], *, columns: Columns = ()) -> dict[K, Row]:
    """Read rows with one call, or none without keys; return existing ones by their keys' values in `keys`."""
    rows = table.rows(list(keys), columns=columns) if keys else {}
    return {keys[key]: row for key, row in rows.items()}
