"""What if one rule of the protocol were dropped: stores that are broken on purpose, one rule each.

Most are the real store over a table that changes what passes through, so that they outlive its refactoring.

That a pass looks again at its end is not among them: since it asks the clock before each batch, only a purge
of the very run that it writes can come between, and hardly any schedule has both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from fll_hbase.errors import LineageError
from fll_hbase.keys import layout
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.runs import RecordedRun
from fll_hbase.store import run_rows
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.read.window_query import WindowQuery, WindowReader
from fll_hbase.store.run_rows import CommittedRun
from fll_hbase.store.write.commit import RunCommitter
from fll_hbase.store.write.pending_run import CommitResult
from fll_hbase.tables import Batch, CellKey, Put, Row, Sync, Table
from fll_hbase.tables.base import Columns

from .simulation import Make, Sweep, open_store

REFERENCES = (b"b|", b"f|")


class Through:
    """A table that passes everything on; mutants change one method."""

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


class TruthBeforeReferences(Through):
    """Says what is true before it can be found."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        return sorted(batches, key=lambda batch: not any(map(_is_truth, batch)))


class CatalogueAfterData(Through):
    """Others find the content there, and rely on a catalogue that is not."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        return sorted(batches, key=lambda batch: any(put.row.startswith(layout.DATASETS) for put in batch))


class DataAfterTruth(Through):
    """References and truths name content that is still to come."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._held: list[Put] = []

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        kept = [[put for put in batch if not _is_data(put)] for batch in batches]
        self._held += [put for batch in batches for put in batch if _is_data(put)]
        if not any(map(_is_truth, (put for batch in kept for put in batch))):
            return kept
        held, self._held = self._held, []
        return [*kept, held]


class OneTruthCell(Through):
    """The last writer wins, however late it comes."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        only = layout.commit_column(0, "")
        return [[put._replace(column=only) if _is_truth(put) else put for put in batch] for batch in batches]


class NumberlessDocuments(Through):
    """Of two documents the greater digest counts, whichever came first."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        return [[self._numberless(put) for put in batch] for batch in batches]

    def _numberless(self, put: Put) -> Put:
        if not put.column.startswith(layout.DOCUMENT):
            return put
        return put._replace(column=layout.document_column(1, put.column.rpartition(b"|")[2].decode()))


class IndexRowsOnce(Through):
    """An index row that exists is not put again; a reader may hold it for dead by now."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        return [[put for put in batch if not self._exists(put)] for batch in batches]

    def _exists(self, put: Put) -> bool:
        return put.row.startswith(b"i|") and put.column in self._table.get(put.row)


class RunRowsOnce(Through):
    """A reader that keeps run rows, as though they were as immutable as content."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._kept: dict[bytes, Row] = {}

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        self._kept |= self._table.rows([key for key in keys if key not in self._kept], columns=columns)
        return {key: self._kept[key] for key in keys if key in self._kept}


class WitnessesAlone(Through):
    """A reader that takes an index row for dead where its witness is, and looks at no reference."""

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        if columns and start.startswith(REFERENCES):
            return iter(())
        return super().scan(start, stop, columns=columns, limit=limit)


class DocumentsAreTruths(Through):
    """A reader that believes what was said, though no pass has finished saying it."""

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        found = self._table.rows(keys, columns=columns)
        return {key: self._said(row) if key.startswith(b"r|") else row for key, row in found.items()}

    def _said(self, row: Row) -> Row:
        latest = max(column for column in row if column.startswith(layout.DOCUMENT))
        return {layout.commit_column(1, ""): row[latest]}


class ReferencesAreTruths(WindowReader):
    """A reader that never asks the run rows."""

    def checksums(self, asked: WindowQuery) -> frozenset[str]:
        start, stop = layout.window_range(asked.direction, asked.dataset, asked.window)
        kinds = (layout.REFERENCE, layout.FAILED_REFERENCE) if asked.failed else (layout.REFERENCE,)
        columns = (column for _, row in self._table.scan(start, stop) for column in row)
        return frozenset(column[4:].decode() for column in columns if column.startswith(kinds))

    def newest_first(self, asked: WindowQuery, checksums: Iterable[str]) -> list[str]:
        return sorted(checksums)


class ResendsAnsweredAtOnce(LineageStore):
    """What was said before is not said again, though the pass that said it may have died."""

    def record(self, runs: Sequence[RecordedRun]) -> list[CommitResult | LineageError]:
        if all(map(self._said, runs)):
            return [CommitResult(run.info.checksum, run.run.run, False, False) for run in runs]
        return super().record(runs)

    def _said(self, run: RecordedRun) -> bool:
        latest = run_rows.latest_document(self._table.get(layout.run_row(run.run.run)))
        return latest is not None and latest.value == run_rows.encode_run(
            CommittedRun(run.info.checksum, run.run)
        )


class NoDeadline(RunCommitter):
    """A pass may take any time, though what it relies on is swept meanwhile."""

    def _late(self, began: int) -> bool:
        return False


def recording(kind: type[RunCommitter]) -> Make:
    """The store with another way to record."""

    def make(table: Table, clock: Callable[[], int]) -> LineageStore:
        store = open_store(table, clock)
        store._components.committer.__class__ = kind
        return store

    return make


def sweeping_young(table: Table, clock: Callable[[], int], horizon_ms: int) -> None:
    """What nothing needs goes at once, though somebody may be about to need it."""
    horizons = RetentionPolicy(horizon_ms)
    found = garbage_collection.find_garbage(table, horizons, until_ms=clock())
    garbage_collection.remove(table, found, horizons, until_ms=clock())


def over(table_class: Callable[[Table], Table]) -> Make:
    """The real store over a table that breaks a rule."""
    return lambda table, clock: open_store(table_class(table), clock)


def trusting_references(table: Table, clock: Callable[[], int]) -> LineageStore:
    store = open_store(table, clock)
    store._windows.__class__ = ReferencesAreTruths
    return store


def answering_resends(table: Table, clock: Callable[[], int]) -> LineageStore:
    return open_store(table, clock, ResendsAnsweredAtOnce)


def _is_truth(put: Put) -> bool:
    return put.column.startswith(layout.COMMIT)


def _is_data(put: Put) -> bool:
    return put.row.startswith(b"c|")


WRITERS: dict[str, Make] = {
    "truth before references": over(TruthBeforeReferences),
    "catalogue after data": over(CatalogueAfterData),
    "data after truth": over(DataAfterTruth),
    "one truth cell": over(OneTruthCell),
    "documents without numbers": over(NumberlessDocuments),
    "index rows put once": over(IndexRowsOnce),
    "resends answered at once": answering_resends,
    "no deadline": recording(NoDeadline),
}
SWEEPERS: dict[str, Sweep] = {
    "young swept": sweeping_young,
}
READERS: dict[str, Make] = {
    "run rows kept": over(RunRowsOnce),
    "witnesses alone": over(WitnessesAlone),
    "documents for truths": over(DocumentsAreTruths),
    "references for truths": trusting_references,
}
TIMED = frozenset(("index rows put once", "no deadline"))
"""What shows only where much time passes."""
