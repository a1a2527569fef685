"""Touched days of jobs that change which runs exist: a purge deletes run rows, a copy puts and deletes them.

As for a commit, no seal of such a day holds any longer (docs/reference/row-keys.md, "Days and seals").
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from fll_hbase.keys import layout
from fll_hbase.keys.codec import day_of
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.errors import CorruptRow, StoreUnavailable
from fll_hbase.store.rows import calendar_rows, run_rows
from fll_hbase.store.rows.calendar_rows import ContentDay
from fll_hbase.tables import Cell, Table

TRIES_MAX = 10
"""Touches after which a job gives up. Each but the last one took half the grace period."""


def days_of_commits(rows: Iterable[Mapping[bytes, Cell]]) -> set[ContentDay]:
    """Return the content and day of each commit record of run rows, also of records that are not valid.

    A record that cannot be read is left out: no reader counts its run anywhere.
    """
    # All records and not the valid one alone: of a delete that failed, the rest may make another one valid.
    days = set()
    for value in {cell.value for row in rows for column, cell in row.items() if _is_commit(column)}:
        try:
            head = run_rows.decode_head(value)
        except CorruptRow:
            continue
        days.add(ContentDay(head.checksum, day_of(head.start_ms)))
    return days


def touch_days(
    table: Table, days: Collection[ContentDay], *, grace_ms: int, clock: Callable[[], int] = now_ms
) -> None:
    """Touch days whose runs the caller deletes or puts at once, within half the grace period of the touch.

    A grace period of 0 ms or less means that no other process uses the table: then one touch is enough.
    Raises StoreUnavailable after TRIES_MAX touches that took longer.
    """
    if not days:
        return
    for _ in range(TRIES_MAX):
        # From before the touch: a seal relies on the time at which its token was put.
        began_ms = clock()
        table.write([calendar_rows.touch_puts(days, calendar_rows.new_token())])
        if grace_ms <= 0 or clock() - began_ms < grace_ms // 2:
            return
    raise StoreUnavailable(
        f"touching {len(days)} days took more than half the grace period of {grace_ms} ms, {TRIES_MAX} times;"
        " try again"
    )


def _is_commit(column: bytes) -> bool:
    """Return whether a column of a run row is that of a commit record."""
    return column.startswith(layout.COMMIT)
