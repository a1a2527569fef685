"""A row of Marquez gives its event unchanged, or an error that names the fault."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.runtime.errors import UnreadableDocument
from fll_hbase.sources.lineage_exports.marquez import read_event
from tests.support import marquez_rows

EVENT = b'{"eventTime": "2026-03-01T00:00:00Z",  "job": {"name": "\\u00e9 \\"q\\""}}'


def test_every_row_gives_its_event() -> None:
    for event in marquez_rows.events(300):
        raw = read_event(json.dumps(marquez_rows.row(event)).encode())
        assert json.loads(raw) == event


def test_bytes_of_the_event_do_not_change() -> None:
    assert read_event(b'{"producer": null, "event": ' + EVENT + b"}") == EVENT


def test_an_event_in_a_string() -> None:
    assert read_event(json.dumps({"event": EVENT.decode()}).encode()) == EVENT


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        (b"{}", "event: missing"),
        (EVENT, "event: missing; record a file of events without --marquez"),
        (b'{"event": null}', "event: Expected `object`, got `null`"),
        (b'{"event": []}', "event: Expected `object`, got `array`"),
        (b'{"event": "x"}', "event: not JSON: "),
        (b'{"event": {"job": {}}}', "event.eventTime: missing"),
        (b"[]", "Expected `object`, got `array`"),
        (b'{"event": "a\\\\"b"}', "export rows with `psql -At`, because COPY doubles each backslash"),
        (b'{"event": "\xff"}', "event: not JSON: "),
        (b'{"event":' + b"[" * 100_000, "not JSON: maximum recursion depth exceeded"),
    ],
)
def test_faults(raw: bytes, detail: str) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        read_event(raw)
    assert detail in str(caught.value)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["event", "eventTime", "x"]), inner),
)


@given(_JSON)
def test_any_json_gives_an_event_or_an_input_error(value: Any) -> None:
    try:
        raw = read_event(json.dumps(value).encode())
    except UnreadableDocument:
        return
    assert "eventTime" in json.loads(raw)
