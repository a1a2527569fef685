"""What can be mended is said once more: contents, further names, and what run rows hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from fll_hbase.errors import CorruptRow, LineageError, in_row
from fll_hbase.keys import layout, ranges
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit import check_contents
from fll_hbase.store.maintenance.audit.findings import NO_REPAIR, Finding, Repair
from fll_hbase.tables import Batch, Put, Row, Table


def next_repairs(findings: Iterable[Finding], tried: AbstractSet[Repair]) -> set[Repair]:
    """What is to be mended next: contents before the runs that rely on them, and nothing twice."""
    mends = {one.repair for one in findings if one.repair != NO_REPAIR} - tried
    return {one for one in mends if not one.is_run} or mends


def apply_repairs(table: Table, store: LineageStore, mends: Iterable[Repair]) -> dict[Repair, str]:
    """Do what mends; returns what could not be done, and why. Nothing is deleted. Raises StoreUnavailable."""
    mends = sorted(set(mends))
    failed = {}
    for one in mends:
        if not one.is_run:
            try:
                with in_row(one.row):
                    table.write(_again(one.row, table.get(one.row)))
            except LineageError as error:
                failed[one] = str(error)
    runs = {ranges.run_of(one.row): one for one in mends if one.is_run}
    return failed | {runs[run]: str(error) for run, error in _settled(store, list(runs)).items()}


def _settled(store: LineageStore, runs: Sequence[str]) -> Mapping[str, LineageError]:
    """Why some runs cannot be settled; a row that cannot be read stops no other run."""
    try:
        return store.recommit(runs)
    except CorruptRow as error:
        if len(runs) == 1:
            return {runs[0]: error}
        half = len(runs) // 2
        return {**_settled(store, runs[:half]), **_settled(store, runs[half:])}


def _again(key: bytes, row: Row) -> list[Batch]:
    """A content with its catalogue before it, or further names at their other ends. Raises CorruptRow."""
    if key.startswith(layout.CONTENTS):
        if not row:
            raise CorruptRow("it is gone")
        content = check_contents.rebuild_content(ranges.checksum_of(key), row)
        return [content.catalogue, content.data]
    own = layout.alias_column(ranges.dataset_of(key))
    return [[Put(layout.alias_row(layout.parse_alias(column)), own, b"") for column in row]]
