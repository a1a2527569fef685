"""Answers that a limit on work or on a simple view cuts name that limit."""

from __future__ import annotations

import pytest

from fll_hbase.runtime.config import Settings
from tests.api.conftest import MakeClient
from tests.support.api_client import ALL, assert_problem, get_json, next_link, path, record_new
from tests.support.lineage_documents import (
    Json,
    copying,
    input_fields,
    reading,
    run,
    transforming,
    writing,
)

COUNT = 30


def totals() -> list[Json]:
    """Transforms that each add a field to the total of the one before, and are each written."""
    fields = [f"f{number:02}" for number in range(COUNT)]
    operations = [reading("read", "a", *fields)]
    total: list[Json] = []
    for field in fields:
        operations.append(
            transforming(f"add {field}", [*total, *input_fields("read", field)], f"total {field}")
        )
        total = input_fields(f"add {field}", f"total {field}")
    inputs = [item for field in fields for item in input_fields(f"add {field}", f"total {field}")]
    return [*operations, writing("write", "b", *inputs)]


def test_the_bound_of_steps(make_client: MakeClient) -> None:
    for steps_max, bound in ((1_000, None), (10, "steps_max=10")):
        client = make_client(Settings(steps_max=steps_max))
        record_new(client, {"run": run(), "operations": totals()})
        answer = client.get(path("ns1", "endpoints", "b", "fields", "lineage", **ALL))
        assert answer.headers.get("Truncated-By") == bound
        assert [entry["source"]["name"] for entry in answer.json] == ["a"], "datasets are complete"


@pytest.mark.slow
def test_the_bound_of_simple_views(make_client: MakeClient) -> None:
    listed = COUNT * (COUNT + 1) // 2
    for connections_max in (listed, listed - 1, 100, COUNT, 1):
        client = make_client(Settings(connections_max=connections_max))
        record_new(client, {"run": run(), "operations": totals()})
        for name, field, direction in (("a", "f00", "forward"), ("b", f"total f{COUNT - 1}", "backward")):
            view = get_json(
                client, "ns1", "endpoints", name, "fields", field, "lineage", **ALL,
                view="simple", direction=direction,
            )  # fmt: skip
            names = [name for connection in view["connections"] for name in connection["operations"]]
            is_cut = connections_max < listed
            assert view["truncated"] is is_cut
            assert view.get("truncatedBy") == ([f"connections_max={connections_max}"] if is_cut else None)
            assert len(names) <= connections_max or len(view["connections"]) == 1
            ends = {connection[end] for connection in view["connections"] for end in ("from", "to")}
            assert {node["id"] for node in view["nodes"]} == ends, "what is cut leaves nothing alone"


def test_the_runs_of_a_way_are_pages(make_client: MakeClient) -> None:
    client = make_client(list_limit=2)
    record_new(client, *(copying("a", "b", "x", run=run(f"{number}")) for number in range(3)))
    link: str | None = path("ns1", "datasets", "b", "fields", "x", "lineage", **ALL)
    for runs in (["0", "1"], ["2"]):
        answer = client.get(link or "")
        (way,) = answer.json["paths"]
        assert (way["runs"], way["runCount"], answer.json["truncated"]) == (runs, 3, False)
        link = next_link(answer)
    assert link is None


@pytest.mark.parametrize("cursor", ["", "x", "WyIxIiwiMiJd", "WyItMSJd", "WyIxZTkiXQ", "Wzld"])
def test_a_cursor_of_no_page(make_client: MakeClient, cursor: str) -> None:
    client = make_client()
    record_new(client, copying("a", "b", "x", run=run("r")))
    answer = client.get(path("ns1", "datasets", "b", "fields", "x", "lineage", **ALL, cursor=cursor))
    assert [fault["at"] for fault in assert_problem(answer, 400)["errors"]] == ["cursor"]
