"""Stores that differ only in what is hidden: the same runs with other names in the hidden namespaces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from fll_hbase.model.access import Grant, Principal, Role

Json = dict[str, Any]

OPEN = ("open", "open.b")
HIDDEN = ("hidden-1", "hidden-2")
DAY_MS = 86_400_000
START_MS = 1_700_000_000_000
RUNS_MAX = 7
"""Runs of HIDDEN_RUNS and SPECS together."""

READER = Principal("reader", (Grant(Role.READER, "open*"),))
STEWARD = Principal("steward", (Grant(Role.STEWARD, "open*"), Grant(Role.RECORDER, "open*")))
ADMIN = Principal("admin", (Grant(Role.ADMIN, "*"),))
EXACT = Principal("exact", tuple(Grant(Role.READER, namespace) for namespace in OPEN))


@dataclass(frozen=True)
class Name:
    """A dataset: the number of its namespace, and its own one; datasets of one number have one name."""

    hidden: bool
    namespace: int
    number: int


@dataclass(frozen=True)
class Column:
    """A written field: its number, and the fields that it is made of, as positions among those read."""

    number: int
    inputs: tuple[int, ...]
    indirect: tuple[int, ...]


@dataclass(frozen=True)
class Spec:
    """One run: its program, and what it reads and writes."""

    program: Name
    reads: tuple[tuple[Name, int], ...]
    writes: tuple[tuple[Name, tuple[Column, ...]], ...]
    day: int
    state: str
    form: str
    """`document`, or `events` for OpenLineage."""


class World:
    """Names of what is hidden; the sort orders of two worlds differ."""

    def __init__(self, *, reverse: bool, has_hidden: bool = True) -> None:
        self._reverse = reverse
        self._has_hidden = has_hidden

    def has(self, spec: Spec) -> bool:
        """Return whether a run is recorded: without hidden parts, only if some part of it is visible."""
        names = (spec.program, *(name for name, _ in (*spec.reads, *spec.writes)))
        return self._has_hidden or not all(name.hidden for name in names)

    def secret(self, kind: str, number: int) -> str:
        """Return a name that only this world has."""
        return f"Q{9 - number}{kind}X" if self._reverse else f"secret{number}{kind}"

    def borrowed(self, used: str, free: str) -> str:
        """Return a hidden name: in one world one that something open may have, too, in the other its own."""
        return free if self._reverse else used

    def run(self, spec: Spec, number: int) -> str:
        """Return the id of a run of a document."""
        if not spec.program.hidden:
            return f"run-{number}"
        return self.borrowed(f"run-{(number + 1) % RUNS_MAX}", self.secret("run", number))

    def uuid(self, spec: Spec, number: int) -> str:
        """Return the id of a run of events."""
        head = self.borrowed("0" * 8, "f" * 8) if spec.program.hidden else "0" * 8
        return f"{head}-0000-4000-8000-{number:012d}"

    def namespace(self, name: Name) -> str:
        """Return the namespace of a dataset or program."""
        if name.hidden:
            return self.secret("ns", name.namespace)
        return OPEN[name.namespace]

    def dataset(self, name: Name) -> Json:
        """Return a dataset. An open one may have the name that a hidden one has in one of the worlds."""
        table_name = (
            self.secret("table", name.number) if name.hidden else ("people", "secret0table")[name.number]
        )
        return {"namespace": self.namespace(name), "name": table_name}

    def field(self, name: Name, number: int) -> str:
        """Return a field of a dataset."""
        return self.secret("field", number) if name.hidden else f"f{number}"


def documents(world: World, specs: list[Spec]) -> list[tuple[str, Json]]:
    """Return path and body of the requests that record the runs."""
    return [
        _document(world, number, spec) if spec.form == "document" else _event(world, number, spec)
        for number, spec in enumerate(specs)
    ]


def _program(world: World, spec: Spec) -> str:
    name = spec.program
    return world.secret("job", name.number) if name.hidden else f"job{name.number}"


def _document(world: World, number: int, spec: Spec) -> tuple[str, Json]:
    reads = [
        {
            "type": "READ",
            "name": f"read {world.dataset(name)['name']}{'' if index == 0 else f'#{index + 1}'}",
            "description": f"reads {world.dataset(name)['name']}",
            "source": world.dataset(name) | {"description": world.dataset(name)["name"]},
            "outputs": [{"name": world.field(name, field), "type": "int"} for field in range(fields)],
        }
        for index, (name, fields) in enumerate(spec.reads)
    ]
    names = _sources(world, spec, [read["name"] for read in reads])
    operations: list[Json] = [*reads]
    for index, (target, columns) in enumerate(spec.writes):
        dataset = world.dataset(target)
        written = []
        for column in columns:
            transform = f"{dataset['name']}.{world.field(target, column.number)} {index}"
            operations.append(
                {
                    "type": "TRANSFORM",
                    "name": transform,
                    "description": f"from {_names_of(names, column)}",
                    "inputs": [
                        *(names[position % len(names)] for position in column.inputs if names),
                        *(
                            names[position % len(names)] | {"influence": "indirect", "kind": "filter"}
                            for position in column.indirect
                            if names
                        ),
                    ],
                    "outputs": [world.field(target, column.number)],
                }
            )
            written.append({"origin": transform, "name": world.field(target, column.number)})
        operations.append(
            {
                "type": "WRITE",
                "name": f"write {dataset['name']} {index}",
                "description": f"writes {dataset['name']} from {[read['name'] for read in reads]}",
                "destination": dataset,
                "inputs": written,
            }
        )
    document = {
        "run": {
            "application": _program(world, spec),
            "type": "spark",
            "program": _program(world, spec),
            "run": world.run(spec, number),
            "startTime": START_MS + spec.day * DAY_MS + number,
            "state": spec.state,
        },
        "operations": operations,
    }
    return f"/v3/namespaces/{world.namespace(spec.program)}/lineage", document


def _names_of(names: list[Json], column: Column) -> list[str]:
    positions = (*column.inputs, *column.indirect)
    return [names[position % len(names)]["name"] for position in positions if names]


def _sources(world: World, spec: Spec, reads: list[str]) -> list[Json]:
    return [
        {"origin": read, "name": world.field(name, field)}
        for read, (name, fields) in zip(reads, spec.reads, strict=True)
        for field in range(fields)
    ]


def _event(world: World, number: int, spec: Spec) -> tuple[str, Json]:
    inputs = [
        {
            **world.dataset(name),
            "facets": {
                "schema": _facet(
                    "1-0-0/SchemaDatasetFacet",
                    fields=[{"name": world.field(name, field), "type": "int"} for field in range(fields)],
                )
            },
        }
        for name, fields in spec.reads
    ]
    fields = [
        {**world.dataset(name), "field": world.field(name, field)}
        for name, count in spec.reads
        for field in range(count)
    ]
    outputs = []
    for target, columns in spec.writes:
        lineage = {
            world.field(target, column.number): {
                "inputFields": [
                    {
                        **fields[position % len(fields)],
                        "transformations": [
                            {"type": kind, "subtype": "FILTER" if kind == "INDIRECT" else "TRANSFORMATION"}
                        ],
                    }
                    for kind, positions in (("DIRECT", column.inputs), ("INDIRECT", column.indirect))
                    for position in positions
                    if fields
                ]
            }
            for column in columns
        }
        facet = _facet("1-2-0/ColumnLineageDatasetFacet", fields=lineage)
        outputs.append({**world.dataset(target), "facets": {"columnLineage": facet}})
    moment = f"2023-11-{14 + spec.day:02d}T22:13:20.{number:03d}Z"
    return "/api/v1/lineage", {
        "eventType": {"COMPLETE": "COMPLETE", "FAIL": "FAIL"}[spec.state],
        "eventTime": moment,
        "producer": "https://example.org",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {
            "runId": world.uuid(spec, number),
            "facets": {
                "parent": _facet(
                    "1-0-1/ParentRunFacet",
                    run={"runId": f"00000000-0000-4000-9000-{number:012d}"},
                    job={"namespace": world.secret("ns", 0), "name": world.secret("dag", 0)},
                )
            },
        },
        "job": {
            "namespace": world.namespace(spec.program),
            "name": _program(world, spec),
            "facets": {
                "sql": _facet(
                    "1-0-0/SQLJobFacet",
                    query=" ".join(world.dataset(name)["name"] for name, _ in spec.reads),
                )
            },
        },
        "inputs": inputs,
        "outputs": outputs,
    }


def _facet(schema: str, **members: Any) -> Json:
    url = f"https://openlineage.io/spec/facets/{schema}.json#/$defs/{schema.partition('/')[2]}"
    return {"_producer": "https://example.org", "_schemaURL": url, **members}


def _hidden_runs() -> tuple[Spec, Spec]:
    """Return a document and an event without any visible part."""
    source, target = Name(True, 0, 0), Name(True, 0, 1)
    column = Column(0, (0,), ())
    document = Spec(source, ((source, 2),), ((target, (column,)),), 0, "COMPLETE", "document")
    return document, replace(document, day=1, form="events")


HIDDEN_RUNS = _hidden_runs()

NAMES = st.builds(Name, st.booleans(), st.integers(0, 1), st.integers(0, 1))
_COLUMNS = st.builds(
    Column,
    st.integers(0, 2),
    st.lists(st.integers(0, 5), max_size=3).map(tuple),
    st.lists(st.integers(0, 5), max_size=1).map(tuple),
)
_SPECS = st.builds(
    Spec,
    NAMES,
    st.lists(st.tuples(NAMES, st.integers(1, 3)), min_size=1, max_size=3, unique_by=lambda item: item[0]).map(
        tuple
    ),
    st.lists(
        st.tuples(
            NAMES, st.lists(_COLUMNS, min_size=1, max_size=2, unique_by=lambda item: item.number).map(tuple)
        ),
        min_size=1,
        max_size=2,
        unique_by=lambda item: item[0],
    ).map(tuple),
    st.integers(0, 3),
    st.sampled_from(["COMPLETE", "COMPLETE", "COMPLETE", "FAIL"]),
    st.sampled_from(["document", "events"]),
)
SPECS = st.lists(_SPECS, min_size=1, max_size=5)
