"""Graphs of answers with hidden, unknown, failed, dropped and generated parts."""

from __future__ import annotations

from fll_hbase.client.answers import TableAnswer
from fll_hbase.client.notebook.drawn_graph import SHAPE, UNKNOWN, VALUE, Box, End, Link, draw
from fll_hbase.model.window import Window
from fll_hbase.queries import FieldLineage, Lineage
from fll_hbase.queries.field_lineage import Connection, FieldLineageAnswer, Node, Operation
from fll_hbase.queries.lineage import LineageEntry, Pair
from fll_hbase.queries.names import DatasetName

A, B = (DatasetName(namespace="ns", name=name) for name in "ab")
HIDDEN = DatasetName(hidden=1)
WINDOW = Window(0, 1)


def entry(source: DatasetName | None, destination: DatasetName | None, *pairs: Pair) -> LineageEntry:
    """Return the relation of two datasets at one hop."""
    return LineageEntry(
        source=source,
        destination=destination,
        fieldmap=pairs,
        level=1,
        direction="forward",
        unknown=not pairs,
    )


def test_lineage_has_all_kinds_of_parts() -> None:
    answer = TableAnswer(
        (
            entry(A, HIDDEN),
            entry(
                A,
                B,
                Pair(source="x", destination="y", failed=True),
                Pair(source="x", destination="*", influence="indirect", scope="dataset"),
                Pair(source=None, destination="z"),
            ),
            entry(A, None, Pair(source="x", destination=None)),
            entry(B, A),
        ),
        window=WINDOW,
        query=Lineage("ns", "a"),
    )
    graph = draw(answer)
    a, b = Box("a", "ns"), Box("b", "ns")
    assert graph.links == {
        (End(a), End(Box("hidden 1"))): Link(UNKNOWN),
        (End(a, "x"), End(b, "y")): Link(VALUE, failed=True),
        (End(a, "x"), End(b, "*")): Link(SHAPE),
        (End(b), End(a)): Link(UNKNOWN),
    }
    assert graph.ends[End(a, "x")] == ["dropped"]
    assert graph.ends[End(b, "z")] == ["generated"]
    svg = answer.plot().svg
    for text in ("hidden 1", "fields unknown", "value, failed runs only", "only shapes", "every row"):
        assert f">{text}</text>" in svg


def test_a_hidden_dataset_is_one_box_between_operations() -> None:
    body = FieldLineageAnswer(
        nodes=(
            Node(id="hidden-1", label="hidden 1", hidden=1, source_end_point=HIDDEN),
            Node(id="sum.total", label="total", origin="sum", destination_end_point=B),
        ),
        operations=(
            Operation(name="sum", description="adds", type="TRANSFORM"),
            Operation(name="filter", description="", type="TRANSFORM"),
            Operation(name="store", description="", type="WRITE", end_point=B),
        ),
        connections=(Connection(source="hidden-1", destination="sum.total", operation="sum"),),
        checksums=(),
        truncated=True,
    )
    answer = TableAnswer(body, window=WINDOW, query=FieldLineage("ns", "b", "total"))
    graph = draw(answer)
    operation = End(Box("sum", "adds", is_operation=True), "total")
    written = End(Box("b", "ns"), "total")
    assert [*graph.links] == [(operation, written), (End(Box("hidden 1")), operation)]
    assert [*graph.starts] == [written]
    assert graph.notes == ["Also used by filter, without a field."]
    assert answer.plot().svg.count("<path d=") == 3


def test_of_two_links_the_one_that_says_most_is_drawn() -> None:
    pairs = [
        Pair(source="x", destination="y", influence="indirect", failed=True),
        Pair(source="x", destination="y"),
    ]
    for order in (pairs, pairs[::-1]):
        answer = TableAnswer((entry(A, B, *order),), window=WINDOW, query=Lineage("ns", "a"))
        assert [*draw(answer).links.values()] == [Link(VALUE)]
