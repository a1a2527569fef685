"""Recount of sealed days: a seal must list the runs that references and run rows have.

A change of a day's runs always puts a new token before it becomes visible. A seal is therefore wrong only if
its token is still the day's token after the runs were read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TypeAlias

from fll_hbase.keys import calendars
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import DAY_MS
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.maintenance.audit import check_indexes
from fll_hbase.store.maintenance.audit.findings import Finding, Kind, Repair
from fll_hbase.store.maintenance.audit.row_facts import KeyedRow
from fll_hbase.store.read.event_merge import EventMerger
from fll_hbase.store.rows import calendar_rows
from fll_hbase.store.rows.calendar_rows import ContentDay
from fll_hbase.store.rows.run_rows import CommittedRun
from fll_hbase.store.write.sealing import count_runs, counting_requests, dataset_horizons
from fll_hbase.tables import Row, Table

PAGE_ROWS, PAGE_RUNS = 1_000, 10_000
"""Maximum number of calendars in a page, and approximate maximum of the runs in their seals, kept in memory.

One scan of each dataset reads the references of a page's contents on one day."""

_SealedDays: TypeAlias = dict[ContentDay, Row]
"""Days with a valid seal, each with its calendar as scanned."""


def wrong_seals(table: Table, scanned: Iterable[KeyedRow]) -> Iterator[Finding]:
    """Yield a finding for each scanned day whose seal is valid but disagrees with the run rows.

    Leaves out unreadable seals and runs, which have findings of their own. Also leaves out days whose
    references every dataset may have lost in a purge, and days with too many runs to be sealed.
    """
    events = EventMerger(table)
    for page in _pages(scanned):
        yield from _findings(table, events, page)


def _pages(scanned: Iterable[KeyedRow]) -> Iterator[_SealedDays]:
    """Yield the sealed days in pages of PAGE_ROWS calendars or PAGE_RUNS runs; the last may be empty."""
    page: _SealedDays = {}
    rows = runs = 0
    for key, row in scanned:
        for day, count in _sealed_days(key, row):
            page[day] = row
            runs += count
        rows += 1
        if rows >= PAGE_ROWS or runs >= PAGE_RUNS:
            yield page
            page, rows, runs = {}, 0, 0
    yield page


def _sealed_days(key: bytes, row: Row) -> Iterator[tuple[ContentDay, int]]:
    """Yield the days of a calendar with valid, readable seals, and the number of their runs."""
    try:
        days = check_indexes.days_of(key, row)
    except CorruptRow:
        return
    for day in days:
        with suppress(CorruptRow):
            check_indexes.check_day(row, day.day)
            sealed = calendar_rows.sealed_day(row, day.day)
            if sealed is not None:
                yield day, sum(runs.total for runs in sealed)


def _findings(table: Table, events: EventMerger, page: _SealedDays) -> Iterator[Finding]:
    """Yield a finding for each wrong seal in a page of days, unless it has changed since it was read."""
    suspects: dict[ContentDay, tuple[Dataset, int]] = {}
    for request in counting_requests(table, page):
        try:
            counted = count_runs(table, events, request)
        except CorruptRow:
            continue
        for checksum in request.checksums if counted is not None else ():
            day, runs = ContentDay(checksum, request.day), (counted or {}).get(checksum, [])
            if _differs(day, page[day], runs):
                suspects[day] = request.dataset, len(runs)
    if not suspects:
        return
    # Read horizons after the references: a purge puts the horizon and new tokens before it deletes anything.
    horizons = dataset_horizons(table, {dataset for dataset, _ in suspects.values()})
    current = table.rows(sorted({day.row for day in suspects}))
    for day, (dataset, count) in suspects.items():
        key, columns = day.row, [calendars.day_column(kind, day.day) for kind in calendars.DAY_COLUMNS]
        row = current.get(key, {})
        unchanged = all(row.get(column) == page[day].get(column) for column in columns)
        if unchanged and horizons[dataset] <= day.day * DAY_MS:
            detail = f"day {columns[0][-2:].decode()}: not the {count} runs that the run rows have"
            yield Finding(Kind.WRONG_SEAL, key, detail, Repair(key))


def _differs(day: ContentDay, row: Row, runs: Sequence[CommittedRun]) -> bool:
    """Return whether a valid seal of a day, or its list of starts, differs from the result for these runs."""
    token = calendar_rows.token_of(row, day.day) or b""
    expected = {put.column: put.value for put in calendar_rows.seal_puts(day, token, runs)}
    for kind in check_indexes.SEALS:
        sealed = calendar_rows.sealed_day(row, day.day, kind)
        value = expected.get(calendars.day_column(kind, day.day))
        if sealed is not None and (value is None or sealed != calendar_rows.decode_seal(value, day.day)):
            return True
    return False
