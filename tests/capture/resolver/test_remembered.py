"""Memory of the RDDs of an application."""

from __future__ import annotations

import pytest

from fll_hbase.capture.resolver import remembered
from fll_hbase.capture.resolver.dataset_names import DatasetName
from fll_hbase.capture.resolver.plan_lineage import NO_ROWS, NamedColumn, NamedRows
from fll_hbase.capture.resolver.remembered import RddMemory

SOURCE = DatasetName("file", "/data/t")
COLUMN = NamedColumn(frozenset({(SOURCE, "a", 0, False)}))
ROWS = NamedRows(frozenset({(SOURCE, "b", "FILTER")}), frozenset({SOURCE}))


def read(rdd: int, *ids: int) -> dict[str, object]:
    return {"kind": "rdd", "rdd": rdd, "ids": list(ids)}


@pytest.mark.parametrize("order", [1, -1])
def test_an_rdd_that_is_read_twice_has_its_lineage_under_both_ids(order: int) -> None:
    memory = RddMemory()
    memory.put([1, 2], [NamedColumn(), COLUMN], ROWS)
    memory.link([read(7, 1, 2), read(7, 11, 12), read(8, 21)][::order])
    assert memory.column(12) == COLUMN
    assert memory.rows([12]) == ROWS
    assert (memory.column(21), memory.rows([21])) == (None, NO_ROWS)


def test_an_rdd_is_known_in_later_plans() -> None:
    memory = RddMemory()
    memory.put([1], [COLUMN], ROWS)
    memory.link([read(7, 1)])
    memory.link([read(7, 31), {"kind": "rdd", "ids": [41]}])
    assert memory.column(31) == COLUMN
    assert memory.column(41) is None


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "COLUMNS_MAX", 3)
    monkeypatch.setattr(remembered, "RDDS_MAX", 1)
    memory = RddMemory()
    memory.put([1], [COLUMN], ROWS)
    memory.put([2], [COLUMN], ROWS)
    memory.link([read(7, 1), read(8, 2)])
    memory.link([read(7, 71), read(8, 81)])
    assert memory.column(71) is None
    assert memory.column(81) == COLUMN
    memory.put(range(100, 103), [COLUMN] * 3, ROWS)
    assert memory.column(81) is None


def test_a_full_memory_links_all_columns_of_an_rdd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "COLUMNS_MAX", 6)
    memory = RddMemory()
    memory.put([1, 2, 3], [COLUMN] * 3, ROWS)
    memory.link([read(7, 1, 2, 3)])
    memory.put([11, 12, 13], [COLUMN] * 3, ROWS)
    memory.link([read(7, 31, 32, 33)])
    assert [memory.column(number) for number in (31, 32, 33)] == [COLUMN] * 3
