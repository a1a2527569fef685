"""Copy of a whole store: passes over all rows, kind by kind, until one finds both sides equal.

Puts follow the order of the commit protocol and deletes the opposite one. A reader of the target therefore
always finds the content of every run that it sees (docs/reference/row-keys.md, "How rows are written").
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import xxhash

from fll_hbase.keys import calendars, layout
from fll_hbase.keys.row_kinds import COPY_ORDER, EVERYTHING, RowKind
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.runtime import clock
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.store.copying.progress import ROW, Progress, check_not_copying, put_of, read_progress
from fll_hbase.store.maintenance import liveness
from fll_hbase.store.maintenance.garbage_collection import SKEW_SHARE, Report, days_of_commits, touch_days
from fll_hbase.store.maintenance.liveness import LivenessScanner
from fll_hbase.store.rows import calendar_rows
from fll_hbase.tables import Cell, CellKey, Put, Row, StampedPut, Table

_MARKS = 2**64

PAGE_ROWS, HEAVY_PAGE_ROWS = 1_000, 32
"""Rows that are compared and put together; a content or event body may have megabytes."""

_HEAVY = layout.CONTENTS, layout.EVENT_BODIES
_ROWS, _PROPERTIES = COPY_ORDER[:-1], COPY_ORDER[-1]

PASSES_MAX = 5
"""Maximum number of passes per command: a source under constant writes may never compare equal."""

PassReport = Callable[[int, str, int], None]
"""Called with the number of the pass, the name of a row kind, and the number of rows compared so far."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The cells to put and to delete that make a copy equal to its source.

    `extras` are cells that the source lacks, and `extras_until_ms` is the time of the latest put among them.
    """

    puts: tuple[StampedPut, ...] = ()
    extras: tuple[CellKey, ...] = ()
    extras_until_ms: int = 0


def keeps_stamps(key: bytes) -> bool:
    """Return whether a row keeps the source's timestamps in a copy: only catalogue rows do."""
    # A dataset may have several types or descriptions under its names; readers use the newest. The target
    # stamps the cells of all other rows, so that the grace period protects them (decision 47).
    return key.startswith(layout.DATASETS)


def copied_cells(key: bytes, row: Row) -> Row:
    """Return the cells of a row that a copy has: all, except that calendars have only tokens, without values.

    Seals are left out, because they are read at a different time than the run rows that they count. A target
    has tokens of its own; a copy replaces them for each day whose runs it changes. A progress row has none.
    """
    if key == ROW:
        return {}
    if not key.startswith(layout.CALENDARS):
        return row
    return {
        column: Cell(b"", cell.stamp_ms) for column, cell in row.items() if column.startswith(calendars.TOKEN)
    }


def compare_rows(source: Mapping[bytes, Row], target: Mapping[bytes, Row]) -> Difference:
    """Return the changes that make `target` equal to `source`, which are both rows from `copied_cells`."""
    puts = tuple(
        StampedPut(key, column, cell.value, cell.stamp_ms)
        for key, row in source.items()
        for column, cell in row.items()
        if not _is_copied(key, cell, target.get(key, {}).get(column))
    )
    extras = {
        CellKey(key, column): cell.stamp_ms
        for key, row in target.items()
        for column, cell in row.items()
        if column not in source.get(key, {})
    }
    return Difference(puts, tuple(extras), max(extras.values(), default=0))


def _is_copied(key: bytes, cell: Cell, copied: Cell | None) -> bool:
    """Return whether a copy has the value of a cell, and, where stamps are kept, one at least as late."""
    if copied is None or copied.value != cell.value:
        return False
    # A later timestamp may stay: HBase shows the latest put, even after a put with an earlier stamp.
    return not keeps_stamps(key) or copied.stamp_ms >= cell.stamp_ms


@dataclass(frozen=True, slots=True)
class Mark:
    """Rows, cells and the sum of the 64-bit hashes of the cells; equal ranges of rows have equal marks.

    The sum depends neither on the order of cells nor on timestamps: each engine stamps by its own clock.
    """

    rows: int = 0
    cells: int = 0
    hash: int = 0

    def __add__(self, other: Mark) -> Mark:
        """Return the mark of the rows of both, which must be different rows."""
        return Mark(self.rows + other.rows, self.cells + other.cells, (self.hash + other.hash) % _MARKS)


