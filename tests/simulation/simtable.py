"""Table in memory that behaves as HBase does, at its worst.

A put of one row is whole; the rows of a batch land in any order, with anything between them; batches land one
after another. Scans come page by page. Stamps are those of the row's server, whose clock is wrong. A put
under a cell of a newer stamp, or under a delete, is acknowledged and reads back old.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from fll_hbase.runtime.errors import StoreUnavailable
from fll_hbase.tables import Batch, Cell, CellKey, Put, Row, Scan, Sync
from fll_hbase.tables.base import Columns
from tests.simulation.scheduler import Crash, Scheduler

SERVERS = 3
PAGE_ROWS = (1, 2, 3, 1000)


class SimTable:
    """A Table whose every step goes through the scheduler."""

    parallel_calls = 1

    def __init__(self, scheduler: Scheduler, *, skews_ms: Sequence[int] = ()) -> None:
        self._scheduler = scheduler
        self._rows: dict[bytes, Row] = {}
        self._keys: list[bytes] = []
        self._hidden: dict[tuple[bytes, bytes], int] = {}
        self._skews_ms = skews_ms or [scheduler.skew_ms() for _ in range(SERVERS)]
        self.on_put: Callable[[Put], None] = lambda put: None
        self.on_change: Callable[[bytes, Row], None] = lambda key, row: None

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        self._scheduler.step("get", row)
        return self._read(row, columns)

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        """In order of keys, so that a schedule does not depend on the hashes of this process."""
        rows_read = {}
        torn = self._scheduler.chance(self._scheduler.faults.torn)
        for number, key in enumerate(sorted(keys)):
            if torn or number == 0:
                self._scheduler.step("rows", key)
            if row := self._read(key, columns):
                rows_read[key] = row
        return rows_read

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        left = len(self._keys) + 1_000_000 if limit is None else limit
        page_rows = self._scheduler.random.choice(PAGE_ROWS)
        while left > 0:
            self._scheduler.step("scan", start)
            page = self._page(start, stop, columns, min(page_rows, left))
            yield from page
            if len(page) < page_rows:
                return
            left -= len(page)
            start = page[-1][0] + b"\x00"

    def scan_many(self, scans: Sequence[Scan]) -> list[list[tuple[bytes, Row]]]:
        """One scan after the other in any order: an engine may read several at once."""
        numbers = list(range(len(scans)))
        self._scheduler.random.shuffle(numbers)
        rows = {
            number: list(self.scan(start, stop, columns=columns, limit=limit))
            for number in numbers
            for start, stop, columns, limit in [scans[number]]
        }
        return [rows[number] for number in range(len(scans))]

    def splits(self, start: bytes, stop: bytes, *, parts: int) -> list[bytes]:
        within = [key for key in self._keys if start < key < stop]
        return within[:: max(len(within) // parts, 1)][: parts - 1]

    def delete(self, cells: Sequence[CellKey], *, until_ms: int) -> None:
        """One request, row by row; a fault between two of them leaves the rest."""
        self._scheduler.step("deletes", b"")
        with self._scheduler.sending():
            for row, same in groupby(sorted(cells), key=itemgetter(0)):
                self._scheduler.step("delete", row)
                for _, column in same:
                    self._hidden[row, column] = max(until_ms, self._hidden.get((row, column), until_ms))
                    cell = self._rows.get(row, {}).get(column)
                    if cell is not None and cell.stamp_ms <= until_ms:
                        del self._rows[row][column]
                self.on_change(row, self._rows.get(row, {}))
        self._scheduler.step("deleted", b"")

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        """Write the batches; an actor sleeps only between two, as a request is answered or given up soon."""
        remaining = iter(batches)
        while True:
            self._scheduler.step("writes", b"")
            batch = next(remaining, None)
            if batch is None:
                break
            with self._scheduler.sending():
                self._write(batch)
        self._scheduler.step("written", b"")

    def close(self) -> None:
        """Close nothing: there is nothing to close."""

    def everything(self) -> dict[bytes, Row]:
        """All rows as they are, without a step; for checks."""
        return self._rows

    def _write(self, batch: Batch) -> None:
        """One request: what of it had not landed at a fault may land now, later, or never."""
        waiting = [list(puts) for _, puts in groupby(sorted(batch), key=itemgetter(0))]
        self._scheduler.random.shuffle(waiting)
        while waiting:
            try:
                self._scheduler.step("put", waiting[-1][0].row)
            except (Crash, StoreUnavailable):
                self._abandon(waiting)
                raise
            puts = waiting.pop()
            self._land(puts)
            if self._scheduler.chance(self._scheduler.faults.ghost):
                self._fly(puts)

    def _abandon(self, waiting: Sequence[list[Put]]) -> None:
        for puts in waiting:
            if self._scheduler.chance(self._scheduler.faults.late):
                self._fly(puts)
            elif self._scheduler.chance(0.5):
                self._scheduler.note("lands yet", puts[0].row)
                self._land(puts)

    def _fly(self, puts: Sequence[Put]) -> None:
        self._scheduler.fly(puts[0].row, lambda: self._land(puts))

    def _land(self, puts: Sequence[Put]) -> None:
        row = self._row(puts[0].row)
        stamp_ms = self._scheduler.now_ms + self._skews_ms[hash_of(puts[0].row) % len(self._skews_ms)]
        for put in puts:
            if stamp_ms <= self._hidden.get((put.row, put.column), -1):
                continue
            old = row.get(put.column)
            if old is None or old.stamp_ms <= stamp_ms:
                row[put.column] = Cell(put.value, stamp_ms)
            self.on_put(put)
        self.on_change(puts[0].row, row)

    def _row(self, key: bytes) -> Row:
        if key not in self._rows:
            self._rows[key] = {}
            insort(self._keys, key)
        return self._rows[key]

    def _read(self, key: bytes, columns: Columns) -> Row:
        row = self._rows.get(key, {})
        if not columns:
            return dict(row)
        return {column: cell for column, cell in row.items() if _wanted(column, columns)}

    def _page(self, start: bytes, stop: bytes, columns: Columns, limit: int) -> list[tuple[bytes, Row]]:
        page: list[tuple[bytes, Row]] = []
        for index in range(bisect_left(self._keys, start), len(self._keys)):
            key = self._keys[index]
            if key >= stop or len(page) == limit:
                break
            if row := self._read(key, columns):
                page.append((key, row))
        return page


def hash_of(row: bytes) -> int:
    """Return a number of the row that is the same in every process; it selects its server."""
    return sum(row)


def _wanted(column: bytes, columns: Columns) -> bool:
    return column in columns or column[:2] in columns
