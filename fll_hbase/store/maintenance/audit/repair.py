"""Repair of findings: puts contents, aliases and the tag index again, touches days, re-commits runs.

Deletes nothing. A content is a set of operations that runs share. An alias of two datasets is in the rows of
both; the repair of one row puts the cells that the rows of the other datasets lack.
"""

from __future__ import annotations

from collections.abc import Iterable

from fll_hbase.keys import layout, ranges
from fll_hbase.runtime.errors import CorruptRow, LineageError, StoreUnavailable, in_row
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit import check_contents, check_indexes
from fll_hbase.store.maintenance.audit.findings import Repair
from fll_hbase.store.rows import calendar_rows, tag_rows
from fll_hbase.tables import Batch, Put, Row, Table


def apply_repairs(table: Table, store: LineageStore, repairs: Iterable[Repair]) -> dict[Repair, str]:
    """Apply the repairs; return a reason for each impossible one, {} if all succeeded.

    Contents and aliases are put before any run is committed. Raises StoreUnavailable.
    """
    repairs = sorted(set(repairs))
    failed = {}
    for repair in repairs:
        if not repair.is_run:
            try:
                with in_row(repair.row):
                    table.write(_batches_to_put(repair.row, table.get(repair.row)))
            except StoreUnavailable:
                raise
            except LineageError as error:
                failed[repair] = str(error)
    runs = {ranges.run_of(repair.row): repair for repair in repairs if repair.is_run}
    return failed | {runs[run]: str(error) for run, error in store.recommit(list(runs)).items()}


def _batches_to_put(key: bytes, row: Row) -> list[Batch]:
    """Return the puts that repair the row `key` (content, calendar, alias or tags), from its stored cells.

    For a content: its catalogue cells, then the row itself, encoded again from its operations. For tags:
    their index rows. For a calendar: new tokens, which invalidate all seals. For an alias row: the dataset of
    `key` as an alias in the row of each of its aliases; the row itself is not put. Raises CorruptRow for a
    content that is missing or whose operations cannot be read, and for an alias that cannot be parsed.
    """
    if key.startswith(layout.CONTENTS):
        if not row:
            raise CorruptRow("the content is missing")
        content = check_contents.rebuild_content(ranges.checksum_of(key), row)
        # Put the catalogue before the content, as in step 3 of a commit.
        return [content.catalogue, content.data]
    if key.startswith(layout.TAGS):
        return [[tag_rows.index_put(tag) for tag in tag_rows.decode_tags(key, row)]]
    if key.startswith(layout.CALENDARS):
        return [calendar_rows.touch_puts(check_indexes.days_of(key, row), calendar_rows.new_token())]
    column = layout.alias_column(ranges.dataset_of(key))
    return [[Put(layout.alias_row(alias), column, b"") for alias in layout.aliases_in(row)]]
