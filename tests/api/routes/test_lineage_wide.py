"""Answers about wide datasets and operations: the work follows the fields, not their square."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.api_client import ALL, path, record_new
from tests.support.lineage_documents import Json, run
from tests.support.work import count_calls

FIELDS = 100, 400
GROWTH_MAX = 5.0
"""Four times the fields may take this much more work: four times, and a little for sorting."""


def names(fields: int) -> list[str]:
    return [f"f{number:05}" for number in range(fields)]


def inputs(origin: str, fields: list[str], **influence: str) -> list[Json]:
    return [{"origin": origin, "name": name, **influence} for name in fields]


def read(fields: int) -> Json:
    return {"type": "READ", "name": "read", "source": {"name": "source"}, "outputs": names(fields)}


def write(written: list[Json]) -> Json:
    return {"type": "WRITE", "name": "write", "destination": {"name": "target"}, "inputs": written}


def copied(fields: int) -> list[Json]:
    """Each field as it is, and all of them as filters."""
    filters = inputs("read", names(fields), influence="indirect", kind="filter")
    return [read(fields), write([*inputs("read", names(fields)), *filters])]


def computed(fields: int) -> list[Json]:
    """Each field from two others, by an operation of its own."""
    listed = names(fields)
    steps = [
        {"type": "TRANSFORM", "name": name, "inputs": inputs("read", [name, other]), "outputs": [name]}
        for name, other in zip(listed, listed[1:] + listed[:1], strict=True)
    ]
    return [read(fields), *steps, write([{"origin": name, "name": name} for name in listed])]


def summed(fields: int) -> list[Json]:
    """One field from all others, by one operation."""
    step = {
        "type": "TRANSFORM",
        "name": "sum",
        "inputs": inputs("read", names(fields)),
        "outputs": ["f00000"],
    }
    return [read(fields), step, write(inputs("sum", ["f00000"]))]


def chained(fields: int) -> list[Json]:
    """One field through as many operations."""
    origins = ["read", *names(fields)]
    steps = [
        {"type": "TRANSFORM", "name": name, "inputs": inputs(origin, ["f00000"]), "outputs": ["f00000"]}
        for origin, name in zip(origins, names(fields), strict=False)
    ]
    return [read(1), *steps, write(inputs(origins[-1], ["f00000"]))]


SHAPES = (copied, computed, summed, chained)
_FIELD = ("fields", "f00000")
QUESTIONS = {
    "backward": ("target", ("endpoints", "fields", "lineage"), {"direction": "backward"}),
    "forward": ("source", ("endpoints", "fields", "lineage"), {"direction": "forward"}),
    "field": ("target", ("endpoints", *_FIELD, "lineage"), {}),
    "field forward": ("source", ("endpoints", *_FIELD, "lineage"), {"direction": "forward"}),
    "simple": ("target", ("endpoints", *_FIELD, "lineage"), {"view": "simple"}),
    "simple forward": (
        "source",
        ("endpoints", *_FIELD, "lineage"),
        {"view": "simple", "direction": "forward"},
    ),
    "derivations": ("target", ("datasets", *_FIELD, "lineage"), {}),
    "programs": ("target", ("endpoints", "programs"), {"field": "f00000"}),
    "openlineage": ("target", ("endpoints", "openlineage"), {}),
    "ancestor fields": ("target", ("datasets", "lineage", "fields"), {"includeCurrent": "true"}),
    "ancestor field": ("target", ("datasets", "lineage", *_FIELD), {}),
    "ancestor operations": ("target", ("datasets", "lineage", *_FIELD, "operations"), {}),
    "ancestor source": ("source", ("datasets", "lineage", *_FIELD, "operations"), {}),
    "ancestor all": ("target", ("datasets", "lineage", "allfieldlineage"), {}),
}
"""Dataset, segments of the path around it, and parameters of questions."""


def work_by_question(shape: Callable[[int], list[Json]], fields: int) -> dict[str, int]:
    """The calls of recording a run, and of the first answer to each question about it."""
    client = create_app(LineageStore(open_table("sqlite:///:memory:"))).test_client()
    document = {"run": run("wide"), "operations": shape(fields)}
    # Routes and schemas that are built once are no work of the document.
    _ask_all(create_app(LineageStore(open_table("sqlite:///:memory:"))).test_client(), shape(1))
    calls = {"record": count_calls(lambda: record_new(client, document))}
    store = client.application.extensions["fll-views"].select({}).store
    for label, (dataset, (kind, *rest), query) in QUESTIONS.items():
        # Each with caches of its own: otherwise the first question would pay for all.
        fresh = create_app(LineageStore(store._table, Settings())).test_client()
        target = path("ns1", kind, dataset, *rest, **ALL, **query)
        calls[label] = count_calls(lambda fresh=fresh, target=target: _ask(fresh, target))  # type: ignore[misc]
    return calls


def _ask(client: FlaskClient, target: str) -> None:
    answer = client.get(target)
    assert answer.status_code == 200, answer.text


def _ask_all(client: FlaskClient, operations: list[Json]) -> None:
    record_new(client, {"run": run("warm"), "operations": operations})
    for dataset, (kind, *rest), query in QUESTIONS.values():
        _ask(client, path("ns1", kind, dataset, *rest, **ALL, **query))


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_the_work_follows_the_fields(shape: Callable[[int], list[Json]]) -> None:
    less, more = (work_by_question(shape, fields) for fields in FIELDS)
    growth = {label: calls / less[label] for label, calls in more.items()}
    assert {label: ratio for label, ratio in growth.items() if ratio > GROWTH_MAX} == {}
