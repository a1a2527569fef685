"""Mutants: stores that are broken on purpose, each without one rule of the protocol.

Most are the real store with another committer or sealer, or over a table that changes what passes through.

That a pass looks again at its end is not among them: since it asks the clock before each batch, only a purge
of the very run that it writes can come between, and hardly any schedule has both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from fll_hbase.keys import calendars, layout
from fll_hbase.keys.codec import day_of
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.runs import RecordedRun
from fll_hbase.runtime.errors import LineageError
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.batched_reads import Reads
from fll_hbase.store.read.run_times import RunTimesReader
from fll_hbase.store.read.window_query import WindowReader
from fll_hbase.store.results import CommitResult
from fll_hbase.store.rows import calendar_rows, run_rows
from fll_hbase.store.rows.calendar_rows import ContentDay
from fll_hbase.store.write.commit import RunCommitter
from fll_hbase.store.write.refresh import WayWriter
from fll_hbase.store.write.sealing import GRACES, DaySealer, SealRequest
from fll_hbase.tables import Batch, Cell, Put, Row, Scan, Table
from fll_hbase.tables.base import Columns
from tests.simulation.sealers import offered
from tests.simulation.simulation import GRACE_MS, Make, Sweep, open_store, sweep_once
from tests.support.passing_table import Through
from tests.support.run_keys import committed_run

REFERENCES = (b"b|", b"f|")


class ChangedPasses(RunCommitter):
    """A committer that changes the batches of a pass; mutants change one method."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        return batches

    def _until_deadline(self, batches: Iterable[Batch], began_ms: int) -> Iterator[Batch]:
        return super()._until_deadline(self.changed(list(batches)), began_ms)


class CommitBeforeReferences(ChangedPasses):
    """Commits a run before its references exist."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        return sorted(batches, key=lambda batch: not any(map(_is_commit, batch)))


class CatalogueAfterContent(ChangedPasses):
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


class OneCommitCell(ChangedPasses):
    """The last writer wins, however late."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        only = layout.commit_column(0, "")
        return [[put._replace(column=only) if _is_commit(put) else put for put in batch] for batch in batches]


class NumberlessDocuments(ChangedPasses):
    """Of two documents the greater digest counts, whichever was first."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        return [[self._numberless(put) for put in batch] for batch in batches]

    def _numberless(self, put: Put) -> Put:
        if not put.column.startswith(layout.DOCUMENT):
            return put
        return put._replace(column=layout.document_column(1, put.column.rpartition(b"|")[2].decode()))


class WithoutTouches(Through):
    """A table in which days that have a token are not touched."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        return [[put for put in batch if not self._is_touch(put)] for batch in batches]

    def _is_touch(self, put: Put) -> bool:
        return _is_token(put) and put.column in self._table.get(put.row)


class JoinedDaysTouchedOnce(ChangedPasses):
    """A commit does not touch the day that its run joins, if that has a token."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        joined = _joined_days(batches)
        return [[put for put in batch if not self._is_again(put, joined)] for batch in batches]

    def _is_again(self, put: Put, joined: Collection[ContentDay]) -> bool:
        return _is_token(put) and _day_of_token(put) in joined and put.column in self._table.get(put.row)


class LeftDaysUntouched(ChangedPasses):
    """A commit does not touch the day that its run leaves."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        joined = _joined_days(batches)
        return [
            [put for put in batch if not _is_token(put) or _day_of_token(put) in joined] for batch in batches
        ]


