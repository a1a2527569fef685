"""Answers for assistants fit into their bound, and say what is missing and how to see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.mcp.bounded_answer import bounded_answer
from fll_hbase.model.window import Window
from fll_hbase.queries.lineage import Lineage
from fll_hbase.queries.pages import Paged
from fll_hbase.queries.query import Answer, Body, Query
from fll_hbase.store.lineage_store import LineageStore

BYTES_MAX = 4_000
WINDOW = Window(1_757_408_000_000, 1_760_000_000_000)
QUERY = Lineage("a", "b")


def _answered(body: Any, **members: Any) -> Callable[[Any], Answer[Any]]:
    return lambda _: Answer(body, **members)


def _size(answer: Any) -> int:
    return len(msgspec.json.encode(answer))


def test_a_small_answer_is_complete_and_names_its_window() -> None:
    answer = bounded_answer(QUERY, _answered({"nodes": [1, 2]}, window=WINDOW), bytes_max=BYTES_MAX)
    assert answer == {
        "window": {"start": "2025-09-09T08:53:20.000Z", "end": "2025-10-09T08:53:20.000Z"},
        "complete": True,
        "answer": {"nodes": [1, 2]},
    }


def test_times_are_iso_8601_and_counts_are_numbers() -> None:
    body = {
        "runs": 1_760_000_000_000,
        "items": [{"firstStart": 1_760_000_000_000, "start": 1_760_000_000, "startTimeInSeconds": 1.76e9}],
        "lastStart": None,
        "start": 0,
    }
    answer = bounded_answer(QUERY, _answered(body), bytes_max=BYTES_MAX)["answer"]
    moment = "2025-10-09T08:53:20.000Z"
    assert answer["items"] == [{"firstStart": moment, "start": moment, "startTimeInSeconds": moment}]
    assert (answer["runs"], answer["lastStart"], answer["start"]) == (1_760_000_000_000, None, 0)


@pytest.mark.parametrize("count", [10, 1_000, 50_000])
def test_lists_are_cut_to_the_items_that_fit(count: int) -> None:
    body = {"nodes": [{"name": f"n{item}", "pairs": [item] * 3} for item in range(count)], "few": [1]}
    answer = bounded_answer(QUERY, _answered(body, window=WINDOW), bytes_max=BYTES_MAX)
    nodes = answer["answer"]["nodes"]
    assert _size(answer) <= BYTES_MAX
    assert nodes == body["nodes"][: len(nodes)]
    assert answer["complete"] == (len(nodes) == count)
    if count > 10:
        assert len(nodes) > 30
        assert f"nodes: {len(nodes):,} of {count:,} items" in answer["leftOut"]
        assert any("FLL_MCP_BYTES_MAX=4000" in line for line in answer["leftOut"])


def test_long_texts_are_cut_before_an_answer_is_empty() -> None:
    body = {"operations": [{"name": "a", "description": "x" * 50_000}], "checksum": "c"}
    answer = bounded_answer(QUERY, _answered(body), bytes_max=BYTES_MAX)
    assert answer["answer"]["operations"][0]["description"] == "x" * 400 + "…"
    assert "1 texts are cut" in answer["leftOut"]


def test_limits_of_the_store_are_named() -> None:
    answer = bounded_answer(QUERY, _answered({}, truncated_by=("pairs_max=7",)), bytes_max=BYTES_MAX)
    assert not answer["complete"]
    assert "pairs_max=7" in answer["leftOut"][0]


class _Items(Body, frozen=True, kw_only=True):
    items: tuple[str, ...]


@dataclass(frozen=True)
class _List(Paged, Query[_Items]):
    """Lists 1,000 items, of which each page has `limit`."""

    path: ClassVar[str] = "/items"
    items: ClassVar[str] = "items"

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[_Items]:
        raise NotImplementedError


def _page(query: Any) -> Answer[Any]:
    begin = int(query.cursor or 0)
    items = tuple(f"{item:05}" + "x" * 50 for item in range(begin, min(begin + query.limit, 1_000)))
    return Answer(_Items(items=items), cursor=str(begin + len(items)) if begin + len(items) < 1_000 else "")


def test_pages_with_the_arguments_of_next_have_every_item_once() -> None:
    query, listed = _List(limit=200), []
    for _ in range(100):
        answer = bounded_answer(query, _page, bytes_max=BYTES_MAX)
        assert _size(answer) <= BYTES_MAX
        listed += [int(item[:5]) for item in answer["answer"]["items"]]
        if answer["complete"]:
            break
        query = _List(**answer["next"])
    assert listed == list(range(1_000))


@dataclass(frozen=True)
class _Quarters(_List):
    """Each of whose reads is of a quarter, as the pages of derivations."""

    joins_pages: ClassVar[bool] = False


@pytest.mark.parametrize("limit", [2, 100, 5_000, 1_000_000])
def test_the_next_page_begins_after_the_items_shown(limit: int) -> None:
    answer = bounded_answer(_Quarters(limit=limit), _page, bytes_max=BYTES_MAX)
    assert answer["next"]["cursor"] == str(len(answer["answer"]["items"]))


def test_a_page_of_items_too_large_to_show_ends_after_one() -> None:
    def page(query: Any) -> Answer[Any]:
        items = tuple({f"member{number}": "x" * 80 for number in range(100)} for _ in range(query.limit))
        return Answer(_Items(items=items), cursor=str(int(query.cursor or 0) + query.limit))  # type: ignore[arg-type]

    answer = bounded_answer(_List(limit=50), page, bytes_max=BYTES_MAX)
    assert answer["next"]["cursor"] == "1"
    assert not answer["complete"]


_BODIES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=60) | st.dictionaries(st.text(max_size=100), inner, max_size=120),
    max_leaves=200,
)


@given(_BODIES, st.integers(0, 2**40))
def test_any_answer_fits(body: Any, start_ms: int) -> None:
    window = Window(start_ms, start_ms + 1)
    read = _answered({"body": body, "copies": [body] * 20}, window=window, base_window=window)
    answer = bounded_answer(QUERY, read, bytes_max=BYTES_MAX)
    assert _size(answer) <= BYTES_MAX
