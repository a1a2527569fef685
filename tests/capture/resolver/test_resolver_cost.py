"""Cost of the resolver in operations: it grows with the plan, never with its square."""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import pytest

from fll_hbase.capture.resolver import expression_rules, nodes
from fll_hbase.capture.resolver.dump import RUN_MAX, expand
from fll_hbase.capture.resolver.plan_lineage import ColumnLineage
from fll_hbase.capture.resolver.plans import resolve
from tests.support.profiles import PROFILE
from tests.support.work import count_calls

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
    """One column is steps of `count` others."""
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


EXPRESSION_KINDS = ("Add", "Alias", "Cast", "CheckOverflow", "If", *expression_rules.RULES)
NODE_KINDS = (*nodes._RULES, "MergeRows", "Sample", "other")
REPEATED = 8
"""Repetitions whose cost is compared with that of twice and four times as many."""


def _twice_in_each(kind: str, operands: int) -> Callable[[int], bytes]:
    """Expressions whose operands are all the one before: rows that many others share."""

    def build(count: int) -> bytes:
        rows = attributes(2)
        rows += [[kind, [1 + number] * operands, None, "f"] for number in range(count)]
        rows.append(["Alias", [len(rows) - 1], 9, "x"])
        last = len(rows) - 1
        return json.dumps(plan(rows, 2, ["Project", [0], {"projectList": [last]}], output=[last])).encode()

    return build


def _many_operands_of(kind: str) -> Callable[[int], bytes]:
    def build(count: int) -> bytes:
        rows = attributes(2) + [["Add", [0, 1]] for _ in range(count)]
        rows += [[kind, list(range(2, count + 2)), None, "f"], ["Alias", [count + 2], 9, "x"]]
        projected = ["Project", [0], {"projectList": [count + 3]}]
        return json.dumps(plan(rows, 2, projected, output=[count + 3])).encode()

    return build


def _nodes_of(kind: str, children: int) -> Callable[[int], bytes]:
    """Nodes of a kind on top of each other, each with a column of its own."""

    def build(count: int) -> bytes:
        rows, steps = [*attributes(2), ["GreaterThan", [0, 1]]], []
        for number in range(count):
            rows += [["Add", [0, 1]], ["Alias", [len(rows)], 10 + number, f"x{number}"]]
            new = len(rows) - 1
            listed = {"projectList": [0, 1, new], "aggregateExpressions": [0, 1, new], "keys": [0, 1]}
            added = {"windowExpressions": [new], "generator": new - 1, "generatorOutput": [new]}
            members = {"condition": 2, "order": [2], "projections": [[0, 1], [1, 0]], "output": [0, 1]}
            steps.append([kind, [number] * children, {**members, **listed, **added}])
        return json.dumps(plan(rows, 2, *steps, output=[0, 1])).encode()

    return build


PLANS = {
    **{f"{kind} of {n}": _twice_in_each(kind, n) for kind in EXPRESSION_KINDS for n in (1, 2, 3)},
    **{f"{kind} of many": _many_operands_of(kind) for kind in EXPRESSION_KINDS},
    **{f"{kind} on {n}": _nodes_of(kind, n) for kind in NODE_KINDS for n in (1, 2)},
}


@pytest.mark.parametrize("name", PLANS)
def test_twice_the_plan_is_at_most_three_times_the_calls(name: str) -> None:
    bodies = [PLANS[name](count) for count in (REPEATED, 2 * REPEATED, 4 * REPEATED)]
    once, twice, four_times = (count_calls(lambda body=body: resolve(body)) for body in bodies)  # type: ignore[misc]
    assert twice <= 3 * once
    assert four_times <= 3 * twice


def test_runs_of_a_list_are_bounded_together() -> None:
    assert len(expand([0, 1 - RUN_MAX])) == RUN_MAX
    with pytest.raises(ValueError, match="1,000,000 in all"):
        expand([0, 1 - RUN_MAX, -1])


def structs_of_one_value(count: int) -> bytes:
    """Structs with a value twice, each taken out of an array by an index, inside of the next."""
    rows, value = attributes(2), 0
    for number in range(count):
        rows.append(["CreateNamedStruct", [value, value], None, "", {"names": ["a", "b"]}])
        rows.append(["CreateArray", [len(rows) - 1]])
        rows.append(["GetArrayItem", [len(rows) - 1, number % 2]])
        value = len(rows) - 1
    rows.append(["Alias", [value], 9, "x"])
    last = len(rows) - 1
    return json.dumps(plan(rows, 2, ["Project", [0], {"projectList": [last]}], output=[last])).encode()


