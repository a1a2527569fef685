"""Documents of a recorder equal those written by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model import field_relations, lineage
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import Write
from fll_hbase.recorder import Destination, Field, FieldOperation, Source, payloads
from fll_hbase.recorder.payloads import DestinationOperations
from fll_hbase.runtime.errors import InvalidLineage, UnreadableDocument
from fll_hbase.sources.native import document
from tests.support import seed_run as seed
from tests.support.strategies import descriptions, names, types

sources = st.builds(Source, names, names, descriptions)
outputs = st.lists(names | st.builds(Field, names, types), unique_by=lambda item: getattr(item, "name", item))


@st.composite
def flows(draw: st.DrawFn) -> tuple[FieldOperation, ...]:
    """Operations that each take what earlier ones made, or a source; the first reads."""
    operations = [FieldOperation(draw(names), inputs=[draw(sources)], outputs=draw(outputs.filter(bool)))]
    for _ in range(draw(st.integers(0, 4))):
        available = sorted({getattr(name, "name", name) for item in operations for name in item.outputs})
        inputs = draw(st.lists(sources | st.sampled_from(available), max_size=3))
        operations.append(FieldOperation(draw(names), draw(descriptions), inputs, draw(outputs)))
    return tuple(operations)


destinations = st.builds(Destination, names, names, descriptions)
parts = st.builds(DestinationOperations, destinations, flows())


def by_hand(part: DestinationOperations) -> dict[str, Any]:
    """The document with every member, defaults included."""

    def field(output: Any) -> Any:
        return {"name": output.name, "type": output.type} if isinstance(output, Field) else {"name": output}

    def dataset_members(end_point: Source | Destination) -> dict[str, str]:
        return {
            "namespace": end_point.namespace,
            "name": end_point.name,
            "description": end_point.description,
        }

    return {
        "namespace": "myns",
        "run": seed.DOCUMENT["run"],
        "destination": dataset_members(part.destination),
        "operations": [
            {
                "name": item.name,
                "description": item.description,
                "inputs": [
                    {"source": dataset_members(item_input)}
                    if isinstance(item_input, Source)
                    else {"field": field(item_input)}
                    for item_input in item.inputs
                ],
                "outputs": [field(output) for output in item.outputs],
            }
            for item in part.operations
        ],
    }


def info(payload: dict[str, Any]) -> FieldLineageInfo:
    return document.read(payload, namespace=None).recorded.info


def test_the_seed_makes_the_document_of_the_seed() -> None:
    part = DestinationOperations(seed.DESTINATION, tuple(seed.OPERATIONS))
    payload = payloads.run_document(seed.run(), [part], namespace="myns")
    assert payload == seed.DOCUMENT


@given(parts)
def test_a_document_reads_as_the_one_written_by_hand(part: DestinationOperations) -> None:
    payload = payloads.run_document(seed.run(), [part], namespace="myns")
    assert document.read(payload, namespace=None) == document.read(by_hand(part), namespace=None)


@given(st.lists(parts, min_size=2, max_size=3, unique_by=lambda part: part.destination.name))
def test_several_destinations_say_of_each_what_it_says_alone(several: list[DestinationOperations]) -> None:
    joined = info(payloads.run_document(seed.run(), several, namespace="myns"))
    for part in several:
        alone = info(payloads.run_document(seed.run(), [part], namespace="myns"))
        end_point = Dataset(part.destination.namespace, part.destination.name)
        assert _into(joined, end_point) == _into(alone, end_point)


def test_operations_that_several_destinations_share_are_one() -> None:
    other = replace(seed.DESTINATION, name="other")
    several = [
        DestinationOperations(destination, tuple(seed.OPERATIONS))
        for destination in (seed.DESTINATION, other)
    ]
    joined = info(payloads.run_document(seed.run(), several, namespace="myns"))
    writes = [operation.name for operation in joined.operations if isinstance(operation, Write)]
    assert len(joined.operations) == 8
    assert writes == ["write", "write#2"]


def test_operations_of_one_name_that_differ_are_distinguished() -> None:
    reads = [FieldOperation("read", inputs=[Source("ns", name)], outputs=["x"]) for name in ("a", "b")]
    several = [DestinationOperations(Destination("ns", read.inputs[0].name + "2"), (read,)) for read in reads]  # type: ignore[union-attr]
    joined = info(payloads.run_document(seed.run(), several, namespace="myns"))
    assert [operation.name for operation in joined.operations] == ["read", "read#2", "write", "write#2"]
    assert _into(joined, Dataset("ns", "b2")) == {("ns/b", "x", "x")}


def test_fields_of_a_destination_are_all_that_is_written() -> None:
    stored = replace(seed.DESTINATION, fields=["id", Field("name")])
    payload = info(
        payloads.run_document(
            seed.run(), [DestinationOperations(stored, tuple(seed.OPERATIONS))], namespace="myns"
        )
    )
    assert {pair[2] for pair in _into(payload, Dataset("myns", "mytableds"))} == {"id", "name"}


def test_what_is_wrong_with_one_of_several_is_reported_of_it() -> None:
    good = DestinationOperations(seed.DESTINATION, tuple(seed.OPERATIONS))
    lost = DestinationOperations(
        Destination("ns", "b"), (FieldOperation("parse", inputs=["nothing"], outputs=["x"]),)
    )
    with pytest.raises(InvalidLineage, match="no earlier operation outputs 'nothing'"):
        payloads.run_document(seed.run(), [good, lost], namespace="myns")
    odd = DestinationOperations(Destination("ns", "b"), (FieldOperation("parse", outputs=[7]),))  # type: ignore[list-item]
    with pytest.raises(UnreadableDocument, match=r"operations\.0\.outputs\.0"):
        payloads.run_document(seed.run(), [good, odd], namespace="myns")


def test_the_version_is_a_member_if_there_is_one() -> None:
    part = DestinationOperations(seed.DESTINATION, tuple(seed.OPERATIONS))
    payload = payloads.run_document(seed.run(version="1.4"), [part], namespace="myns")
    assert payload["run"] == seed.DOCUMENT["run"] | {"version": "1.4"}


def _into(info: FieldLineageInfo, end_point: Dataset) -> set[tuple[str, str | None, str | None]]:
    """Source dataset, source field and destination field of every pair into a dataset."""
    relations = field_relations.dataset_relations(info.field_map, end_point, backward=True, pairs_max=10_000)
    assert lineage.build_lineage(info.operations) == info
    return {
        (str(relation.source), *pair)
        for relation in relations.by_datasets.values()
        for pair in relation.direct | relation.indirect
    }
