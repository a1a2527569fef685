"""Lists have every item once and in order, whatever the page size."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from itertools import islice
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Put, open_table
from tests.api.conftest import MakeClient, MakeTable, MakeUrl
from tests.support.api_client import (
    ALL,
    assert_problem,
    batch,
    errors_by_path,
    get_json,
    next_link,
    pages,
    path,
    record_new,
    target,
)
from tests.support.lineage_documents import Json, copying, encoded, input_fields, reading, run, writing
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.hbase

PREFIXES = ("", "a", "a%", "a|", "ab", "%", "%7C", "|", "é", "\x7f", "🙂")
ENDINGS = [
    "",
    *map(chr, range(0x20)),
    *(chr(code) for code in range(0x20, 0x30)),
    *":;<=>?@[\\]^_`{|}~09AZaz",
    "\x7f",
    "\x80",
    "\xff",
    "߿",
    "ࠀ",
    "\ud7ff",
    "\ue000",
    "\uffff",
    "𐀀",
    "\U0010ffff",
]
AWKWARD = sorted({prefix + ending for prefix in PREFIXES for ending in ENDINGS} - {""})
"""Names beyond one batch of a scan, whose keys sort otherwise than the names do."""

Lister = tuple[str, str]


@pytest.fixture
def small(client: FlaskClient) -> FlaskClient:
    """Some namespaces, end points, fields and runs, several in one millisecond."""
    for number in range(7):
        position = {"namespace": f"ns{number % 3}", "name": f"e/{number}"}
        fields = [f"f{number}", "f|x", "é"]
        start_ms = 1_000 * (number // 3)
        record_new(client, copying("hub", position, *fields, run=run(f"run {number}", start_ms=start_ms)))
    return client


LISTS: dict[str, Lister] = {
    "namespaces": (target("v3", "namespaces"), "namespaces"),
    "endpoints": (path("ns1", "endpoints"), "endpoints"),
    "fields": (path("ns1", "endpoints", "hub", "fields"), "fields"),
    "runs": (path("ns1", "endpoints", "hub", "runs", **ALL), "runs"),
    "search": (target("v3", "search", q="f"), "results"),
    "search of all": (target("v3", "search", q="E"), "results"),
}
lists = pytest.mark.parametrize("name", LISTS)


def limited(link: str, limit: int) -> str:
    return f"{link}{'&' if '?' in link else '?'}limit={limit}"


def names_of(items: list[Any]) -> list[str]:
    return [item["name"] for item in items]


@lists
def test_pages_of_every_size_give_every_item_once_in_order(small: FlaskClient, name: str) -> None:
    link, member = LISTS[name]
    (complete,) = pages(small, link, member)
    assert complete
    for limit in range(1, len(complete) + 2):
        cut = list(pages(small, limited(link, limit), member))
        assert [item for page in cut for item in page] == complete
        if name not in ("search", "search of all"):
            assert [len(page) for page in cut[:-1]] == [limit] * (len(cut) - 1)
        assert all(len(page) <= limit for page in cut)


def test_in_which_order(small: FlaskClient) -> None:
    assert get_json(small) == {"namespaces": ["ns0", "ns1", "ns2"]}
    assert names_of(get_json(small, "ns1", "endpoints")["endpoints"]) == ["e/1", "e/4", "hub"]
    fields = get_json(small, "ns1", "endpoints", "e/4", "fields")["fields"]
    assert names_of(fields) == ["f4", "f|x", "é"]
    listed = get_json(small, "ns1", "endpoints", "hub", "runs", **ALL)["runs"]
    starts = [item["startTime"] for item in listed]
    assert starts == sorted(starts, reverse=True)
    results = [tuple(item.values()) for item in small.get(target("v3", "search", q="F")).json["results"]]
    assert results == sorted(results, key=lambda item: (not item[-1].startswith("f"), item))
    assert len(results) == 7 * 2 + 8
    assert ("ns2", "e/5", "f|x") in results


def test_the_link_is_the_same_question_beyond_the_page(small: FlaskClient) -> None:
    first = path("ns1", "endpoints", "hub", "fields", limit=2, prefix="f")
    link = next_link(small.get(first))
    assert link is not None
    assert urlsplit(link).path == urlsplit(first).path
    query = parse_qs(urlsplit(link).query)
    assert (query["limit"], query["prefix"]) == (["2"], ["f"])
    assert set(query) == {"limit", "prefix", "cursor"}


@lists
def test_the_last_page_has_no_link(small: FlaskClient, name: str) -> None:
    link, member = LISTS[name]
    answer = small.get(link)
    assert next_link(answer) is None
    assert next_link(small.get(limited(link, len(answer.json[member])))) is None


def test_pages_of_runs_stay_in_the_window_that_was_asked_first(client: FlaskClient) -> None:
    for number in range(4):
        record_new(client, copying("a", "b", "x", run=run(f"{number}", start_ms=1_000 + number)))
    link = path("ns1", "endpoints", "a", "runs", start="1.0005", end="1.003", limit=1)
    listed = [item["run"] for page in pages(client, link, "runs") for item in page]
    assert listed == ["2", "1"]


def test_a_window_that_ends_now_is_the_same_on_every_page(client: FlaskClient) -> None:
    for number in range(3):
        record_new(client, copying("a", "b", "x", run=run(f"{number}", start_ms=number)))
    answer = client.get(path("ns1", "endpoints", "a", "runs", start="0", end="now-1s", limit=1))
    first = parse_qs(urlsplit(next_link(answer) or "").query)
    answer = client.get(next_link(answer) or "")
    second = parse_qs(urlsplit(next_link(answer) or "").query)
    assert (first["start"], first["end"]) == (second["start"], second["end"])


def test_what_comes_between_two_pages_shifts_nothing(client: FlaskClient) -> None:
    for name in "bdf":
        record_new(client, copying("x", name, "x", run=run(name)))
    answer = client.get(path("ns1", "endpoints", limit=2))
    assert names_of(answer.json["endpoints"]) == ["b", "d"]
    for name in "aceg":
        record_new(client, copying("x", name, "x", run=run(name)))
    rest = [item for page in pages(client, next_link(answer) or "", "endpoints") for item in page]
    assert names_of(rest) == ["e", "f", "g", "x"]


def test_limits_beyond_the_largest_are_cut(make_client: MakeClient) -> None:
    client = make_client(list_limit=2, list_limit_max=3)
    record_new(client, copying("a", "b", *"vwxyz"))
    link = path("ns1", "endpoints", "b", "fields")
    assert [len(page) for page in pages(client, link, "fields")] == [2, 2, 1]
    assert [len(page) for page in pages(client, f"{link}?limit=99999999", "fields")] == [3, 2]


class TestCursors:
    """Cursors come from links; anything else is 400, and never more than that."""

    WRONG = [
        "",
        " ",
        "x",
        "abc",
        "AAAA",
        "====",
        "W10",
        "W10=",
        "bnVsbA",
        "é",
        "🙂",
        "%",
        "../..",
        "\x00",
        "a" * 10_000,
        base64.urlsafe_b64encode(b"[1]").decode(),
        base64.urlsafe_b64encode(b'[""').decode(),
        base64.urlsafe_b64encode(b'["a","b"]').decode(),
        base64.urlsafe_b64encode(b'["a","b","c","d"]').decode(),
        base64.urlsafe_b64encode(b'["\xff"]').decode(),
        base64.urlsafe_b64encode(b'["\\ud800"]').decode(),
        base64.urlsafe_b64encode(b"[" * 50_000).decode(),
    ]

    @lists
    def test_no_cursor_of_a_link_is_400(self, small: FlaskClient, name: str) -> None:
        link, _ = LISTS[name]
        for wrong in self.WRONG:
            query = f"{link}{'&' if '?' in link else '?'}{target(cursor=wrong)[1:]}"
            assert set(errors_by_path(small.get(query))) == {"cursor"}, wrong[:50]

    @pytest.mark.parametrize("part", ["x", "\x00", "a:b", "z" * 100, "~" * 30, "é", "🙂", "0", "/" * 99])
    def test_a_cursor_of_runs_that_is_no_place_among_them_is_400(self, small: FlaskClient, part: str) -> None:
        forged = base64.urlsafe_b64encode(json.dumps([part]).encode()).decode()
        answer = small.get(path("ns1", "endpoints", "hub", "runs", **ALL, cursor=forged))
        assert set(errors_by_path(answer)) == {"cursor"}

    def test_a_cursor_of_another_list_is_no_500(self, small: FlaskClient) -> None:
        for name, (link, member) in LISTS.items():
            payload = small.get(limited(link, 1))
            query = parse_qs(urlsplit(next_link(payload) or "").query)["cursor"][0]
            for other, (beyond, _) in LISTS.items():
                joint = "&" if "?" in beyond else "?"
                answer = small.get(f"{beyond}{joint}{target(cursor=query)[1:]}")
                assert answer.status_code in (200, 400), (name, member, other)
                if answer.status_code == 400:
                    assert_problem(answer, 400)


@pytest.fixture(scope="module")
def many(fresh_url: MakeUrl) -> Iterator[FlaskClient]:
    """End points, namespaces and fields of every awkward name."""
    store = LineageStore(open_table(fresh_url(), timeout_ms=int(1_000 * PATIENCE_SECONDS)))
    client = create_app(store, Settings(request_seconds=int(PATIENCE_SECONDS))).test_client()
    body = encoded(_all_in_one([{"name": name} for name in AWKWARD], "names"))
    body += encoded(_all_in_one([{"namespace": name, "name": "e"} for name in AWKWARD], "namespaces"))
    body += encoded(copying("fields", "to", *AWKWARD, run=run("fields")))
    assert [payload["status"] for payload in batch(client, body)] == [201] * 3
    yield client
    store.close()


class TestManyNames:
    """More names than one scan takes, and keys that sort otherwise than names."""

    def test_there_are_more_than_one_scan_takes(self) -> None:
        assert len(AWKWARD) > 500

    @pytest.mark.parametrize("limit", [1_000, 501, 500, 97])
    def test_end_points_are_by_code_point(self, many: FlaskClient, limit: int) -> None:
        listed = [
            item["name"]
            for page in pages(many, path("ns1", "endpoints", limit=limit), "endpoints")
            for item in page
        ]
        assert listed == sorted([*AWKWARD, "fields", "to"])

    @pytest.mark.parametrize("limit", [1_000, 97])
    def test_namespaces_are_by_code_point(self, many: FlaskClient, limit: int) -> None:
        listed = [
            name
            for page in pages(many, target("v3", "namespaces", limit=limit), "namespaces")
            for name in page
        ]
        assert listed == sorted([*AWKWARD, "ns1"])

    @pytest.mark.parametrize("limit", [1_000, 97])
    def test_fields_are_by_code_point(self, many: FlaskClient, limit: int) -> None:
        link = path("ns1", "endpoints", "to", "fields", limit=limit)
        listed = [item["name"] for page in pages(many, link, "fields") for item in page]
        assert listed == AWKWARD

    @pytest.mark.parametrize("prefix", [*PREFIXES[1:], "a", "a%7", "zz", "\x00", "ab|", "a\x80"], ids=ascii)
    def test_a_prefix_is_text_and_takes_any_character(self, many: FlaskClient, prefix: str) -> None:
        expected = [name for name in AWKWARD if name.startswith(prefix)]
        for link, member in (
            (path("ns1", "endpoints", prefix=prefix, limit=60), "endpoints"),
            (path("ns1", "endpoints", "to", "fields", prefix=prefix, limit=60), "fields"),
        ):
            assert [item["name"] for page in pages(many, link, member) for item in page] == expected

    @pytest.mark.slow
    def test_from_every_name_the_next_page_begins_right_after_it(self, many: FlaskClient) -> None:
        everything = sorted([*AWKWARD, "fields", "to"])
        for number in range(0, len(everything), 23):
            payload = path("ns1", "endpoints", limit=3, cursor=_cursor(everything[number]))
            assert names_of(many.get(payload).json["endpoints"]) == everything[number + 1 : number + 4]

    @pytest.mark.slow
    def test_search_finds_in_any_case_in_order(self, many: FlaskClient) -> None:
        link = target("v3", "search", q="AB", limit=100)
        results = [item for page in pages(many, link, "results") for item in page]
        names = [name for name in sorted([*AWKWARD, "fields", "to"]) if "ab" in name.casefold()]
        both = [*names, *(name for name in AWKWARD if "ab" in name.casefold())]
        listed = [item.get("field", item["name"]) for item in results if item["name"] != "fields"]
        # Whole names, then prefixes, then others; stable among those.
        assert listed == sorted(
            both, key=lambda name: (name.casefold() != "ab", not name.casefold().startswith("ab"))
        )


def test_a_short_page_of_a_search_still_leads_to_the_next(make_client: MakeClient) -> None:
    client = make_client(search_end_points_max=2)
    for number in range(9):
        record_new(client, copying("a", f"e{number}", "x", run=run(f"{number}")))
    record_new(client, copying("a", "z", "wanted", run=run("last")))
    cut = list(pages(client, target("v3", "search", q="wanted"), "results"))
    assert [item["field"] for page in cut for item in page] == ["wanted", "wanted"]
    assert len(cut) > 3


def test_a_search_goes_on_past_damaged_rows(make_table: MakeTable) -> None:
    table = make_table()
    settings = Settings(search_end_points_max=2)
    client = create_app(LineageStore(table, settings), settings).test_client()
    for number in range(5):
        record_new(client, copying("a", f"e{number}", "x", run=run(f"{number}")))
    record_new(client, copying("a", "z", "wanted", run=run("last")))
    damaged = [layout.dataset_row(Dataset("ns1", f"e{number}")) for number in range(5)]
    table.write([[Put(key, layout.READ + b"%", b"")] for key in damaged])
    # A page that is followed by itself would have no end.
    listed = list(islice(pages(client, target("v3", "search", q="wanted"), "results"), 20))
    assert [item["field"] for page in listed for item in page] == ["wanted", "wanted"]


def _cursor(name: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([name]).encode()).decode().rstrip("=")


def _all_in_one(positions: list[Json], name: str) -> Json:
    """One run that writes them all."""
    writes = [
        writing(f"write {number}", position, *input_fields("read", "a"))
        for number, position in enumerate(positions)
    ]
    return {"run": run(name), "operations": [reading("read", "to", "a"), *writes]}
