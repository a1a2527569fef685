"""Do ranges over many rows hold what they should, wherever they are cut?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import directions, end_points, names, starts, windows

from fll_hbase.errors import CorruptRow
from fll_hbase.keys import layout, ranges
from fll_hbase.model.operations import Dataset
from fll_hbase.model.runs import START_LIMIT_MS, Direction, Window

ALWAYS = Window(0, START_LIMIT_MS)


def reference(direction: Direction, end_point: Dataset, start_ms: int, run: str) -> bytes:
    return layout.references(direction, end_point) + layout.reference_tail(start_ms, run)


def holds(part: layout.Range, key: bytes) -> bool:
    return part[0] <= key < part[1]


@given(names, end_points, directions, starts, names)
def test_a_namespace_holds_its_references_and_no_other(
    namespace: str, end_point: Dataset, direction: Direction, start_ms: int, run: str
) -> None:
    key = reference(direction, end_point, start_ms, run)
    assert holds(ranges.under(layout.all_references(direction)), key)
    of_namespace = ranges.under(layout.all_references(direction, namespace))
    assert holds(of_namespace, key) == (namespace == end_point.namespace)
    assert holds(ranges.under(layout.END_POINTS), layout.end_point_row(end_point))


@given(st.data(), end_points, directions, windows, st.lists(st.tuples(starts, names), min_size=1, max_size=5))
def test_the_parts_of_a_window_hold_each_start_once(
    data: st.DataObject,
    end_point: Dataset,
    direction: Direction,
    asked: Window,
    others: list[tuple[int, str]],
) -> None:
    keys = [reference(direction, end_point, *other) for other in others]
    cuts = [cut for key in (*keys, b"b|n", b"d") if (cut := ranges.cut(key)) is not None]
    wholes = [ranges.under(layout.all_references(direction)), layout.window(direction, end_point, asked)]
    whole = data.draw(st.sampled_from(wholes))
    parts = [ranges.window_within(direction, end_point, asked, part) for part in ranges.parted(whole, cuts)]
    for start_ms in {start for other, _ in others for start in (other - 1, other, other + 1)}:
        assert sum(start_ms in part for part in parts) == (start_ms in asked)


@given(end_points, directions, starts, names, names)
def test_a_part_of_a_window_lies_in_its_part_of_the_table(
    end_point: Dataset, direction: Direction, start_ms: int, run: str, other: str
) -> None:
    """All references of one millisecond are on one side of a cut, and the windows say the same."""
    cut = ranges.cut(reference(direction, end_point, start_ms, other))
    assert cut is not None
    for part in ranges.parted(ranges.under(layout.all_references(direction)), [cut]):
        for near_ms in {max(start_ms - 1, 0), start_ms, min(start_ms + 1, START_LIMIT_MS - 1)}:
            window = ranges.window_within(direction, end_point, ALWAYS, part)
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
    assert ranges.cut(key) == cut


@given(names, end_points, directions, starts)
def test_keys_read_back(run: str, end_point: Dataset, direction: Direction, start_ms: int) -> None:
    assert ranges.run_in(layout.run_row(run)) == run
    tail = layout.escaped_tail(start_ms, ranges.escaped_run_in(layout.run_row(run)))
    assert tail == layout.reference_tail(start_ms, run)
    assert ranges.end_point_in(layout.end_point_row(end_point)) == end_point
    assert ranges.end_point_in(reference(direction, end_point, start_ms, run)) == end_point
    assert ranges.content_in(layout.data_row("0" * 32)) == "0" * 32


@pytest.mark.parametrize("key", [b"", b"r|", b"r|00|one", b"r|one", b"e|ns", b"c|0", b"c|" + b"G" * 32])
def test_any_other_key_is_corrupt(key: bytes) -> None:
    for read in (ranges.run_in, ranges.escaped_run_in, ranges.end_point_in, ranges.content_in):
        if not (read is ranges.end_point_in and key.count(b"|") > 1):
            with pytest.raises(CorruptRow):
                read(key)