def mark_rows(rows: Mapping[bytes, Row]) -> Mark:
    """Return the mark of rows."""
    hashes = [_cell_hash(key, column, row[column].value) for key, row in rows.items() for column in row]
    return Mark(len(rows), len(hashes), sum(hashes) % _MARKS)


def _cell_hash(key: bytes, column: bytes, value: bytes) -> int:
    """Return the 64-bit hash of a cell, including the lengths of key and column."""
    # The lengths make the hashed bytes of each cell unique.
    lengths = len(key).to_bytes(4, "big") + len(column).to_bytes(4, "big")
    return xxhash.xxh3_64_intdigest(lengths + key + column + value)


@dataclass(frozen=True, slots=True)
class KindResult:
    """The outcome of a pass for one row kind: its marks of both sides, and the numbers of changed cells."""

    source: Mark = field(default_factory=Mark)
    target: Mark = field(default_factory=Mark)
    put: int = 0
    deleted: int = 0

    @property
    def is_equal(self) -> bool:
        """Return whether both sides were equal before the pass changed anything."""
        return self.source == self.target and not self.put and not self.deleted


class CopyPass:
    """Makes a target equal to a source that others may write, while nothing else writes the target.

    A run whose row has a cell put after `young_ms` may be newer than the rows of other kinds that the pass
    has read. Others may read the target and seal its days. Within `grace_ms`, as a commit does, the pass
    touches the days whose runs it changes.
    """

    def __init__(self, source: Table, target: Table, *, young_ms: int, grace_ms: int, report: Report) -> None:
        self._source = source
        self._target = target
        self._young_ms = young_ms
        self._grace_ms = grace_ms
        self._report = report
        self._liveness = LivenessScanner(source, RetentionPolicy())
        self._rows = 0

    def run(self, begin: Progress) -> dict[str, KindResult]:
        """Put what the target lacks, then delete what the source does not have, starting at `begin`.

        Returns results by kind, of a resumed pass without the kinds before `begin` and without properties.
        Raises StoreUnavailable, TooLarge if the target refuses a cell, or CorruptRow for a damaged file or a
        recently recorded run that cannot be read. A new pass can then continue from the target's progress.
        """
        # Read properties first: one stated later may describe rows that this pass has not read.
        properties = set(self._read_all(self._source, _PROPERTIES))
        names = [kind.name for kind in _ROWS]
        kinds = _ROWS[names.index(begin.kind) if begin.kind in names else 0 :]
        results = {kind.name: self._put_kind(kind, begin) for kind in kinds}
        # After a resumed pass, rows before its beginning may be older than a property.
        if kinds == _ROWS:
            results[_PROPERTIES.name] = self._put_properties(properties, begin)
        for kind in reversed(COPY_ORDER):
            if kind.name in results and results[kind.name].deleted:
                self._delete_kind(kind)
        return results

    def _put_kind(self, kind: RowKind, begin: Progress) -> KindResult:
        """Put the cells of a kind in which the target differs, after `begin`, each page with its progress.

        Deletes nothing; the result counts the cells to delete.
        """
        result = KindResult()
        for start, stop in kind.key_ranges:
            if kind.name == begin.kind:
                start = max(start, begin.last + b"\x00")
            for rows, copies in self._pages(kind, start, stop):
                difference = compare_rows(rows, copies)
                if kind.prefix == layout.RUNS:
                    changed = {put.row: rows[put.row] for put in difference.puts}
                    self._copy_needs(changed)
                    self._touch([*changed.values(), *(copies[key] for key in changed.keys() & copies.keys())])
                if difference.puts:
                    self._put(difference.puts, put_of(begin.moved_to(kind.name, difference.puts[-1].row)))
                result = _add_page(result, rows, copies, difference)
                self._rows += len(rows)
                self._report(kind.name, self._rows)
        return result

    def _put_properties(self, earlier: Collection[bytes], begin: Progress) -> KindResult:
        """Put the `earlier` properties that the source still has, and `begin` as the progress.

        `earlier` are the keys of the properties that the source had before the pass read any other row. A
        property stated since then is left to the next pass.
        """
        rows, copies = (self._read_all(table, _PROPERTIES) for table in (self._source, self._target))
        new = rows.keys() - earlier
        difference = compare_rows(
            {key: rows[key] for key in rows.keys() - new}, {key: copies[key] for key in copies.keys() - new}
        )
        self._put(difference.puts, put_of(begin))
        return _add_page(KindResult(), rows, copies, difference)

    def _copy_needs(self, runs: Mapping[bytes, Row]) -> None:
        """Copy the rows that runs changed after `young_ms` rely on: pages read before may lack them.

        Leaves out run index rows and calendars. Raises CorruptRow for an unreadable run or content.
        """
        young = {key: row for key, row in runs.items() if not liveness.is_older_than(row, self._young_ms)}
        # Lists of runs show these runs after the next pass, and their days are touched in any case.
        cells = (cell for needs in self._liveness.live_cells(young) for cell in needs.cells)
        keys = {row for row, _ in cells if not row.startswith((layout.RUN_INDEX, layout.CALENDARS))}
        checksums = sorted(key for key in keys if key.startswith(layout.CONTENTS))
        contents = self._source.rows(checksums, columns=(layout.SOURCES, layout.DESTINATIONS))
        keys.update(*(liveness.catalogue_keys(key, row) for key, row in contents.items()))
        for kind in COPY_ORDER:
            wanted = sorted(key for key in keys if kind.prefix and key.startswith(kind.prefix))
            for begin in range(0, len(wanted), HEAVY_PAGE_ROWS):
                chunk = wanted[begin : begin + HEAVY_PAGE_ROWS]
                self._put(compare_rows(self._source.rows(chunk), self._target.rows(chunk)).puts)

    def _delete_kind(self, kind: RowKind) -> None:
        """Compare all rows of a kind, and delete the cells that the target has and the source does not."""
        for start, stop in kind.key_ranges:
            for rows, copies in self._pages(kind, start, stop):
                difference = compare_rows(rows, copies)
                if difference.extras:
                    if kind.prefix == layout.RUNS:
                        self._touch([copies[cell.row] for cell in difference.extras])
                    self._target.delete(difference.extras, until_ms=difference.extras_until_ms)

    def _touch(self, runs: Iterable[Row]) -> None:
        """Put new tokens for the days of the given run rows into the target, to invalidate their seals."""
        touch_days(self._target, days_of_commits(runs), grace_ms=self._grace_ms)

    def _put(self, puts: Sequence[StampedPut], *others: Put) -> None:
        """Put cells into the target, then `others`, which must not become durable before the cells.

        Only catalogue cells keep their stamps, and tokens of days get a new value.
        """
        stamped = [put for put in puts if keeps_stamps(put.row)]
        if stamped:
            self._target.put_stamped(stamped)
        # Use a fresh token: the target may have a seal that was made with the source's token.
        token = calendar_rows.new_token()
        batch = [
            Put(put.row, put.column, token if put.row.startswith(layout.CALENDARS) else put.value)
            for put in puts
            if not keeps_stamps(put.row)
        ]
        # Write the progress last, so that it only covers durable rows.
        self._target.write([part for part in (batch, others) if part])

    def _pages(
        self, kind: RowKind, start: bytes, stop: bytes
    ) -> Iterator[tuple[dict[bytes, Row], dict[bytes, Row]]]:
        """Yield the `copied_cells` of source and target in the same key ranges, a page of each at most."""
        page_rows = HEAVY_PAGE_ROWS if kind.prefix in _HEAVY else PAGE_ROWS
        while start < stop:
            pages = [list(table.scan(start, stop, limit=page_rows)) for table in (self._source, self._target)]
            # A full page may leave rows for the next one.
            end = min((page[-1][0] + b"\x00" for page in pages if len(page) == page_rows), default=stop)
            rows, copies = (
                {key: cells for key, row in page if key < end and (cells := copied_cells(key, row))}
                for page in pages
            )
            yield rows, copies
            start = end

    def _read_all(self, table: Table, kind: RowKind) -> dict[bytes, Row]:
        """Return all rows of a kind by key, without the progress row of a copy."""
        return {
            key: row for start, stop in kind.key_ranges for key, row in table.scan(start, stop) if key != ROW
        }


