"""History and diff of a field over HTTP: shapes, windows, CSV, HTML, bad questions, names of any kind."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, ClassVar

import jsonschema_rs
import pytest
from flask.testing import FlaskClient

from api import create_app
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.api.conftest import MakeClient, MakeUrl
from tests.support.api_client import (
    ALL,
    assert_problem,
    error_paths,
    errors_by_path,
    get_json,
    path,
    record_new,
)
from tests.support.lineage_documents import Json, copying, input_fields, reading, run, transforming, writing

pytestmark = pytest.mark.hbase

FIRST_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
FIELD = ("ns1", "endpoints", "orders", "fields", "total")
ROUTES = ("history", "diff")
NO_PARTS: Json = {"operations": [], "edges": [], "sources": [], "derivations": []}


def summing(name: str, *fields: str, hour: int, **members: Any) -> Json:
    """A run that makes `total` of these fields of `raw`."""
    return {
        "run": run(name, start_ms=FIRST_MS + hour * HOUR_MS, **members),
        "operations": [
            reading("read", "raw", *fields),
            transforming("add", input_fields("read", *fields), "total"),
            writing("store", "orders", *input_fields("add", "total")),
        ],
    }


def hours(first: int, last: int, *, base: bool = False) -> dict[str, str]:
    """Parameters of a window in hours after FIRST_MS."""
    names = ("baseStart", "baseEnd") if base else ("start", "end")
    seconds = ((FIRST_MS + hour * HOUR_MS) // 1000 for hour in (first, last))
    return dict(zip(names, map(str, seconds), strict=True))


@pytest.fixture(scope="module")
def orders(fresh_url: MakeUrl) -> Iterator[FlaskClient]:
    """A client that no test records with, over a store of `record_orders`."""
    store = LineageStore(open_table(fresh_url()))
    client = create_app(store).test_client()
    record_orders(client)
    yield client
    store.close()


def record_orders(client: FlaskClient) -> None:
    """Two runs make `total` of `net`; one writes `note` alone; two make it of `net` and `tax`, one fails."""
    record_new(
        client,
        summing("r0", "net", hour=0),
        summing("r1", "net", hour=1),
        copying("notes", "orders", "note", run=run("r2", start_ms=FIRST_MS + 2 * HOUR_MS)),
        summing("r3", "net", "tax", hour=3),
        summing("r4", "net", "tax", hour=4),
        summing("r5", "net", hour=5, state="FAIL"),
    )


def ways(part: Json) -> list[tuple[int, int, int]]:
    """Runs, first and last hour of the derivations of a part, each with a digest and content of its own."""
    for name in ("digest", "checksum"):
        assert len({item[name] for item in part["derivations"]}) == len(part["derivations"])
    starts = ("firstStart", "lastStart")
    return [
        (item["runs"], *((item[name] - FIRST_MS) // HOUR_MS for name in starts))
        for item in part["derivations"]
    ]


def stretch(first: int, last: int, checksum: str, **counts: int) -> Json:
    return {
        "checksum": checksum,
        "firstRun": f"r{first}",
        "lastRun": f"r{last}",
        "firstRunNamespace": "ns1",
        "lastRunNamespace": "ns1",
        "firstStart": FIRST_MS + first * HOUR_MS,
        "lastStart": FIRST_MS + last * HOUR_MS,
        "runs": 2,
        "missing": 0,
        "missingAfter": 0,
        **counts,
    }


class TestHistory:
    def test_stretches_newest_first(self, orders: FlaskClient) -> None:
        body = get_json(orders, *FIELD, "history", **ALL)
        newer, older = (item["checksum"] for item in body["stretches"])
        assert body == {
            "stretches": [stretch(3, 4, newer), stretch(0, 1, older, missingAfter=1)],
            "missingBefore": 0,
            "truncated": False,
        }
        runs = get_json(orders, "ns1", "endpoints", "orders", "runs", **ALL)["runs"]
        assert {listed["run"]: listed["checksum"] for listed in runs}["r4"] == newer

    def test_failed_runs_count_only_when_they_are_included(self, orders: FlaskClient) -> None:
        body = get_json(orders, *FIELD, "history", **ALL, failed="true")
        assert [(item["lastRun"], item["runs"]) for item in body["stretches"]] == [
            ("r5", 1),
            ("r4", 2),
            ("r1", 2),
        ]

    def test_a_window_without_runs_of_the_field(self, orders: FlaskClient) -> None:
        answer = get_json(orders, *FIELD, "history", **hours(2, 3))
        assert answer == {"stretches": [], "missingBefore": 1, "truncated": False}

    def test_a_replaced_run_counts_as_it_is_now(self, client: FlaskClient) -> None:
        record_orders(client)
        replacement = summing("r1", "net", "tax", hour=1)
        assert client.post(path("ns1", "lineage"), json=replacement).json["replaced"]
        body = get_json(client, *FIELD, "history", **ALL)
        assert [(item["firstRun"], item["runs"], item["missing"]) for item in body["stretches"]] == [
            ("r1", 3, 1),
            ("r0", 1, 0),
        ]

    def test_indirect_inputs_are_part_of_it_unless_they_are_left_out(self, client: FlaskClient) -> None:
        filtered = summing("r1", "net", hour=1)
        filtered["operations"][1]["inputs"] += input_fields(
            "read", "tax", influence="indirect", kind="filter"
        )
        filtered["operations"][0]["outputs"].append("tax")
        record_new(client, summing("r0", "net", hour=0), filtered)
        for indirect, lengths in (("true", [1, 1]), ("false", [2])):
            body = get_json(client, *FIELD, "history", **ALL, indirect=indirect)
            assert [item["runs"] for item in body["stretches"]] == lengths
            diff = get_json(
                client, *FIELD, "diff", **hours(1, 2), **hours(0, 1, base=True), indirect=indirect
            )
            influences = [edge.get("influence") for edge in diff["gained"]["edges"]]
            assert influences == (["indirect"] if indirect == "true" else [])

    def test_a_bound_is_named(self, make_client: MakeClient) -> None:
        client = make_client(Settings(list_limit_max=1))
        record_new(client, summing("r0", "net", hour=0), summing("r1", "tax", hour=1))
        body = get_json(client, *FIELD, "history", **ALL)
        assert [item["lastRun"] for item in body["stretches"]] == ["r1"]
        assert (body["truncated"], body["truncatedBy"]) == (True, ["list_limit_max=1"])
        answer = client.get(path(*FIELD, "history", **ALL), headers={"Accept": "text/csv"})
        assert (answer.headers["Truncated"], answer.headers["Truncated-By"]) == ("true", "list_limit_max=1")


class TestCsv:
    @pytest.mark.parametrize(
        ("accepted", "mimetype"),
        [
            ("text/csv", "text/csv"),
            ("text/csv, application/json;q=0.5", "text/csv"),
            ("application/json", "application/json"),
            ("application/json, text/csv;q=0.5", "application/json"),
            ("*/*", "application/json"),
            ("text/html", "application/json"),
            ("nonsense", "application/json"),
            ("text/csv;q=0", "application/json"),
        ],
    )
    def test_the_form_follows_accept(self, orders: FlaskClient, accepted: str, mimetype: str) -> None:
        answer = orders.get(path(*FIELD, "history", **ALL), headers={"Accept": accepted})
        assert (answer.status_code, answer.mimetype) == (200, mimetype)
        assert "Accept" in answer.vary
        assert answer.headers["Window-Start"] == "0.000"

    def test_the_lines_are_the_stretches(self, client: FlaskClient) -> None:
        name = 'a "b",\n=1'
        record_new(client, summing(name, "net", hour=0))
        answer = client.get(path(*FIELD, "history", **ALL), headers={"Accept": "text/csv"})
        (line,) = csv.DictReader(io.StringIO(answer.text, newline=""))
        (listed,) = get_json(client, *FIELD, "history", **ALL)["stretches"]
        assert line == {member: str(value) for member, value in listed.items()}
        assert line["firstRun"] == name

    def test_the_forms_have_different_tags(self, orders: FlaskClient) -> None:
        history_path = path(*FIELD, "history", **ALL)
        tags = {
            orders.get(history_path, headers={"Accept": form}).headers["ETag"] for form in ("*/*", "text/csv")
        }
        assert len(tags) == 2
        for tag in tags:
            headers = {"Accept": "text/csv", "If-None-Match": tag}
            status = orders.get(history_path, headers=headers).status_code
            assert status in (200, 304)

    def test_problems_are_json(self, orders: FlaskClient) -> None:
        answer = orders.get(path(*FIELD, "history", start="x"), headers={"Accept": "text/csv"})
        assert_problem(answer, 400)


class TestDiff:
    def test_parts_of_one_window_alone(self, orders: FlaskClient) -> None:
        answer = orders.get(path(*FIELD, "diff", **hours(3, 6), **hours(0, 2, base=True)))
        gained = {
            "operations": [],
            "edges": [{"from": "read.tax", "to": "add.total", "operation": "add"}],
            "sources": [{"namespace": "ns1", "name": "raw", "field": "tax"}],
        }
        lost = {**NO_PARTS, "derivations": answer.json["lost"]["derivations"]}
        gained["derivations"] = answer.json["gained"]["derivations"]
        assert (ways(gained), ways(lost)) == ([(2, 3, 4)], [(2, 0, 1)])
        # read, add and store; read.net to add.total, and add.total to store.total.
        assert answer.json == {"gained": gained, "lost": lost, "kept": 5, "truncated": False}
        names = ("Window-Start", "Window-End", "Base-Start", "Base-End")
        seconds = [str((FIRST_MS + hour * HOUR_MS) // 1000) for hour in (3, 6, 0, 2)]
        assert [answer.headers[name] for name in names] == [f"{second}.000" for second in seconds]
        reverse = get_json(orders, *FIELD, "diff", **hours(0, 2), **hours(3, 6, base=True))
        assert reverse == {"gained": lost, "lost": gained, "kept": 5, "truncated": False}
        failed = get_json(orders, *FIELD, "diff", **hours(3, 6), **hours(0, 0, base=True), failed="true")
        assert ways(failed["gained"]) == [(1, 5, 5), (2, 3, 4)]

    def test_an_operation_of_another_end_point(self, client: FlaskClient) -> None:
        moved = summing("r1", "net", hour=1)
        moved["operations"][0]["source"] = {"name": "raw v2"}
        record_new(client, summing("r0", "net", hour=0), moved)
        diff = get_json(client, *FIELD, "diff", **hours(1, 2))
        for member, name in (("gained", "raw v2"), ("lost", "raw")):
            end_point = {"namespace": "ns1", "name": name}
            operation = {"name": "read", "description": "", "type": "READ", "endPoint": end_point}
            source = {**end_point, "field": "net"}
            derivations = diff[member].pop("derivations")
            assert [item["runs"] for item in derivations] == [1]
            assert diff[member] == {"operations": [operation], "edges": [], "sources": [source]}
        assert diff["kept"] == 4

    @pytest.mark.parametrize(
        ("window", "base"),
        [
            ({"start": "100", "end": "150"}, ("50", "100")),
            ({"start": "100", "end": "150", "baseStart": "10"}, ("10", "100")),
            ({"start": "100", "end": "150", "baseEnd": "80"}, ("30", "80")),
            ({"start": "100", "end": "150", "baseStart": "120", "baseEnd": "200"}, ("120", "200")),
            ({"start": "100", "end": "900"}, ("0", "100")),
            ({"start": "100", "end": "100"}, ("100", "100")),
            ({"start": "0", "end": "100"}, ("0", "0")),
        ],
        ids=["before", "start alone", "end alone", "both", "before 1970", "empty", "from 1970"],
    )
    def test_the_base_window(self, orders: FlaskClient, window: Json, base: tuple[str, str]) -> None:
        answer = orders.get(path(*FIELD, "diff", **window))
        headers = (answer.headers["Base-Start"], answer.headers["Base-End"])
        assert headers == tuple(f"{second}.000" for second in base)

    @pytest.mark.parametrize(
        ("query", "errors"),
        [
            ({"baseStart": "9", "baseEnd": "8"}, {"baseStart": "is after baseEnd"}),
            ({"start": "5", "baseStart": "9"}, {"baseStart": "give `baseEnd`, too"}),
            ({"baseStart": "soon", "baseEnd": "-1"}, {"baseStart": "not a time", "baseEnd": "not a time"}),
            (
                {"start": "9", "end": "8", "baseStart": "x"},
                {"start": "is after end", "baseStart": "not a time"},
            ),
            ({"baseStart": ""}, {"baseStart": "not a time"}),
            ({"basestart": "1"}, {"basestart": "unknown parameter"}),
            ({"direction": "forward"}, {"direction": "unknown parameter"}),
            ({"indirect": "no"}, {"indirect": "neither"}),
        ],
        ids=["order", "default end", "times", "all", "empty", "case", "direction", "flag"],
    )
    def test_bad_questions_name_every_fault(self, orders: FlaskClient, query: Json, errors: Json) -> None:
        details = errors_by_path(orders.get(path(*FIELD, "diff", **query)))
        assert details.keys() == errors.keys()
        assert all(text in details[name] for name, text in errors.items())

    def test_what_a_limit_cut_is_omitted(self, make_client: MakeClient) -> None:
        client = make_client(Settings(connections_max=1))
        record_new(client, summing("r0", "net", hour=0), summing("r1", "net", "tax", hour=1))
        for window, base, omitted in (((1, 2), (0, 1), "lost"), ((0, 1), (1, 2), "gained")):
            diff = get_json(client, *FIELD, "diff", **hours(*window), **hours(*base, base=True))
            assert diff["omitted"] == [omitted]
            assert diff["truncatedBy"] == ["connections_max=1"]
            assert (ways(diff["gained"]), ways(diff["lost"])) == (
                [(1, window[0], window[0])],
                [(1, base[0], base[0])],
            )
            assert diff[omitted] == {**NO_PARTS, "derivations": diff[omitted]["derivations"]}

    def test_a_way_whose_parts_all_occur_in_others_is_a_change(self, client: FlaskClient) -> None:
        both = summing("r2", "net", hour=2)
        both["operations"].insert(1, transforming("round", input_fields("read", "net"), "total"))
        both["operations"][-1]["inputs"] += input_fields("round", "total")
        rounded = summing("r1", "net", hour=1)
        rounded["operations"][1]["name"] = "round"
        rounded["operations"][2]["inputs"] = input_fields("round", "total")
        record_new(client, summing("r0", "net", hour=0), rounded, both)
        query = {**hours(2, 3), **hours(0, 2, base=True)}
        diff = get_json(client, *FIELD, "diff", **query)
        for member, expected in (("gained", [(1, 2, 2)]), ("lost", [(1, 1, 1), (1, 0, 0)])):
            assert ways(diff[member]) == expected
            assert diff[member] == {**NO_PARTS, "derivations": diff[member]["derivations"]}
        (changed,) = get_json(client, *FIELD[:3], "diff", **query)["fields"]
        assert (changed["gained"], changed["lost"]) == (diff["gained"], diff["lost"])


class TestDiffOfADataset:
    DATASET = FIELD[:3]

    def test_fields_that_changed_have_what_their_own_diff_has(self, orders: FlaskClient) -> None:
        query = {**hours(3, 6), **hours(0, 2, base=True)}
        answer = orders.get(path(*self.DATASET, "diff", **query))
        single = get_json(orders, *FIELD, "diff", **query)
        del single["truncated"]
        assert answer.json == {"fields": [{"field": "total", **single}], "truncated": False}
        names = ("Window-Start", "Window-End", "Base-Start", "Base-End")
        seconds = [str((FIRST_MS + hour * HOUR_MS) // 1000) for hour in (3, 6, 0, 2)]
        assert [answer.headers[name] for name in names] == [f"{second}.000" for second in seconds]

    def test_a_column_added_beside_is_the_only_change(self, client: FlaskClient) -> None:
        record_new(
            client,
            copying("raw", "orders", "a", run=run("r0", start_ms=FIRST_MS)),
            copying("raw", "orders", "a", "b", run=run("r1", start_ms=FIRST_MS + HOUR_MS)),
        )
        (changed,) = get_json(client, *self.DATASET, "diff", **hours(1, 2))["fields"]
        assert changed["field"] == "b"
        assert changed["gained"]["sources"] == [{"namespace": "ns1", "name": "raw", "field": "b"}]
        assert changed["lost"] == NO_PARTS

    def test_what_a_limit_cut_is_named(self, make_client: MakeClient) -> None:
        client = make_client(Settings(list_limit_max=1))
        record_new(client, copying("raw", "orders", "a", "b", run=run("r0", start_ms=FIRST_MS)))
        answer = get_json(client, *self.DATASET, "diff", **hours(0, 1))
        assert [field["field"] for field in answer["fields"]] == ["a"]
        assert (answer["truncated"], answer["truncatedBy"]) == (True, ["list_limit_max=1"])

    def test_misuse(self, orders: FlaskClient) -> None:
        assert_problem(orders.get(path("ns1", "endpoints", "nothing", "diff", **ALL)), 404)
        # Read and never written: known, so empty.
        assert get_json(orders, "ns1", "endpoints", "raw", "diff", **ALL)["fields"] == []
        query = {"start": "9", "end": "8", "field": "x", "baseStart": "soon"}
        assert error_paths(orders.get(path(*self.DATASET, "diff", **query)), 400) == [
            "baseStart",
            "field",
            "start",
        ]
        assert_problem(orders.post(path(*self.DATASET, "diff")), 405)


class TestPage:
    QUERY: ClassVar[dict[str, str]] = {**hours(3, 6), **hours(0, 2, base=True)}
    HTML: ClassVar[dict[str, str]] = {"Accept": "text/html"}

    @pytest.mark.parametrize(
        ("names", "question"),
        [
            (FIELD, "What changed in how ns1/orders.total is made?"),
            (FIELD[:3], "What changed in how the fields of ns1/orders are made?"),
        ],
        ids=["field", "dataset"],
    )
    def test_a_page_to_print(self, orders: FlaskClient, names: tuple[str, ...], question: str) -> None:
        answer = orders.get(path(*names, "diff", **self.QUERY), headers=self.HTML)
        assert (answer.status_code, answer.mimetype) == (200, "text/html")
        assert "Accept" in answer.vary
        assert question in answer.text
        assert "from 2023-11-15 01:13:20 until 2023-11-15 04:13:20 UTC, the end not included" in answer.text
        assert "from 2023-11-14 22:13:20 until 2023-11-15 00:13:20 UTC, the end not included" in answer.text
        assert "<td>ns1/raw.tax</td>" in answer.text
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        json_answer = orders.get(path(*names, "diff", **self.QUERY), headers={"Accept": "*/*"})
        assert json_answer.mimetype == "application/json"
        assert json_answer.headers["ETag"] != answer.headers["ETag"]

    def test_the_default_base_window_is_the_one_that_was_answered(self, orders: FlaskClient) -> None:
        answer = orders.get(path(*FIELD, "diff", start="now-5d"), headers=self.HTML)
        ends = (float(answer.headers[f"Base-{name}"]) for name in ("Start", "End"))
        first, last = (
            datetime.fromtimestamp(int(second), UTC).strftime("%Y-%m-%d %H:%M:%S") for second in ends
        )
        assert f"from {first} until {last} UTC" in answer.text
        assert "Nothing differs: no run of either window made it." in answer.text

    @pytest.mark.parametrize("names", [FIELD, FIELD[:3]], ids=["field", "dataset"])
    def test_what_a_limit_cut_stands_at_the_top(
        self, make_client: MakeClient, names: tuple[str, ...]
    ) -> None:
        client = make_client(Settings(connections_max=1))
        record_new(client, summing("r0", "net", hour=0), summing("r1", "net", "tax", hour=1))
        answer = client.get(path(*names, "diff", **hours(1, 2)), headers=self.HTML)
        assert answer.headers["Truncated-By"] == "connections_max=1"
        top = answer.text.split("<h2>")[0]
        assert "not complete. Limits that cut it: connections_max=1" in top
        omitted = "sources that were lost are not listed: a limit cut the window"
        assert omitted in (top if names == FIELD else answer.text)

    def test_problems_are_json(self, orders: FlaskClient) -> None:
        assert_problem(orders.get(path(*FIELD, "diff", start="x"), headers=self.HTML), 400)


@pytest.mark.parametrize("route", ROUTES)
class TestBoth:
    def test_names_that_were_never_recorded(self, orders: FlaskClient, route: str) -> None:
        assert_problem(orders.get(path("ns1", "endpoints", "nothing", "fields", "x", route, **ALL)), 404)
        assert_problem(orders.get(path("ns1", "endpoints", "orders", "fields", "nothing", route, **ALL)), 404)
        assert orders.get(path(*FIELD, route, start=1, end=2)).status_code == 200
        # Read and never written: known, so empty.
        assert orders.get(path("ns1", "endpoints", "raw", "fields", "net", route, **ALL)).status_code == 200

    def test_bad_windows(self, orders: FlaskClient, route: str) -> None:
        assert error_paths(orders.get(path(*FIELD, route, start="9", end="8")), 400) == ["start"]
        assert error_paths(orders.get(path(*FIELD, route, failed="1")), 400) == ["failed"]
        assert_problem(orders.post(path(*FIELD, route)), 405)
        assert orders.head(path(*FIELD, route)).status_code == 200

    def test_answers_and_examples_have_the_documented_shape(self, orders: FlaskClient, route: str) -> None:
        document = orders.get("/openapi.json").json
        operation = document["paths"][
            f"/v3/namespaces/{{namespace}}/endpoints/{{name}}/fields/{{field}}/{route}"
        ]
        content = operation["get"]["responses"]["200"]["content"]
        schema = {**content["application/json"]["schema"], "components": document["components"]}
        validator = jsonschema_rs.Draft202012Validator(schema)
        validator.validate(content["application/json"]["example"])
        for window in (hours(3, 6), hours(0, 1), hours(2, 3)):
            validator.validate(get_json(orders, *FIELD, route, **window))
        assert set(content) == {"application/json", "text/csv" if route == "history" else "text/html"}


def test_any_name(client: FlaskClient) -> None:
    names = ["a/b", "a|b", "50 %", "a.b", "😀", "..", "*", "history"]
    for number, name in enumerate(names):
        record_new(client, copying("raw", name, name, run=run(f"r{number}", start_ms=FIRST_MS)))
    for name in names:
        field = ("ns1", "endpoints", name, "fields", name)
        (listed,) = get_json(client, *field, "history", **hours(0, 1))["stretches"]
        assert listed["runs"] == 1
        gained = get_json(client, *field, "diff", **hours(0, 1))["gained"]
        assert [edge["operation"] for edge in gained["edges"]] == ["write"]
        assert gained["sources"] == [{"namespace": "ns1", "name": "raw", "field": name}]
