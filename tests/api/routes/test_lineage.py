"""Answers of the three lineage queries, to the letter of the contract."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from fll_hbase.runtime.config import Settings
from tests.api.conftest import MakeClient
from tests.support.api_client import (
    ALL,
    assert_problem,
    get_json,
    lineage,
    path,
    record,
    record_new,
)
from tests.support.lineage_documents import (
    START_MS,
    Json,
    copying,
    first_design,
    input_fields,
    reading,
    run,
    transforming,
    worked,
    writing,
)

pytestmark = pytest.mark.hbase

USER_DATA = {"namespace": "ns1", "name": "user_data"}
PEOPLE = {"namespace": "ns1", "name": "people"}


def position(name: str) -> Json:
    return {"namespace": "ns1", "name": name}


def detailed(client: FlaskClient, name: str, field: str, **query: Any) -> Any:
    return get_json(client, "ns1", "endpoints", name, "fields", field, "lineage", **{**ALL, **query})


def ways(client: FlaskClient, name: str, field: str, **query: Any) -> Any:
    return get_json(client, "ns1", "datasets", name, "fields", field, "lineage", **{**ALL, **query})


def hops(client: FlaskClient, name: str, **query: Any) -> list[tuple[int, str, str, str]]:
    """Level, source, destination and direction of each entry."""
    return [
        (entry["level"], entry["source"]["name"], entry["destination"]["name"], entry["direction"])
        for entry in lineage(client, name, **query)
    ]


def chain(client: FlaskClient, length: int) -> None:
    """End points e0 to e<length>, each copied into the next."""
    for number in range(length):
        record_new(client, copying(f"e{number}", f"e{number + 1}", "x", run=run(f"r{number}")))


BODY_NODE = {"id": "read.body", "label": "body", "origin": "read", "sourceEndPoint": USER_DATA}
FIRST_NAME_NODE = {"id": "parse.first_name", "label": "first_name", "origin": "parse"}
FIRST_NAME_NODE |= {"destinationEndPoint": PEOPLE}


class TestTheWorkedExample:
    """The run and the answers that the contract shows."""

    @pytest.fixture
    def checksum(self, client: FlaskClient) -> str:
        (checksum,) = record_new(client, worked())
        return checksum

    @pytest.mark.usefixtures("checksum")
    def test_high_level_of_the_source(self, client: FlaskClient) -> None:
        assert lineage(client, "user_data") == [
            {
                "source": USER_DATA,
                "destination": None,
                "fieldmap": [{"from": "offset", "to": None}],
                "level": 1,
                "direction": "forward",
            },
            {
                "source": USER_DATA,
                "destination": PEOPLE,
                "fieldmap": [{"from": "body", "to": "first_name"}, {"from": "body", "to": "last_name"}],
                "level": 1,
                "direction": "forward",
            },
        ]

    @pytest.mark.usefixtures("checksum")
    def test_high_level_of_the_destination_reports_no_drops(self, client: FlaskClient) -> None:
        (entry,) = lineage(client, "people")
        assert (entry["source"], entry["destination"], entry["direction"]) == (USER_DATA, PEOPLE, "backward")

    def test_detailed(self, client: FlaskClient, checksum: str) -> None:
        payload = detailed(client, "people", "first_name")
        for operation in payload["operations"]:
            operation.pop("endPoint", None)
        assert payload == {
            "nodes": [FIRST_NAME_NODE, BODY_NODE],
            "operations": [
                {"name": "parse", "description": "…", "type": "TRANSFORM"},
                {"name": "read", "description": "Reading the file", "type": "READ"},
                {"name": "store", "description": "", "type": "WRITE"},
            ],
            "connections": [{"from": "read.body", "to": "parse.first_name", "operation": "parse"}],
            "checksums": [checksum],
            "truncated": False,
        }

    @pytest.mark.usefixtures("checksum")
    def test_detailed_forward(self, client: FlaskClient) -> None:
        payload = detailed(client, "user_data", "body", direction="forward")
        assert payload["nodes"] == [
            FIRST_NAME_NODE,
            {"id": "parse.last_name", "label": "last_name", "origin": "parse", "destinationEndPoint": PEOPLE},
            BODY_NODE,
        ]
        assert [operation["name"] for operation in payload["operations"]] == ["parse", "read", "store"]

    @pytest.mark.usefixtures("checksum")
    def test_detailed_forward_of_what_is_dropped(self, client: FlaskClient) -> None:
        payload = detailed(client, "user_data", "offset", direction="forward")
        assert payload["nodes"] == [{**BODY_NODE, "id": "read.offset", "label": "offset"}]
        assert [operation["name"] for operation in payload["operations"]] == ["drop", "read"]
        assert payload["connections"] == []

    @pytest.mark.usefixtures("checksum")
    def test_simple(self, client: FlaskClient) -> None:
        payload = detailed(client, "people", "first_name", view="simple")
        assert [node["id"] for node in payload["nodes"]] == ["parse.first_name", "read.body"]
        assert payload["connections"] == [
            {"from": "read.body", "to": "parse.first_name", "operation": "parse", "operations": ["parse"]}
        ]

    @pytest.mark.usefixtures("checksum")
    def test_first_design(self, client: FlaskClient) -> None:
        payload = ways(client, "people", "first_name", start="1442863938", end="1442863939")
        payload.pop("truncated")
        assert payload == {
            "fieldName": "first_name",
            "startTimeInSeconds": 1442863938,
            "endTimeInSeconds": 1442863939,
            "paths": [
                {
                    "operations": [
                        {
                            "inputs": ["user_data"],
                            "outputs": ["offset", "body"],
                            "name": "read",
                            "description": "Reading the file",
                        },
                        {
                            "inputs": ["body"],
                            "outputs": ["first_name", "last_name"],
                            "name": "parse",
                            "description": "…",
                        },
                        {
                            "inputs": ["first_name", "last_name"],
                            "outputs": [],
                            "name": "store",
                            "description": "",
                        },
                    ],
                    "runs": ["0b6f…"],
                    "runCount": 1,
                    **dict.fromkeys(("firstStart", "lastStart"), 1442863938000),
                }
            ],
        }


class TestHighLevel:
    """The high-level query: field pairs over many hops."""

    def test_both_directions_by_level_source_and_destination(self, client: FlaskClient) -> None:
        chain(client, 4)
        assert hops(client, "e2", level=2) == [
            (1, "e1", "e2", "backward"),
            (1, "e2", "e3", "forward"),
            (2, "e0", "e1", "backward"),
            (2, "e3", "e4", "forward"),
        ]
        assert hops(client, "e2") == hops(client, "e2", level=1) == hops(client, "e2", level=2)[:2]
        assert hops(client, "e2", level=2, direction="backward") == hops(client, "e2", level=2)[::2]
        assert hops(client, "e2", level=2, direction="forward") == hops(client, "e2", level=2)[1::2]

    def test_cycles_end_the_walk(self, client: FlaskClient) -> None:
        record_new(client, copying("a", "b", "x", run=run("1")), copying("b", "a", "x", run=run("2")))
        assert hops(client, "a", level=9) == [
            (1, "a", "b", "forward"),
            (1, "b", "a", "backward"),
            (2, "a", "b", "backward"),
            (2, "b", "a", "forward"),
        ]

    def test_ties_sort_backward_first(self, client: FlaskClient) -> None:
        record_new(client, copying("a", "a", "x"))
        assert hops(client, "a", level=9) == [(1, "a", "a", "backward"), (1, "a", "a", "forward")]

    def test_an_entry_stands_at_its_smallest_level(self, client: FlaskClient) -> None:
        for number, (source, destination) in enumerate(["ab", "bc", "ac", "cd"]):
            record_new(client, copying(source, destination, "x", run=run(f"{number}")))
        assert hops(client, "a", level=9) == [
            (1, "a", "b", "forward"),
            (1, "a", "c", "forward"),
            (2, "b", "c", "forward"),
            (2, "c", "d", "forward"),
        ]

    def test_runs_of_the_window_are_merged_into_one_entry_a_pair(self, client: FlaskClient) -> None:
        for number, field in enumerate("xyx"):
            record_new(client, copying("a", "b", field, run=run(f"{number}", start_ms=number * 1000)))
        (entry,) = lineage(client, "a")
        assert entry["fieldmap"] == [{"from": "x", "to": "x"}, {"from": "y", "to": "y"}]
        (entry,) = lineage(client, "a", start="1", end="2")
        assert entry["fieldmap"] == [{"from": "y", "to": "y"}]

    def test_each_hop_asks_the_same_window(self, client: FlaskClient) -> None:
        record_new(client, copying("a", "b", "x", run=run("1", start_ms=5_000)))
        record_new(client, copying("b", "c", "x", run=run("2", start_ms=1_000)))
        assert hops(client, "a", level=2, start="5", end="6") == [(1, "a", "b", "forward")]
        assert len(hops(client, "a", level=2, start="1", end="6")) == 2

    def test_indirect_pairs_are_reported_and_left_out_on_request(self, client: FlaskClient) -> None:
        key = {"origin": "read", "name": "key", "influence": "indirect", "kind": "join"}
        complete = {"origin": "read", "name": "day", "influence": "indirect", "kind": "filter"}
        operations = [
            reading("read", "a", "x", "key", "day"),
            transforming("join", [*input_fields("read", "x"), key], "x"),
            writing("write", "b", *input_fields("join", "x"), complete),
        ]
        record_new(client, {"run": run(), "operations": operations})
        (entry,) = lineage(client, "b")
        assert entry["fieldmap"] == [
            {"from": "day", "to": "*", "influence": "indirect", "scope": "dataset"},
            {"from": "key", "to": "x", "influence": "indirect"},
            {"from": "x", "to": "x"},
        ]
        (entry,) = lineage(client, "b", indirect="false")
        assert entry["fieldmap"] == [{"from": "x", "to": "x"}]

    def test_without_indirect_the_walk_skips_entries_left_empty(self, client: FlaskClient) -> None:
        shaping = [{"origin": "read", "name": "x", "influence": "indirect"}]
        operations = [reading("read", "a", "x"), writing("write", "b", *shaping)]
        record_new(client, {"run": run("1"), "operations": operations}, copying("b", "c", "x", run=run("2")))
        assert len(hops(client, "a", level=2)) == 2
        assert hops(client, "a", level=2, indirect="false") == []

    def test_a_field_that_is_direct_somewhere_is_direct(self, client: FlaskClient) -> None:
        shaping = [{"origin": "read", "name": "x", "influence": "indirect"}, *input_fields("read", "x")]
        operations = [
            reading("read", "a", "x"),
            transforming("t", shaping, "y"),
            writing("w", "b", *input_fields("t", "y")),
        ]
        record_new(client, {"run": run(), "operations": operations})
        assert lineage(client, "b")[0]["fieldmap"] == [{"from": "x", "to": "y"}]

    def test_a_generated_field_beside_what_only_shaped_it(self, client: FlaskClient) -> None:
        shaping = [{"origin": "read", "name": "x", "influence": "indirect"}]
        operations = [
            reading("read", "a", "x"),
            transforming("t", shaping, "y"),
            writing("w", "b", *input_fields("t", "y")),
        ]
        record_new(client, {"run": run(), "operations": operations})
        generated, shaped = lineage(client, "b")
        assert (generated["source"], generated["fieldmap"]) == (None, [{"from": None, "to": "y"}])
        assert shaped["fieldmap"] == [{"from": "x", "to": "y", "influence": "indirect"}]

    @pytest.mark.slow
    def test_end_points_whose_fields_none_reported_are_unknown_and_walked_through(
        self, client: FlaskClient
    ) -> None:
        record_new(client, {"run": run("1"), "operations": [reading("r", "a"), writing("w", "b")]})
        record_new(client, copying("b", "c", "x", run=run("2")))
        unknown, existing = lineage(client, "a", level=2)
        assert (unknown["fieldmap"], unknown["unknown"]) == ([], True)
        assert (existing["source"]["name"], existing["level"]) == ("b", 2)
        assert "unknown" not in existing

    def test_end_points_without_a_pair_have_no_entry(self, client: FlaskClient) -> None:
        operations = [
            reading("r", "a", "x"),
            reading("s", "c", "y"),
            writing("w", "b", *input_fields("r", "x")),
            writing("v", "d", *input_fields("s", "y")),
        ]
        record_new(client, {"run": run(), "operations": operations})
        assert hops(client, "a") == [(1, "a", "b", "forward")]
        assert hops(client, "d") == [(1, "c", "d", "backward")]

    def test_a_field_dropped_and_used_has_both_pairs(self, client: FlaskClient) -> None:
        document = worked()
        document["operations"][2]["inputs"] = input_fields("read", "body")
        record_new(client, document)
        dropped, used = lineage(client, "user_data")
        assert dropped["fieldmap"] == [{"from": "body", "to": None}]
        assert [pair["from"] for pair in used["fieldmap"]] == ["body", "body"]


class TestBounds:
    """Answers that are not complete say so."""

    def test_the_cap_of_levels(self, make_client: MakeClient) -> None:
        client = make_client(Settings(level_max=2))
        chain(client, 4)
        for level, truncated in ((1, None), (2, None), (3, "true"), (99, "true")):
            answer = client.get(path("ns1", "endpoints", "e0", "fields", "lineage", **ALL, level=level))
            assert answer.headers.get("Truncated") == truncated
            assert len(answer.json) == min(level, 2)
        target = path("ns1", "endpoints", "e3", "fields", "lineage", **ALL, level=99, direction="forward")
        assert "Truncated" not in client.get(target).headers, "nothing was left unasked"

    def test_the_bound_of_pairs(self, make_client: MakeClient) -> None:
        client = make_client(Settings(pairs_max=5))
        record_new(client, copying("a", "b", *"uvwxy"))
        target = path("ns1", "endpoints", "a", "fields", "lineage", **ALL)
        assert "Truncated" not in client.get(target).headers
        record_new(client, copying("a", "c", "z", run=run("r2")))
        answer = client.get(target)
        assert answer.headers["Truncated"] == "true"
        assert sum(len(entry["fieldmap"]) for entry in answer.json) == 5

    def test_one_pair_too_many_leaves_the_others(self, make_client: MakeClient) -> None:
        client = make_client(Settings(pairs_max=4))
        inputs = [*input_fields("read", *"uvwx"), {"origin": "read", "name": "y", "influence": "indirect"}]
        operations = [reading("read", "a", *"uvwxy"), writing("write", "b", *inputs)]
        record_new(client, {"run": run(), "operations": operations})
        answer = client.get(path("ns1", "endpoints", "a", "fields", "lineage", **ALL))
        assert answer.headers["Truncated-By"] == "pairs_max=4"
        assert [pair["from"] for pair in answer.json[0]["fieldmap"]] == [*"uvwx"]

    def test_the_bound_of_connections(self, make_client: MakeClient) -> None:
        fields = [f"f{number}" for number in range(10)]
        operations = [
            reading("read", "a", *fields),
            transforming("mix", input_fields("read", *fields), *fields),
            transforming("again", input_fields("mix", *fields), *fields),
            writing("write", "b", *input_fields("again", *fields)),
        ]
        for most, truncated in ((110, False), (50, True)):
            client = make_client(Settings(connections_max=most))
            record_new(client, {"run": run(), "operations": operations})
            payload = detailed(client, "b", "f0")
            assert payload["truncated"] is truncated
            assert len(payload["connections"]) <= most

    @pytest.mark.slow
    def test_a_dry_run_is_complete_or_says_so(self, client: FlaskClient) -> None:
        fields = [f"f{number}" for number in range(510)]
        operations = [
            reading("read", "a", *fields),
            transforming("mix", input_fields("read", *fields), *fields),
            writing("write", "b", *input_fields("mix", *fields)),
        ]
        payload = record(client, {"run": run(), "operations": operations}, dryRun="true").json
        (entry,) = payload["lineage"]
        assert len(entry["fieldmap"]) == len(fields) ** 2 or payload.get("truncated") is True
        assert not record(client, worked(), dryRun="true").json.get("truncated")


class TestWhatIsKnown:
    """Never seen is 404, nothing in the window is 200 and empty."""

    EMPTY_WINDOW = {"start": "1", "end": "2"}

    @pytest.mark.parametrize(
        "segments",
        [
            ("endpoints", "never", "fields", "lineage"),
            ("endpoints", "never", "fields", "first_name", "lineage"),
            ("endpoints", "people", "fields", "never", "lineage"),
            ("endpoints", "people", "fields", "body", "lineage"),
            ("datasets", "never", "fields", "first_name", "lineage"),
            ("datasets", "people", "fields", "never", "lineage"),
            ("endpoints", "never", "runs"),
            ("endpoints", "never", "fields"),
        ],
        ids="/".join,
    )
    def test_never_seen_is_404(self, client: FlaskClient, segments: tuple[str, ...]) -> None:
        record_new(client, worked())
        assert_problem(client.get(path("ns1", *segments)), 404)
        assert_problem(client.get(path("ns2", *segments)), 404)

    def test_case_makes_another_name(self, client: FlaskClient) -> None:
        record_new(client, worked())
        assert_problem(client.get(path("ns1", "endpoints", "People", "fields", "lineage")), 404)
        assert_problem(client.get(path("NS1", "endpoints", "people", "fields", "lineage")), 404)

    def test_nothing_in_the_window_is_empty(self, client: FlaskClient) -> None:
        record_new(client, worked())
        assert lineage(client, "people", **self.EMPTY_WINDOW) == []
        assert detailed(client, "people", "first_name", **self.EMPTY_WINDOW) == {
            "nodes": [],
            "operations": [],
            "connections": [],
            "checksums": [],
            "truncated": False,
        }
        assert ways(client, "people", "first_name", **self.EMPTY_WINDOW)["paths"] == []
        assert get_json(client, "ns1", "endpoints", "people", "runs", **self.EMPTY_WINDOW) == {"runs": []}

    def test_the_other_direction_of_a_known_field_is_empty(self, client: FlaskClient) -> None:
        record_new(client, worked())
        assert detailed(client, "user_data", "body")["nodes"] == []
        assert detailed(client, "people", "first_name", direction="forward")["nodes"] == []
        assert ways(client, "user_data", "body")["paths"] == []

    def test_known_by_failed_runs_alone(self, client: FlaskClient) -> None:
        record_new(client, worked(state="FAIL"))
        assert lineage(client, "people") == []
        assert detailed(client, "people", "first_name")["checksums"] == []
        assert get_json(client, "ns1", "endpoints", "people", "fields")["fields"] != []

    def test_known_by_replaced_runs_alone(self, client: FlaskClient) -> None:
        record_new(client, copying("a", "b", "x"))
        assert record(client, copying("a", "c", "y")).json["replaced"]
        assert lineage(client, "b") == []
        assert detailed(client, "b", "x")["nodes"] == []
        assert detailed(client, "a", "x", direction="forward")["nodes"] == []

    def test_a_namespace_without_end_points_is_empty(self, client: FlaskClient) -> None:
        assert get_json(client, "never", "endpoints") == {"endpoints": []}


class TestDetailed:
    """By which operations a field was made."""

    def test_ids_escape_dots_and_percents_and_labels_do_not(self, client: FlaskClient) -> None:
        document = copying("a", "b", "x.y%z")
        document["operations"][0]["name"] = "re.ad%"
        document["operations"][1]["inputs"] = input_fields("re.ad%", "x.y%z")
        record_new(client, document)
        (node,) = detailed(client, "b", "x.y%z")["nodes"]
        assert (node["id"], node["label"]) == ("re.ad%.x%2Ey%25z", "x.y%z")

    def test_a_read_straight_to_a_write_is_one_node_in_every_view(self, client: FlaskClient) -> None:
        record_new(client, copying("a", "b", "x"))
        for view in ("detailed", "simple"):
            for name, direction in (("b", "backward"), ("a", "forward")):
                payload = detailed(client, name, "x", view=view, direction=direction)
                assert payload["connections"] == []
                (node,) = payload["nodes"]
                assert (node["sourceEndPoint"], node["destinationEndPoint"]) == (position("a"), position("b"))

    def test_every_destination_is_listed_where_there_are_more(self, client: FlaskClient) -> None:
        operations = [
            reading("read", "a", "x"),
            writing("w1", "c", *input_fields("read", "x")),
            writing("w2", "b", *input_fields("read", "x")),
        ]
        record_new(client, {"run": run(), "operations": operations})
        (node,) = detailed(client, "a", "x", direction="forward")["nodes"]
        assert node["destinationEndPoint"] == position("b")
        assert node["destinationEndPoints"] == [position("b"), position("c")]

    def test_one_name_for_different_things(self, client: FlaskClient) -> None:
        older, newer = worked(run="older"), worked(run="newer", startTime=START_MS + 1)
        newer["operations"][1]["description"] = "another way"
        old, new = record_new(client, older, newer)
        payload = detailed(client, "people", "first_name")
        assert payload["checksums"] == [new, old]
        assert [(item["name"], item["description"]) for item in payload["operations"]] == [
            ("parse", "another way"),
            (f"parse@{old[:8]}", "…"),
            ("read", "Reading the file"),
            *(
                (name, "")
                for name in ("store", f"store@{old[:8]}")
                if name in {item["name"] for item in payload["operations"]}
            ),
        ]
        assert {
            "from": "read.body",
            "to": f"parse@{old[:8]}.first_name",
            "operation": f"parse@{old[:8]}",
        } in (payload["connections"])
        assert len(payload["connections"]) == 2

    def test_identical_operations_are_one(self, client: FlaskClient) -> None:
        older, newer = worked(run="older"), worked(run="newer", startTime=START_MS + 1)
        newer["operations"].append(transforming("unused", input_fields("read", "offset"), "age"))
        record_new(client, older, newer)
        payload = detailed(client, "people", "first_name")
        assert [item["name"] for item in payload["operations"]] == ["parse", "read", "store"]
        assert len(payload["checksums"]) == 2

    def test_indirect_connections(self, client: FlaskClient) -> None:
        key = {"origin": "read", "name": "key", "influence": "indirect", "kind": "join"}
        operations = [
            reading("read", "a", "x", "key"),
            transforming("join", [*input_fields("read", "x"), key], "y"),
            writing("write", "b", *input_fields("join", "y"), key),
        ]
        record_new(client, {"run": run(), "operations": operations})
        payload = detailed(client, "b", "y")
        assert payload["connections"] == [
            {"from": "read.key", "to": "join.y", "operation": "join", "influence": "indirect"},
            {"from": "read.x", "to": "join.y", "operation": "join"},
        ]
        payload = detailed(client, "b", "y", indirect="false")
        assert [connection["from"] for connection in payload["connections"]] == ["read.x"]
        assert [node["id"] for node in payload["nodes"]] == ["join.y", "read.x"]

    def test_simple_joins_the_names_of_all_ways_in_an_order_that_could_have_run(
        self, client: FlaskClient
    ) -> None:
        operations = [
            reading("read", "a", "x"),
            transforming("z", input_fields("read", "x"), "p"),
            transforming("m", input_fields("z", "p"), "q"),
            transforming("a", input_fields("m", "q"), "y"),
            writing("write", "b", *input_fields("a", "y")),
        ]
        record_new(client, {"run": run(), "operations": operations})
        for name, field, direction in (("b", "y", "backward"), ("a", "x", "forward")):
            payload = detailed(client, name, field, view="simple", direction=direction)
            assert [node["id"] for node in payload["nodes"]] == ["a.y", "read.x"]
            assert payload["connections"] == [
                {"from": "read.x", "to": "a.y", "operation": "z, m, a", "operations": ["z", "m", "a"]}
            ]


class TestTheFirstDesign:
    """Every distinct way a field was made, with its runs."""

    def test_a_way_with_all_its_runs_newest_first(self, client: FlaskClient) -> None:
        for number in range(3):
            record_new(client, worked(run=f"{number}", startTime=START_MS + number))
        (way,) = ways(client, "people", "first_name")["paths"]
        assert way["runs"] == ["2", "1", "0"]

    def test_ways_newest_first(self, client: FlaskClient) -> None:
        record_new(
            client, worked(run="1"), copying(USER_DATA, PEOPLE, "first_name", run=run("0", start_ms=5))
        )
        record_new(client, worked(run="2", startTime=START_MS + 1))
        paths = ways(client, "people", "first_name")["paths"]
        assert [way["runs"] for way in paths] == [["2", "1"], ["0"]]
        assert [step["name"] for step in paths[1]["operations"]] == ["read", "write"]

    def test_a_column_added_beside_it_is_no_change(self, client: FlaskClient) -> None:
        wider = worked(run="wider", startTime=START_MS + 1)
        wider["operations"][0]["outputs"].append("age")
        wider["operations"][3]["inputs"] += input_fields("read", "age")
        record_new(client, worked(), wider)
        (way,) = ways(client, "people", "first_name")["paths"]
        assert way["runs"] == ["wider", "0b6f…"]

    def test_another_description_is_a_change(self, client: FlaskClient) -> None:
        other = worked(run="other", startTime=START_MS + 1)
        other["operations"][1]["description"] = "otherwise"
        record_new(client, worked(), other)
        assert [way["runs"] for way in ways(client, "people", "first_name")["paths"]] == [
            ["other"],
            ["0b6f…"],
        ]

    def test_only_the_operations_that_lead_into_the_field(self, client: FlaskClient) -> None:
        record_new(client, first_design())
        (way,) = ways(client, "people", "body")["paths"]
        assert [step["name"] for step in way["operations"]] == ["read", "write"]
        (way,) = ways(client, "people", "last_name")["paths"]
        assert [step["name"] for step in way["operations"]] == ["read", "parse", "write"]
        assert way["operations"][0]["inputs"] == ["user_data"]
        assert way["operations"][-1]["outputs"] == []


class TestRuns:
    """Every run that touched an end point."""

    def test_each_once_newest_first_with_its_direction(self, client: FlaskClient) -> None:
        record_new(client, copying("a", "b", "x", run=run("wrote", start_ms=1_000)))
        record_new(client, copying("b", "c", "x", run=run("read", start_ms=3_000, version="2", state="FAIL")))
        record_new(client, copying("b", "b", "x", run=run("both", start_ms=2_000)))
        listed = get_json(client, "ns1", "endpoints", "b", "runs", **ALL)["runs"]
        assert [(item["run"], item["direction"]) for item in listed] == [
            ("read", "forward"),
            ("both", "both"),
            ("wrote", "backward"),
        ]
        (first, *_) = listed
        assert len(first.pop("checksum")) == 32
        names = {"run": "read", "namespace": "ns1", "application": "shop", "program": "nightly"}
        started = {"version": "2", "type": "spark", "startTime": 3_000, "state": "FAIL"}
        assert first == names | started | {"direction": "forward"}