def _add_page(
    result: KindResult, rows: Mapping[bytes, Row], copies: Mapping[bytes, Row], difference: Difference
) -> KindResult:
    """Return `result` with the marks of both sides of a page, and the page's changes, added."""
    return KindResult(
        result.source + mark_rows(rows),
        result.target + mark_rows(copies),
        result.put + len(difference.puts),
        result.deleted + len(difference.extras),
    )


@dataclass(frozen=True, slots=True)
class CopyRequest:
    """The canonical URL of the source, and how to copy; `update` allows a target that is already complete.

    After `passes_max` passes that found differences, the copy stays incomplete.
    """

    source: str
    grace_ms: int
    passes_max: int = PASSES_MAX
    update: bool = False


@dataclass(frozen=True, slots=True)
class CopyReport:
    """The last pass by row kind, the number of passes, and the cells put and deleted by all passes.

    The copy is complete if the last pass compared everything and found both sides equal.
    """

    kinds: dict[str, KindResult]
    passes: int
    put: int
    deleted: int
    is_complete: bool

    def summary(self) -> dict[str, Any]:
        """Return the report as JSON members, with marks as 16 hex digits."""
        kinds = {
            name: {
                "rows": result.source.rows,
                "cells": result.source.cells,
                "mark": f"{result.source.hash:016x}",
                "targetMark": f"{result.target.hash:016x}",
            }
            for name, result in self.kinds.items()
        }
        return {
            "complete": self.is_complete,
            "passes": self.passes,
            "put": self.put,
            "deleted": self.deleted,
            "kinds": kinds,
        }


