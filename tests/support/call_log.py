"""A table that notes each call, with what it asks for and how much it gets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fll_hbase.tables import Row
from fll_hbase.tables.base import Columns, Table
from tests.support.passing_table import Through


class Call(NamedTuple):
    """A read: its method, how many keys or rows it is about at most, and how many rows it returns."""

    method: str
    limit: int | None
    rows: int


class CallLog(Through):
    """Passes every call on, and notes the reads."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.calls: list[Call] = []

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        cells = super().get(row, columns=columns)
        self.calls.append(Call("get", 1, int(bool(cells))))
        return cells

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        rows = super().rows(keys, columns=columns)
        self.calls.append(Call("rows", len(keys), len(rows)))
        return rows

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        rows = list(super().scan(start, stop, columns=columns, limit=limit))
        self.calls.append(Call("scan", limit, len(rows)))
        return iter(rows)
