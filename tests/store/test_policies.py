"""Damaged policies: every wrong value is damaged data for readers, lists and a check alike."""

from __future__ import annotations

import pytest

from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.tags import AgePolicy, parse_max_age
from fll_hbase.runtime import damage
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit.findings import Kind
from fll_hbase.tables import Put, open_table
from tests.support.audit_runner import findings

FIELD = DatasetField(Dataset("shop", "orders"), "id")
FORMER, CURRENT = layout.policy_row("p"), layout.policy_row("p", "shop")
"""The row of a policy on a field of an earlier release, and of this one."""


@pytest.mark.parametrize("key", [FORMER, CURRENT])
@pytest.mark.parametrize(
    "value",
    [
        b"\xff",
        b'{"at": 1}',
        b'{"at": 1, "maxAge": "1x", "tag": "PII"}',
        b'{"at": -1, "maxAge": "1d", "field": ["shop", "orders", "id"]}',
        b'{"at": 99999999999999999999, "maxAge": "1d", "field": ["shop", "orders", "id"]}',
        b'{"at": 1, "maxAge": "1d"}',
        b'{"at": 1, "maxAge": "1d", "tag": "PII", "field": ["shop", "orders", "id"]}',
        b'{"at": 1, "maxAge": "1d", "field": ["", "orders", "id"]}',
        b'{"at": 1, "maxAge": "1d", "field": ["shop", "orders", ""]}',
    ],
)
def test_a_wrong_value_is_damage(key: bytes, value: bytes) -> None:
    table = open_table("sqlite:///:memory:")
    store = LineageStore(table)
    other, _ = store.policies.put(AgePolicy("q", parse_max_age("1d"), "", FIELD, "", 0))
    table.write([[Put(key, layout.POLICY, value)]])
    with pytest.raises(CorruptRow, match=r"y\|p"):
        store.policies.get("p")
    with damage.noting() as left_out:
        assert list(store.policies.policies()) == [other]
    assert len(left_out) == 1
    assert [(item.kind, item.row) for item in findings(table)] == [(Kind.UNREADABLE, key)]


def test_a_field_of_another_namespace_than_the_key_is_damage() -> None:
    table = open_table("sqlite:///:memory:")
    value = b'{"at": 1, "maxAge": "1d", "field": ["sales", "orders", "id"]}'
    table.write([[Put(CURRENT, layout.POLICY, value)]])
    with pytest.raises(CorruptRow, match="another namespace"):
        LineageStore(table).policies.get("p")
