"""A part that cannot be read costs no other: the rest is the same as without that part, and it is named.

The broken value is of a type that no member accepts where it is put; what is broken is a facet, a column, an
input, a dataset, a proposal, a member of an aspect, a node.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.ingest.registry import detect
from fll_hbase.model.operations import Transform
from fll_hbase.model.run_events import decode_run_facts
from fll_hbase.model.runs import RecordedRun
from fll_hbase.runtime.errors import InvalidLineage, UnreadableDocument
from fll_hbase.sources import cdap, datahub, openlineage, sql, strict_json
from fll_hbase.sources.datahub import MessageFormat
from tests.support.datahub_messages import entity, lineage, proposal
from tests.support.document_parts import HALF, Json, Path, put, remove
from tests.support.golden_cases import FOLDER, read_case
from tests.support.openlineage_events import run_events
from tests.support.recorded_events import events

REAL = sorted(events(), key=lambda event: len(json.dumps(event)))[:: len(events()) // 12]
BROKEN = st.sampled_from([5, True, "", "?", [[5]], 1.5, HALF])


def parts(event: Json) -> Iterator[Path]:
    """Yield the parts of an event that can be left out: datasets, facets, columns and their inputs."""
    for list_name in ("inputs", "outputs"):
        for number, dataset in enumerate(event.get(list_name) or ()):
            yield list_name, number
            for name, facet in (dataset.get("facets") or {}).items():
                yield from _facet_parts(facet, (list_name, number, "facets", name))
    for holder in ("run", "job"):
        for name in event[holder].get("facets") or {}:
            if name in ("parent", "nominalTime", "errorMessage", "jobType", "sql"):
                yield holder, "facets", name


def _facet_parts(facet: Json, path: Path) -> Iterator[Path]:
    name = path[-1]
    if name in ("schema", "columnLineage", "symlinks", "documentation"):
        yield path
    if name == "schema":
        yield from ((*path, "fields", index) for index in range(len(facet.get("fields") or ())))
    if name == "columnLineage" and path[0] == "outputs":
        yield from _columns(facet, path)


def _columns(facet: Json, path: Path) -> Iterator[Path]:
    for column, data in (facet.get("fields") or {}).items():
        yield *path, "fields", column
        # The only input of a column is not a part: without it the column would be generated.
        if len(data.get("inputFields") or ()) > 1:
            yield from ((*path, "fields", column, "inputFields", index) for index in range(2))
    if isinstance(facet.get("dataset"), list):
        yield from ((*path, "dataset", index) for index in range(len(facet["dataset"])))


def _content(parsed: openlineage.ParsedEvent) -> tuple[Any, ...]:
    event = parsed.event
    return (
        replace(event, bodies={}) if event else None,
        event and event.bodies,
        parsed.schemas,
        parsed.statements,
    )


@given(st.sampled_from(REAL) | run_events(), BROKEN, st.data())
def test_openlineage(event: Json, value: Json, data: st.DataObject) -> None:
    paths = list(parts(event))
    if not paths:
        return
    path = data.draw(st.sampled_from(paths))
    broken = openlineage.read(put(event, path, value))
    assert _content(broken) == _content(openlineage.read(remove(event, path)))
    prefix = ".".join(map(str, path))
    assert any(warning.path.startswith(prefix) for warning in broken.warnings)


def test_half_of_a_surrogate_pair_costs_its_part_alone() -> None:
    """Python's json writes names of files that are not UTF-8 with such escapes."""
    event = next(event for event in REAL if event.get("outputs"))
    broken = copy.deepcopy(event)
    broken["inputs"] = [*broken.get("inputs", []), {"namespace": "file", "name": "/in/\udcff"}]
    broken["outputs"][0].setdefault("facets", {})["unknown"] = {"\ud800": "\ud800"}
    raw = json.dumps(broken).encode()
    head = detect(raw)
    assert head.format.name == "openlineage"
    reading = openlineage.read(openlineage.parse(raw))
    assert reading.lineage == openlineage.read(event).lineage
    assert [str(warning.path).rpartition(".")[2] for warning in reading.warnings] == ["name"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("eventTime",), "?"),
        (("run", "runId"), HALF),
        (("job", "namespace"), HALF),
        (("job", "namespace"), "x" * 5_000),
        (("job", "name"), ""),
    ],
)
def test_what_makes_the_run_unreadable_is_refused_by_its_path(path: Path, value: Json) -> None:
    event = copy.deepcopy(next(event for event in REAL if event.get("outputs")))
    # Such a dataset is in the namespace of the job.
    event["outputs"][0]["namespace"] = ""
    with pytest.raises(UnreadableDocument) as refused:
        openlineage.read(put(event, path, value))
    assert ".".join(map(str, path)) in {error.path for error in refused.value.errors}


