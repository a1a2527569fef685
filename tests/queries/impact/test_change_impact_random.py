"""Impact of a random change of a random pipeline is the difference of two stores, one for each version."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import msgspec
from hypothesis import given, note
from hypothesis import strategies as st

from fll_hbase.client.local.local_client import LocalClient
from fll_hbase.ingest.document_batches import batch_documents
from fll_hbase.ingest.ndjson import InputLine
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.operations import Influence, Transform, Write
from fll_hbase.model.window import Direction, Window
from fll_hbase.queries.impact.change_impact import ImpactAnswer
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.query_parameters import ReachQuery
from fll_hbase.tables import open_table

NOW_MS = 1_790_000_000_000
WINDOW = Window(NOW_MS - 86_400_000, NOW_MS)
NAMES = ("a", "b", "c")
Fact: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True)
class Column:
    """A written column: the text of its transform, and the source fields that it uses."""

    text: str
    inputs: frozenset[str]


@dataclass(frozen=True)
class Program:
    """A program that writes one dataset from one source, with an optional filter."""

    source: str
    columns: Mapping[str, Column]
    filter_text: str
    filter_field: str


Pipeline: TypeAlias = tuple[Program, ...]

columns = st.builds(
    Column, st.sampled_from(["IDENTITY", "f(?)", "g(?)"]), st.frozensets(st.sampled_from(NAMES), max_size=2)
)
programs = st.builds(
    Program,
    st.just(""),
    st.dictionaries(st.sampled_from(NAMES), columns, min_size=1),
    st.sampled_from(["WHERE x", "WHERE y"]),
    st.sampled_from(["", *NAMES]),
)


@st.composite
def changes(draw: st.DrawFn) -> tuple[Pipeline, Pipeline]:
    """A pipeline, and the same pipeline with one changed program."""
    count = draw(st.integers(1, 3))
    sources = [
        draw(st.sampled_from(["raw", *(f"d{item}" for item in range(number))])) for number in range(count)
    ]
    old = tuple(replace(draw(programs), source=source) for source in sources)
    number = draw(st.integers(0, count - 1))
    program, name = old[number], draw(st.sampled_from(sorted(old[number].columns)))
    rest = {key: column for key, column in program.columns.items() if key != name}
    versions = [
        program,
        replace(program, columns=rest or {"z": program.columns[name]}),
        replace(program, columns=rest | {"z": program.columns[name]}),
        replace(program, columns=program.columns | {"z": draw(columns)}),
        replace(program, columns=rest | {name: draw(columns)}),
        replace(program, filter_text="WHERE y", filter_field=draw(st.sampled_from(NAMES))),
        draw(programs.map(lambda item: replace(item, source=program.source))),
    ]
    changed = draw(st.sampled_from(versions))
    return old, (*old[:number], changed, *old[number + 1 :])


def document(number: int, program: Program, *, prefix: str) -> dict[str, Any]:
    """Return the document of a program; the names of its operations begin with `prefix`."""
    read, target = f"{prefix}read", {"namespace": "n", "name": f"d{number}"}
    operations: list[dict[str, Any]] = [
        {
            "type": "READ",
            "name": read,
            "source": {"namespace": "n", "name": program.source},
            "outputs": sorted(NAMES),
        }
    ]
    inputs: list[dict[str, Any]] = []
    for name, column in program.columns.items():
        transform = f"{prefix}{name}"
        used = [{"origin": read, "name": item} for item in sorted(column.inputs)]
        operations.append(
            {
                "type": "TRANSFORM",
                "name": transform,
                "description": column.text,
                "inputs": used,
                "outputs": [name],
            }
        )
        inputs.append({"origin": transform, "name": name})
    if program.filter_field:
        kinds = {"influence": "indirect", "kind": "filter"}
        inputs.append({"origin": read, "name": program.filter_field, **kinds})
    write = {"type": "WRITE", "name": f"{prefix}write", "description": program.filter_text}
    operations.append({**write, "destination": target, "inputs": inputs})
    start_ms = NOW_MS - 60_000 * (10 - number)
    run = {
        "application": "app",
        "program": f"p{number}",
        "type": "t",
        "run": f"r{number}",
        "startTime": start_ms,
    }
    return {"namespace": "n", "run": run, "operations": operations}


def store_of(pipeline: Pipeline, *, prefix: str) -> LineageStore:
    store = LineageStore(open_table("sqlite:///:memory:"), clock=lambda: NOW_MS)
    documents = (document(number, item, prefix=prefix) for number, item in enumerate(pipeline))
    lines = (InputLine(number, msgspec.json.encode(item)) for number, item in enumerate(documents, 1))
    for batch in batch_documents(lines, namespace="n", documents_max=10):
        for result in client_of(store).record(batch):
            assert not isinstance(result, Exception), result
    return store


def client_of(store: LineageStore) -> LocalClient:
    return LocalClient(store, clock=lambda: NOW_MS)


Way: TypeAlias = tuple[object, ...]


def ways_of(store: LineageStore, dataset: Dataset) -> tuple[dict[str, Way], Way]:
    """Return how a store says that each field of a dataset is made, and how its rows are selected."""
    fields: dict[str, Way] = {}
    rows: Way = ()
    # A dataset that programs read has further fields, which no run writes.
    for name in store.catalogue.field_names(dataset) or ():
        for derivation in store.field_derivations(DatasetField(dataset, name), WINDOW).derivations:
            by_name = {item.name: item for item in derivation.operations}
            (write,) = (item for item in derivation.operations if isinstance(item, Write))
            (origin,) = (
                item.origin for item in write.inputs if item.name == name and is_direct(item.influence)
            )
            transform = by_name[origin]
            assert isinstance(transform, Transform)
            inputs = [item.name for item in transform.inputs]
            is_copy = transform.description == "IDENTITY" and len(inputs) == 1
            fields[name] = ("" if is_copy else transform.description, *sorted(inputs))
            filters = sorted(item.name for item in write.inputs if not is_direct(item.influence))
            rows = (write.description, *filters)
    return fields, rows


def is_direct(influence: Influence) -> bool:
    return influence is Influence.DIRECT


def difference(old: LineageStore, new: LineageStore, count: int) -> set[Fact]:
    """Return kind, field and new name of each change between two stores."""
    facts: set[Fact] = set()
    for number in range(count):
        dataset = Dataset("n", f"d{number}")
        (old_fields, old_rows), (new_fields, new_rows) = (ways_of(store, dataset) for store in (old, new))
        removed = {name: way for name, way in old_fields.items() if name not in new_fields}
        added = {name: way for name, way in new_fields.items() if name not in old_fields}
        renamed = renames(removed, added)
        facts |= {("renamed", f"{dataset}.{name}", to) for name, to in renamed.items()}
        facts |= {("removed", f"{dataset}.{name}", "") for name in removed.keys() - renamed.keys()}
        facts |= {("added", f"{dataset}.{name}", "") for name in added.keys() - {*renamed.values()}}
        both = old_fields.keys() & new_fields.keys()
        facts |= {
            ("derived", f"{dataset}.{name}", "") for name in both if old_fields[name] != new_fields[name]
        }
        if old_rows != new_rows:
            facts.add(("rows", f"{dataset}.*", ""))
    return facts


def renames(removed: Mapping[str, Way], added: Mapping[str, Way]) -> dict[str, str]:
    """Return the only removed field of a way with inputs, by the only added one of this way."""
    by_way: dict[Way, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for index, ways in enumerate((removed, added)):
        for name, way in ways.items():
            by_way[way][index].append(name)
    return {
        old[0]: new[0] for way, (old, new) in by_way.items() if len(old) == len(new) == 1 and len(way) > 1
    }


def downstream_of(store: LineageStore, fields: Iterable[DatasetField]) -> dict[str, set[str]]:
    """Return what a store says is downstream of each field."""
    reached = {}
    for field in fields:
        reach = store.reach(ReachQuery(field, WINDOW, Direction.FORWARD))
        ends = {edge.destination for edge in reach.edges} - {field}
        reached[name_of(field)] = {name_of(end) for end in ends}
    return reached


def name_of(field: DatasetField) -> str:
    return f"{field.dataset}.{field.name}"


@given(changes())
def test_impact_is_the_difference_of_two_stores(versions: tuple[Pipeline, Pipeline]) -> None:
    old, new = versions
    # Names of operations have no meaning, so the new version has others.
    old_store, new_store = store_of(old, prefix="x."), store_of(new, prefix="y.")
    documents = tuple(document(number, item, prefix="z.") for number, item in enumerate(new))
    body: ImpactAnswer = client_of(old_store).impact(documents=documents, start="now-1d").body
    facts = {(item.kind, str(item.field), item.to) for item in body.changes}
    note(str(facts))
    assert facts == difference(old_store, new_store, len(old))
    assert len(facts) == len(body.changes)
    assert {item.status for item in body.programs} == {"compared"}
    changed = [item for item in body.changes if item.downstream is not None]
    fields = [
        DatasetField(Dataset(item.field.namespace, item.field.name), item.field.field) for item in changed
    ]
    expected = downstream_of(old_store, fields)
    for item in changed:
        assert item.downstream is not None
        assert {str(field) for field in item.downstream.fields} == expected[str(item.field)]
        readers = {f"p{number}" for number, program in enumerate(old) if program.source == item.field.name}
        assert readers <= {program.program for program in item.downstream.programs}
    old_store.close()
    new_store.close()
