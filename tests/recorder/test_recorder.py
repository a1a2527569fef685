"""The recorder stores runs, merges destinations of a run, and never fails the program."""

from __future__ import annotations

import doctest
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import START_LIMIT_MS, Window
from fll_hbase.recorder import (
    Destination,
    FieldOperation,
    LineageRecorder,
    NotRecorded,
    OnError,
    Recorded,
    Run,
    Source,
    State,
    stage_context,
    types,
)
from fll_hbase.recorder import recorder as recorder_module
from fll_hbase.runtime.errors import (
    ConfigurationError,
    InvalidLineage,
    LineageError,
    StoreUnavailable,
    UnreadableDocument,
)
from fll_hbase.sources.native import document
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.results import ListedRun
from fll_hbase.tables import open_table
from tests.support import seed_run as seed
from tests.support.scripted_server import Reply, serving

ALWAYS = Window(0, START_LIMIT_MS)
MYTABLEDS = Dataset("myns", "mytableds")
INVALID = [FieldOperation("parse", inputs=["nothing"], outputs=["x"])]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def store(url: str) -> Iterator[LineageStore]:
    store = LineageStore(open_table(url))
    yield store
    store.close()


def runs(store: LineageStore, end_point: Dataset = MYTABLEDS) -> list[ListedRun]:
    return list(store.runs(end_point, ALWAYS, limit=100).runs)


@pytest.mark.parametrize("given", ["store", "url"])
def test_the_store_has_what_the_program_recorded(store: LineageStore, url: str, given: str) -> None:
    with LineageRecorder(store if given == "store" else url, namespace="myns") as recorder:
        outcome = recorder.record(seed.DESTINATION, seed.OPERATIONS, run=seed.run())
    expected = document.read(seed.DOCUMENT, namespace=None).recorded
    assert outcome == Recorded("run-1", expected.info.checksum, recorded=True, replaced=False)
    assert [(listed.run, listed.checksum) for listed in runs(store)] == [
        (expected.run, expected.info.checksum)
    ]


def test_saying_it_again_is_safe(store: LineageStore) -> None:
    recorder = LineageRecorder(store, namespace="myns")
    first, again = (recorder.record(seed.DESTINATION, seed.OPERATIONS, run=seed.run()) for _ in range(2))
    assert isinstance(first, Recorded)
    assert again == replace(first, recorded=False)
    assert len(runs(store)) == 1


def test_a_run_in_its_life(store: LineageStore) -> None:
    recorder = LineageRecorder(store, namespace="myns")
    run = Run(application="a", program="p", state=State.RUNNING)
    recorder.record(seed.DESTINATION, seed.OPERATIONS, run=run)
    assert [listed.run.state for listed in runs(store)] == [State.RUNNING]
    outcome = recorder.record(seed.DESTINATION, seed.OPERATIONS, run=run.with_state())
    assert isinstance(outcome, Recorded)
    assert outcome.replaced
    assert [(listed.run.run, listed.run.state) for listed in runs(store)] == [(run.run, State.COMPLETE)]


def test_the_namespace_is_that_of_the_run_else_of_the_recorder(store: LineageStore) -> None:
    recorder = LineageRecorder(store, namespace="mine")
    recorder.record(seed.DESTINATION, seed.OPERATIONS, run=seed.run("r1"))
    recorder.record(seed.DESTINATION, seed.OPERATIONS, run=seed.run("r2", namespace="its own"))
    assert {listed.run.run: listed.run.namespace for listed in runs(store)} == {"r1": "mine", "r2": "its own"}


def test_several_destinations_of_one_run_add_up(store: LineageStore) -> None:
    recorder = LineageRecorder(store, namespace="myns")
    others = [replace(seed.DESTINATION, name=f"other{number}") for number in range(3)]
    for destination in [seed.DESTINATION, *others]:
        recorder.record(destination, seed.OPERATIONS, run=seed.run(state=State.RUNNING))
    recorder.record(seed.DESTINATION, seed.OPERATIONS, run=seed.run())
    for destination in [seed.DESTINATION, *others]:
        (listed,) = runs(store, Dataset(destination.namespace, destination.name))
        assert listed.run.state is State.COMPLETE


