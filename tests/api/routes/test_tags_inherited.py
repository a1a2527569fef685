"""Tags that fields inherit over direct edges, against a search in plain Python."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from api.app import create_app
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.api_client import assert_problem, record_new, target
from tests.support.lineage_documents import Json, copying, input_fields, reading, run, transforming, writing
from tests.support.tag_requests import pages, put

ALL = {"start": "0", "end": "now", "inherited": "true"}


def tags_path(name: str, field: str = "f") -> tuple[str, ...]:
    return ("v3", "namespaces", "ns1", "endpoints", name, "fields", field, "tags")


def inherited(client: FlaskClient, name: str, field: str = "f", **query: Any) -> dict[str, list[str]]:
    """The names of the datasets on the path of each tag."""
    answer = client.get(target(*tags_path(name, field), **{**ALL, **query}))
    assert answer.status_code == 200, answer.text
    assert answer.json["truncated"] is False
    return {tag["tag"]: [step["name"] for step in tag["path"]] for tag in answer.json["tags"]}


def chain(client: FlaskClient, *names: str) -> None:
    for number, (source, destination) in enumerate(pairwise(names)):
        record_new(client, copying(source, destination, "f", run=run(f"{source}>{destination}{number}")))


def test_a_tag_is_inherited_over_hops_with_its_path(client: FlaskClient) -> None:
    chain(client, "a", "b", "c")
    first = put(client, *tags_path("a"), "PII", by="ana").json
    put(client, *tags_path("c"), "own")
    answer = client.get(target(*tags_path("c"), **ALL))
    assert {**first, "path": answer.json["tags"][0]["path"]} == answer.json["tags"][0]
    assert answer.json["tags"][0]["path"] == [
        {"namespace": "ns1", "name": name, "field": "f"} for name in "abc"
    ]
    assert inherited(client, "c") == {"PII": ["a", "b", "c"], "own": ["c"]}
    assert inherited(client, "a") == {"PII": ["a"]}
    assert [tag["tag"] for tag in client.get(target(*tags_path("c"))).json["tags"]] == ["own"]
    assert float(answer.headers["Window-Start"]) == 0


def test_the_nearest_field_with_a_tag_explains_it(client: FlaskClient) -> None:
    chain(client, "a", "b", "c", "d")
    for name in ("a", "b"):
        put(client, *tags_path(name), "PII")
    assert inherited(client, "d") == {"PII": ["b", "c", "d"]}
    put(client, *tags_path("d"), "PII")
    assert inherited(client, "d") == {"PII": ["d"]}


def test_runs_outside_the_window_and_levels_beyond_carry_no_tag(client: FlaskClient) -> None:
    chain(client, "a", "b", "c")
    put(client, *tags_path("a"), "PII")
    assert inherited(client, "c", start="now-1s") == {}
    answer = client.get(target(*tags_path("c"), **ALL, level=1))
    assert answer.json["tags"] == []


def test_an_indirect_dependency_carries_no_tag(client: FlaskClient) -> None:
    document: Json = {
        "run": run("filter"),
        "operations": [
            reading("read", "a", "f", "key"),
            transforming(
                "filter",
                [*input_fields("read", "f"), *input_fields("read", "key", influence="indirect")],
                "f",
            ),
            writing("write", "b", *input_fields("filter", "f")),
        ],
    }
    record_new(client, document)
    put(client, *tags_path("a", "key"), "secret")
    put(client, *tags_path("a"), "PII")
    assert inherited(client, "b") == {"PII": ["a", "b"]}


def test_inherited_tags_are_paged_and_bounded() -> None:
    store = LineageStore(open_table("sqlite:///:memory:"), Settings(level_max=1))
    client = create_app(store, Settings(level_max=1)).test_client()
    chain(client, "a", "b", "c")
    for number in range(5):
        put(client, *tags_path("b"), f"t{number}")
    url = target(*tags_path("c"))
    assert [tag["tag"] for tag in pages(client, url, "tags", **ALL, limit=2)] == [f"t{n}" for n in range(5)]
    answer = client.get(target(*tags_path("c"), **ALL))
    assert (answer.json["truncated"], answer.json["truncatedBy"]) == (True, ["level_max=1"])


def test_wrong_parameters(client: FlaskClient) -> None:
    chain(client, "a", "b")
    assert_problem(client.get(target(*tags_path("b"), inherited="yes")), 400)
    assert_problem(client.get(target(*tags_path("b"), inherited="true", start="now", end="0")), 400)
    assert_problem(client.get(target(*tags_path("b"), inherited="true", level=0)), 400)
    assert_problem(client.get(target(*tags_path("x"), inherited="true")), 404)


NAMES = st.sampled_from("abcdef")
GRAPHS = st.sets(st.tuples(NAMES, NAMES).filter(lambda edge: edge[0] != edge[1]), min_size=1, max_size=12)


@pytest.mark.slow
@given(GRAPHS, st.sets(st.tuples(NAMES, st.sampled_from(["PII", "geo"])), max_size=5))
def test_a_tag_is_inherited_from_where_a_search_finds_it(
    edges: set[tuple[str, str]], tagged: set[tuple[str, str]]
) -> None:
    store = LineageStore(open_table("sqlite:///:memory:"))
    client = create_app(store).test_client()
    for source, destination in sorted(edges):
        record_new(client, copying(source, destination, "f", run=run(f"{source}{destination}")))
    recorded = {name for edge in edges for name in edge}
    tagged = {(name, tag) for name, tag in tagged if name in recorded}
    for name, tag in tagged:
        assert put(client, *tags_path(name), tag).status_code == 201
    for name in sorted(recorded):
        distances = upstream_distances(edges, name)
        expected = {
            tag: min(distances[origin] for origin, other in tagged if other == tag and origin in distances)
            for tag in {tag for origin, tag in tagged if origin in distances}
        }
        paths = inherited(client, name)
        assert {tag: len(path) - 1 for tag, path in paths.items()} == expected
        for tag, path in paths.items():
            assert (path[0], tag) in tagged
            assert path[-1] == name
            assert set(pairwise(path)) <= edges
    store.close()


def upstream_distances(edges: set[tuple[str, str]], name: str) -> dict[str, int]:
    """The hops from each dataset upstream, by a search in breadth."""
    distances, queue = {name: 0}, deque([name])
    while queue:
        near = queue.popleft()
        for source, destination in edges:
            if destination == near and source not in distances:
                distances[source] = distances[near] + 1
                queue.append(source)
    return distances
