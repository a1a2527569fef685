"""Answers with `failed=true` say what failed and aborted runs alone performed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from api.app import create_app
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.api_client import ALL, get_json, lineage, record_new
from tests.support.lineage_documents import Json, copying, input_fields, reading, run, transforming, writing

FIELDS, STATES = ("x", "y", "z"), ("COMPLETE", "RUNNING", "FAIL", "ABORT")
RUNS = st.lists(
    st.tuples(
        st.sets(st.sampled_from(FIELDS), min_size=1),
        st.sets(st.sampled_from(FIELDS)),
        st.sampled_from(STATES),
    ),
    min_size=1,
    max_size=5,
)


def transforming_run(number: int, fields: set[str], indirect: set[str], state: str) -> Json:
    """Reads `a`, transforms each field by an operation of its own, and writes `b`; some decide about rows."""
    names = sorted(fields)
    operations = [
        reading("read", "a", *FIELDS),
        *(transforming(f"to_{name}", input_fields("read", name), name) for name in names),
        writing(
            "write",
            "b",
            *(part for name in names for part in input_fields(f"to_{name}", name)),
            *input_fields("read", *sorted(indirect), influence="indirect", kind="filter"),
        ),
    ]
    return {"run": run(f"r{number}", start_ms=10**12 + number, state=state), "operations": operations}


def flags(pairs: Sequence[Json]) -> dict[Any, bool]:
    return {(pair["from"], pair["to"]): pair.get("failed", False) for pair in pairs if pair["to"] is not None}


@pytest.mark.slow
@given(RUNS)
def test_pairs_and_connections_equal_the_oracle(runs: list[tuple[set[str], set[str], str]]) -> None:
    """The oracle is the documents: what a complete one has is not failed."""
    client = create_app(LineageStore(open_table("sqlite:///:memory:")), Settings()).test_client()
    record_new(client, *(transforming_run(number, *members) for number, members in enumerate(runs)))
    expected: dict[tuple[str, str], bool] = {}
    for fields, indirect, state in runs:
        is_failed = state in ("FAIL", "ABORT")
        for pair in [*((name, name) for name in fields), *((name, "*") for name in indirect)]:
            expected[pair] = expected.get(pair, True) and is_failed
    for direction in ("backward", "forward"):
        entries = lineage(client, "b" if direction == "backward" else "a", **ALL, failed="true")
        assert flags([pair for entry in entries for pair in entry["fieldmap"]]) == expected
    for name in {name for fields, _, _ in runs for name in fields}:
        for view in ("detailed", "simple"):
            address = ("ns1", "endpoints", "b", "fields", name, "lineage")
            answer = get_json(client, *address, **ALL, failed="true", view=view)
            (connection,) = answer["connections"]
            assert connection.get("failed", False) == expected[name, name]
            parts = [part for part in answer["nodes"] + answer["operations"] if f"to_{name}" in str(part)]
            assert all(part.get("failed", False) == expected[name, name] for part in parts)


@pytest.fixture
def chain(client: FlaskClient) -> FlaskClient:
    """`a` to `b` by a complete run and a failed one, `b` to `c` by a failed one alone."""
    record_new(
        client,
        copying("a", "b", "x", run=run("r1")),
        copying("a", "b", "x", "y", run=run("r2", state="FAIL")),
        copying("b", "c", "x", run=run("r3", state="ABORT")),
    )
    return client


def test_every_hop_of_a_walk_is_marked(chain: FlaskClient) -> None:
    entries = lineage(chain, "a", **ALL, failed="true", level="3")
    marked = [flags(entry["fieldmap"]) for entry in entries]
    assert marked == [{("x", "x"): False, ("y", "y"): True}, {("x", "x"): True}]


def test_without_failed_nothing_is_marked(chain: FlaskClient) -> None:
    """Neither the direct way nor the long one, which an escaped name takes."""
    for name in ("direction=both&", "direction=bot%68&"):
        query = f"{name}start=0&end=now&failed="
        target = "/v3/namespaces/ns1/endpoints/a/fields/lineage?"
        assert "failed" not in chain.get(f"{target}{query}false").text
        assert chain.get(f"{target}{query}true").text.count('"failed":true') == 1


def test_nodes_name_their_operation(client: FlaskClient) -> None:
    """`origin` is the name as it was recorded; `id` has dots of the field escaped."""
    operations = [reading("re.ad %", "a", "x.y"), writing("write", "b", *input_fields("re.ad %", "x.y"))]
    record_new(client, {"run": run(), "operations": operations})
    (node,) = get_json(client, "ns1", "endpoints", "b", "fields", "x.y", "lineage", **ALL)["nodes"]
    assert (node["id"], node["origin"], node["label"]) == ("re.ad %.x%2Ey", "re.ad %", "x.y")
