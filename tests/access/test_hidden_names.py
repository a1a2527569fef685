"""Names that clients give to hidden things, for tables and graphs."""

from __future__ import annotations

import copy
from typing import Any

from fll_hbase.client.connection import truncation_hint
from fll_hbase.queries import name_json
from tests.access.queries import FIRST, ask, client_of, targets
from tests.access.worlds import READER, Column, Name, Spec

OPEN, OTHER, HIDDEN = Name(False, 0, 0), Name(False, 0, 1), Name(True, 0, 0)
SPECS = [
    Spec(OPEN, ((HIDDEN, 2), (OTHER, 2)), ((OPEN, (Column(0, (0, 2), (1,)),)),), 0, "COMPLETE", "document"),
    Spec(HIDDEN, ((OPEN, 2),), ((HIDDEN, (Column(0, (0,), ()),)),), 1, "COMPLETE", "document"),
    Spec(OTHER, ((HIDDEN, 2), (OTHER, 2)), ((OPEN, (Column(0, (0, 2), ()),)),), 1, "COMPLETE", "events"),
]


def test_what_is_added_to_an_answer_is_removed_from_its_json() -> None:
    client = client_of(FIRST, SPECS)
    hidden = 0
    for target in targets(client):
        body = ask(client, target, READER, "application/json").json
        shown = copy.deepcopy(body)
        name_json.add_hidden_names(shown)
        assert all("namespace" in item and "name" in item for item in _hidden(shown)), target
        assert name_json.remove_hidden_names(shown) == body, target
        hidden += len(_hidden(shown))
    assert hidden > 50


def test_a_shorter_window_shows_no_more_of_what_is_hidden() -> None:
    assert "window" not in truncation_hint(["hidden"])
    assert "window" in truncation_hint(["hidden", "pairs_max=1"])


def test_an_export_says_that_datasets_were_left_out() -> None:
    client = client_of(FIRST, SPECS)
    target = "/v3/openlineage?start=0&end=2100-01-01"
    events = ask(client, target, READER, "application/json").json
    facets = [event["run"]["facets"]["fll_truncated"]["truncatedBy"] for event in events]
    assert facets
    assert set(map(tuple, facets)) == {("hidden",)}
    assert "fll_truncated" not in client.get(target).text


def _hidden(body: Any) -> list[Any]:
    """Return all objects of hidden things in an answer."""
    if isinstance(body, dict):
        return [
            *([body] if "hidden" in body else []),
            *(item for value in body.values() for item in _hidden(value)),
        ]
    return [item for value in body for item in _hidden(value)] if isinstance(body, list) else []
