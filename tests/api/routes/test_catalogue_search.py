"""Search lists the best matches first, each name once, over pages of any size and bound."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from api.app import create_app
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.api_client import assert_problem, error_paths, get_json, pages, path, record_new, target
from tests.support.lineage_documents import Json, copying, run

pytestmark = pytest.mark.hbase

NAMES = st.sampled_from(["a", "A", "ab", "AB", "abc", "bab", "ba", "b", "ß", "SS", "a b", "a|b", "🙂ab"])
DATASETS = st.dictionaries(
    st.tuples(st.sampled_from(["ns1", "ns 2", "n|s"]), NAMES), st.sets(NAMES, min_size=1), max_size=8
)


def recorded(datasets: dict[tuple[str, str], set[str]], *, datasets_max: int = 10_000) -> FlaskClient:
    """A client of a store in which each dataset was copied to itself."""
    limits = Settings(search_end_points_max=datasets_max)
    client = create_app(LineageStore(open_table("sqlite:///:memory:"), limits), limits).test_client()
    for number, ((namespace, name), fields) in enumerate(datasets.items()):
        document = copying(name, name, *sorted(fields), run=run(f"r{number}"))
        record_new(client, document, namespace=namespace)
    return client


def expected(datasets: dict[tuple[str, str], set[str]], text: str, kind: str) -> list[Json]:
    """The oracle: all names that contain the text, sorted."""
    folded = text.casefold()
    ranked = []
    for (namespace, name), fields in datasets.items():
        endpoints = [""] if kind != "field" else []
        for field in [*endpoints, *(fields if kind != "endpoint" else ())]:
            match = (field or name).casefold()
            if folded in match:
                rank = 0 if match == folded else 1 if match.startswith(folded) else 2
                ranked.append((rank, namespace, name, field))
    return [
        {"namespace": namespace, "name": name, **({"field": field} if field else {})}
        for _, namespace, name, field in sorted(ranked)
    ]


@pytest.mark.slow
@given(
    DATASETS,
    st.sampled_from(["a", "AB", "b", "ss", "x", " "]),
    st.sampled_from(["", "endpoint", "field"]),
    st.integers(1, 30),
    st.integers(1, 9),
)
def test_pages_equal_the_oracle(
    datasets: dict[tuple[str, str], set[str]], text: str, kind: str, limit: int, datasets_max: int
) -> None:
    client = recorded(datasets, datasets_max=datasets_max)
    query: dict[str, Any] = {"q": text, "limit": limit, **({"kind": kind} if kind else {})}
    cut = list(pages(client, target("v3", "search", **query), "results"))
    assert [item for page in cut for item in page] == expected(datasets, text, kind)
    assert all(len(page) <= limit for page in cut)


def test_the_whole_name_comes_first(client: FlaskClient) -> None:
    record_new(client, copying("aaa_uid", "zz", "uid", "uid_hash", "my_uid"))
    results = client.get(target("v3", "search", q="UID")).json["results"]
    assert [(item["name"], item.get("field")) for item in results] == [
        ("aaa_uid", "uid"),
        ("zz", "uid"),
        ("aaa_uid", "uid_hash"),
        ("zz", "uid_hash"),
        ("aaa_uid", None),
        ("aaa_uid", "my_uid"),
        ("zz", "my_uid"),
    ]


@pytest.mark.slow
def test_fields_that_contain_a_text(client: FlaskClient) -> None:
    record_new(client, copying("a", "b", "uid", "my_UID", "my_name", "ui", "%"))

    def listed(**query: str) -> list[str]:
        return [
            item["name"] for item in get_json(client, "ns1", "endpoints", "a", "fields", **query)["fields"]
        ]

    assert listed(q="uid") == ["my_UID", "uid"]
    assert listed(q="UID", prefix="my") == ["my_UID"]
    assert listed(q="%") == ["%"]
    assert listed(q="x") == []
    link = path("ns1", "endpoints", "a", "fields", q="U", limit=1)
    assert [[item["name"] for item in page] for page in pages(client, link, "fields")] == [
        ["my_UID"],
        ["ui"],
        ["uid"],
    ]


@pytest.mark.parametrize(
    "query",
    ["q=a&kind=Field", "q=a&kind=", "q=a&kind=field&kind=field", "q=a&cursor=WyJhIl0", "q=a&cursor="],
)
def test_misuse_of_search(client: FlaskClient, query: str) -> None:
    answer = client.get(f"/v3/search?{query}")
    assert_problem(answer, 400)
    assert error_paths(answer, 400)[0] in ("kind", "cursor")


def test_a_cursor_with_another_rank_is_an_error(client: FlaskClient) -> None:
    # ["3","n","e",""], ["-1",...] and ["x",...]
    for cursor in ("WyIzIiwibiIsImUiLCIiXQ", "WyItMSIsIm4iLCJlIiwiIl0", "WyJ4IiwibiIsImUiLCIiXQ"):
        assert error_paths(client.get(target("v3", "search", q="a", cursor=cursor)), 400) == ["cursor"]


def test_an_empty_q_of_fields_is_an_error(client: FlaskClient) -> None:
    record_new(client, copying("a", "b", "x"))
    assert error_paths(client.get(path("ns1", "endpoints", "a", "fields", q="")), 400) == ["q"]