class TouchAfterCommit(ChangedPasses):
    """A day is touched when its runs have changed."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        return _last(batches, _is_token)


class WaysAfterCommit(ChangedPasses):
    """A reader finds no way of a run that is committed."""

    def changed(self, batches: Sequence[Batch]) -> Sequence[Batch]:
        return _last(batches, lambda put: put.row.startswith(layout.WAYS))


class WaysForever(WayWriter):
    """Relies on ways of any age, though a sweep may have deleted them."""

    def note_put(self, ways: Iterable[tuple[str, int]], began_ms: int) -> None:
        super().note_put(ways, began_ms + 1_000 * GRACE_MS)


class TokenAfterReferences(DaySealer):
    """A seal has the token that its day has once its runs are counted, if it was old before."""

    def _seals(self, request: SealRequest) -> dict[ContentDay, list[Put]]:
        seals = super()._seals(request)
        period = calendars.period_of(request.day)
        rows = self._table.rows([calendars.calendar_row(key.checksum, period) for key in seals])
        return {
            key: [_with_token(put, rows[put.row], key.day) for put in puts] for key, puts in seals.items()
        }


class HorizonsIgnored(DaySealer):
    """Seals days of a dataset whose references were purged."""

    def _is_purged(self, request: SealRequest) -> bool:
        return False


class SealsForever(Through):
    """A reader for whom a seal holds whatever the token of its day is."""

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        rows = self._table.rows(keys, columns=columns)
        return {key: _resealed(row) if key.startswith(layout.CALENDARS) else row for key, row in rows.items()}


class MovedRunsIgnored(RunTimesReader):
    """A reader that counts a run on none of two days if it moves between them meanwhile."""

    def _is_moved(self, *arguments: object) -> Reads[bool]:
        yield from ()
        return False


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
        kinds = (layout.REFERENCE, layout.FAILED_REFERENCE) if query.window.failed else (layout.REFERENCE,)
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
        latest = run_rows.latest_document(self._table.get(layout.run_row(run.run.run, run.run.namespace)))
        return latest is not None and latest.value == run_rows.encode_run(
            committed_run(run.info.checksum, run.run)
        )


class NoDeadline(RunCommitter):
    """A pass may take any time, though a sweep may delete what it relies on."""

    def _late(self, began: int) -> bool:
        return False


class DeadlineAfterCommit(RunCommitter):
    """A pass asks the clock when it has put its commit record, and not before."""

    def _until_deadline(self, batches: Iterable[Batch], began_ms: int) -> Iterator[Batch]:
        yield from batches


def recording(kind: type[RunCommitter]) -> Make:
    """Return an opener of stores with another committer."""

    def make(table: Table, clock: Callable[[], int]) -> LineageStore:
        store = open_store(table, clock)
        store.components.committer.__class__ = kind
        return store

    return make


def sweeping_young(table: Table, clock: Callable[[], int], policy: RetentionPolicy) -> None:
    """Sweep without a grace period, though a pass may be about to refer to the garbage."""
    garbage = garbage_collection.find_garbage(table, policy, until_ms=clock())
    garbage_collection.remove(table, garbage, policy, until_ms=clock())


def purging_untouched(table: Table, clock: Callable[[], int], policy: RetentionPolicy) -> None:
    """Purge without touching the days of the runs that are deleted."""
    sweep_once(WithoutTouches(table), clock, policy)


def over(table_class: Callable[[Table], Table]) -> Make:
    """Return an opener of the real store over a table that breaks a rule."""
    return lambda table, clock: open_store(table_class(table), clock)


def sealing(kind: type[DaySealer] = DaySealer, *, graces: float = GRACES) -> Make:
    """Return an opener of stores with another sealer, who waits for so many grace periods."""

    def make(table: Table, clock: Callable[[], int]) -> LineageStore:
        store = open_store(table, clock)
        sealer = offered(store).sealer
        sealer.__class__ = kind
        sealer._age_ms = int(graces * GRACE_MS)
        return store

    return make


def relying_on_ways(table: Table, clock: Callable[[], int]) -> LineageStore:
    store = open_store(table, clock)
    store.components.committer._ways.__class__ = WaysForever
    return store


def ignoring_moved_runs(table: Table, clock: Callable[[], int]) -> LineageStore:
    store = open_store(table, clock)
    store.components.times.__class__ = MovedRunsIgnored
    return store


def trusting_references(table: Table, clock: Callable[[], int]) -> LineageStore:
    store = open_store(table, clock)
    store.components.windows.__class__ = UnconfirmedReferences
    return store


def answering_resends(table: Table, clock: Callable[[], int]) -> LineageStore:
    return open_store(table, clock, ResendsAnsweredAtOnce)


def _is_commit(put: Put) -> bool:
    return put.column.startswith(layout.COMMIT)


def _is_content(put: Put) -> bool:
    return put.row.startswith(b"c|")


def _is_token(put: Put) -> bool:
    return put.column.startswith(calendars.TOKEN) and put.row.startswith(layout.CALENDARS)


def _day_of_token(put: Put) -> ContentDay:
    checksum, period = calendars.parse_calendar(put.row)
    return ContentDay(checksum, calendars.parse_day_column(put.column, period)[1])


def _joined_days(batches: Sequence[Batch]) -> set[ContentDay]:
    """Return the days of the commit records among the puts."""
    heads = [run_rows.decode_head(put.value) for batch in batches for put in batch if _is_commit(put)]
    return {ContentDay(head.checksum, day_of(head.start_ms)) for head in heads}


def _last(batches: Sequence[Batch], is_late: Callable[[Put], bool]) -> Sequence[Batch]:
    """Return the batches with some puts after all others."""
    late = [put for batch in batches for put in batch if is_late(put)]
    return [*([put for put in batch if not is_late(put)] for batch in batches), late]


def _with_token(put: Put, row: Row, day: int) -> Put:
    """Return the put of a seal with the token of its day."""
    token = calendar_rows.token_of(row, day) or b""
    return put._replace(value=put.value[:2] + token + put.value[2 + len(token) :])


def _resealed(row: Row) -> Row:
    """Return a row of a calendar whose seals all have the token of their day."""
    resealed = dict(row)
    for column, cell in row.items():
        token = row.get(calendars.TOKEN + column[-2:])
        if token is not None and column.startswith((calendars.SEAL, calendars.STARTS)):
            value = cell.value[:2] + token.value + cell.value[2 + len(token.value) :]
            resealed[column] = Cell(value, cell.stamp_ms)
    return resealed


WRITERS: dict[str, Make] = {
    "commit before references": recording(CommitBeforeReferences),
    "catalogue after content": recording(CatalogueAfterContent),
    "content after commit": over(ContentAfterCommit),
    "one commit cell": recording(OneCommitCell),
    "documents without numbers": recording(NumberlessDocuments),
    "joined day touched once": recording(JoinedDaysTouchedOnce),
    "left day untouched": recording(LeftDaysUntouched),
    "touch after commit": recording(TouchAfterCommit),
    "ways after commit": recording(WaysAfterCommit),
    "ways relied on forever": relying_on_ways,
    "resends answered at once": answering_resends,
    "no deadline": recording(NoDeadline),
    "deadline after commit": recording(DeadlineAfterCommit),
}
SWEEPERS: dict[str, Sweep] = {
    "young swept": sweeping_young,
    "purge without touch": purging_untouched,
}
SEALERS: dict[str, Make] = {
    "sealed at any age": sealing(graces=-1),
    "sealed after one grace": sealing(graces=1),
    "token after references": sealing(TokenAfterReferences),
    "horizons ignored": sealing(HorizonsIgnored),
}
READERS: dict[str, Make] = {
    "run rows cached": over(RunRowsOnce),
    "seals forever": over(SealsForever),
    "moved runs ignored": ignoring_moved_runs,
    "uncommitted documents": over(UncommittedDocuments),
    "unconfirmed references": trusting_references,
}
TIMED = frozenset(("ways relied on forever", "no deadline", "deadline after commit"))
"""Mutants that show only where much time passes."""
BY_HAND = frozenset(
    ("sealed after one grace", "token after references", "horizons ignored", "purge without touch")
)
"""Mutants that hardly any random schedule finds, and a schedule by hand does."""
