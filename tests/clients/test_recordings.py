"""Events of real clients, posted in every way that a client may: the answers are those written by hand."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import requests

from fll_hbase.runtime.config import Settings
from tests.clients.recordings import (
    CLIENTS,
    JSON,
    TIMEOUT_SECONDS,
    datasets_of,
    lineage_of,
    post_event,
    read_recording,
    whole_state,
)
from tests.support.commands import fll
from tests.support.threaded_server import serving_in_thread


@pytest.fixture(scope="module", params=CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    """The name of a client."""
    name: str = request.param
    return name


@contextmanager
def _server() -> Iterator[str]:
    with serving_in_thread(Settings()) as url:
        yield url


@pytest.fixture(scope="module")
def url(client: str) -> Iterator[str]:
    """A server with the events of the client, in their order."""
    with _server() as url:
        for event in read_recording(client).events:
            post_event(url, event)
        yield url


@pytest.fixture(scope="module")
def state(url: str) -> dict[str, Any]:
    """All that the server answers after the events in their order."""
    return whole_state(url)


def test_lineage_is_what_was_written_by_hand(client: str, url: str) -> None:
    expected = read_recording(client).expected
    datasets = datasets_of(url)
    answers = {f"{namespace} {name}": lineage_of(url, namespace, name) for namespace, name in datasets}
    assert {name: edges for name, (edges, _) in answers.items() if edges} == {
        name: sorted(edges) for name, edges in expected["lineage"].items()
    }
    assert {name: sources for name, (_, sources) in answers.items() if sources} == expected["unknown"]
    assert sorted({f"{namespace} {name}" for namespace, name in datasets}) == sorted(expected["datasets"])


def test_every_event_is_answered_and_what_is_left_out_is_named(client: str) -> None:
    recording = read_recording(client)
    with _server() as url:
        answers = [post_event(url, event) for event in recording.events]
    warnings = {
        f"{json.loads(event)['job']['name']}: {warning['at']}: {warning['detail']}"
        for event, answer in zip(recording.events, answers, strict=True)
        for warning in answer.get("warnings", ())
    }
    assert sorted(warnings) == sorted(recording.expected["warnings"])


def test_watch_shows_what_was_left_out(client: str, url: str) -> None:
    expected = read_recording(client).expected["warnings"]
    shown = fll("watch", "--since", "0", "--outcome", "warned", "--server", url)
    assert shown.exit_code == 0, shown.output
    assert all(warning.partition(": ")[2] in shown.stdout for warning in expected)
    assert not fll("watch", "--since", "0", "--outcome", "refused", "--server", url).stdout


def test_programs_and_their_ends(client: str, state: dict[str, Any]) -> None:
    ends = {run["program"]: run.get("state") for run in state["runs"].values()}
    assert ends == read_recording(client).expected["states"]


def test_the_reverse_order_gives_the_same_answers(client: str, state: dict[str, Any]) -> None:
    with _server() as url:
        for event in read_recording(client).events[::-1]:
            post_event(url, event)
        assert whole_state(url) == state


def test_events_sent_again_change_nothing(client: str, url: str, state: dict[str, Any]) -> None:
    for event in read_recording(client).events:
        assert post_event(url, event)["recorded"] is False
    assert whole_state(url) == state


@pytest.mark.slow
def test_compressed_events_give_the_same_answers(client: str, state: dict[str, Any]) -> None:
    with _server() as url:
        for event in read_recording(client).events:
            post_event(url, gzip.compress(event), **{"Content-Encoding": "gzip"})
        assert whole_state(url) == state


def test_one_batch_gives_the_same_answers(client: str, state: dict[str, Any]) -> None:
    body = b"[" + b",".join(read_recording(client).events) + b"]"
    with _server() as url:
        answer = requests.post(f"{url}/api/v1/lineage/batch", body, headers=JSON, timeout=TIMEOUT_SECONDS)
        assert (answer.status_code, answer.json().get("failed_events", [])) == (200, [])
        assert whole_state(url) == state


def test_recordings_name_no_machine(client: str) -> None:
    text = b"".join(read_recording(client).events)
    assert re.findall(rb"/(?:work|home|tmp)/|/root|://10\.|@|password", text) == []
