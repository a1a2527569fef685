"""What must an engine do: rows of cells, sorted by key, read and put."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple, Protocol, TypeAlias


class Cell(NamedTuple):
    """A value and its stamp, milliseconds since 1970 by the engine's clock when it was put."""

    value: bytes
    stamp_ms: int


class Put(NamedTuple):
    """One cell to write; `column` is `family:qualifier`."""

    row: bytes
    column: bytes
    value: bytes


class CellKey(NamedTuple):
    """Where a cell is."""

    row: bytes
    column: bytes


Row: TypeAlias = dict[bytes, Cell]
"""The cells of one row by column; a row without cells does not exist."""

Batch: TypeAlias = Sequence[Put]

Columns: TypeAlias = Collection[bytes]
"""Columns to read, by full name or by family, which is `family:` without a qualifier. None of them: all."""


class Sync(Enum):
    """When a write is durable: on return, or no later than the next write that is."""

    NOW = "now"
    LATER = "later"


class Table(Protocol):
    """An engine. Every method raises StoreUnavailable when the engine does not answer in bounded time.

    Threads may share a table; an iterator stays in the thread that made it.
    """

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        """One row's cells; empty where there is none of those columns."""

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        """Several rows by key, in one call; those without any of the columns are left out."""

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        """Rows from `start` (in) to `stop` (out) in key order, at most `limit`.

        Rows without any of the columns are passed over inside the engine and do not count.
        """

    def splits(self, start: bytes, stop: bytes, *, parts: int) -> list[bytes]:
        """Keys between `start` and `stop` (both out), sorted, that part the rows into ranges of like size.

        About `parts` ranges, or as many as the engine keeps apart itself.
        """

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        """Put all cells, each batch visible and as durable as `sync` says before the next begins.

        Batches are taken one by one, as late as the engine can; what is raised there ends the write. On
        StoreUnavailable the outcome is unknown: any number of whole batches, and any part of one more, may
        have landed or land yet. Putting the same cells again is safe.
        """

    def delete(self, cells: Sequence[CellKey], *, until_ms: int) -> None:
        """Remove those cells that were put at `until_ms` (in) or before; durable on return.

        It must lie well before now: HBase hides later puts of no later stamp too. On StoreUnavailable any of them
        may be gone; deleting again is safe.
        """

    def close(self) -> None:
        """Give back what the engine holds open; using the table afterwards is an error."""
