"""Numbers of hidden names: their cost, and checksums without a cache."""

from __future__ import annotations

from typing import Any

import pytest

from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.lineage import FieldLineageInfo, build_lineage
from fll_hbase.model.masking import hide_dataset
from fll_hbase.model.operations import InputField, Read, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import Window
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.rights import numbering, visible_table
from fll_hbase.store.rights.store_view import StoreView
from fll_hbase.tables import open_table


@pytest.mark.parametrize("size", [10, 1_000, 5_000])
def test_one_part_with_many_labels_costs_linear_work(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    normal = numbering._normal

    def counted(*arguments: Any) -> object:
        nonlocal calls
        calls += 1
        return normal(*arguments)

    monkeypatch.setattr(numbering, "_normal", counted)
    numbering.begin_answer()
    datasets = tuple(hide_dataset(Dataset("hidden", str(number))) for number in range(size))
    numbered = numbering.number_hidden(((("part", *datasets)),))
    assert {item.name for item in numbered[0][1:]} == {f"hidden {number}" for number in range(1, size + 1)}
    # Four rounds over the members of the part, of which small ones are compared for each label.
    assert calls <= 4 * 60 * 4 * size


def _store_with_hidden_source() -> tuple[LineageStore, FieldLineageInfo]:
    store = LineageStore(open_table("sqlite:///:memory:"))
    info = build_lineage(
        [
            Read("read", "", Dataset("hidden", "a"), "", (Field("x"),)),
            Write("write", "", Dataset("open", "b"), "", (InputField("read", "x"),)),
        ]
    )
    store.record([RecordedRun(ProgramRun("open", "app", "", "", "program", "r1", 1_000), info)])
    return store, info


def test_a_view_that_is_built_again_shows_no_label() -> None:
    """As for the ninth set of grants, or two first requests of one set at once."""
    store, _ = _store_with_hidden_source()
    principal = Principal("reader", (Grant(Role.READER, "open"),))
    for _ in range(2):
        numbering.begin_answer()
        lineage = StoreView(store, principal).lineage(Dataset("open", "b"), Window(0, 9_000))
        assert "hidden 1" in repr(lineage)
        assert "\0" not in repr(lineage)
        assert "x00" not in repr(lineage)
        assert lineage.truncated_by == ("hidden",)


def test_a_content_that_no_cache_holds_has_no_checksum_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visible_table, "CACHE_BYTES", 0)
    store, info = _store_with_hidden_source()
    view = StoreView(store, Principal("reader", (Grant(Role.READER, "open"),)))
    for _ in range(2):
        assert view.run("r1").committed.checksum not in (info.checksum, "")
