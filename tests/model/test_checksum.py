"""Checksums: any difference but order changes them; frozen checksums stay."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model import checksum, lineage
from fll_hbase.model.operations import KINDS, Influence, Operation
from tests.support.strategies import operation_sets

FROZEN = json.loads(Path(__file__).with_name("checksums.json").read_text(encoding="utf-8"))


def line(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("case", FROZEN, ids=lambda case: case["says"])
def test_a_frozen_checksum_is_what_it_was(case: dict[str, Any]) -> None:
    """A change here needs a decision note, another checksum.VERSION and a migration."""
    operations = [checksum.operation_from_json(json.dumps(document)) for document in case["operations"]]
    assert checksum.checksum(operations) == case["checksum"]
    assert checksum.checksum(reversed(operations)) == case["checksum"]
    assert lineage.build_lineage(operations).checksum == case["checksum"]
    assert [checksum.canonical(operation) for operation in operations] == list(map(line, case["operations"]))


@pytest.mark.parametrize("case", FROZEN, ids=lambda case: case["says"])
def test_a_frozen_checksum_is_that_of_its_lines(case: dict[str, Any]) -> None:
    lines = [
        line(document)
        for document in sorted(case["operations"], key=lambda operation_json: operation_json["name"])
    ]
    assert xxhash.xxh3_128_hexdigest("\n".join(["1", *lines]).encode()) == case["checksum"]


def test_ten_distinct_checksums_are_frozen() -> None:
    assert len({case["checksum"] for case in FROZEN}) == 10


def test_the_canonical_form_is_one_line_in_this_very_order() -> None:
    case = next(case for case in FROZEN if case["says"] == "types")
    operations = [checksum.operation_from_json(json.dumps(document)) for document in case["operations"]]
    assert [checksum.canonical(operation) for operation in operations] == [
        '{"type":"READ","name":"read","description":"","source":{"namespace":"db","name":"orders","description":""},'
        '"outputs":[{"name":"id","type":"bigint"},{"name":"total","type":"decimal(10,2)"},{"name":"note"}]}',
        '{"type":"TRANSFORM","name":"tax","description":"",'
        '"inputs":[{"origin":"read","name":"total","influence":"direct"}],'
        '"outputs":[{"name":"total","type":"decimal(12,4)"}]}',
        '{"type":"WRITE","name":"store","description":"",'
        '"destination":{"namespace":"db","name":"taxed","description":""},'
        '"inputs":[{"origin":"read","name":"id","influence":"direct"},'
        '{"origin":"tax","name":"total","influence":"direct"}]}',
    ]


@given(operation_sets())
def test_an_operation_reads_back_from_its_text(operations: tuple[Operation, ...]) -> None:
    for operation in operations:
        text = checksum.canonical(operation)
        assert checksum.operation_from_json(text) == operation
        assert checksum.operation_from_json(text.encode()) == operation
        assert "\n" not in text


@given(operation_sets(), st.data())
def test_a_checksum_ignores_the_order_of_operations(
    operations: tuple[Operation, ...], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(operations))
    assert checksum.checksum(shuffled) == checksum.checksum(operations)


@given(operation_sets(), operation_sets())
def test_equal_checksums_are_equal_sets(left: tuple[Operation, ...], other: tuple[Operation, ...]) -> None:
    assert (checksum.checksum(left) == checksum.checksum(other)) == (set(left) == set(other))
    assert checksum.checksum(left[1:]) != checksum.checksum(left)


@given(operation_sets())
def test_changing_any_part_changes_the_checksum(operations: tuple[Operation, ...]) -> None:
    seen = {checksum.checksum(operations)}
    for number, operation in enumerate(operations):
        others = [*operations[:number], *operations[number + 1 :]]
        for changed in variants(checksum.operation_to_dict(operation)):
            text = line(changed)
            mutant = checksum.operation_from_json(text)
            assert checksum.canonical(mutant) == text
            assert mutant != operation
            checksums = checksum.checksum([*others, mutant])
            assert checksums not in seen
            seen.add(checksums)


OTHER_INFLUENCE = {
    left.value: other.value for left, other in zip(Influence, reversed(Influence), strict=True)
}


def variants(operation_json: Any, member: str = "") -> Iterator[Any]:
    """Every document that differs from this one in one place."""
    if isinstance(operation_json, dict):
        yield from variants_of_object(operation_json)
    elif isinstance(operation_json, list):
        yield [*operation_json, *(operation_json[-1:] or [new_item(member)])]
        yield from variants_of_list(operation_json)
    elif member == "influence":
        yield OTHER_INFLUENCE[operation_json]
    elif operation_json not in ("READ", "TRANSFORM", "WRITE"):
        yield operation_json + "!"


def variants_of_object(operation_json: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, value in operation_json.items():
        for changed in variants(value, name):
            yield {**operation_json, name: changed}
    if "origin" in operation_json and "kind" not in operation_json:
        yield {**operation_json, "kind": "changed"}
    optional = "kind" if "origin" in operation_json else "type"
    if optional in operation_json and "description" not in operation_json:
        yield {name: value for name, value in operation_json.items() if name != optional}


def variants_of_list(operation_json: list[Any]) -> Iterator[list[Any]]:
    """One item gone, one item changed, the ends exchanged."""
    for number, item in enumerate(operation_json):
        if number == 0 or item != operation_json[number - 1]:
            yield [*operation_json[:number], *operation_json[number + 1 :]]
            yield from (
                [*operation_json[:number], changed, *operation_json[number + 1 :]]
                for changed in variants(item)
            )
    if operation_json and operation_json[0] != operation_json[-1]:
        yield [*operation_json[-1:], *operation_json[1:-1], *operation_json[:1]]


def new_item(member: str) -> dict[str, str]:
    if member == "outputs":
        return {"name": "new"}
    return {"origin": "new", "name": "new", "influence": "direct"}


def test_kinds_are_those_of_the_contract() -> None:
    assert {"filter", "join", "group_by", "sort", "window", "conditional"} == KINDS


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "READ", "WRITE", "direct"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["name", "type", "inputs", "outputs", "origin"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(operation_sets(transforms_max=1), st.data())
def test_texts_that_are_nearly_operations_raise_nothing_else(
    operations: tuple[Operation, ...], data: st.DataObject
) -> None:
    document: Any = checksum.operation_to_dict(data.draw(st.sampled_from(operations)))
    document[data.draw(st.sampled_from(sorted(document)))] = data.draw(json_values)
    with suppress(ValueError, KeyError, TypeError):
        checksum.operation_from_json(json.dumps(document))


@pytest.mark.parametrize(
    "text",
    [
        *("", "null", "[]", "{}", '{"type":"READ"}', '{"name":"x","description":"","type":"SORT"}'),
        '{"name":"x","description":"","type":"READ","source":"y","outputs":[]}',
    ],
)
def test_texts_that_are_no_operation(text: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        checksum.operation_from_json(text)
