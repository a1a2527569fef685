"""Checks when nothing runs any more: seals, tokens and ways against run rows, and answers without seals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.window import Direction
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.rows import calendar_rows
from fll_hbase.store.rows.calendar_rows import ContentDay, DayRuns, SealedRun
from fll_hbase.store.rows.run_rows import CommittedRun
from fll_hbase.tables import Row, Table
from fll_hbase.tables.base import Columns
from tests.simulation.checks import Violation
from tests.support.passing_table import Through
from tests.support.small_world import BY_CHECKSUM, endpoints_of


class WithoutSeals(Through):
    """A table whose readers see no seal, so that every day is read from references."""

    def rows(self, keys: Sequence[bytes], *, columns: Columns = ()) -> dict[bytes, Row]:
        rows = self._table.rows(keys, columns=columns)
        return {
            key: _without_seals(row) if key.startswith(layout.CALENDARS) else row for key, row in rows.items()
        }


def committed_runs(table: Table) -> list[CommittedRun]:
    """Return the committed state of every run of a table."""
    rows = {ranges.run_of(key): row for key, row in table.scan(*ranges.prefix_range(layout.RUNS))}
    return list(EventMerger(table).committed_runs(rows).values())


def check_seals(table: Table, *, all_sealed: bool) -> int:
    """Check that every seal that holds has the runs of its day as run rows say; return how many hold.

    With `all_sealed` no day of a content that is stored may be without one.
    """
    runs: dict[ContentDay, list[CommittedRun]] = {}
    for committed in committed_runs(table):
        runs.setdefault(calendar_rows.day_of_run(committed), []).append(committed)
    count = 0
    for key, row in table.scan(*ranges.prefix_range(layout.CALENDARS)):
        for day in _days(key, row):
            wanted = _day_runs(runs.get(day, ()))
            for kind in (calendars.SEAL, calendars.STARTS):
                sealed = calendar_rows.sealed_day(row, day.day, kind)
                if sealed is not None:
                    count += 1
                    if not _agree(sealed, wanted, is_complete=kind == calendars.STARTS):
                        raise Violation("missealed", f"{day} is sealed with {sealed}, run rows say {wanted}")
                elif kind == calendars.SEAL and all_sealed and table.get(layout.content_row(day.checksum)):
                    raise Violation("unsealed", f"{day} of {row}")
    return count


def check_calendars(table: Table, policy: RetentionPolicy) -> None:
    """Check that every committed run has the token of its day, and the ways of datasets that keep the day."""
    for committed in committed_runs(table):
        checksum, day = calendar_rows.day_of_run(committed)
        period = calendars.period_of(day)
        if calendar_rows.token_of(table.get(calendars.calendar_row(checksum, period)), day) is None:
            raise Violation("untouched", f"{committed} has no token")
        for direction in Direction:
            for dataset in endpoints_of(BY_CHECKSUM[checksum], direction):
                key = calendars.ways_prefix(direction, dataset) + calendars.way_tail(period, checksum)
                keeps = calendars.day_window(day).stop_ms > policy.cutoff_ms(dataset)
                if keeps and calendars.WAY not in table.get(key):
                    raise Violation("untouched", f"{committed} has no way {key!r}")


def _days(key: bytes, row: Row) -> Iterator[ContentDay]:
    checksum, period = calendars.parse_calendar(key)
    for column in row:
        kind, day = calendars.parse_day_column(column, period)
        if kind == calendars.TOKEN:
            yield ContentDay(checksum, day)


def _day_runs(runs: Sequence[CommittedRun]) -> set[DayRuns]:
    by_program: dict[tuple[bytes, bool], list[SealedRun]] = {}
    for _, run, stored in runs:
        key = calendar_rows.encode_program(run), run.state.failed
        by_program.setdefault(key, []).append(SealedRun(run.start_ms, *stored))
    return {
        DayRuns(program, failed, tuple(sorted(listed, key=_reference_tail)), len(listed))
        for (program, failed), listed in by_program.items()
    }


def _agree(sealed: Sequence[DayRuns], wanted: set[DayRuns], *, is_complete: bool) -> bool:
    """Return whether a seal has these runs; without `is_complete` the newest and the oldest one will do."""
    shown = {part._replace(runs=tuple(part.runs)) for part in sealed}
    if is_complete or all(part.is_complete for part in sealed):
        return shown == wanted and len(sealed) == len(wanted)
    ends = {
        part._replace(runs=(part.runs[0], part.runs[-1])) if len(part.runs) > 2 else part for part in wanted
    }
    return shown == ends and len(sealed) == len(wanted)


def _reference_tail(run: SealedRun) -> bytes:
    return layout.reference_tail(*run)


def _without_seals(row: Row) -> Row:
    hidden = calendars.SEAL, calendars.STARTS
    return {column: cell for column, cell in row.items() if not column.startswith(hidden)}
