"""Answers agree with the events, in whatever order and however often they are sent."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.cases.openlineage import expected_lineage, queries
from tests.cases.openlineage.expected_lineage import Run
from tests.support.recorded_events import Event, events, post

HOUR_MS = 3_600_000

SENT = {
    "in order": lambda recorded_events: recorded_events,
    "shuffled": lambda recorded_events: random.Random(5).sample(recorded_events, len(recorded_events)),
    "each twice": lambda recorded_events: random.Random(6).sample(
        recorded_events * 2, len(recorded_events) * 2
    ),
}


@pytest.fixture(scope="module")
def recorded_events() -> list[Event]:
    return events()


@pytest.fixture(scope="module")
def runs(recorded_events: list[Event]) -> list[Run]:
    return expected_lineage.runs(recorded_events)


@pytest.fixture(scope="module", params=SENT, ids=lambda name: name.replace(" ", "-"))
def client(request: pytest.FixtureRequest, recorded_events: list[Event]) -> Iterator[FlaskClient]:
    store = LineageStore(open_table("sqlite:///:memory:"))
    client = create_app(store).test_client()
    post(client, SENT[request.param](recorded_events))
    yield client
    store.close()


def test_the_oracle_knows_all_that_was_recorded(recorded_events: list[Event], runs: list[Run]) -> None:
    assert (len(recorded_events), len(runs)) == (2_724, 984)
    assert [run.run for run in runs if run.failed] == ["01a1fd8a-0b75-7d2b-a9e6-2d4dac19b76c"]
    assert sum(bool(run.outputs) for run in runs) > 300
    assert all(run.related for run in runs if run.outputs and run.sources)


@pytest.mark.slow
def test_every_run_is_answered_as_its_events_say(client: FlaskClient, runs: list[Run]) -> None:
    for run in runs:
        window = run.start_ms, run.start_ms + 1
        related = expected_lineage.merged(other for other in runs if other.start_ms == run.start_ms)
        for direction, names in (("backward", run.outputs), ("forward", run.sources)):
            for name in names:
                actual = queries.lineage(client, name, *window, direction)
                assert actual == queries.due(related, name, direction), (run.run, name, direction)


@pytest.mark.parametrize("direction", ["backward", "forward"])
@pytest.mark.parametrize("hours", [1, 24, 24 * 400])
def test_a_wider_window_is_all_its_runs_together(
    client: FlaskClient, runs: list[Run], hours: int, direction: str
) -> None:
    starts = sorted({run.start_ms // (hours * HOUR_MS) * hours * HOUR_MS for run in runs})
    for start_ms in starts:
        stop_ms = start_ms + hours * HOUR_MS
        within = [run for run in runs if start_ms <= run.start_ms < stop_ms]
        related = expected_lineage.merged(within)
        touched = {
            name for run in within for name in (run.outputs if direction == "backward" else run.sources)
        }
        for name in touched:
            actual = queries.lineage(client, name, start_ms, stop_ms, direction)
            assert actual == queries.due(related, name, direction), (start_ms, name)


def test_a_failed_run_is_left_out_unless_asked_for(client: FlaskClient, runs: list[Run]) -> None:
    (failed,) = (run for run in runs if run.failed)
    (output,) = failed.outputs
    path = f"/v3/namespaces/{output[0]}/endpoints/{output[1].replace('/', '%2F')}/fields/lineage"
    window = f"start={queries.seconds(failed.start_ms)}&end={queries.seconds(failed.start_ms + 1)}"
    assert client.get(f"{path}?{window}").json == []
    assert client.get(f"{path}?{window}&failed=true").json != []
