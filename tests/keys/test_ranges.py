"""Ranges over many rows contain what they should, wherever they are split."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.keys import layout, ranges
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import START_LIMIT_MS, Direction, Window
from fll_hbase.runtime.errors import CorruptRow
from tests.support.strategies import directions, end_points, names, starts, windows

ALWAYS = Window(0, START_LIMIT_MS)


def reference(direction: Direction, end_point: Dataset, start_ms: int, run: str) -> bytes:
    return layout.reference_prefix(direction, end_point) + layout.reference_tail(start_ms, run)


def holds(part: layout.Range, key: bytes) -> bool:
    return part[0] <= key < part[1]


@given(names, end_points, directions, starts, names)
def test_a_namespace_holds_its_references_and_no_other(
    namespace: str, end_point: Dataset, direction: Direction, start_ms: int, run: str
) -> None:
    key = reference(direction, end_point, start_ms, run)
    assert holds(ranges.prefix_range(layout.direction_prefix(direction)), key)
    namespace_range = ranges.prefix_range(layout.direction_prefix(direction, namespace))
    assert holds(namespace_range, key) == (namespace == end_point.namespace)
    assert holds(ranges.prefix_range(layout.DATASETS), layout.dataset_row(end_point))


@given(st.data(), end_points, directions, windows, st.lists(st.tuples(starts, names), min_size=1, max_size=5))
def test_the_parts_of_a_window_hold_each_start_once(
    data: st.DataObject,
    end_point: Dataset,
    direction: Direction,
    queried: Window,
    others: list[tuple[int, str]],
) -> None:
    keys = [reference(direction, end_point, *other) for other in others]
    cuts = [cut for key in (*keys, b"b|n", b"d") if (cut := ranges.split_point(key)) is not None]
    wholes = [
        ranges.prefix_range(layout.direction_prefix(direction)),
        layout.window_range(direction, end_point, queried),
    ]
    full_range = data.draw(st.sampled_from(wholes))
    parts = [
        ranges.restrict_window(direction, end_point, queried, part)
        for part in ranges.split_range(full_range, cuts)
    ]
    for start_ms in {start for other, _ in others for start in (other - 1, other, other + 1)}:
        assert sum(start_ms in part for part in parts) == (start_ms in queried)


@given(end_points, directions, starts, names, names)
def test_a_part_of_a_window_lies_in_its_part_of_the_table(
    end_point: Dataset, direction: Direction, start_ms: int, run: str, other: str
) -> None:
    """All references of one millisecond are on one side of a cut, and the windows say the same."""
    cut = ranges.split_point(reference(direction, end_point, start_ms, other))
    assert cut is not None
    for part in ranges.split_range(ranges.prefix_range(layout.direction_prefix(direction)), [cut]):
        for near_ms in {max(start_ms - 1, 0), start_ms, min(start_ms + 1, START_LIMIT_MS - 1)}:
            window = ranges.restrict_window(direction, end_point, ALWAYS, part)
            assert (near_ms in window) == holds(part, reference(direction, end_point, near_ms, run))


@pytest.mark.parametrize(
    ("key", "cut"),
    [
        (b"b", b"b"),
        (b"b|ns|na", b"b|ns|na"),
        (b"b|ns|name|7f", b"b|ns|name|7f"),
        (b"b|ns|name|7fffffffffffffff|run|", b"b|ns|name|7fffffffffffffff"),
        (b"b|ns|name|8", None),
        (b"b|ns|name|x", None),
    ],
)
def test_references_may_be_cut_where_a_millisecond_ends(key: bytes, cut: bytes | None) -> None:
    assert ranges.split_point(key) == cut


@given(names, names | st.just(""), end_points, directions, starts)
def test_keys_read_back(
    run: str, namespace: str, end_point: Dataset, direction: Direction, start_ms: int
) -> None:
    key = layout.run_row(run, namespace)
    assert ranges.run_of(key) == (run, namespace)
    tail = layout.escaped_reference_tail(start_ms, ranges.escaped_run_of(key))
    assert tail == layout.reference_tail(start_ms, run, namespace)
    assert ranges.dataset_of(layout.dataset_row(end_point)) == end_point
    assert ranges.dataset_of(reference(direction, end_point, start_ms, run)) == end_point
    assert ranges.checksum_of(layout.content_row("0" * 32)) == "0" * 32


@pytest.mark.parametrize(
    "key", [b"", b"r|", b"r|00|one", b"r|00|one+ns", b"r|one", b"e|ns", b"c|0", b"c|" + b"G" * 32]
)
def test_any_other_key_is_corrupt(key: bytes) -> None:
    for read in (ranges.run_of, ranges.escaped_run_of, ranges.dataset_of, ranges.checksum_of):
        if not (read is ranges.dataset_of and key.count(b"|") > 1):
            with pytest.raises(CorruptRow):
                read(key)
