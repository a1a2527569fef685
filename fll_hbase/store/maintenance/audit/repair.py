"""What can be mended is said once more: contents, further names, and what run rows hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from fll_hbase.errors import CorruptRow, LineageError, in_row
from fll_hbase.keys import layout, ranges
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit import check_contents
from fll_hbase.store.maintenance.audit.findings import NOTHING, Finding, Mend
from fll_hbase.tables import Batch, Put, Row, Table


def due(findings: Iterable[Finding], tried: AbstractSet[Mend]) -> set[Mend]:
    """What is to be mended next: contents before the runs that rely on them, and nothing twice."""
    mends = {one.mend for one in findings if one.mend != NOTHING} - tried
    return {one for one in mends if not one.of_run} or mends


def mend(table: Table, store: LineageStore, mends: Iterable[Mend]) -> dict[Mend, str]:
    """Do what mends; returns what could not be done, and why. Nothing is deleted. Raises StoreUnavailable."""
    mends = sorted(set(mends))
    failed = {}
    for one in mends:
        if not one.of_run:
            try:
                with in_row(one.row):
                    table.write(_again(one.row, table.get(one.row)))
            except LineageError as error:
                failed[one] = str(error)
    runs = {ranges.run_in(one.row): one for one in mends if one.of_run}
    return failed | {runs[run]: str(error) for run, error in _settled(store, list(runs)).items()}


def _settled(store: LineageStore, runs: Sequence[str]) -> Mapping[str, LineageError]:
    """Why some runs cannot be settled; a row that cannot be read stops no other run."""
    try:
        return store.settle(runs)
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
        content = check_contents.content_in(ranges.content_in(key), row)
        return [content.catalogue, content.data]
    own = layout.alias_column(ranges.end_point_in(key))
    return [[Put(layout.alias_row(layout.parsed_alias(column)), own, b"") for column in row]]