def test_fields_that_share_a_value_are_merged_once() -> None:
    bodies = [structs_of_one_value(count) for count in (16, 32)]
    once, twice = (count_calls(lambda body=body: resolve(body)) for body in bodies)  # type: ignore[misc]
    assert twice < 4 * once


LITERAL = 2
"""Row of a constant, behind two columns."""


def _built_again(values: tuple[int, int], rows: Rows) -> tuple[int, int]:
    rows.append(["CreateMap", [LITERAL, values[0], LITERAL, values[1]], None, "map", {"keys": [0, 1]}])
    rows.append(["CreateMap", [0, values[1], 1, values[0]], None, "map"])
    return len(rows) - 2, len(rows) - 1


def _chosen_again(values: tuple[int, int], rows: Rows) -> tuple[int, int]:
    first, second = _built_again(values, rows)
    rows += [["CaseWhen", [0, first, second]], ["CaseWhen", [1, second, first]]]
    return len(rows) - 2, len(rows) - 1


def _read_again(values: tuple[int, int], rows: Rows) -> tuple[int, int]:
    first, second = _built_again(values, rows)
    rows += [["GetMapValue", [first, LITERAL], None, None, {"key": 0}], ["MapValues", [second]]]
    return first, len(rows) - 1


def _wrapped_again(values: tuple[int, int], rows: Rows) -> tuple[int, int]:
    rows.append(["CreateNamedStruct", list(values), None, "", {"names": ["a", "b"]}])
    return _chosen_again((len(rows) - 1, values[1]), rows)


@pytest.mark.parametrize("again", [_built_again, _chosen_again, _read_again, _wrapped_again])
def test_maps_inside_of_maps_are_linear(
    again: Callable[[tuple[int, int], Rows], tuple[int, int]],
) -> None:
    def nested(depth: int) -> bytes:
        rows: Rows = [*attributes(2), ["Literal", []]]
        values = (0, 1)
        for _ in range(depth):
            values = again(values, rows)
        rows.append(["Alias", [values[0]], 9, "x"])
        last = len(rows) - 1
        return json.dumps(plan(rows, 2, ["Project", [0], {"projectList": [last]}], output=[last])).encode()

    bodies = [nested(depth) for depth in (20, 40, 80)]
    once, twice, four_times = (count_calls(lambda body=body: resolve(body)) for body in bodies)  # type: ignore[misc]
    assert twice < 2.5 * once
    assert four_times < 2.5 * twice


def cases_of_maps(count: int) -> dict[str, Rows]:
    """CASE of `count` conditions, each with a map of another key."""
    rows = [*attributes(count), ["Literal", []]]
    rows += [["CreateMap", [count, number], None, "map", {"keys": [number]}] for number in range(count)]
    pairs = [row for number in range(count) for row in (number, count + 1 + number)]
    rows += [["CaseWhen", pairs], ["Alias", [len(rows)], count, "x"]]
    last = len(rows) - 1
    return plan(rows, count, ["Project", [0], {"projectList": [last]}], output=[last])


def cases_of_columns(count: int) -> dict[str, Rows]:
    """CASE of `count` conditions, each with another column."""
    rows = attributes(count)
    pairs = [row for number in range(count) for row in (number, (number + 1) % count)]
    rows += [["CaseWhen", pairs], ["Alias", [count], count, "x"]]
    return plan(rows, count, ["Project", [0], {"projectList": [count + 1]}], output=[count + 1])


@pytest.mark.parametrize("make", [cases_of_maps, cases_of_columns])
def test_branches_do_not_have_all_conditions_each(make: Callable[[int], dict[str, Rows]]) -> None:
    """Each would be a set as large as all conditions."""
    small, large = (peak_bytes(json.dumps(make(size)).encode()) / size for size in (200, 1_600))
    assert large < 2 * small


def peak_bytes(body: bytes) -> int:
    """Return the memory that a plan takes while it is resolved."""
    tracemalloc.start()
    try:
        resolve(body)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
