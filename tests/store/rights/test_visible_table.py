"""The table of a principal: what it reads of the whole table, counted in calls."""

from __future__ import annotations

from functools import partial

import pytest

from fll_hbase.keys import layout
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.lineage import build_lineage
from fll_hbase.model.operations import InputField, Read, Write
from fll_hbase.store.read.catalogue import Catalogue
from fll_hbase.store.rights.visible_table import VisibleTable
from fll_hbase.store.rows import content_rows
from fll_hbase.tables import CellKey, Put, Row, Scan, open_table
from fll_hbase.tables.base import Columns
from tests.support.table_calls import CountingTable

VISIBLE = ["before", "open1", "open2", "open3"]
HIDDEN = ["another", "other", "zero"]
UNUSED = [f"none{number}.*" for number in range(98)]


def _visible_table(*patterns: str) -> tuple[CountingTable, VisibleTable]:
    """Return a counting table with a dataset in each namespace, and the one of a reader of some."""
    table = open_table("sqlite:///:memory:")
    rows = [layout.dataset_row(Dataset(namespace, "table")) for namespace in (*VISIBLE, *HIDDEN)]
    table.write([[Put(row, layout.EXISTS, b"") for row in rows]])
    counting = CountingTable(table)
    return counting, _as_seen(counting, *patterns)


def _as_seen(table: CountingTable, *patterns: str) -> VisibleTable:
    principal = Principal("reader", tuple(Grant(Role.READER, pattern) for pattern in patterns))
    return VisibleTable(
        table,
        may_read=partial(principal.may, Role.READER),
        may_change=lambda role, namespace: False,
        patterns=principal.patterns(Role.READER),
    )


@pytest.mark.parametrize("unused", [[], UNUSED[:1], UNUSED], ids=len)
def test_grants_of_namespaces_without_rows_cost_two_calls(unused: list[str]) -> None:
    counting, visible = _visible_table("before", "open*", *unused)
    assert list(Catalogue(visible).namespaces()) == VISIBLE
    # One for each namespace and one for the end; behind a range of grants one, for all others together.
    assert sum(counting.calls.values()) <= len(VISIBLE) + 1 + 2


def test_scans_together_are_those_of_each() -> None:
    counting, visible = _visible_table("before", "open*")
    scans = [
        Scan(layout.dataset_prefix("open1"), layout.dataset_prefix("open1") + b"\x7f"),
        Scan(layout.dataset_prefix("zero"), layout.dataset_prefix("zero") + b"\x7f"),
        Scan(layout.DATASETS, layout.DATASETS + b"\x7f", limit=2),
        Scan(layout.dataset_prefix("before"), layout.dataset_prefix("before") + b"\x7f", columns=(b"o:",)),
        Scan(layout.dataset_prefix("open3"), layout.dataset_prefix("open3") + b"\x7f"),
    ]
    alone = [
        list(visible.scan(scan.start, scan.stop, columns=scan.columns, limit=scan.limit)) for scan in scans
    ]
    counting.calls.clear()
    assert visible.scan_many(scans) == alone
    assert list(map(len, alone)) == [1, 0, 2, 0, 1]
    assert counting.calls["scan_many"] <= 2


class _DeletedMeanwhile(CountingTable):
    """Deletes a row before the first `get` of it, as garbage collection does between two reads."""

    def get(self, row: bytes, *, columns: Columns = ()) -> Row:
        if not self.calls["get"]:
            self._table.delete([CellKey(row, column) for column in self._table.get(row)], until_ms=4 * 10**12)
        return super().get(row, columns=columns)


def test_a_content_deleted_while_it_is_masked_is_shown_once_it_is_recorded_again() -> None:
    read = Read("r", "", Dataset("zero", "table"), "", (Field("x"),))
    info = build_lineage([read, Write("w", "", Dataset("open1", "table"), "", (InputField("r", "x"),))])
    table = open_table("sqlite:///:memory:")
    visible = _as_seen(_DeletedMeanwhile(table), "open*")
    key = layout.content_row(info.checksum)
    table.write([content_rows.encode_content(info).data])
    assert visible.rows([key]) == {}
    table.write([content_rows.encode_content(info).data])
    assert visible.get(key)[layout.OPERATION + b"w"]
