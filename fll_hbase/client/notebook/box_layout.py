"""Layered layout of boxes from left to right: columns by the longest path, heights by links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from statistics import fmean
from typing import NamedTuple

GAP = 22.0
LANE_GAP = 8.0
LANES_MAX = 5_000
"""Lanes beyond this number are left out: their links pass behind boxes."""

_SWEEPS = 6


class Wire(NamedTuple):
    """A link between two boxes by number, with the heights at which it leaves and arrives."""

    source: int
    target: int
    leave: float = 0.0
    arrive: float = 0.0


@dataclass(slots=True, eq=False)
class Item:
    """A box in a column, or a lane in which links pass boxes; `ends` lists its neighbours with offsets."""

    column: int
    height: float
    gap: float
    y: float = 0.0
    ends: list[tuple[Item, float]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Layout:
    """The boxes as items with columns and heights, and the lanes that each wire passes."""

    boxes: Sequence[Item]
    lanes: Sequence[Sequence[Item]]


def lay_out(heights: Sequence[float], wires: Sequence[Wire]) -> Layout:
    """Return the places of boxes with these heights and wires.

    The time grows linearly with wires and lanes. The same input gives the same layout. The least `y` is 0.
    Wires of one box that pass a column share a lane. A wire that leads back also has lanes in the columns of
    its boxes. A wire from a box to itself, or beyond LANES_MAX, has no lanes.
    """
    columns = _columns(len(heights), dict.fromkeys(wire[:2] for wire in wires if wire.source != wire.target))
    boxes = [Item(column, height, GAP) for column, height in zip(columns, heights, strict=True)]
    shared: dict[tuple[int, int, bool], Item] = {}
    lanes = [_lanes(wire, columns, shared) for wire in wires]
    for wire, passed in zip(wires, lanes, strict=True):
        _join([boxes[wire.source], *passed, boxes[wire.target]], wire)
    by_column: list[list[Item]] = [[] for _ in range(max(columns, default=-1) + 1)]
    for item in [*boxes, *shared.values()]:
        by_column[item.column].append(item)
    for items in by_column:
        _arrange(items, [0.0] * len(items))
    for sweep in range(_SWEEPS):
        for items in by_column if sweep % 2 else reversed(by_column):
            _arrange(items, [_wanted(item) for item in items])
    top = min((item.y for items in by_column for item in items), default=0.0)
    for item in chain.from_iterable(by_column):
        item.y -= top
    return Layout(boxes, lanes)


def _columns(count: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Return the column of each box, right of all boxes that lead to it, except where a cycle closes."""
    following: list[list[int]] = [[] for _ in range(count)]
    for source, target in pairs:
        following[source].append(target)
    order = _order(following)
    position = {box: number for number, box in enumerate(order)}
    columns = [0] * count
    for box in order:
        for target in following[box]:
            if position[target] > position[box]:
                columns[target] = max(columns[target], columns[box] + 1)
    # A box that nothing leads to is moved next to the first box that it leads to.
    leads_to = {box for targets in following for box in targets}
    for box in range(count):
        ahead = [columns[target] for target in following[box] if position[target] > position[box]]
        if box not in leads_to and ahead:
            columns[box] = min(ahead) - 1
    return columns


def _order(following: Sequence[Sequence[int]]) -> list[int]:
    """Return all boxes in an order in which each leads only to later boxes, except where a cycle closes."""
    leads_to = {box for targets in following for box in targets}
    starts = [box for box in range(len(following)) if box not in leads_to]
    finished: list[int] = []
    seen: set[int] = set()
    # Depth first, without recursion, because a chain may be longer than the stack.
    for start in [*reversed(range(len(following))), *reversed(starts)][::-1]:
        path = [] if start in seen else [(start, iter(following[start]))]
        seen.add(start)
        while path:
            box, left = path[-1]
            target = next((target for target in left if target not in seen), None)
            if target is None:
                finished.append(box)
                path.pop()
            else:
                seen.add(target)
                path.append((target, iter(following[target])))
    return finished[::-1]


def _lanes(wire: Wire, columns: Sequence[int], shared: dict[tuple[int, int, bool], Item]) -> list[Item]:
    """Return the lanes of a wire, one in each column that it passes, if any; add new lanes to `shared`."""
    first, last = columns[wire.source], columns[wire.target]
    is_back = last <= first
    if wire.source == wire.target:
        return []
    passed = range(first, last - 1, -1) if is_back else range(first + 1, last)
    if len(shared) + len(passed) > LANES_MAX:
        return []
    keys = [(wire.source, column, is_back) for column in passed]
    return [shared.setdefault(key, Item(key[1], 0.0, LANE_GAP)) for key in keys]


def _join(items: Sequence[Item], wire: Wire) -> None:
    """Add the neighbours along a wire to the ends of its items, which attract them."""
    for number, (near, far) in enumerate(pairwise(items)):
        leave = wire.leave if number == 0 else 0.0
        arrive = wire.arrive if number == len(items) - 2 else 0.0
        if near.column != far.column:
            near.ends.append((far, arrive - leave))
            far.ends.append((near, leave - arrive))
        elif near.height == 0:
            near.ends.append((far, far.height + LANE_GAP))
        elif far.height == 0:
            far.ends.append((near, near.height + LANE_GAP))


def _wanted(item: Item) -> float:
    return fmean(other.y + offset for other, offset in item.ends) if item.ends else item.y


def _arrange(items: list[Item], wanted: Sequence[float]) -> None:
    """Sort a column in place by the middles of items at their `wanted` tops, then set their `y`.

    Items that would overlap are moved apart as little as possible.
    """
    pairs = sorted(zip(wanted, items, strict=True), key=lambda pair: pair[0] + pair[1].height / 2)
    items[:] = [item for _, item in pairs]
    # For each run of items that touch: the sum of their wanted tops less the heights above, and its length.
    runs: list[tuple[float, int]] = []
    above = 0.0
    offsets = []
    for height, item in pairs:
        offsets.append(above)
        total, number = height - above, 1
        while runs and runs[-1][0] / runs[-1][1] >= total / number:
            more, others = runs.pop()
            total, number = total + more, number + others
        runs.append((total, number))
        above += item.height + item.gap
    tops = [total / number for total, number in runs for _ in range(number)]
    for item, top, offset in zip(items, tops, offsets, strict=True):
        item.y = top + offset
