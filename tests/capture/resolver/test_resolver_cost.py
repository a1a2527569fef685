"""Cost of the resolver in operations: it grows with the plan, never with its square."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import pytest

from fll_hbase.capture.resolver.plan_lineage import ColumnLineage
from fll_hbase.capture.resolver.plans import resolve
from tests.support.profiles import PROFILE

SIZES = (10, 1_000, 50_000 if PROFILE == "long" else 10_000)
DEPTHS = (10, 300, 3_000)

Rows = list[list[Any]]


def operations(plan: dict[str, Rows]) -> int:
    """Calls of functions, of Python and of C, and the items of the sets that they return."""
    body = json.dumps(plan).encode()
    count = 0

    def add(frame: FrameType, event: str, value: Any) -> None:
        nonlocal count
        count += 1
        if event == "return" and isinstance(value, frozenset):
            count += len(value)
        elif event == "return" and isinstance(value, ColumnLineage):
            count += len(value.direct) + len(value.indirect)

    sys.setprofile(add)
    try:
        resolved = resolve(body)
    finally:
        sys.setprofile(None)
    assert not resolved.is_unknown
    assert resolved.writes
    return count


def attributes(count: int) -> Rows:
    return [["AttributeReference", [], number, f"c{number}"] for number in range(count)]


def plan(expressions: Rows, columns: int, *nodes: list[Any], output: Sequence[int]) -> dict[str, Rows]:
    """A write of what `nodes` make of the first columns of a table."""
    leaf = ["LogicalRelation", [], {"output": [0, 1 - columns] if columns > 1 else [0], "dataset": 0}]
    rows = [leaf, *nodes]
    rows[-1][2]["output"] = list(output)
    last = len(rows) - 1
    write = ["InsertIntoHadoopFsRelationCommand", [last], {"target": 1, "query": {"node": last}}]
    return {"expressions": expressions, "nodes": [*rows, write]}


def many_expressions(count: int) -> dict[str, Rows]:
    """Each of `count` columns is the sum of two."""
    rows = attributes(count)
    sums = [row for number in range(count) for row in _sum(number, count)]
    names = [count + 2 * number + 1 for number in range(count)]
    return plan(rows + sums, count, ["Project", [0], {"projectList": names}], output=names)


def _sum(number: int, count: int) -> Rows:
    row = count + 2 * number
    return [["Add", [number, (number + 1) % count]], ["Alias", [row], row, f"s{number}"]]


def many_operands(count: int) -> dict[str, Rows]:
    """One column is made of `count` others."""
    rows = attributes(count)
    rows += [["Concat", list(range(count))], ["Alias", [count], count, "all"]]
    return plan(rows, count, ["Project", [0], {"projectList": [count + 1]}], output=[count + 1])


def deep_expression(count: int) -> dict[str, Rows]:
    """One column is added to itself `count` times."""
    rows = attributes(1)
    rows += [["Add", [number, 0]] for number in range(count)]
    rows.append(["Alias", [count], 1, "sum"])
    return plan(rows, 1, ["Project", [0], {"projectList": [count + 1]}], output=[count + 1])


def deep_plan(count: int) -> dict[str, Rows]:
    """`count` steps change a column, each with a condition."""
    rows, nodes = attributes(1), []
    rows.append(["GreaterThan", [0, 0]])
    for step in range(count):
        row = len(rows)
        rows += [["Add", [0, 0]], ["Alias", [row], 0, "c0"]]
        nodes.append(["Project", [2 * step], {"projectList": [row + 1]}])
        nodes.append(["Filter", [2 * step + 1], {"condition": 1}])
    return plan(rows, 1, *nodes, output=[0])


def many_joins(count: int) -> dict[str, Rows]:
    """`count` tables of one column are joined, one after the other."""
    rows = attributes(count)
    nodes: list[list[Any]] = []
    for number in range(1, count):
        rows.append(["EqualTo", [0, number]])
        left = 0 if number == 1 else 2 * number - 2
        nodes.append(["LogicalRelation", [], {"output": [number], "dataset": 0}])
        nodes.append(["Join", [left, 2 * number - 1], {"condition": len(rows) - 1}])
    return plan(rows, 1, *nodes, output=range(count))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        (many_expressions, SIZES),
        (many_operands, SIZES),
        (deep_expression, SIZES),
        (deep_plan, DEPTHS),
    ],
)
def test_cost_is_linear(make: Callable[[int], dict[str, Rows]], sizes: Sequence[int]) -> None:
    small, medium, large = (operations(make(size)) / size for size in sizes)
    assert large < 1.5 * medium < 3 * small


def test_the_counter_sees_a_square() -> None:
    """The rows of a join of many tables depend on all conditions before it: what a step returns grows."""
    small, large = (operations(many_joins(size)) / size for size in (20, 400))
    assert large > 1.5 * small


def nested_aggregates(depth: int) -> dict[str, Rows]:
    """AGGREGATE of an array whose function calls AGGREGATE of each element, and so on."""
    rows: Rows = [["AttributeReference", [], 0, "c0"], ["Literal", []]]
    for level in range(depth):
        rows += [["NamedLambdaVariable", [], 1_000 + 2 * level + part, "v"] for part in (0, 1)]
    # The innermost function adds the element, each other one the aggregate of its element.
    value = len(rows)
    rows.append(["Add", [2 * depth, 2 * depth + 1]])
    for level in reversed(range(depth)):
        total, element = 2 + 2 * level, 3 + 2 * level
        array = 0 if level == 0 else element - 2
        rows += [["LambdaFunction", [value, total, element]], ["LambdaFunction", [total, total]]]
        value = len(rows)
        rows.append(["ArrayAggregate", [array, 1, value - 2, value - 1]])
    rows.append(["Alias", [value], 1, "sum"])
    return plan(rows, 1, ["Project", [0], {"projectList": [len(rows) - 1]}], output=[len(rows) - 1])


def test_aggregates_within_aggregates_are_not_resolved_twice_at_each_level() -> None:
    assert operations(nested_aggregates(16)) < 4 * operations(nested_aggregates(8))
