"""Layouts: columns by the longest path, cycles, lanes of long links, and a bound of their number."""

from __future__ import annotations

from itertools import pairwise

import pytest

from fll_hbase.client.notebook import box_layout
from fll_hbase.client.notebook.box_layout import Wire, lay_out


def columns(count: int, *wires: tuple[int, int]) -> list[int]:
    """Return the columns of boxes of one height."""
    return [item.column for item in lay_out([10.0] * count, [Wire(*wire) for wire in wires]).boxes]


@pytest.mark.parametrize(
    ("count", "wires", "expected"),
    [
        (0, [], []),
        (2, [], [0, 0]),
        (3, [(0, 1), (1, 2), (0, 2)], [0, 1, 2]),
        (3, [(0, 1), (1, 2), (2, 0)], [0, 1, 2]),
        (1, [(0, 0)], [0]),
        (4, [(0, 1), (1, 2), (3, 2)], [0, 1, 2, 1]),
    ],
    ids=["empty", "apart", "longest", "cycle", "loop", "late source"],
)
def test_columns_follow_the_longest_path(
    count: int, wires: list[tuple[int, int]], expected: list[int]
) -> None:
    assert columns(count, *wires) == expected


def test_a_chain_longer_than_the_stack_is_laid_out() -> None:
    assert columns(5_000, *pairwise(range(5_000))) == [*range(5_000)]


def test_a_long_wire_has_a_lane_in_each_column_that_it_passes() -> None:
    layout = lay_out([10.0] * 4, [Wire(0, 1), Wire(1, 2), Wire(2, 3), Wire(0, 3), Wire(3, 0)])
    assert [[lane.column for lane in lanes] for lanes in layout.lanes] == [[], [], [], [1, 2], [3, 2, 1, 0]]
    for lanes in layout.lanes:
        for lane in lanes:
            beside = [box for box in layout.boxes if box.column == lane.column]
            assert all(lane.y < box.y or lane.y > box.y + box.height for box in beside)


def test_lanes_beyond_the_limit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box_layout, "LANES_MAX", 3)
    wires = [*map(Wire._make, ((number, number + 1, 0, 0) for number in range(9))), Wire(0, 3), Wire(1, 9)]
    assert [len(lanes) for lanes in lay_out([10.0] * 10, wires).lanes[-2:]] == [2, 0]


def test_boxes_stand_where_their_neighbours_are() -> None:
    layout = lay_out([10.0] * 5, [Wire(0, 3), Wire(1, 4), Wire(2, 3)])
    tops = [item.y for item in layout.boxes]
    assert min(tops) == 0
    assert tops[3] == pytest.approx((tops[0] + tops[2]) / 2, abs=40)
    assert abs(tops[1] - tops[4]) < 40
