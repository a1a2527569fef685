"""Hops of one content have exactly the transforms on their ways, and say whether by copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model import operation_graph
from fll_hbase.model.hop_operations import HopOperations, copied_inputs
from fll_hbase.model.operations import Field, Influence, InputField, Operation, Transform
from tests.support.graph_ends import read_fields, start_nodes, start_writes, written_fields
from tests.support.graph_paths import could_have_run, paths
from tests.support.sized_operations import copy, names, read, rename, write
from tests.support.strategies import FEW_END_POINTS, operation_sets
from tests.support.work import count_calls

SOURCE, DESTINATION = FEW_END_POINTS[:2]


@given(operation_sets(), st.data())
def test_the_operations_are_those_on_the_ways(operations: tuple[Operation, ...], data: st.DataObject) -> None:
    texts = st.sampled_from(["IDENTITY", "COPY: as it is", "IDENTITY, masked", "hash"])
    operations = tuple(
        replace(item, description=data.draw(texts)) if isinstance(item, Transform) else item
        for item in operations
    )
    copying = {item.name for item in operations if isinstance(item, Transform) and copied_inputs(item).is_all}
    hops = HopOperations(operations)
    by_name = {operation.name: operation for operation in operations}
    for target in written_fields(operations):
        full = operation_graph.upstream_graph(operations, target)
        ends = start_writes(operations, target).keys()
        for source in read_fields(operations):
            starts = set(start_nodes(operations, source))
            ways = [way for start in starts for end in ends for way in paths(full, start, end) if way]
            direct = [way for way in ways if all(kind is Influence.DIRECT for _, kind in way)]
            is_copied = bool(starts & ends) or any({name for name, _ in way} <= copying for way in direct)
            listed = {name for way in direct for name, _ in way} - copying
            if not listed and not is_copied:
                listed = {name for way in ways for name, _ in way}
            hop = hops.between([source.dataset], source.name, [target.dataset], target.name)
            if hop is None:
                assert (listed, is_copied) == (set(), False)
                continue
            between = tuple(operation.name for operation in hop.operations)
            assert (set(between), hop.is_copied) == (listed, is_copied)
            assert could_have_run(by_name, between)


def between(operations: Sequence[Operation], source: str, destination: str) -> tuple[list[str], bool] | None:
    hop = HopOperations(operations).between([SOURCE], source, [DESTINATION], destination)
    return None if hop is None else ([operation.name for operation in hop.operations], hop.is_copied)


@pytest.mark.parametrize(
    ("description", "inputs", "copied", "is_all"),
    [
        ("IDENTITY", "ab", "ab", True),
        ("identity", "a", "a", True),
        ("COPY: a", "a", "a", True),
        ("rename: as people know it", "a", "a", True),
        ("renamed", "a", "", False),
        ("COPY: of a", "ab", "", False),
        ("IDENTITY, masked", "a", "", False),
        ("IDENTITY: a, masked", "a", "", False),
        ("IDENTITY of a", "a", "", False),
        ("a", "a", "a", True),
        ("t.a", "a", "a", True),
        ("`t`.`A`", "a", "a", True),
        ("a", "ab", "", False),
        ("a | b", "ab", "ab", True),
        ("a | sha2(a, ?)", "a", "a", False),
        ("(a | b)", "ab", "", False),
        ("(a | b | c)", "abc", "", False),
        ("a | f(b | c | d)", "abcd", "a", False),
        ("a | sha2(b, ?)", "ab", "a", False),
        ("a: IDENTITY; b: TRANSFORMATION: sha2", "ab", "a", False),
        ("a: AGGREGATION; a: IDENTITY", "a", "a", False),
        ("a: IDENTITY; b: IDENTITY", "ab", "ab", True),
        ("a: IDENTITY, masked; b: IDENTITY", "ab", "b", False),
        ("t.a + u.a", "a", "", False),
        ("? || t.a", "a", "", False),
        ("-a", "a", "", False),
        ("f(t.a)", "a", "", False),
        ("[t a].[a]", "a", "a", True),
        ('"t.b".a', "a", "a", True),
        ("t.a::text", "a", "", False),
        ("a[?].a", "a", "", False),
        ("a || ?", "a", "", False),
        ("max(t.a)", "a", "", False),
        ("a\n    a: sha2(x)", "a", "", False),
        ("", "a", "", False),
        ("", "", "", False),
    ],
)
def test_a_transform_copies_what_it_says_it_copies(
    description: str, inputs: str, copied: str, is_all: bool
) -> None:
    fields = tuple(InputField("read", name) for name in inputs)
    others = InputField("read", "z", Influence.INDIRECT)
    answer = copied_inputs(Transform("t", description, (*fields, others), ()))
    assert ("".join(item.name for item in answer.inputs), answer.is_all) == (copied, is_all)


def test_an_influence_on_all_rows_ends_with_the_write() -> None:
    joined = InputField("read", "f00000", Influence.INDIRECT)
    operations = [read(2), write([InputField("read", "f00001"), joined])]
    assert between(operations, "f00000", "*") == (["write"], False)
    assert between(operations, "f00001", "f00001") == ([], True)
    assert between(operations, "f00001", "*") is None
    assert between(operations, "f00000", "f00001") is None


def test_an_influence_on_all_rows_ends_with_no_write_of_another_source() -> None:
    first, second = (InputField("read", name, Influence.INDIRECT) for name in names(2))
    third = InputField("t", "f00002", Influence.INDIRECT)
    copied = Transform("t", "IDENTITY", (InputField("read", "f00002"),), (Field("f00002"),))
    writes = [
        replace(write([item]), name=f"write{number}") for number, item in enumerate((first, second, third))
    ]
    operations = [read(3), copied, *writes]
    assert between(operations, "f00000", "*") == (["write0"], False)
    assert between(operations, "f00001", "*") == (["write1"], False)
    assert between(operations, "f00002", "*") == (["write2"], False)


def test_a_field_that_is_written_may_also_decide_which_rows_are() -> None:
    both = [InputField("read", "f00000"), InputField("read", "f00000", Influence.INDIRECT)]
    operations = [read(1), write(both)]
    assert between(operations, "f00000", "*") == (["write"], False)
    assert between(operations, "f00000", "f00000") == ([], True)


def _aggregated(count: int) -> tuple[list[Operation], list[tuple[str, str]]]:
    """All fields of a source, each hashed, are summed to one; and the hops."""
    hashes = [
        Transform(f"t{name}", "hash", (InputField("read", name),), (Field(name),)) for name in names(count)
    ]
    inputs = tuple(InputField(f"t{name}", name) for name in names(count))
    total = Transform("sum", "sum", inputs, (Field("total"),))
    operations = [read(count), *hashes, total, write([InputField("sum", "total")])]
    return operations, [(name, "total") for name in names(count)]


def _spread_out(count: int) -> tuple[list[Operation], list[tuple[str, str]]]:
    """One field of a source is hashed into many; and the hops."""
    hashes = [
        Transform(f"t{name}", "hash", (InputField("read", "f00000"),), (Field(name),))
        for name in names(count)
    ]
    operations = [read(1), *hashes, write([InputField(f"t{name}", name) for name in names(count)])]
    return operations, [("f00000", name) for name in names(count)]


@pytest.mark.parametrize("make", [_aggregated, _spread_out])
def test_all_hops_at_one_field_cost_what_their_operations_do(
    make: Callable[[int], tuple[list[Operation], list[tuple[str, str]]]],
) -> None:
    def work(count: int) -> int:
        operations, ends = make(count)

        def explain() -> None:
            hops = HopOperations(operations)
            for source, destination in ends:
                assert hops.between([SOURCE], source, [DESTINATION], destination) is not None

        return count_calls(explain)

    assert work(800) < 12 * work(100)


@pytest.mark.parametrize(("make", "factor"), [(copy, 1), (rename, 7)], ids=["copied", "renamed"])
def test_all_hops_of_a_wide_content_cost_what_their_operations_do(
    make: Callable[[int], list[Operation]], factor: int
) -> None:
    def work(count: int) -> int:
        operations = make(count)

        def explain() -> None:
            hops = HopOperations(operations)
            for number, source in enumerate(names(count)):
                destination = f"f{factor * number % count:05}"
                assert hops.between([SOURCE], source, [DESTINATION], destination) is not None

        return count_calls(explain)

    assert work(800) < 10 * work(100)
