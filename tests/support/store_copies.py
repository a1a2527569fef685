"""Stores to copy, tables that fail after some writes, and what a copy has in common with its source."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

from fll_hbase.keys import layout, ranges
from fll_hbase.runtime.errors import StoreUnavailable
from fll_hbase.store.copying import progress
from fll_hbase.store.copying.store_copy import CopyReport, CopyRequest, copy_store
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Batch, CellKey, StampedPut, Sync, Table, open_table
from tests.support.retained_histories import ALWAYS, cells, listed, related

SOURCE = "sqlite:////source.db"
HOUR_MS = 3_600_000


def in_memory() -> Table:
    return open_table("sqlite:///:memory:")


def copied(source: Table, target: Table, **options: int) -> CopyReport:
    request = CopyRequest(SOURCE, grace_ms=HOUR_MS, **options)  # type: ignore[arg-type]
    return copy_store(source, target, request, report=lambda *_: None)


def stored(table: Table) -> set[tuple[bytes, bytes, bytes]]:
    """All cells but the progress of a copy."""
    return {cell for cell in cells(table) if cell[0] != progress.ROW}


def stamped_catalogue(table: Table) -> dict[tuple[bytes, bytes], int]:
    """The times of the cells of catalogue rows."""
    return {
        (key, column): cell.stamp_ms
        for key, row in table.scan(layout.DATASETS, b"e}")
        for column, cell in row.items()
    }


def answers(table: Table) -> list[object]:
    """Questions about every dataset of a store, and about each of its fields."""
    store = LineageStore(table)
    results: list[object] = []
    for namespace in store.catalogue.namespaces():
        for entry in store.catalogue.datasets(namespace):
            dataset = entry.dataset
            results += [entry, listed(store, dataset), related(store, dataset)]
            results += [store.catalogue.fields(dataset), store.retained_from_ms(dataset, ALWAYS)]
    return results


class Failing:
    """A table whose writes fail after so many of them; half of the puts of the last one are written."""

    def __init__(self, table: Table, writes: int) -> None:
        self._table = table
        self._numbers = itertools.count()
        self._writes = writes

    def __getattr__(self, name: str) -> object:
        return getattr(self._table, name)

    def write(self, batches: Iterable[Batch], *, sync: Sync = Sync.NOW) -> None:
        for batch in batches:
            self._attempt(batch, lambda part: self._table.write([part]))

    def put_stamped(self, puts: Sequence[StampedPut]) -> None:
        self._attempt(puts, self._table.put_stamped)

    def delete(self, keys: Sequence[CellKey], *, until_ms: int) -> None:
        self._attempt(keys, lambda part: self._table.delete(part, until_ms=until_ms))

    def _attempt(self, items: Sequence[object], act: Callable[..., None]) -> None:
        if next(self._numbers) == self._writes:
            # A row is put as a whole by every engine.
            first_rows = {item[0] for item in items[: len(items) // 2]}  # type: ignore[index]
            part = [item for item in items if item[0] in first_rows]  # type: ignore[index]
            if part:
                act(part)
            raise StoreUnavailable("killed")
        act(items)


def read_everything(table: Table) -> None:
    """Every run that a store shows has its content."""
    store = LineageStore(table)
    for key, _ in table.scan(layout.RUNS, b"r}"):
        run = ranges.run_of(key)
        if LineageStore(table).components.events.run_details([run]):
            store.run_with_content(*run)