def copy_store(source: Table, target: Table, request: CopyRequest, *, report: PassReport) -> CopyReport:
    """Make the target equal to the source, in `passes_max` passes at most; return the results.

    Others may write the source. After differences in the last pass, the copy is incomplete. The target must
    be empty, or an earlier copy of the same source, which is continued. Raises ConfigurationError for any
    other target, for a complete copy without `update`, and for a source that is an incomplete copy. Raises
    StoreUnavailable, CorruptRow, and TooLarge if the target refuses a cell; the same call then resumes.
    """
    check_not_copying(source)
    current = _begin(target, request)
    put = deleted = passes = 0
    results: dict[str, KindResult] = {}
    is_complete = False
    while passes < request.passes_max and not is_complete:
        passes += 1
        copy_pass = CopyPass(
            source,
            target,
            # Anything put before this was visible when the pass began, whichever clock stamped it.
            young_ms=current.began_ms - request.grace_ms // SKEW_SHARE,
            grace_ms=request.grace_ms,
            report=partial(report, current.number),
        )
        results = copy_pass.run(current)
        put += sum(result.put for result in results.values())
        deleted += sum(result.deleted for result in results.values())
        # A resumed pass has not compared the rows before its beginning.
        is_complete = not current.kind and all(result.is_equal for result in results.values())
        current = _next_pass(request, current.number, is_complete=is_complete)
        target.write([[put_of(current)]])
    return CopyReport(results, passes, put, deleted, is_complete)


def _next_pass(request: CopyRequest, number: int, *, is_complete: bool = False) -> Progress:
    """Return the progress at the beginning of the pass after `number`, or of a complete copy."""
    return Progress(request.source, clock.now_ms(), number=number + 1, is_complete=is_complete)


def _begin(target: Table, request: CopyRequest) -> Progress:
    """Put and return where a new, unfinished or finished copy continues. Raises ConfigurationError."""
    current = read_progress(target)
    if current is None:
        if next(iter(target.scan(*EVERYTHING, limit=1)), None) is not None:
            raise ConfigurationError(
                "the target is a store with rows of its own, not a copy: name a new file, or an empty table"
            )
        current = _next_pass(request, 0)
    elif current.source != request.source:
        raise ConfigurationError(
            f"the target is a copy of {current.source}, not of {request.source}: name that one,"
            " or another target"
        )
    elif current.is_complete:
        if not request.update:
            raise ConfigurationError(
                f"the target is a complete copy of {current.source}. --update makes it equal to the source"
                " once more, and deletes what was recorded in it since"
            )
        current = _next_pass(request, current.number)
    target.write([[put_of(current)]])
    return current
