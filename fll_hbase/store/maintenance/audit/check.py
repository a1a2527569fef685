"""Check of a whole table by any auditor: audit, repair what can be repaired, audit again.

`fll store check` audits in its own process (`local_auditor`), `fll spark check` on workers. Both commands run
these steps and report in the same way, so a new step of repair belongs here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import NamedTuple, Protocol

from fll_hbase.keys import layout, ranges
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import CorruptRow, LineageError, StoreUnavailable, in_row
from fll_hbase.store.factory import open_store_table
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit import check_contents, check_indexes, former_runs
from fll_hbase.store.maintenance.audit.check_report import AuditReport, CheckReport
from fll_hbase.store.maintenance.audit.findings import Finding, Repair
from fll_hbase.store.rows import calendar_mark, calendar_rows, tag_rows
from fll_hbase.tables import Batch, Put, Row, Table

WHOLE_TABLE = b"", b"\xff" * 64
"""All keys, including those that no release writes."""

PASSES_MAX = 2
"""A run's needs are unknown until its content is repaired, so a second pass repairs the run."""


class Repaired(NamedTuple):
    """The numbers of rows that were written again, and of rows that could not be."""

    done: int
    refused: int


class Auditor(Protocol):
    """Audits a whole table, and repairs what its last audit found.

    Raises StoreUnavailable, CorruptRow only for a damaged file, and ConfigurationError.
    """

    def audit(self) -> AuditReport:
        """Audit the whole table once."""

    def repair(self) -> Repaired:
        """Apply the repairs of the last audit: contents, aliases and calendars first, then runs.

        Each row is written once, however many findings name it, and is not tried again by later calls.
        """

    def reasons(self, findings: Iterable[Finding]) -> Mapping[Repair, str]:
        """Return why the repairs of the given findings, which are few, were impossible."""


def check(auditor: Auditor, settings: Settings, *, repair: bool) -> CheckReport:
    """Audit the whole table. With `repair`, repair what can be repaired, audit again, and move former rows.

    Former rows are rows of an earlier release; moved ones count as written again. They move only in a table
    with the mark of complete calendars, which is put if no error is left. Deletes nothing. Safe while writers
    are running. Raises StoreUnavailable, ConfigurationError, and CorruptRow only for a damaged file.
    """
    first = last = auditor.audit()
    done = refused = 0
    for _ in range(PASSES_MAX):
        if not repair or not last.repairable:
            break
        repaired = auditor.repair()
        done += repaired.done
        refused += repaired.refused
        if not repaired.done:
            break
        last = auditor.audit()
    refusals = auditor.reasons(last.left()) if repair else {}
    if repair:
        with closing(open_store_table(settings, create=False)) as table:
            if not last.count_errors():
                # No way and no day is missing, and all current writers put their own.
                calendar_mark.mark_complete(table)
            if calendar_mark.is_marked(table):
                done += former_runs.move_former_rows(LineageStore(table, settings))
    return CheckReport(first, last, repair, done, refused, refusals)


def apply_repairs(table: Table, store: LineageStore, repairs: Iterable[Repair]) -> dict[Repair, str]:
    """Apply the repairs; return a reason for each impossible one, {} if all succeeded.

    All other rows are put before any run is committed. Raises StoreUnavailable, and CorruptRow for a file
    that is damaged where runs are read.
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
    rejections = store.components.committer.recommit(list(runs))
    return failed | {runs[run]: str(error) for run, error in rejections.items()}


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
