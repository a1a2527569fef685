"""A table that notes which cells were written and deleted, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from fll_hbase.tables import Batch, CellKey, Sync, Table


class Step(NamedTuple):
    """A batch that was written, or the cells of one delete."""

    act: str
    cells: tuple[CellKey, ...]

    def has(self, prefix: bytes, column: bytes = b"") -> bool:
        """Whether any cell is in a row and a column that begin so."""
        return any(row.startswith(prefix) and name.startswith(column) for row, name in self.cells)


class Journal:
    """The table; `at_delete` is called with the cells of each delete before it, `at_write` after a batch."""

    def __init__(
        self,
        table: Table,
        *,
        at_delete: Callable[[Sequence[CellKey]], None] = lambda _: None,
        at_write: Callable[[], None] = lambda: None,
    ) -> None:
        self._table = table
        self._at_delete, self._at_write = at_delete, at_write
        self.steps: list[Step] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._table, name)

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        for batch in batches:
            self._table.write([batch], sync=sync)
            self.steps.append(Step("write", tuple(CellKey(put.row, put.column) for put in batch)))
            self._at_write()

    def delete(self, cells: Sequence[CellKey], *, until_ms: int) -> None:
        self._at_delete(cells)
        self._table.delete(cells, until_ms=until_ms)
        self.steps.append(Step("delete", tuple(cells)))
