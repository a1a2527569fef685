"""Any JSON gives a reading or `UnreadableDocument`, never another error, and never takes long."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from api import create_app
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import FieldError, UnreadableDocument
from fll_hbase.sources import openlineage
from fll_hbase.sources.name_rules import NameRules, parse_rules
from fll_hbase.sources.openlineage import ParsedEvent
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.openlineage_events import run_events
from tests.support.profiles import PROFILE
from tests.support.recorded_events import events
from tests.support.work import calls_allowed, count_calls

CALLS_PER_100_KB = 3_000_000
LARGE_COUNT = 3_000 if PROFILE == "long" else 1_000
RULES = parse_rules(r"/\d{4}-\d\d-\d\d/ => /{date}/ ;; day=\d+ => day")

ODD_TEXTS = (
    "",
    "\x00",
    "\ud800",
    "a\udfffb",
    "🙂" * 2_000,
    "x" * 5_000,
    "/" * 4_000,
    "/a/a/a/" * 500,
    "NaN",
    "2026-01-31",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "1969-12-31T23:59:59Z",
    "_deleted",
)
ODD: tuple[Any, ...] = (
    *ODD_TEXTS,
    None,
    True,
    0,
    -1,
    2**70,
    1e308,
    float("nan"),
    [],
    {},
    [[]],
    [None],
    {"": {}},
    {"\ud800": 1},
    {"_deleted": True},
)

odd = st.sampled_from(ODD).map(copy.deepcopy)
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(ODD).map(copy.deepcopy),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


def different() -> list[Any]:
    """Real events that have other members than each other, small ones first."""
    result: dict[frozenset[tuple[Any, ...]], Any] = {}
    for event in sorted(events(), key=lambda event: len(json.dumps(event))):
        result.setdefault(frozenset(_shape(event)), event)
    return list(result.values())


def _shape(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where there is something, in a few words."""
    if isinstance(value, dict) and len(path) < 5:
        for name, item in value.items():
            yield (*path, name)
            yield from _shape(item, (*path, name))
    elif isinstance(value, list) and value:
        yield from _shape(value[0], (*path, 0))


REAL = different()[:60]