def test_a_broken_root_of_the_parent_is_named_by_its_own_path() -> None:
    references = {"run": {"runId": "p"}, "job": {"namespace": "n", "name": "j"}}
    parent = {**references, "root": {**references, "run": {"runId": 5}}}
    event = {
        "eventTime": "2026-01-31T09:30:00Z",
        "eventType": "COMPLETE",
        "run": {"runId": "r", "facets": {"parent": parent}},
        "job": {"namespace": "n", "name": "j"},
    }
    parsed = openlineage.read(event)
    assert parsed.event is not None
    facts = decode_run_facts(parsed.event.bodies[parsed.event.event.facts_digest])
    assert (facts.parent, facts.root) == (("n", "j", "p"), None)
    root = "run.facets.parent.root"
    detail = f"must be a string, is a number; {root} is left out"
    assert [(item.path, item.detail) for item in parsed.warnings] == [(f"{root}.run.runId", detail)]


def test_the_property_breaks_every_kind_of_part() -> None:
    kinds = {
        tuple("*" if isinstance(name, int) else name for name in path[:5])
        for event in REAL
        for path in parts(event)
    }
    facets = {kind[3] for kind in kinds if len(kind) > 3 and kind[2] == "facets"}
    assert facets >= {"schema", "columnLineage"}
    assert any(len(kind) == 5 for kind in kinds)


PROPOSALS = ("upstreams", "fineGrainedLineages")


@given(st.sampled_from(PROPOSALS), st.integers(0, 1), BROKEN)
def test_datahub(member: str, index: int, value: Json) -> None:
    def runs(aspect: Json) -> tuple[list[RecordedRun], int]:
        message = datahub.read([entity(aspect)], form=MessageFormat.ENTITIES, now_ms=0)
        return list(message.runs), len(message.warnings)

    aspect = lineage()
    broken, warnings = runs(put(aspect, (member, index), value))
    rest, _ = runs(remove(aspect, (member, index)))
    assert [(run.run.program, run.info) for run in broken] == [(run.run.program, run.info) for run in rest]
    assert warnings


@pytest.mark.parametrize("member", ["transformOperation", "upstreams", "query"])
def test_half_of_a_surrogate_pair_in_the_text_of_an_aspect_costs_its_member_alone(member: str) -> None:
    """The emitter's older protocol has the aspect as JSON in a string."""

    def runs(aspect: Json) -> list[RecordedRun]:
        document = {"proposal": proposal(aspect)}
        message = datahub.read(document, form=MessageFormat.PROPOSAL, now_ms=0)
        assert not message.refused
        return list(message.runs)

    aspect = lineage()
    path = ("fineGrainedLineages", 0, member)
    rest = remove(aspect, path[:-1]) if member == "upstreams" else put(aspect, path, None)
    (broken,) = runs(put(aspect, path, [HALF] if member == "upstreams" else HALF))
    assert broken.info == runs(rest)[0].info


@given(st.integers(0, 2), BROKEN)
def test_datahub_messages(index: int, value: Json) -> None:
    message = [
        entity(lineage()),
        entity(lineage(), urn=dataset_urn("b")),
        entity(lineage(), urn=dataset_urn("c")),
    ]

    def runs(document: Json) -> list[str]:
        parsed = datahub.read(document, form=MessageFormat.ENTITIES, now_ms=0)
        return sorted(run.run.run for run in parsed.runs)

    assert runs(put(message, (index,), value)) == runs(remove(message, (index,)))


