"""Touches of days by jobs that change which runs exist: purges delete run rows, copies put and delete them.

As in a commit, a touch invalidates the seals of a day (docs/reference/row-keys.md, "Days and seals").
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
"""Maximum number of touches, each of half the grace period or more, before a job gives up."""


def days_of_commits(rows: Iterable[Mapping[bytes, Cell]]) -> set[ContentDay]:
    """Return the content and day of each commit record of run rows, including invalid records.

    An unreadable record is left out, because no reader counts its run anywhere.
    """
    # Include all records, because a failed delete may leave a record that becomes the valid one.
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
    """Touch days whose runs the caller changes immediately, within half the grace period of the touch.

    A grace period of 0 ms or less means that no other process uses the table, so one touch is enough.
    Raises StoreUnavailable after TRIES_MAX touches that took longer.
    """
    if not days:
        return
    for _ in range(TRIES_MAX):
        # Take the time before the touch, because a seal relies on the time at which its token was put.
        began_ms = clock()
        table.write([calendar_rows.touch_puts(days, calendar_rows.new_token())])
        if grace_ms <= 0 or clock() - began_ms < grace_ms // 2:
            return
    raise StoreUnavailable(
        f"touching {len(days)} days took more than half the grace period of {grace_ms} ms, {TRIES_MAX} times;"
        " try again"
    )


def _is_commit(column: bytes) -> bool:
    """Return whether a column of a run row is a commit record."""
    return column.startswith(layout.COMMIT)
