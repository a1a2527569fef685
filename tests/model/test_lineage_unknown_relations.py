"""Unknown relations join only what a statement or stage connects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from fll_hbase.keys import layout
from fll_hbase.model import checksum, field_relations, lineage, masking
from fll_hbase.model.dataset_lineage import DatasetLineage
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.lineage import FieldLineageInfo, limit_unknown
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.runtime.errors import InvalidLineage
from fll_hbase.sources.native import document
from fll_hbase.store.rows.field_map_codec import decode_field_map, encode_field_map
from fll_hbase.tables import Cell
from tests.support.strategies import infos

A, B, X, Y = (Dataset("ns", name) for name in "abxy")
TWO_COPIES = (
    Read("read a", "", A, "", ()),
    Read("read b", "", B, "", ()),
    Write("write x", "", X, "", ()),
    Write("write y", "", Y, "", ()),
)
CONNECTED = {"write x": ["read a"], "write y": ["read b"]}


def relations(operations: Sequence[Operation]) -> dict[Any, DatasetLineage]:
    field_map = lineage.build_lineage_lenient(operations).field_map
    return dict(field_relations.all_relations(field_map, pairs_max=10**9).by_datasets)


def elsewhere(operation: Operation) -> Operation:
    """Return an operation of other names, on other datasets."""

    def moved(inputs: Sequence[InputField]) -> tuple[InputField, ...]:
        return tuple(replace(item, origin=f"2 {item.origin}") for item in inputs)

    name = f"2 {operation.name}"
    match operation:
        case Read():
            return replace(operation, name=name, source=Dataset("2", operation.source.name))
        case Write():
            destination = Dataset("2", operation.destination.name)
            return replace(operation, name=name, destination=destination, inputs=moved(operation.inputs))
        case Transform():
            return replace(operation, name=name, inputs=moved(operation.inputs))


def connected(operations: Sequence[Operation]) -> dict[str, list[str]]:
    reads = [operation.name for operation in operations if isinstance(operation, Read)]
    return {operation.name: reads for operation in operations if isinstance(operation, Write)}


@given(infos(), infos())
def test_a_part_on_other_datasets_changes_no_lineage(
    first: FieldLineageInfo, second: FieldLineageInfo
) -> None:
    other = [*map(elsewhere, second.operations)]
    limited = limit_unknown([*first.operations, *other], connected(first.operations) | connected(other))
    assert relations(limited) == relations(first.operations) | relations(other)


@given(infos())
def test_one_part_alone_states_nothing(info: FieldLineageInfo) -> None:
    assert limit_unknown(info.operations, connected(info.operations)) == list(info.operations)


def test_two_copies_are_two_pairs() -> None:
    limited = limit_unknown(TWO_COPIES, CONNECTED)
    assert {ends for ends, relation in relations(limited).items() if relation.unknown} == {(A, X), (B, Y)}
    assert [checksum.operation_from_json(checksum.canonical(item)) for item in limited] == limited


def test_a_source_that_leads_nowhere_is_related_to_nothing() -> None:
    operations = [
        Read("read a", "", A, "", ()),
        Read("read b", "", B, "", (Field("k"),)),
        Write("write y", "", Y, "", (InputField("read b", "k"),)),
    ]
    limited = limit_unknown(operations, {"write y": ["read b"]})
    assert not any(relation.unknown for relation in relations(limited).values())


@given(infos(), infos())
def test_what_is_stored_is_read_again(first: FieldLineageInfo, second: FieldLineageInfo) -> None:
    other = [*map(elsewhere, second.operations)]
    limited = limit_unknown([*first.operations, *other], connected(first.operations) | connected(other))
    field_map = lineage.build_lineage_lenient(limited).field_map
    row = {layout.FIELD_MAP: Cell(encode_field_map(field_map), 0)}
    assert decode_field_map(row) == field_map


def test_hidden_datasets_are_named_nowhere() -> None:
    operations = limit_unknown(
        [*TWO_COPIES, Read("read h", "", Dataset("hid", "h"), "", ())],
        CONNECTED | {"write x": ["read a", "read h"]},
    )
    masked = {item.name: item for item in masking.mask_operations(operations, lambda name: name == "ns")}
    write = masked["write x"]
    assert isinstance(write, Write)
    assert write.unknown_origins == ("read a",)


def body(*origins: object) -> dict[str, Any]:
    run = {"application": "a", "type": "t", "program": "p", "run": "r", "startTime": 10**12}
    operations = [
        {"type": "READ", "name": "ra", "source": {"name": "a"}, "outputs": []},
        {"type": "READ", "name": "rb", "source": {"name": "b"}, "outputs": []},
        {"type": "WRITE", "name": "wx", "destination": {"name": "x"}, "unknownOrigins": list(origins)},
        {"type": "WRITE", "name": "wy", "destination": {"name": "y"}, "unknownOrigins": ["rb"]},
    ]
    return {
        "run": run,
        "operations": [{"inputs": [], **item} if item["type"] == "WRITE" else item for item in operations],
    }


def test_a_document_states_them() -> None:
    reading = document.read(body("ra"), namespace="ns")
    assert reading.operations.info.field_map.unknown == ((X, (A,)), (Y, (B,)))


@pytest.mark.parametrize("origin", ["wy", "other"])
def test_an_origin_that_reads_nothing_is_refused(origin: str) -> None:
    with pytest.raises(InvalidLineage, match="is not a READ of this run") as caught:
        document.read(body(origin), namespace="ns")
    assert caught.value.errors[0].path == "operations.2.unknownOrigins.0"