def dataset_urn(name: str) -> str:
    """Return the urn of a dataset."""
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


PIPELINE = {
    **read_case(FOLDER / "pipeline" / "seed_projection.txt").json("document"),
    "arguments": {"day": "monday"},
}
PIPELINE_PARTS: dict[str, Path] = {
    "a mutation": ("config", "stages", 1, "fieldMutations", 0),
    "all mutations": ("config", "stages", 1, "fieldMutations"),
    "a connection": ("config", "connections", 1),
    "a name of a dataset": ("config", "stages", 0, "plugin", "properties", "referenceName"),
    "a schema": ("config", "stages", 1, "outputSchema"),
    "the plugin of a transform": ("config", "stages", 1, "plugin"),
    "properties": ("config", "stages", 1, "plugin", "properties"),
    "an argument": ("arguments", "day"),
    "all arguments": ("arguments",),
}


@pytest.mark.parametrize("kind", PIPELINE_PARTS)
@pytest.mark.parametrize("value", [5, [[5]], True, HALF])
def test_pipelines(kind: str, value: Json) -> None:
    path = PIPELINE_PARTS[kind]

    def outcome(document: Json) -> Any:
        try:
            return cdap.read_document(document, namespace="ns").operations.info
        except InvalidLineage as error:
            return str(error)

    # Without a connection a sink is not reached, which is a fault of the pipeline.
    assert outcome(put(PIPELINE, path, value)) == outcome(remove(PIPELINE, path))


def sql_reading(script: str, schema: Json) -> Any:
    run = {"application": "a", "type": "sql", "program": "p", "run": "r", "startTime": 1763683200000}
    document = {"run": run, "sql": script, "schema": schema, "dialect": "postgres"}
    return sql.read_document(document, namespace="ns", columns=lambda _: None)


def test_half_of_a_surrogate_pair_in_sql_costs_the_names_that_have_it() -> None:
    """As a client sends a script that it has read from a file in Latin 1."""
    script = f"""INSERT INTO t (id) SELECT id FROM s WHERE note = 'caf{HALF}'; -- {HALF}
    INSERT INTO "u{HALF}" (id) SELECT id FROM s;
    CREATE TABLE v AS SELECT id, note AS "n{HALF}" FROM s"""
    reading = sql_reading(script, {})
    assert [dataset.name for dataset in reading.recorded.info.destinations] == ["t", "v"]
    fields = [item.outputs for item in reading.recorded.info.operations if isinstance(item, Transform)]
    assert {field.name for outputs in fields for field in outputs} == {"id"}
    assert all(item.path == "sql" for item in reading.warnings)
    json.dumps([reading.run.details, *map(str, reading.warnings)], ensure_ascii=False).encode()


@pytest.mark.parametrize("value", [5, [5], ["id", HALF], [{"type": "int"}]])
def test_a_table_of_the_schema_that_cannot_be_read_costs_itself(value: Json) -> None:
    script = "INSERT INTO t SELECT * FROM s; INSERT INTO u SELECT * FROM v"
    rest = {"s": ["a"], "t": ["b"], "u": ["c"]}
    broken = sql_reading(script, {**rest, "v": value})
    assert broken.recorded.info == sql_reading(script, rest).recorded.info
    assert any(item.path.startswith("schema.v") for item in broken.warnings)


def test_our_own_document_names_each_half_of_a_surrogate_pair() -> None:
    document = {"run": {"run": HALF, "program": "p"}, "operations": [{"name": "x", HALF: [1, f"a{HALF}"]}]}
    with pytest.raises(UnreadableDocument) as refused:
        strict_json.parse(json.dumps(document).encode())
    assert [error.path for error in refused.value.errors] == ["run.run", "operations.0.?", "operations.0.?.1"]
