"""Mutants: stores that are broken on purpose, each without one rule of the protocol.

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
from fll_hbase.model.window import Window
from fll_hbase.store import run_rows
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.read.batched_reads import Reads
from fll_hbase.store.read.index_rows import Index
from fll_hbase.store.read.window_query import WindowQuery, WindowReader
from fll_hbase.store.run_rows import CommittedRun
from fll_hbase.store.write.commit import RunCommitter
from fll_hbase.store.write.pending_run import CommitResult
from fll_hbase.store.write.period_index import PeriodIndexWriter
from fll_hbase.tables import Batch, Put, Row, Scan, Table
from fll_hbase.tables.base import Columns
from tests.simulation.simulation import GRACE_MS, Make, Sweep, open_store
from tests.support.passing_table import Through

REFERENCES = (b"b|", b"f|")


class CommitBeforeReferences(Through):
    """Commits a run before its references exist."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        return sorted(batches, key=lambda batch: not any(map(_is_commit, batch)))


class CatalogueAfterContent(Through):
    """Other writers rely on a content whose catalogue entries do not exist yet."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        return sorted(batches, key=lambda batch: any(put.row.startswith(layout.DATASETS) for put in batch))


class ContentAfterCommit(Through):
    """References and commit records refer to a content that is put later."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._delayed: list[Put] = []

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        without_contents = [[put for put in batch if not _is_content(put)] for batch in batches]
        self._delayed += [put for batch in batches for put in batch if _is_content(put)]
        if not any(map(_is_commit, (put for batch in without_contents for put in batch))):
            return without_contents
        delayed, self._delayed = self._delayed, []
        return [*without_contents, delayed]


class OneCommitCell(Through):
    """The last writer wins, however late."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        only = layout.commit_column(0, "")
        return [[put._replace(column=only) if _is_commit(put) else put for put in batch] for batch in batches]


class NumberlessDocuments(Through):
    """Of two documents the greater digest counts, whichever was first."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        return [[self._numberless(put) for put in batch] for batch in batches]

    def _numberless(self, put: Put) -> Put:
        if not put.column.startswith(layout.DOCUMENT):
            return put
        return put._replace(column=layout.document_column(1, put.column.rpartition(b"|")[2].decode()))


class IndexRowsOnce(Through):
    """An existing index row is not put again, though a reader may have cached it as stale."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        return [[put for put in batch if not self._exists(put)] for batch in batches]

    def _exists(self, put: Put) -> bool:
        return put.row.startswith(b"i|") and put.column in self._table.get(put.row)


class PeriodIndexLast(Through):
    """A reader finds no row in the period index of a run that is committed."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        late = [put for batch in batches for put in batch if put.row.startswith(layout.PERIOD_INDEX)]
        return [[put for put in batch if put not in late] for batch in batches] + [late]


class PeriodsForever(PeriodIndexWriter):
    """Relies on rows of the period index of any age, though a sweep may have deleted them."""

    def note_put(self, runs: Iterable[CommittedRun], began_ms: int) -> None:
        super().note_put(runs, began_ms + 1_000 * GRACE_MS)


class PeriodsAlone(WindowReader):
    """A reader that gives up on a row of the period index with its sample run, and reads no days."""

    def _days(self, query: WindowQuery, window: Window) -> Reads[Index]:
        if self._periods.covers(query.window):
            return {}
        return (yield from super()._days(query, window))