def positions(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every member and item, from the outside in."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield (*path, name)
        yield from positions(item, (*path, name))


@st.composite
def near_real(draw: st.DrawFn) -> Any:
    """A real event, or one as we make them, changed here and there."""
    event = copy.deepcopy(draw(st.sampled_from(REAL) | run_events()))
    for _ in range(draw(st.integers(1, 4))):
        result = sorted(positions(event), key=len)
        if result:
            *way, last = result[
                min(draw(st.integers(0, len(result) - 1)), draw(st.integers(0, len(result) - 1)))
            ]
            holder = event
            for name in way:
                holder = holder[name]
            change(draw, holder, last)
    return event


def change(draw: st.DrawFn, holder: Any, last: Any) -> None:
    """Drop a member, or put another thing in its place, or call it otherwise; of items also one more."""
    match draw(st.sampled_from(["drop", "odd", "any", "deep", "other"])):
        case "drop":
            del holder[last]
        case "odd":
            holder[last] = draw(odd)
        case "any":
            holder[last] = draw(anything)
        case "deep":
            holder[last] = deep(draw(st.integers(1, 150)), draw(st.sampled_from(["", "fields", "facets"])))
        case _ if isinstance(holder, dict):
            holder[draw(st.sampled_from(ODD_TEXTS))] = holder.pop(last)
        case _:
            holder.append(copy.deepcopy(holder[last]))


def deep(levels: int, name: str) -> Any:
    """Lists in lists, or objects as a nested schema has them."""
    value: Any = []
    for _ in range(levels):
        value = [{"name": "n", name: value}] if name else [value]
    return value


def read(document: Any, rules: NameRules | None = None) -> ParsedEvent | None:
    """The reading; None where it was refused, with at least one fault that can be told."""
    faults: Sequence[FieldError] = ()
    result: ParsedEvent | None = None

    def read_or_refuse() -> None:
        nonlocal faults, result
        try:
            result = openlineage.read(document, rules=rules)
        except UnreadableDocument as error:
            faults = error.errors

    assert count_calls(read_or_refuse) <= calls_allowed(len(json.dumps(document)), CALLS_PER_100_KB)
    assert isinstance(result, ParsedEvent) or (faults and all(fault.detail for fault in faults))
    return result


@pytest.mark.parametrize("event", events()[::25], ids=lambda event: event["run"]["runId"])
def test_real_events_can_be_read(event: Any) -> None:
    assert read(event) is not None


@given(anything)
def test_any_json(document: Any) -> None:
    read(document)


@given(near_real(), st.booleans())
def test_json_near_real_events(document: Any, ruled: bool) -> None:
    read(document, RULES if ruled else None)


@given(st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes(raw: bytes) -> None:
    try:
        document = openlineage.parse(raw)
    except UnreadableDocument:
        return
    read(document)


@pytest.fixture(scope="module")
def client() -> Iterator[FlaskClient]:
    store = LineageStore(open_table("sqlite:///:memory:"))
    # Counting calls makes a request several times slower, coverage does once more.
    yield create_app(store, Settings(request_seconds=600)).test_client()
    store.close()


@given(near_real(), st.booleans())
def test_a_route_never_fails(client: FlaskClient, document: Any, dry: bool) -> None:
    body = json.dumps(document).encode()
    route = "/api/v1/lineage"
    answer = client.post(f"{route}?dryRun={str(dry).lower()}", data=body, content_type="application/json")
    assert answer.status_code in (200, 201, 400, 413, 422), answer.text
    assert answer.status_code < 400 or answer.mimetype == "application/problem+json"
    batch = client.post(f"{route}/batch", data=b"[%b,%b]" % (body, body), content_type="application/json")
    assert batch.status_code in (200, 400), batch.text
    if batch.status_code == 200:
        inputs = 2 if answer.status_code < 400 else 0
        assert batch.json["summary"]["successful"] == inputs, (answer.text, batch.text)


@given(anything)
def test_a_route_takes_any_json(client: FlaskClient, document: Any) -> None:
    body = json.dumps(document).encode()
    for route in ("/api/v1/lineage", "/api/v1/lineage/batch"):
        answer = client.post(route, data=body, content_type="application/json")
        assert answer.status_code in (200, 400), answer.text


LARGE = {
    "many inputs and outputs": lambda n: (
        {"inputs": [{"namespace": "a", "name": f"i{x}"} for x in range(n)]}
        | {"outputs": [{"namespace": "a", "name": f"o{x}"} for x in range(n)]}
    ),
    "renames": lambda n: {"outputs": [renamed(x) for x in range(n)]},
    "one dataset often": lambda n: {
        "outputs": [
            {"namespace": "a", "name": "o", "facets": {"columnLineage": columns(10)}} for _ in range(n)
        ]
    },
    "many columns": lambda n: {
        "outputs": [{"namespace": "a", "name": "o", "facets": {"columnLineage": columns(n)}}]
    },
    "many inputs of one column": lambda n: {
        "outputs": [{"namespace": "a", "name": "o", "facets": {"columnLineage": columns(2, n)}}]
    },
    "a long schema": lambda n: {
        "inputs": [
            {
                "namespace": "a",
                "name": "o",
                "facets": {"schema": {"fields": [{"name": f"f{x}"} for x in range(n)]}},
            }
        ]
    },
    "many faults": lambda n: {"outputs": [None] * n},
}


def columns(count: int, inputs: int = 1) -> Any:
    used = [{"namespace": "a", "name": "i", "field": f"f{number}"} for number in range(inputs)]
    return {"fields": {f"c{number}": {"inputFields": used} for number in range(count)}}


def renamed(number: int) -> Any:
    previous = {"namespace": "a", "name": f"p{number}"}
    change = {"lifecycleStateChange": "RENAME", "previousIdentifier": previous}
    return {"namespace": "a", "name": f"n{number}", "facets": {"lifecycleStateChange": change}}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LARGE)
def test_large_events_cause_their_share_of_work(client: FlaskClient, kind: str) -> None:
    event = {
        "eventTime": "2026-03-01T00:00:00Z",
        "eventType": "COMPLETE",
        "run": {"runId": kind},
        "job": {"namespace": "a", "name": "j"},
    }
    body = json.dumps({**event, **LARGE[kind](LARGE_COUNT)}).encode()
    read(json.loads(body))

    def send() -> None:
        answer = client.post("/api/v1/lineage", data=body, content_type="application/json")
        assert answer.status_code in (201, 400), answer.text

    assert count_calls(send) <= calls_allowed(len(body), 2 * CALLS_PER_100_KB)