def test_runs_of_two_namespaces_with_one_id_do_not_add_up(store: LineageStore) -> None:
    recorder = LineageRecorder(store, namespace="myns")
    theirs = Dataset("myns", "theirs")
    recorder.record(seed.DESTINATION, seed.OPERATIONS, run=seed.run("1"))
    recorder.record(Destination(*theirs), seed.OPERATIONS, run=seed.run("1", namespace="other"))
    assert [listed.run.namespace for listed in runs(store)] == ["myns"]
    assert [listed.run.namespace for listed in runs(store, theirs)] == ["other"]


def test_recording_a_destination_again_replaces_its_operations(store: LineageStore) -> None:
    recorder = LineageRecorder(store, namespace="myns")
    recorder.record(seed.DESTINATION, seed.OPERATIONS, run=seed.run())
    recorder.record(seed.DESTINATION, seed.OPERATIONS[:2], run=seed.run())
    recorder.record(replace(seed.DESTINATION, name="other"), seed.OPERATIONS, run=seed.run())
    entries = store.lineage(MYTABLEDS, ALWAYS).entries
    assert {to for entry in entries for _, to in entry.relation.direct} == {
        *("offset", "body", "first_name", "last_name", "age", "city", "state")
    }


def test_a_destination_that_was_refused_does_not_spoil_the_others(store: LineageStore) -> None:
    recorder = LineageRecorder(store, namespace="myns")
    recorder.record(seed.DESTINATION, seed.OPERATIONS, run=seed.run())
    bad = recorder.record(Destination("myns", "bad"), INVALID, run=seed.run())
    good = recorder.record(Destination("myns", "good"), seed.OPERATIONS, run=seed.run())
    assert isinstance(bad, NotRecorded)
    assert isinstance(good, Recorded)
    assert len(runs(store)) == len(runs(store, Dataset("myns", "good"))) == 1


def test_threads_that_record_one_run_lose_nothing(store: LineageStore) -> None:
    recorder = LineageRecorder(store, namespace="myns")
    names = [f"out{number}" for number in range(8)]
    threads = [
        threading.Thread(
            target=recorder.record,
            args=(Destination("myns", name), seed.OPERATIONS),
            kwargs={"run": seed.run()},
        )
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(runs(store, Dataset("myns", name))) == 1 for name in names)


FAILURES: list[tuple[str, list[Any], type[Exception], str]] = [
    ("sqlite:///{}/store.db", INVALID, InvalidLineage, "no earlier operation outputs 'nothing'"),
    ("sqlite:///{}/store.db", [replace(INVALID[0], name=7)], UnreadableDocument, "operations.0.name"),  # type: ignore[arg-type]
    ("sqlite:///{}/store.db", [None], AttributeError, "NoneType"),
    ("nosql:///{}", seed.OPERATIONS, ConfigurationError, "names no engine"),
    ("sqlite:///{}/missing/\0", seed.OPERATIONS, ValueError, "null"),
    ("http://127.0.0.1:1", seed.OPERATIONS, StoreUnavailable, "does not answer"),
]


@pytest.mark.parametrize(("url", "operations", "kind", "why"), FAILURES)
def test_a_failure_is_logged_and_returned(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    url: str,
    operations: list[Any],
    kind: type[Exception],
    why: str,
) -> None:
    recorder = LineageRecorder(url.format(tmp_path), namespace="myns", timeout_seconds=0.2)
    outcome = recorder.record(seed.DESTINATION, operations, run=seed.run("the run"))
    assert isinstance(outcome, NotRecorded)
    assert isinstance(outcome.error, kind)
    assert why in str(outcome.error)
    (logged,) = [item for item in caplog.records if item.levelno == logging.ERROR]
    assert logged.name == "fll_hbase.recorder"
    assert "'the run' was not recorded" in logged.getMessage()
    assert why in logged.getMessage() or logged.exc_info
    recorder.close()


@pytest.mark.parametrize(("url", "operations", "kind", "why"), FAILURES)
@pytest.mark.parametrize("on_error", [OnError.RAISE, "raise"])
def test_a_failure_is_raised_where_that_is_asked_for(
    tmp_path: Path, on_error: Any, url: str, operations: list[Any], kind: type[Exception], why: str
) -> None:
    recorder = LineageRecorder(url.format(tmp_path), namespace="myns", on_error=on_error, timeout_seconds=0.2)
    with pytest.raises(kind, match=why):
        recorder.record(seed.DESTINATION, operations, run=seed.run())


