"""A table that passes every call on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fll_hbase.tables import Batch, CellKey, Row, Scan, Sync, Table
from fll_hbase.tables.base import Columns


class Through:
    """A table that passes every call on; mutants change one method."""

    parallel_calls = 1

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        return self._table.get(row, columns=columns)

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        return self._table.rows(keys, columns=columns)

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        return self._table.scan(start, stop, columns=columns, limit=limit)

    def scan_many(self, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
        """Each by `scan`, so that a mutant changes one method."""
        return [
            list(self.scan(start, stop, columns=columns, limit=limit))
            for start, stop, columns, limit in scans
        ]

    def splits(self, start: bytes, stop: bytes, *, parts: int) -> list[bytes]:
        return self._table.splits(start, stop, parts=parts)

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        self._table.write(self.changed(list(batches)), sync=sync)

    def delete(self, cells: Sequence[CellKey], *, until_ms: int) -> None:
        self._table.delete(cells, until_ms=until_ms)

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        return batches

    def close(self) -> None:
        self._table.close()
