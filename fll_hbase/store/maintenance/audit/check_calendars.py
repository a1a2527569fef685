"""Checks of calendars: the form of their keys, tokens and seals. `check_seals` counts the runs of seals."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fll_hbase.keys import calendars
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.maintenance.audit.check_indexes import known_cells
from fll_hbase.store.maintenance.audit.expectations import RowFacts, token_text
from fll_hbase.store.maintenance.audit.findings import Finding, Kind, Repair
from fll_hbase.store.rows import calendar_rows
from fll_hbase.store.rows.calendar_rows import TOKEN_BYTES, ContentDay, SealedRun
from fll_hbase.tables import Row

SEALS = calendars.SEAL, calendars.STARTS
"""Columns of what was counted with the token of a day."""

_TOKEN = re.compile(b"[0-9a-f]{%d}" % (2 * TOKEN_BYTES))


def collect(key: bytes, row: Row, facts: RowFacts) -> None:
    """Add the facts of a calendar: the days with a token. Raises CorruptRow for a malformed key or column."""
    _, period = calendars.parse_calendar(key)
    days = set()
    for column in known_cells(key, row, facts):
        kind, day = calendars.parse_day_column(column, period)
        days.add(day)
        if kind == calendars.TOKEN:
            facts.present.append(token_text(key, day))
    for day in days:
        try:
            check_day(row, day)
        except CorruptRow as error:
            # A seal that does not hold may be anything: it is not read. A touch ends that of this one.
            facts.findings.append(Finding(Kind.UNREADABLE, key, str(error), Repair(key)))


def days_of(key: bytes, columns: Iterable[bytes]) -> set[ContentDay]:
    """Return the days with cells in a calendar row. Raises CorruptRow for a malformed key or column."""
    checksum, period = calendars.parse_calendar(key)
    return {
        ContentDay(checksum, calendars.parse_day_column(column, period)[1])
        for column in columns
        if column.startswith(calendars.DAY_COLUMNS)
    }


def check_day(row: Row, day: int) -> None:
    """Raise CorruptRow for a malformed token of a day, or an unreadable seal that its token makes valid."""
    token = calendar_rows.token_of(row, day)
    if token is not None and not _TOKEN.fullmatch(token):
        raise CorruptRow(f"{token[:100]!r} is not a token")
    for kind in SEALS:
        for part in calendar_rows.sealed_day(row, day, kind) or ():
            calendar_rows.decode_program(part.program, SealedRun(0, ""))
