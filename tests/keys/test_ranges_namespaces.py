"""Namespaces of keys, and ranges within one namespace."""

from __future__ import annotations

import pytest

from fll_hbase.keys import calendars, layout, ranges
from fll_hbase.keys.codec import escape
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.window import Direction

ODD = Dataset("a|b/100 %", "c")


@pytest.mark.parametrize(
    "key",
    [
        layout.dataset_row(ODD),
        layout.alias_row(ODD),
        layout.tags_row(DatasetField(ODD, "f")),
        layout.tag_index_row("PII", DatasetField(ODD, "f")),
        layout.reference_prefix(Direction.BACKWARD, ODD),
        layout.reference_prefix(Direction.FORWARD, ODD),
        calendars.ways_prefix(Direction.BACKWARD, ODD),
        calendars.ways_prefix(Direction.FORWARD, ODD),
        calendars.horizon_row(ODD),
        layout.run_index_prefix(ODD.namespace),
    ],
)
def test_each_kind_of_row_has_its_namespace(key: bytes) -> None:
    assert ranges.namespace_of(key) == ODD.namespace
    end = ranges.namespace_end(key)
    assert key < end
    escaped = ranges.escaped_namespace(key)
    assert escaped == escape(ODD.namespace)
    assert ranges.only_namespace(key, end) == ranges.only_namespace(key, key + b"|z") == escaped
    assert not ranges.only_namespace(key, end + b"\x00")
    # A bound, which is no key.
    assert not ranges.only_namespace(end, end + b"\x00")


@pytest.mark.parametrize(
    "key",
    [
        layout.run_row("r"),
        layout.content_row("0" * 32),
        calendars.calendar_row("0" * 32, 0),
        layout.policy_row("p"),
        layout.ACCESS + b"t|x",
    ],
)
def test_others_have_none(key: bytes) -> None:
    assert ranges.namespace_of(key) is None
    assert ranges.namespace_end(key) == key + b"\x00"
    assert not ranges.escaped_namespace(key)
    assert not ranges.only_namespace(key, key + b"\x00")


def test_a_kind_alone_is_no_namespace() -> None:
    assert not ranges.only_namespace(layout.DATASETS, layout.DATASETS + b"a")
