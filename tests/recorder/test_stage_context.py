"""Stage contexts are recorded with the pipeline config, to a store and to a server."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.window import START_LIMIT_MS, Window
from fll_hbase.recorder import (
    Field,
    FieldMutation,
    FieldOperation,
    LineageRecorder,
    NotRecorded,
    Recorded,
    Source,
    StageContext,
    State,
)
from fll_hbase.runtime.errors import InvalidLineage, UnreadableDocument
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support import seed_run as seed
from tests.support.commands import serving
from tests.support.pipelines import SINK, chain, source

ALWAYS = Window(0, START_LIMIT_MS)
CONFIG: dict[str, Any] = chain(
    source("Stream", ["ts", "headers", "body"]), {"name": "Projection"}, {**SINK, "endPoint": "${to}"}
)["config"]
TO = {"to": "people"}


def projection() -> StageContext:
    """The context of seed 000's Projection."""
    context = StageContext("Projection")
    context.record_field_mutations(
        [
            FieldMutation("rename", inputs=[Field("ts", "long")], outputs=[Field("seqId", "long")]),
            FieldMutation("rename", inputs="body", outputs="f1", description="renaming body to the f1"),
        ]
    )
    context.record_field_mutations([FieldMutation("delete", inputs=["headers"])])
    return context


@pytest.fixture
def store() -> Iterator[LineageStore]:
    store = LineageStore(open_table("sqlite:///:memory:"))
    yield store
    store.close()


def nodes_of(store: LineageStore, name: str, field: str) -> set[str]:
    """The nodes on the way into a field."""
    graph = store.field_lineage(DatasetField(Dataset("myns", name), field), ALWAYS).graph
    return {".".join(node) for node in graph.nodes}


def test_mutations_of_a_plugin_are_those_of_its_stage(store: LineageStore) -> None:
    recorder = LineageRecorder(store, namespace="myns")
    outcome = recorder.record_pipeline(CONFIG, [projection()], run=seed.run(), arguments=TO)
    assert isinstance(outcome, Recorded)
    assert (outcome.recorded, outcome.warnings) == (True, ())
    assert nodes_of(store, "people", "seqId") == {"Stream.read.ts", "Projection.rename.seqId"}
    assert nodes_of(store, "people", "f1") == {"Stream.read.body", "Projection.rename#2.f1"}
    assert [entry.name for entry in store.catalogue.fields(Dataset("myns", "people")) or ()] == [
        "f1",
        "seqId",
    ]


def test_operations_come_after_those_of_the_config(store: LineageStore) -> None:
    first, second = StageContext("Stream"), StageContext("Projection")
    first.record_operations(
        [FieldOperation("read it", inputs=Source("other", "events"), outputs=[Field("body", "string")])]
    )
    second.record_operations([FieldOperation("parse", inputs=["body"], outputs=["name", "age"])])
    second.record_operations([FieldOperation("drop", inputs=["body"]), FieldOperation("new", outputs="id")])
    declared = {
        "name": "Projection",
        "operations": [{"name": "trim", "inputs": ["body"], "outputs": ["body"]}],
    }
    config = {**CONFIG, "stages": [CONFIG["stages"][0], declared, CONFIG["stages"][2]]}
    recorder = LineageRecorder(store, namespace="myns")
    outcome = recorder.record_pipeline(config, [second, first], run=seed.run(), arguments=TO)
    assert isinstance(outcome, Recorded)
    expected = {"Stream.read it.body", "Projection.trim.body", "Projection.parse.name"}
    assert nodes_of(store, "people", "name") == expected
    (listed,) = store.runs(Dataset("other", "events"), ALWAYS, limit=9).runs
    assert listed.run.run == "run-1"
    assert declared["operations"] == [{"name": "trim", "inputs": ["body"], "outputs": ["body"]}]


def test_a_run_says_later_how_it_ended(store: LineageStore) -> None:
    recorder = LineageRecorder(store, namespace="myns")
    run = seed.run(state=State.RUNNING)
    contexts = [projection()]
    recorder.record_pipeline(CONFIG, contexts, run=run, arguments=TO)
    again = recorder.record_pipeline(CONFIG, contexts, run=run, arguments=TO)
    ended = recorder.record_pipeline(CONFIG, contexts, run=run.with_state(), arguments=TO)
    assert isinstance(again, Recorded)
    assert isinstance(ended, Recorded)
    assert (again.recorded, ended.replaced) == (False, True)
    (listed,) = store.runs(Dataset("myns", "people"), ALWAYS, limit=9).runs
    assert listed.run.state is State.COMPLETE


def test_what_is_wrong_is_reported_and_fails_no_program(
    store: LineageStore, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = LineageRecorder(store, namespace="myns")
    wrong: list[tuple[Any, Any, type[Exception]]] = [
        (CONFIG, [StageContext("gone"), StageContext("lost")], UnreadableDocument),
        ({"stages": [], "connections": []}, [], InvalidLineage),
        (7, [], AttributeError),
    ]
    for config, contexts, kind in wrong:
        outcome = recorder.record_pipeline(config, contexts, run=seed.run(), arguments=TO)
        assert isinstance(outcome, NotRecorded)
        assert isinstance(outcome.error, kind)
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * len(wrong)
    assert "contexts.gone" in caplog.text
    assert "contexts.lost" in caplog.text


@pytest.mark.parametrize(
    ("context", "member"),
    [
        (lambda: mutating(FieldMutation("rename", inputs="a")), "fieldMutations.0"),
        (lambda: mutating(FieldMutation(None)), "fieldMutations.0.mutation"),  # type: ignore[arg-type]
        (lambda: doing(FieldOperation("x", inputs=[Source("a", "b"), "c"])), "operations.0"),
    ],
)
def test_a_broken_part_is_left_out_and_named(
    store: LineageStore, context: Callable[[], StageContext], member: str
) -> None:
    recorder = LineageRecorder(store, namespace="myns")
    outcome = recorder.record_pipeline(CONFIG, [context()], run=seed.run(), arguments=TO)
    assert isinstance(outcome, Recorded)
    paths = [warning.path for warning in outcome.warnings]
    assert any(path.startswith(f"config.stages.1.{member}") for path in paths), paths


def mutating(mutation: FieldMutation) -> StageContext:
    context = StageContext("Projection")
    context.record_field_mutations([mutation])
    return context


def doing(operation: FieldOperation) -> StageContext:
    context = StageContext("Projection")
    context.record_operations([operation])
    return context


def test_warnings_are_logged(store: LineageStore, caplog: pytest.LogCaptureFixture) -> None:
    LineageRecorder(store, namespace="myns").record_pipeline(CONFIG, [projection()], run=seed.run())
    assert "no argument is given for ${to}" in caplog.text


@pytest.mark.slow
def test_the_same_lands_on_a_server(tmp_path: Path, store: LineageStore) -> None:
    with serving(f"sqlite:///{tmp_path}/store.db", tmp_path) as url:
        outcomes: list[Any] = []
        for target in (url, store):
            with LineageRecorder(target, namespace="a/b") as recorder:
                runs = (seed.run(), seed.run(), seed.run(state=State.FAIL))
                outcomes += [recorder.record_pipeline(CONFIG, [projection()], run=run) for run in runs]
                outcomes.append(recorder.record_pipeline({"stages": []}, run=seed.run()))
    assert outcomes[:3] == outcomes[4:7]
    assert [outcome.recorded for outcome in outcomes[:3] if isinstance(outcome, Recorded)] == [1, 0, 1]
    assert isinstance(outcomes[3], NotRecorded)
    assert str(outcomes[3].error) == str(outcomes[7].error)
