"""The model and the store give the results that the ancestor's tests expect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from fll_hbase.model import checksum, field_relations, lineage, operation_graph, topology
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import Influence, Write, inputs_of
from fll_hbase.model.runs import RecordedRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime.errors import FieldError, InvalidLineage
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.cases.ancestor import ALL, DROPPED, case_id, cases, end_point_of, generated, operations_of, run_of

Summary: TypeAlias = dict[str, set[str]]

PAGE = Path(__file__).with_name("README.md")
LITERAL_MEMBERS = {
    *("info", "info_generated", "topology", "store", "time", "stage_validate", "flatten"),
    *("api_fields", "api_field_summary", "api_dataset_summary", "api_operations"),
}
"""Kinds that tests in this folder run; the page lists all others."""

FAULTS = {
    "no_read": "no READ",
    "no_write": "no WRITE",
    "duplicate_name": "is also the name of",
    "unknown_origins": "is not an operation of this run",
    "cycle": "a cycle",
}


def key(end_point: Dataset, field: str) -> str:
    return f"{end_point.namespace}.{end_point.name}.{field}"


def written_fields(info: FieldLineageInfo) -> list[DatasetField]:
    return [
        DatasetField(operation.destination, field.name)
        for operation in info.operations
        if isinstance(operation, Write)
        for field in operation.inputs
        if field.influence is Influence.DIRECT
    ]


def read_fields(info: FieldLineageInfo) -> tuple[DatasetField, ...]:
    return info.field_map.fields


def fields_by_key(info: FieldLineageInfo) -> dict[str, DatasetField]:
    return {key(field.dataset, field.name): field for field in (*written_fields(info), *read_fields(info))}


def incoming(info: FieldLineageInfo) -> Summary:
    """Per destination field its source fields; none for a generated one."""
    actual: Summary = {}
    for to in info.destinations:
        related = field_relations.dataset_relations(info.field_map, to, backward=True, pairs_max=10**9)
        for (source, _), relation in related.by_datasets.items():
            for name, target in relation.direct:
                assert target is not None
                sources = actual.setdefault(key(to, target), set())
                if source is not None and name is not None:
                    sources.add(key(source, name))
    return actual


def outgoing(info: FieldLineageInfo) -> Summary:
    """Per source field the fields made of it, and DROPPED."""
    actual: Summary = {}
    for source in info.sources:
        related = field_relations.dataset_relations(info.field_map, source, backward=False, pairs_max=10**9)
        for (_, to), relation in related.by_datasets.items():
            for name, target in relation.direct:
                assert name is not None
                target_key = DROPPED if to is None or target is None else key(to, target)
                actual.setdefault(key(source, name), set()).add(target_key)
    return actual


def destination_fields(info: FieldLineageInfo) -> Summary:
    actual: Summary = {}
    for field in written_fields(info):
        actual.setdefault(f"{field.dataset.namespace}.{field.dataset.name}", set()).add(field.name)
    return actual


def operations_into(info: FieldLineageInfo) -> Summary:
    fields = {key(field.dataset, field.name): field for field in written_fields(info)}
    return {
        name: set(operation_graph.upstream_graph(info.operations, field).operations)
        for name, field in fields.items()
    }


def operations_from(info: FieldLineageInfo) -> Summary:
    fields = {key(field.dataset, field.name): field for field in read_fields(info)}
    return {
        name: set(operation_graph.downstream_graph(info.operations, field).operations)
        for name, field in fields.items()
    }


SUMMARIES: dict[str, Callable[[FieldLineageInfo], Summary]] = {
    "incoming_summary": incoming,
    "outgoing_summary": outgoing,
    "destination_fields": destination_fields,
}
"""What a case says in full: no further keys."""

PARTS: dict[str, Callable[[FieldLineageInfo], Summary]] = {
    "incoming_operations_for_field": operations_into,
    "outgoing_operations_for_field": operations_from,
}
"""What a case says of some fields."""


@pytest.mark.parametrize("case", cases("info"), ids=case_id)
def test_info(case: dict[str, Any]) -> None:
    operations, expect = operations_of(case["operations"]), case["expect"]
    assert expect.keys() <= {*SUMMARIES, *PARTS, "error", "valid", "checksum_survives_json_round_trip"}
    if "error" in expect:
        with pytest.raises(InvalidLineage) as caught:
            lineage.build_lineage(operations)
        assert_faults(caught.value.errors, expect["error"])
        return
    info = lineage.build_lineage(operations)
    for due, actual in compared(expect, info):
        assert actual == due
    read_back = [checksum.operation_from_json(checksum.canonical(operation)) for operation in operations]
    assert lineage.build_lineage(read_back) == info


def compared(expect: dict[str, Any], info: FieldLineageInfo) -> Iterator[tuple[Summary, Summary]]:
    """The expected lineage of the case and the actual one, one after the other."""
    for member, make in SUMMARIES.items():
        if member in expect:
            yield sets(expect[member]), make(info)
    for member, make in PARTS.items():
        if member in expect:
            actual = make(info)
            yield sets(expect[member]), {name: actual[name] for name in expect[member]}


def sets(due: dict[str, list[str]]) -> Summary:
    return {name: set(values) for name, values in due.items()}


def assert_faults(faults: tuple[FieldError, ...], error: dict[str, Any]) -> None:
    """Every fault is of the kind expected, and names what the case names."""
    assert faults
    assert all(FAULTS[error["kind"]] in fault.detail for fault in faults)
    if "names" in error:
        assert len(faults) == len(error["names"])
        assert all(any(repr(name) in fault.detail for fault in faults) for name in error["names"])


@pytest.mark.parametrize("case", cases("info_generated"), ids=case_id)
def test_info_generated(case: dict[str, Any]) -> None:
    """Every destination field comes of every source field."""
    generator = case["generator"]
    operations = generated(generator)
    assert len(operations) == generator["operation_count"]
    names = [field.name for field in operations[0].outputs]
    source = end_point_of(generator["read"]["source"])
    to = end_point_of(generator["write"]["destination"])
    expected = {key(to, name): {key(source, other) for other in names} for name in names}
    assert incoming(lineage.build_lineage(operations)) == expected
    assert len(expected) == generator["fields"]["to"] - generator["fields"]["from"] + 1


@pytest.mark.parametrize("case", cases("topology"), ids=case_id)
def test_topology(case: dict[str, Any]) -> None:
    operations, expect = operations_of(case["operations"]), case["expect"]
    if "error" in expect:
        with pytest.raises(InvalidLineage, match=FAULTS[expect["error"]["kind"]]):
            topology.sort_operations(operations)
        return
    ordered = [operation.name for operation in topology.sort_operations(operations)]
    assert sorted(ordered) == sorted(operation.name for operation in operations)
    for earlier, later in expect["before"]:
        assert ordered.index(earlier) < ordered.index(later)


@pytest.mark.parametrize("case", cases("store"), ids=case_id)
@pytest.mark.parametrize("engine", ["file", "memory"])
def test_store(case: dict[str, Any], engine: str, tmp_path: Path) -> None:
    path = tmp_path / "cells.db" if engine == "file" else ":memory:"
    with closing(LineageStore(open_table(f"sqlite:///{path}"))) as store:
        infos = {name: lineage.build_lineage(operations_of(due)) for name, due in case["infos"].items()}
        for run in case["runs"]:
            (answer,) = store.record([RecordedRun(run_of(run), infos[run["info"]])])
            assert answer.recorded
        for query in case["queries"]:
            actual = ASK[query["query"]](store, query)
            assert actual == EXPECTED[query["match"]](query["expect"]), query.get("why", "")


def query_of(query: dict[str, Any]) -> tuple[Dataset, Window]:
    return end_point_of(query["endpoint"]), Window(query["start_ms"], query["end_ms"])


def ask_summary(store: LineageStore, query: dict[str, Any], direction: Direction) -> set[str]:
    """The fields at the other end of every direct pair of the field."""
    end_point, window = query_of(query)
    backward = direction is Direction.BACKWARD
    actual = set()
    for entry in store.lineage(end_point, window, directions=[direction]).entries:
        other = entry.relation.source if backward else entry.relation.destination
        for pair in entry.relation.direct:
            queried, name = reversed(pair) if backward else pair
            if queried == query["field"] and other is not None and name is not None:
                actual.add(key(other, name))
    return actual


def ask_fields(store: LineageStore, query: dict[str, Any]) -> set[str | None]:
    """The fields of the end point that runs of the window wrote."""
    end_point, window = query_of(query)
    entries = store.lineage(end_point, window, directions=[Direction.BACKWARD]).entries
    return {target for entry in entries for _, target in entry.relation.direct}


def ask_operations(store: LineageStore, query: dict[str, Any]) -> list[tuple[set[str], set[str]]]:
    """Per way the field was made, newest first: its runs and its operations."""
    end_point, window = query_of(query)
    actual = store.field_derivations(DatasetField(end_point, query["field"]), window).derivations
    for way in actual:
        starts = [store_starts(store, end_point, window)[run.run] for run in way.runs]
        assert all(newer >= older for newer, older in pairwise(starts))
        names = [operation.name for operation in way.operations]
        for operation in way.operations:
            predecessors = names[: names.index(operation.name)]
            assert all(
                input_field.origin in predecessors
                for input_field in inputs_of(operation)
                if input_field.origin in names
            )
    return [
        ({run.run for run in way.runs}, {operation.name for operation in way.operations}) for way in actual
    ]


def store_starts(store: LineageStore, end_point: Dataset, window: Window) -> dict[str, int]:
    return {actual.run.run: actual.run.start_ms for actual in store.runs(end_point, window, limit=1_000).runs}


ASK: dict[str, Callable[[LineageStore, dict[str, Any]], object]] = {
    "incoming_summary": lambda store, query: ask_summary(store, query, Direction.BACKWARD),
    "outgoing_summary": lambda store, query: ask_summary(store, query, Direction.FORWARD),
    "incoming_operations_for_field": ask_operations,
    "fields": ask_fields,
}
EXPECTED: dict[str, Callable[[Any], object]] = {
    "exact": set,
    "ordered_list": lambda due: [(set(item["runs"]), set(item["operations"])) for item in due],
}


def test_every_case_runs_or_stands_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for kind in {case["kind"] for case in ALL} - LITERAL_MEMBERS:
        assert f"| `{kind}` |" in text, f"{kind} is neither run nor explained"


def test_every_case_that_the_page_names_is_there() -> None:
    ids = {case["id"] for case in ALL}
    names_by_member = {
        word
        for word in PAGE.read_text(encoding="utf-8").split("`")[1::2]
        if word.startswith(("http-", "publish-"))
    }
    assert names_by_member
    assert names_by_member <= ids
