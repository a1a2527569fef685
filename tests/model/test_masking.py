"""Masked operations: nothing of visible lineage is lost, nothing of hidden datasets is left."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.field_relations import all_relations
from fll_hbase.model.lineage import build_lineage_lenient
from fll_hbase.model.masking import (
    is_hidden,
    is_hidden_operation,
    mask_operations,
    public_checksum,
)
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write

PAIRS_MAX = 1_000_000


def _is_visible(namespace: str) -> bool:
    return namespace == "open"


@st.composite
def operations(draw: st.DrawFn) -> list[Operation]:
    """Operations in an order in which each uses outputs of those before it."""
    datasets = st.builds(Dataset, st.sampled_from(["open", "hidden"]), st.sampled_from("ab"))
    reads: list[Operation] = [
        Read(
            f"read {number}",
            "SELECT",
            draw(datasets),
            "people",
            tuple(map(Field, "xyz"[: draw(st.integers(1, 3))])),
        )
        for number in range(draw(st.integers(1, 3)))
    ]
    nodes = [(read.name, field.name) for read in reads if isinstance(read, Read) for field in read.outputs]
    inputs = st.lists(
        st.builds(
            lambda node, influence: InputField(*node, influence),
            st.deferred(lambda: st.sampled_from(nodes)),
            st.sampled_from(Influence),
        ),
        max_size=3,
    ).map(tuple)
    listed = [*reads]
    for number in range(draw(st.integers(0, 4))):
        outputs = tuple(map(Field, draw(st.sets(st.sampled_from("xyzw"), max_size=2))))
        name = f"t{draw(st.sampled_from(['', '#2', '#3']))}.{number}"
        listed.append(Transform(name, "CAST(x)", draw(inputs), outputs))
        nodes += [(name, field.name) for field in outputs]
    return [
        *listed,
        *(
            Write(f"write {number}", "INSERT", draw(datasets), "people", draw(inputs))
            for number in range(draw(st.integers(1, 3)))
        ),
    ]


@given(operations())
def test_lineage_between_visible_datasets_is_complete(listed: list[Operation]) -> None:
    complete = all_relations(build_lineage_lenient(listed).field_map, pairs_max=PAIRS_MAX)
    masked = all_relations(
        build_lineage_lenient(mask_operations(listed, _is_visible)).field_map, pairs_max=PAIRS_MAX
    )
    visible = {
        pair: lineage
        for pair, lineage in complete.by_datasets.items()
        if all(dataset is None or _is_visible(dataset.namespace) for dataset in pair)
    }
    shown = {
        pair: lineage
        for pair, lineage in masked.by_datasets.items()
        if not any(dataset is not None and is_hidden(dataset) for dataset in pair)
    }
    assert _pairs(shown) == _pairs(visible)


@given(operations())
def test_every_relation_with_a_hidden_dataset_is_shown_once(listed: list[Operation]) -> None:
    complete = all_relations(build_lineage_lenient(listed).field_map, pairs_max=PAIRS_MAX)
    masked = all_relations(
        build_lineage_lenient(mask_operations(listed, _is_visible)).field_map, pairs_max=PAIRS_MAX
    )
    for position in (0, 1):
        expected = {
            pair[1 - position]
            for pair, lineage in complete.by_datasets.items()
            if _is_hidden_end(pair[position], complete=True) and _is_visible_end(pair[1 - position])
            if lineage.direct or lineage.indirect
        }
        shown = {
            pair[1 - position]
            for pair in masked.by_datasets
            if _is_hidden_end(pair[position], complete=False) and _is_visible_end(pair[1 - position])
        }
        assert expected <= shown


@given(operations())
def test_nothing_of_hidden_datasets_is_left(listed: list[Operation]) -> None:
    """Neither their names nor their descriptions, and of their fields none that no visible dataset has."""
    renamed = [_renamed(operation, {"hidden": "secret"}, str.upper) for operation in listed]
    masked, others = (mask_operations(items, _is_visible) for items in (listed, renamed))
    assert public_checksum(masked) == public_checksum(others)
    texts = [repr(operation) for operation in masked]
    assert not any("'hidden'" in text for text in texts)


@given(operations())
def test_visible_operations_are_as_they_are(listed: list[Operation]) -> None:
    assert mask_operations(listed, lambda _: True) == tuple(listed)


@pytest.mark.parametrize("size", [10, 1_000, 20_000])
def test_a_wide_content_is_masked_in_linear_work(size: int) -> None:
    fields = tuple(Field(f"f{number}") for number in range(size))
    inputs = tuple(InputField("read", field.name) for field in fields)
    listed: list[Operation] = [
        Read("read", "", Dataset("open", "a"), "", fields),
        *(Transform(f"t{number}", "", (item,), (Field(item.name),)) for number, item in enumerate(inputs)),
        Write(
            "write",
            "",
            Dataset("hidden", "b"),
            "",
            tuple(InputField(f"t{number}", item.name) for number, item in enumerate(inputs)),
        ),
    ]
    masked = mask_operations(listed, _is_visible)
    # The READ, and the merged TRANSFORM and WRITE of the hidden dataset.
    assert len(masked) == 3
    assert sum(is_hidden_operation(operation.name) for operation in masked) == 2


def _renamed(operation: Operation, namespaces: dict[str, str], rename: Callable[[str], str]) -> Operation:
    """Return an operation with the names of hidden datasets changed; their fields keep theirs."""
    match operation:
        case Read():
            if _is_visible(operation.source.namespace):
                return operation
            name = rename(operation.source.name)
            return Read(
                operation.name,
                "OTHER",
                Dataset(namespaces["hidden"], name),
                "other",
                operation.outputs,
            )
        case Write():
            if _is_visible(operation.destination.namespace):
                return operation
            name = rename(operation.destination.name)
            return Write(
                operation.name, "OTHER", Dataset(namespaces["hidden"], name), "other", operation.inputs
            )
        case Transform():
            return operation


def _is_hidden_end(dataset: Dataset | None, *, complete: bool) -> bool:
    if dataset is None:
        return False
    return not _is_visible(dataset.namespace) if complete else is_hidden(dataset)


def _is_visible_end(dataset: Dataset | None) -> bool:
    return dataset is not None and _is_visible(dataset.namespace)


def _pairs(relations: dict) -> dict:  # type: ignore[type-arg]
    """Return the pairs of fields by datasets, those that are direct as direct alone."""
    return {
        pair: (lineage.direct, lineage.indirect - lineage.direct, lineage.dataset_wide)
        for pair, lineage in relations.items()
        if not lineage.empty
    }
