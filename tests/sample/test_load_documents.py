"""Sample documents are the same for the same end, end there, and have the cases they are for."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fll_hbase.model.window import DAY_MS
from fll_hbase.sample import RUNS, documents
from fll_hbase.sources.native import document
from tests.support.profiles import COSTLY
from tests.support.tour import END_MS

MINUTE_MS = 60_000


@cache
def sample() -> tuple[dict[str, Any], ...]:
    return tuple(documents(END_MS))


@given(st.integers(0, 4_000_000_000_000))
def test_the_same_end_gives_the_same_documents(end_ms: int) -> None:
    again = documents(end_ms)
    assert all(payload == next(again) for payload in islice(documents(end_ms), 50))


@settings(max_examples=COSTLY)
@given(st.integers(200 * DAY_MS, 4_000_000_000_000))
def test_ninety_days_up_to_the_end_oldest_first_and_the_newest_minutes_old(end_ms: int) -> None:
    starts = [payload["run"]["startTime"] for payload in documents(end_ms)]
    assert starts == sorted(starts)
    assert end_ms - 90 * DAY_MS <= starts[0]
    assert end_ms - 25 * MINUTE_MS < starts[-1] < end_ms
    assert abs(len(starts) - RUNS) < 20


def test_between_five_and_eight_thousand_runs_none_twice() -> None:
    runs = [payload["run"]["run"] for payload in sample()]
    assert 5_000 < len(runs) < 8_000
    assert len(set(runs)) == len(runs)


@pytest.mark.parametrize("later_ms", [5 * MINUTE_MS, 3 * 60 * MINUTE_MS])
def test_a_later_end_of_the_same_day_changes_no_run(later_ms: int) -> None:
    later = {payload["run"]["run"]: payload for payload in documents(END_MS + later_ms)}
    both = [payload for payload in sample() if payload["run"]["run"] in later]
    assert len(both) > 7_000
    assert all(later[payload["run"]["run"]] == payload for payload in both)


def test_every_document_reads_without_a_warning() -> None:
    for payload in {str(payload["operations"]): payload for payload in sample()}.values():
        assert document.read(payload, namespace=None).warnings == ()


def test_some_runs_ended_badly() -> None:
    states = Counter(payload["run"]["state"] for payload in sample())
    assert 0 < states["FAIL"] < 200
    assert 0 < states["ABORT"] < 300


def test_programs_change_their_operations_at_half_time() -> None:
    changes: dict[tuple[str, str, str], int] = {}
    for payload in sample():
        key = payload["run"]["application"], payload["run"]["program"], payload["run"]["version"]
        changes.setdefault(key, payload["run"]["startTime"])
    second = {key: start_ms for key, start_ms in changes.items() if key[2] == "2.0"}
    assert len(second) >= 3
    for start_ms in second.values():
        assert abs(END_MS - 45 * DAY_MS - start_ms) < 2 * DAY_MS


def test_the_pipeline_of_the_first_design_is_that_of_its_sample_code() -> None:
    payload = next(payload for payload in sample() if payload["namespace"] == "myns")
    assert [(item["name"], item["description"]) for item in payload["operations"]] == [
        ("read", "Reading the data from the file"),
        ("parse", "parsing the input body field"),
        ("concat", "concatenating the first name and last name"),
        ("drop", "deleting the first name field"),
        ("drop", "deleting the last name field"),
        ("create", "creating unique id from the name field"),
    ]
    source = {"namespace": "myns", "name": "user_data", "description": "files contains user information"}
    assert payload["operations"][0]["inputs"] == [{"source": source}]
    assert (payload["destination"]["namespace"], payload["destination"]["name"]) == ("myns", "mytableds")
    fields = [
        (
            [item_input["field"]["name"] for item_input in item["inputs"]],
            [output["name"] for output in item["outputs"]],
        )
        for item in payload["operations"][1:]
    ]
    assert fields == [
        (["body"], ["first_name", "last_name", "age", "city", "state"]),
        (["first_name", "last_name"], ["name"]),
        (["first_name"], []),
        (["last_name"], []),
        (["name"], ["id"]),
    ]