def test_even_a_run_that_is_none_fails_no_program() -> None:
    outcome = LineageRecorder("sqlite:///:memory:", namespace="ns").record(None, None, run=None)  # type: ignore[arg-type]
    assert isinstance(outcome, NotRecorded)


@pytest.mark.parametrize("member", ["application", "program", "run"])
def test_a_member_of_a_run_of_the_wrong_type_is_named(url: str, member: str) -> None:
    run = replace(seed.run(), **{member: ["a"]})
    outcome = LineageRecorder(url, namespace="ns").record(seed.DESTINATION, seed.OPERATIONS, run=run)
    assert isinstance(outcome, NotRecorded)
    assert isinstance(outcome.error, UnreadableDocument)
    assert [error.path for error in outcome.error.errors] == [f"run.{member}"]


def test_warnings_are_returned_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    reply = b'{"checksum": "c", "run": "r", "recorded": true, "warnings": [{"at": "x", "detail": "odd"}]}'
    with serving(Reply(201, reply)) as server:
        recorder = LineageRecorder(server.url, namespace="ns")
        outcome = recorder.record(seed.DESTINATION, seed.OPERATIONS, run=seed.run())
        recorder.close()
    assert isinstance(outcome, Recorded)
    assert [str(warning) for warning in outcome.warnings] == ["x: odd"]
    assert "is recorded, but x: odd" in caplog.text


def test_a_store_that_was_given_stays_open(store: LineageStore) -> None:
    with LineageRecorder(store, namespace="myns") as recorder:
        recorder.record(seed.DESTINATION, seed.OPERATIONS, run=seed.run())
    assert runs(store)


def test_a_recorder_can_be_used_after_it_was_closed(url: str) -> None:
    recorder = LineageRecorder(url, namespace="myns")
    for _ in range(2):
        assert isinstance(recorder.record(seed.DESTINATION, seed.OPERATIONS, run=seed.run()), Recorded)
        recorder.close()


def test_after_a_server_was_away_the_next_time_says_all(store: LineageStore, url: str) -> None:
    recorder = LineageRecorder("http://127.0.0.1:1", namespace="myns", timeout_seconds=0)
    first = recorder.record(seed.DESTINATION, seed.OPERATIONS, run=seed.run())
    assert isinstance(first, NotRecorded)
    assert isinstance(first.error, LineageError)
    with serving(Reply(201, b'{"checksum": "c", "run": "r", "recorded": true}')) as server:
        recorder = LineageRecorder(server.url, namespace="myns")
        recorder.record(seed.DESTINATION, seed.OPERATIONS, run=seed.run())
        recorder.record(Destination("myns", "other"), seed.OPERATIONS, run=seed.run())
        recorder.close()
    assert b'"mytableds"' in server.requests[1][1]
    assert b'"other"' in server.requests[1][1]


@pytest.mark.slow
def test_a_driver_loads_no_web_framework_and_no_command_line() -> None:
    libraries = "{'flask', 'marshmallow', 'gunicorn', 'click', 'rich'}"
    program = f"import sys, fll_hbase.recorder; print({libraries} & sys.modules.keys())"
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "set()"


def test_sources_of_several_namespaces(store: LineageStore) -> None:
    operations = [FieldOperation("read", inputs=[Source("a", "x"), Source("b", "y")], outputs=["k"])]
    LineageRecorder(store, namespace="c").record(Destination("d", "z"), operations, run=seed.run())
    sources = {entry.relation.source for entry in store.lineage(Dataset("d", "z"), ALWAYS).entries}
    assert sources == {Dataset("a", "x"), Dataset("b", "y")}


@pytest.mark.parametrize(("module", "least"), [(recorder_module, 2), (types, 4), (stage_context, 2)])
def test_the_examples_of_docstrings(module: Any, least: int, url: str) -> None:
    runner = doctest.DocTestRunner()
    with LineageRecorder(url, namespace="bank") as recorder:
        names = {**vars(recorder_module), **vars(stage_context), **vars(types)}
        names |= {"url": url, "recorder": recorder, "Source": Source}
        found_examples = [item for item in doctest.DocTestFinder().find(module, globs=names) if item.examples]
        for example in found_examples:
            runner.run(example)
    assert len(found_examples) >= least
    assert runner.failures == 0
