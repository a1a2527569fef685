"""The mark of a table whose calendars are complete; a table of an earlier release has none."""

from __future__ import annotations

from fll_hbase.errors import ConfigurationError
from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.tables import Put, Table


def mark(table: Table) -> None:
    """Mark the table as one whose calendars are complete, unless it is marked."""
    if not table.get(calendars.MARK_ROW):
        table.write([[Put(calendars.MARK_ROW, calendars.MARK_COLUMN, b"")]])


def is_marked(table: Table) -> bool:
    """Return whether the calendars of a table are complete; those of a table without runs are."""
    if table.get(calendars.MARK_ROW):
        return True
    return not any(table.scan(*ranges.prefix_range(layout.RUNS), limit=1))


def require(table: Table) -> None:
    """Raise ConfigurationError for a table of an earlier release, whose runs no query would find."""
    if not is_marked(table):
        raise ConfigurationError(
            "this store was written by an earlier release and has no calendars yet: end the servers and jobs"
            " of that release, then run `fll store migrate`"
        )
