"""The graph of a field: each hidden dataset is one node."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.lineage import build_lineage
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.queries.field_lineage import FieldLineage, node_id, parse_node_id
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.rights.store_view import StoreView
from fll_hbase.tables import open_table

READ = Read("read", "", Dataset("hidden", "a"), "", (Field("x"),))
COPIED = (READ, Write("write", "", Dataset("open", "b"), "", (InputField("read", "x"),)))
"""Shown as a READ of the hidden dataset, and as a field that it passes on."""

CHANGED = (
    READ,
    Transform("change", "", (InputField("read", "x"),), (Field("x"),)),
    Write("write", "", Dataset("open", "b"), "", (InputField("change", "x"),)),
)
"""Shown as a READ of the hidden dataset alone."""

COMPLETE, FAIL = State.COMPLETE, State.FAIL


@pytest.mark.parametrize(
    ("copied", "changed", "failed"),
    [(FAIL, COMPLETE, False), (COMPLETE, FAIL, False), (FAIL, FAIL, True), (COMPLETE, COMPLETE, False)],
)
@pytest.mark.parametrize("newest", ["copied", "changed"])
def test_a_hidden_node_is_failed_if_all_that_led_to_it_failed(
    copied: State, changed: State, failed: bool, newest: str
) -> None:
    store = LineageStore(open_table("sqlite:///:memory:"))
    runs = {"copied": (COPIED, copied), "changed": (CHANGED, changed)}
    for name, (operations, state) in runs.items():
        store.record([_run(name, operations, state, start_ms=2_000 if name == newest else 1_000)])
    view = StoreView(store, Principal("reader", (Grant(Role.READER, "open"),)))
    query = FieldLineage("open", "b", "x", start="0", end="9", failed=True)
    nodes = query.answer(view, now_ms=9_000).body.nodes
    assert [node.failed for node in nodes if node.hidden] == [failed]


def _run(name: str, operations: tuple[Operation, ...], state: State, *, start_ms: int) -> RecordedRun:
    run = ProgramRun("open", "app", "", "", "program", name, start_ms, state=state)
    return RecordedRun(run, build_lineage(operations))


@given(st.text(min_size=1), st.text())
def test_an_id_names_one_node(origin: str, name: str) -> None:
    assert parse_node_id(node_id((origin, name))) == (origin, name)