class RunRowsOnce(Through):
    """A reader that caches run rows, as if they were immutable."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._cached_rows: dict[bytes, Row] = {}

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        self._cached_rows |= self._table.rows(
            [key for key in keys if key not in self._cached_rows], columns=columns
        )
        return {key: self._cached_rows[key] for key in keys if key in self._cached_rows}


class SampleRunsAlone(Through):
    """A reader that gives up on an index row with its sample run, and reads no reference."""

    def scan(
        self, start: bytes, stop: bytes, *, columns: Columns = (), limit: int | None = None
    ) -> Iterator[tuple[bytes, Row]]:
        if columns and start.startswith(REFERENCES):
            return iter(())
        return super().scan(start, stop, columns=columns, limit=limit)


class UncommittedDocuments(Through):
    """A reader that takes the latest document for committed."""

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        rows = self._table.rows(keys, columns=columns)
        return {key: self._uncommitted(row) if key.startswith(b"r|") else row for key, row in rows.items()}

    def _uncommitted(self, row: Row) -> Row:
        latest = max(column for column in row if column.startswith(layout.DOCUMENT))
        return {layout.commit_column(1, ""): row[latest]}


class UnconfirmedReferences(WindowReader):
    """A reader that never confirms references by run rows."""

    def _checksums(self, query: WindowQuery) -> Reads[frozenset[str]]:
        kinds = (layout.REFERENCE, layout.FAILED_REFERENCE) if query.failed else (layout.REFERENCE,)
        rows = yield Scan(*layout.window_range(query.direction, query.dataset, query.window))
        columns = (column for _, row in rows for column in row)
        return frozenset(column[4:].decode() for column in columns if column.startswith(kinds))


class ResendsAnsweredAtOnce(LineageStore):
    """A resend is acknowledged at once, though the first pass may have crashed."""

    def record(self, runs: Sequence[RecordedRun]) -> list[CommitResult | LineageError]:
        if all(map(self._is_latest, runs)):
            return [CommitResult(run.info.checksum, run.run.run, False, False) for run in runs]
        return super().record(runs)

    def _is_latest(self, run: RecordedRun) -> bool:
        latest = run_rows.latest_document(self._table.get(layout.run_row(run.run.run)))
        return latest is not None and latest.value == run_rows.encode_run(
            CommittedRun(run.info.checksum, run.run)
        )


class NoDeadline(RunCommitter):
    """A pass may take any time, though a sweep may delete what it relies on."""

    def _late(self, began: int) -> bool:
        return False


def recording(kind: type[RunCommitter]) -> Make:
    """Return an opener of stores with another committer."""

    def make(table: Table, clock: Callable[[], int]) -> LineageStore:
        store = open_store(table, clock)
        store._components.committer.__class__ = kind
        return store

    return make


def sweeping_young(table: Table, clock: Callable[[], int], horizon_ms: int) -> None:
    """Sweep without a grace period, though a pass may be about to refer to the garbage."""
    horizons = RetentionPolicy(horizon_ms)
    garbage = garbage_collection.find_garbage(table, horizons, until_ms=clock())
    garbage_collection.remove(table, garbage, horizons, until_ms=clock())


def over(table_class: Callable[[Table], Table]) -> Make:
    """Return an opener of the real store over a table that breaks a rule."""
    return lambda table, clock: open_store(table_class(table), clock)


def relying_on_periods(table: Table, clock: Callable[[], int]) -> LineageStore:
    store = open_store(table, clock)
    store._components.committer._periods.__class__ = PeriodsForever
    return store


def reading_periods_alone(table: Table, clock: Callable[[], int]) -> LineageStore:
    store = open_store(table, clock)
    store._windows.__class__ = PeriodsAlone
    return store


def trusting_references(table: Table, clock: Callable[[], int]) -> LineageStore:
    store = open_store(table, clock)
    store._windows.__class__ = UnconfirmedReferences
    return store


def answering_resends(table: Table, clock: Callable[[], int]) -> LineageStore:
    return open_store(table, clock, ResendsAnsweredAtOnce)


def _is_commit(put: Put) -> bool:
    return put.column.startswith(layout.COMMIT)


def _is_content(put: Put) -> bool:
    return put.row.startswith(b"c|")


WRITERS: dict[str, Make] = {
    "commit before references": over(CommitBeforeReferences),
    "catalogue after content": over(CatalogueAfterContent),
    "content after commit": over(ContentAfterCommit),
    "one commit cell": over(OneCommitCell),
    "documents without numbers": over(NumberlessDocuments),
    "index rows put once": over(IndexRowsOnce),
    "period index last": over(PeriodIndexLast),
    "periods relied on forever": relying_on_periods,
    "resends answered at once": answering_resends,
    "no deadline": recording(NoDeadline),
}
SWEEPERS: dict[str, Sweep] = {
    "young swept": sweeping_young,
}
READERS: dict[str, Make] = {
    "run rows cached": over(RunRowsOnce),
    "sample runs alone": over(SampleRunsAlone),
    "periods without days": reading_periods_alone,
    "uncommitted documents": over(UncommittedDocuments),
    "unconfirmed references": trusting_references,
}
TIMED = frozenset(("index rows put once", "periods relied on forever", "no deadline"))
"""Mutants that show only where much time passes."""
