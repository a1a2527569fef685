"""The mark of a table with complete calendars; a table of an earlier release has none."""

from __future__ import annotations

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.tables import Put, Table


def mark(table: Table) -> bool:
    """Mark a table that has no references yet; return whether it is marked, now or before."""
    # Do not mark just any table: a repair re-records runs of an earlier release, and may be interrupted.
    if not is_marked(table):
        return False
    if not _is_complete(table):
        columns = calendars.MARK_COLUMN, calendars.RUN_KEYS_COLUMN
        table.write([[Put(calendars.MARK_ROW, column, b"") for column in columns]])
    return True


def has_former_runs(table: Table) -> bool:
    """Return whether a table may have runs of an earlier release, whose keys have no namespace."""
    return calendars.RUN_KEYS_COLUMN not in table.get(calendars.MARK_ROW)


def mark_complete(table: Table) -> None:
    """Mark a table in which, as the caller knows, each committed run has its ways and its calendar day."""
    if not _is_complete(table):
        table.write([[Put(calendars.MARK_ROW, calendars.MARK_COLUMN, b"")]])


def is_marked(table: Table) -> bool:
    """Return whether a table has the mark of complete calendars, or needs none as it has no references."""
    if _is_complete(table):
        return True
    # Do not check run rows: the first writer puts one before the mark, and others may open the table then.
    prefixes = map(ranges.prefix_range, layout.REFERENCES)
    if not any(row for prefix in prefixes for row in table.scan(*prefix, limit=1)):
        return True
    # Check again: another process may have put the mark and then its first references in between.
    return _is_complete(table)


def _is_complete(table: Table) -> bool:
    """Return whether a table has the mark of complete calendars."""
    return calendars.MARK_COLUMN in table.get(calendars.MARK_ROW)


def require(table: Table) -> None:
    """Raise ConfigurationError for a table of an earlier release, whose runs no query would find."""
    if not is_marked(table):
        raise ConfigurationError(
            "this store was written by an earlier release and has no calendars yet: end the servers and jobs"
            " of that release, then run `fll store migrate`"
        )
