"""A view answers as the store does: until the deadline, and without damaged contents."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from types import SimpleNamespace
from uuid import UUID

import pytest

from fll_hbase.keys import layout
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime import damage, deadline
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.query_parameters import ReachQuery, RunsQuery
from fll_hbase.store.rights.store_view import StoreView
from fll_hbase.tables import Put, open_table
from tests.support.reach_histories import NOON_MS, chain_field, copy_chain
from tests.support.reach_oracle import Edge, Run

EVER = Window(0, 2**62)
READER = Principal("reader", (Grant(Role.READER, "ns"),))


@pytest.fixture
def store() -> LineageStore:
    return LineageStore(open_table("sqlite:///:memory:"))


def test_a_walk_that_the_deadline_cuts_leaves_time_to_find_hidden_runs(
    store: LineageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, run in enumerate(copy_chain(4)):
        recorded = run.recorded()
        # The key of a run with a UUID has no namespace, so that only its row says whose it is.
        store.record([replace(recorded, run=replace(recorded.run, run=str(UUID(int=number))))])
    # Each look at the clock takes a second.
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=partial(next, count())))
    lengths = set()
    for seconds in range(1, 150):
        with deadline.limited(seconds), suppress(DeadlineExceeded):
            reach = StoreView(store, READER).reach(ReachQuery(chain_field(0), EVER, Direction.FORWARD))
            lengths.add(len(reach.edges))
            assert reach.truncated_by or len(reach.edges) == 4
    assert lengths == {1, 2, 3, 4}


def test_a_page_has_neither_runs_nor_keys_of_damaged_contents(store: LineageStore) -> None:
    hidden = Edge(DatasetField(Dataset("hidden", "a"), "f"), chain_field(1), True)
    runs = [Run("1", NOON_MS, (hidden,)).recorded(), copy_chain(1)[0].recorded()]
    store.record(runs)
    row, column = layout.content_row(runs[0].info.checksum), layout.operation_column("read0")
    store.table.write([[Put(row, column, b"damaged")]])
    view = StoreView(store, READER)
    with damage.noting() as left_out:
        page = view.namespace_runs(RunsQuery("ns", EVER), limit=10)
    assert len(left_out) == 1
    assert [listed.run.run for listed in page.runs] == [key.run for key in page.keys] == ["run0"]
    assert [details.committed.run.run for details, _ in view.run_details(page)] == ["run0"]
