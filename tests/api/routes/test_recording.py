"""Recording of one run: the answer, and what queries answer afterwards."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.support.api_client import (
    ALL,
    assert_problem,
    get_json,
    is_store_empty,
    lineage,
    path,
    record,
    record_new,
    send,
    target,
)
from tests.support.lineage_documents import (
    START_LIMIT_MS,
    Json,
    copying,
    encoded,
    first_design,
    input_fields,
    reading,
    run,
    transforming,
    worked,
    writing,
)
from tests.support.raw_http import Server

pytestmark = pytest.mark.hbase

RUN_BYTES_MAX, NAME_BYTES_MAX = 1024, 4096


def test_a_new_run_is_201_with_its_checksum_and_id(client: FlaskClient) -> None:
    answer = record(client, worked())
    assert answer.status_code == 201
    assert answer.mimetype == "application/json"
    assert set(answer.json) == {"checksum", "run", "recorded"}
    assert re.fullmatch("[0-9a-f]{32}", answer.json["checksum"])
    assert answer.json["run"] == "0b6f…"
    assert answer.json["recorded"] is True


def test_the_very_same_run_again_is_200_and_not_recorded(client: FlaskClient) -> None:
    first = record(client, worked())
    again = record(client, worked())
    assert again.status_code == 200
    assert again.json == {**first.json, "recorded": False}


def test_other_content_of_the_same_run_replaces_it(client: FlaskClient) -> None:
    record_new(client, copying("a", "b", "x"))
    answer = record(client, copying("a", "b", "y"))
    assert answer.status_code == 200
    assert answer.json["recorded"] is True
    assert answer.json["replaced"] is True
    assert [pair["from"] for entry in lineage(client, "a") for pair in entry["fieldmap"]] == ["y"]


def test_a_run_that_goes_back_to_what_it_was_replaces_again(client: FlaskClient) -> None:
    record_new(client, copying("a", "b", "x"))
    record(client, copying("a", "b", "y"))
    answer = record(client, copying("a", "b", "x"))
    assert (answer.status_code, answer.json["recorded"], answer.json["replaced"]) == (200, True, True)
    assert record(client, copying("a", "b", "x")).json["recorded"] is False


@pytest.mark.parametrize(
    "member",
    [
        {"version": "2"},
        {"type": "other"},
        {"startTime": 10**11},
        {"state": "FAIL"},
    ],
    ids=lambda member: next(iter(member)),
)
def test_another_member_of_run_replaces_too(client: FlaskClient, member: Json) -> None:
    (checksum,) = record_new(client, worked())
    answer = record(client, worked(**member))
    assert answer.status_code == 200
    assert answer.json == {"checksum": checksum, "run": "0b6f…", "recorded": True, "replaced": True}


def test_a_replaced_run_leaves_its_old_window_and_end_points_known_but_empty(client: FlaskClient) -> None:
    record_new(client, copying("a", "b", "x"))
    record(client, copying("c", "d", "x", run=run(start_ms=7_000)))
    assert lineage(client, "a") == []
    assert lineage(client, "c", start="7", end="7.001") != []
    assert lineage(client, "c", start="7.001", end="now") == []
    assert get_json(client, "ns1", "endpoints", "a", "runs", **ALL) == {"runs": []}


def test_defaults_are_filled_in_before_the_checksum(client: FlaskClient) -> None:
    record_new(client, worked())
    payload: Any = worked(state="COMPLETE")
    read, parse, drop, store = payload["operations"]
    read["outputs"] = [{"name": "offset"}, {"name": "body"}]
    parse["inputs"][0]["influence"] = "direct"
    drop["description"] = store["description"] = store["destination"]["description"] = ""
    assert record(client, payload).json["recorded"] is False


def test_the_namespace_of_an_end_point_is_that_of_the_program_unless_stated(client: FlaskClient) -> None:
    record_new(client, copying("a", {"namespace": "other", "name": "b"}, "x"), namespace="ns1")
    assert lineage(client, "a")[0]["destination"] == {"namespace": "other", "name": "b"}
    payload = copying({"namespace": "ns1", "name": "a"}, {"namespace": "other", "name": "b"}, "x")
    assert record(client, payload, namespace="ns1").json["recorded"] is False


def test_the_order_of_operations_is_no_difference(client: FlaskClient) -> None:
    record_new(client, worked())
    again = worked()
    again["operations"].reverse()
    assert record(client, again).json["recorded"] is False


def test_what_an_absent_list_means_is_what_an_empty_one_means(client: FlaskClient) -> None:
    record_new(client, worked())
    again = worked()
    del again["operations"][2]["outputs"]
    assert record(client, again).json["recorded"] is False


def test_the_namespace_member_may_agree(client: FlaskClient) -> None:
    assert record(client, {**worked(), "namespace": "ns1"}).status_code == 201
    assert record(client, worked()).json["recorded"] is False


@pytest.mark.parametrize("payload", ["NS1", "", 5, None, ["ns1"], "ns1 "])
def test_a_namespace_member_that_disagrees_is_400(client: FlaskClient, payload: object) -> None:
    answer = record(client, {**worked(), "namespace": payload})
    assert [fault["at"] for fault in assert_problem(answer, 400)["errors"]] == ["namespace"]
    assert is_store_empty(client)


def test_unknown_members_are_ignored_and_named(client: FlaskClient) -> None:
    document: Any = worked(colour="red")
    document["colour"] = document["operations"][0]["colour"] = None
    document["operations"][0]["source"]["a/b"] = {}
    document["operations"][0]["inputs"] = []
    document["operations"][1]["inputs"][0]["type"] = "int"
    document["operations"][1]["outputs"] = ["first_name", {"name": "last_name", "colour": 1}]
    answer = record(client, document)
    assert answer.status_code == 201
    assert sorted(warning["at"] for warning in answer.json["warnings"]) == [
        "colour",
        "operations.0.colour",
        "operations.0.inputs",
        "operations.0.source.a/b",
        "operations.1.inputs.0.type",
        "operations.1.outputs.1.colour",
        "run.colour",
    ]
    assert all(set(warning) == {"at", "detail"} for warning in answer.json["warnings"])
    again = record(client, worked())
    assert again.json == {"checksum": answer.json["checksum"], "run": "0b6f…", "recorded": False}


def test_warnings_come_again_with_the_same_run(client: FlaskClient) -> None:
    document = {**worked(colour="red"), "shape": "round"}
    document["operations"][0]["colour"] = 1
    first, again = record(client, document).json, record(client, document).json
    assert again["recorded"] is False
    assert again["warnings"] == first["warnings"]
    assert len(first["warnings"]) == 3


def test_warnings_stand_in_the_same_order_whichever_process_answers(
    client: FlaskClient, server: Server
) -> None:
    document = worked(**{f"unknown {number}": number for number in range(12)})
    location = send(client, encoded(document), "lineage?dryRun=true").json["warnings"]
    existing = server.post(path("ns1", "lineage", dryRun="true"), encoded(document)).json["warnings"]
    assert len(location) == 12
    assert location == existing


def test_an_unlisted_input_is_reported_and_treated_as_listed(client: FlaskClient) -> None:
    document = copying("a", "b", "x")
    document["operations"][1]["inputs"] = input_fields("read", "x", "hidden")
    answer = record(client, document)
    assert answer.status_code == 201
    assert [warning["at"] for warning in answer.json["warnings"]] == ["operations.1.inputs.1"]
    (entry,) = lineage(client, "a")
    assert entry["fieldmap"] == [{"from": "hidden", "to": "hidden"}, {"from": "x", "to": "x"}]
    listed = get_json(client, "ns1", "endpoints", "a", "fields")["fields"]
    assert {field["name"]: field["read"] for field in listed} == {"hidden": True, "x": True}


@pytest.mark.parametrize(("state", "left_out"), [("FAIL", True), ("ABORT", True), ("RUNNING", False)])
def test_failed_runs_are_left_out_of_lineage_unless_asked_for(
    client: FlaskClient, state: str, left_out: bool
) -> None:
    record_new(client, copying("a", "b", "x", run=run(state=state)))
    assert (lineage(client, "a") == []) is left_out
    assert lineage(client, "a", failed="true") != []
    detailed = ("ns1", "endpoints", "b", "fields", "x", "lineage")
    assert (get_json(client, *detailed, **ALL)["nodes"] == []) is left_out
    assert get_json(client, *detailed, **ALL, failed="true")["nodes"] != []
    ways = ("ns1", "datasets", "b", "fields", "x", "lineage")
    assert (get_json(client, *ways, **ALL)["paths"] == []) is left_out
    assert get_json(client, *ways, **ALL, failed="true")["paths"] != []
    (listed,) = get_json(client, "ns1", "endpoints", "a", "runs", **ALL)["runs"]
    assert listed["state"] == state


def test_a_run_is_complete_unless_it_says_otherwise(client: FlaskClient) -> None:
    record_new(client, copying("a", "b", "x"))
    (listed,) = get_json(client, "ns1", "endpoints", "a", "runs", **ALL)["runs"]
    assert listed["state"] == "COMPLETE"


def test_a_run_that_failed_after_all_disappears(client: FlaskClient) -> None:
    record_new(client, copying("a", "b", "x", run=run(state="RUNNING")))
    assert record(client, copying("a", "b", "x", run=run(state="FAIL"))).json["replaced"] is True
    assert lineage(client, "a") == []


def test_indirect_influence_with_every_kind(client: FlaskClient) -> None:
    kinds = ["filter", "join", "group_by", "sort", "window", "conditional"]
    inputs = [{"origin": "read", "name": kind, "influence": "indirect", "kind": kind} for kind in kinds]
    plain = {"origin": "read", "name": "plain", "influence": "indirect"}
    operations = [
        reading("read", "a", "x", "plain", *kinds),
        transforming("t", [*input_fields("read", "x"), *inputs, plain], "y"),
        writing("write", "b", *input_fields("t", "y")),
    ]
    answer = record(client, {"run": run(), "operations": operations})
    assert answer.status_code == 201
    assert "warnings" not in answer.json
    (entry,) = lineage(client, "a")
    indirect = [pair["from"] for pair in entry["fieldmap"] if pair.get("influence") == "indirect"]
    assert indirect == sorted([*kinds, "plain"])
    assert {"from": "x", "to": "y"} in entry["fieldmap"]


def test_an_indirect_input_of_a_write_is_one_pair_with_the_whole_data_set(client: FlaskClient) -> None:
    key = {"origin": "read", "name": "key", "influence": "indirect", "kind": "filter"}
    operations = [reading("read", "a", "x", "key"), writing("write", "b", *input_fields("read", "x"), key)]
    record_new(client, {"run": run(), "operations": operations})
    (entry,) = lineage(client, "a")
    assert entry["fieldmap"] == [
        {"from": "key", "to": "*", "influence": "indirect", "scope": "dataset"},
        {"from": "x", "to": "x"},
    ]


@pytest.mark.parametrize("start_ms", [0, 1, START_LIMIT_MS - 1, 2**53 + 1])
def test_starts_from_1970_to_the_last_millisecond(client: FlaskClient, start_ms: int) -> None:
    record_new(client, copying("a", "b", "x", run=run(start_ms=start_ms)))
    (listed,) = get_json(client, "ns1", "endpoints", "a", "runs", **ALL)["runs"]
    assert listed["startTime"] == start_ms
    assert lineage(client, "a") != []


@pytest.mark.parametrize("letter", ["a", "é", "🙂", "\x00", "|"])
def test_names_as_long_as_they_may_be(client: FlaskClient, letter: str) -> None:
    size = len(letter.encode())
    short, long = letter * (RUN_BYTES_MAX // size), letter * (NAME_BYTES_MAX // size)
    position = {"namespace": short, "name": long}
    document = copying(position, {**position, "name": "b"}, long, run=run(short))
    assert record(client, document, namespace=short).json["run"] == short
    (entry,) = lineage(client, long, namespace=short)
    assert entry["source"] == position
    assert entry["fieldmap"] == [{"from": long, "to": long}]
    (listed,) = get_json(client, short, "endpoints", long, "runs", **ALL)["runs"]
    assert (listed["run"], listed["namespace"]) == (short, short)


@pytest.mark.parametrize("letter", ["a", "é", "🙂", "\x00"])
def test_names_that_are_too_long_are_400_each_at_its_place(client: FlaskClient, letter: str) -> None:
    size = len(letter.encode())
    short, long = letter * (RUN_BYTES_MAX // size) + "b", letter * (NAME_BYTES_MAX // size) + "b"
    position = {"namespace": short, "name": long}
    document = copying(position, position, long, {"name": long}, run=run(short))  # type: ignore[arg-type]
    document["operations"][1]["inputs"] = input_fields("read", long)
    assert [fault["at"] for fault in assert_problem(record(client, document), 400)["errors"]] == [
        "run.run",
        "operations.0.source.namespace",
        "operations.0.source.name",
        "operations.0.outputs.0",
        "operations.0.outputs.1.name",
        "operations.1.destination.namespace",
        "operations.1.destination.name",
        "operations.1.inputs.0.name",
    ]
    assert is_store_empty(client)


def test_a_run_id_is_opaque_and_unique_in_a_namespace(client: FlaskClient) -> None:
    for namespace in ("ns1", "ns2"):
        record_new(client, copying("a", "b", "x", run=run("../r 1|%7C")), namespace=namespace)
        assert lineage(client, "a", namespace=namespace) != []


def test_a_uuid_is_unique_across_namespaces(client: FlaskClient) -> None:
    again = copying("a", "b", "x", run=run("0187C3B8-5f0a-7d1e-9c3f-5d2e1f0a9b8c"))
    record_new(client, again, namespace="ns1")
    assert_problem(record(client, again, namespace="ns2"), 409)
    answer = record(client, again, namespace="ns2", replace="true")
    assert (answer.status_code, answer.json["replaced"]) == (200, True)
    assert lineage(client, "a", namespace="ns1") == []
    assert lineage(client, "a", namespace="ns2") != []


def test_types_feed_the_catalogue_and_the_nodes(client: FlaskClient) -> None:
    document = copying("a", "b", "age")
    document["operations"][0]["outputs"] = [{"name": "age", "type": "int"}]
    record_new(client, document)
    fields = get_json(client, "ns1", "endpoints", "b", "fields")["fields"]
    assert fields == [{"name": "age", "type": "int", "read": False, "written": True}]
    (node,) = get_json(client, "ns1", "endpoints", "b", "fields", "age", "lineage", **ALL)["nodes"]
    assert node["type"] == "int"


class TestDryRun:
    """`?dryRun=true` tells what would be, and stores nothing."""

    def test_it_answers_what_would_be_recorded(self, client: FlaskClient) -> None:
        answer = record(client, worked(), dryRun="true")
        assert answer.status_code == 200
        assert set(answer.json) == {"operations", "checksum", "lineage", "warnings"}
        assert answer.json["warnings"] == []
        assert is_store_empty(client)
        (checksum,) = record_new(client, worked())
        assert answer.json["checksum"] == checksum
        assert answer.json["lineage"] == lineage(client, "user_data")

    def test_its_operations_record_as_the_very_same_run(self, client: FlaskClient) -> None:
        record_new(client, worked())
        would = record(client, worked(), dryRun="true").json["operations"]
        again = record(client, {**worked(), "operations": would})
        assert again.json["recorded"] is False
        assert "warnings" not in again.json

    def test_its_operations_have_their_defaults(self, client: FlaskClient) -> None:
        operations = record(client, worked(), dryRun="true").json["operations"]
        payload = {operation["name"]: operation for operation in operations}
        assert payload["store"]["description"] == ""
        assert payload["parse"]["inputs"] == [{"origin": "read", "name": "body", "influence": "direct"}]
        assert payload["parse"]["outputs"] == [{"name": "first_name"}, {"name": "last_name"}]
        assert {name: operation["type"] for name, operation in payload.items()} == {
            "read": "READ",
            "parse": "TRANSFORM",
            "drop": "TRANSFORM",
            "store": "WRITE",
        }

    def test_generated_entries_are_backward_and_come_first(self, client: FlaskClient) -> None:
        operations = [
            reading("read", "a", "x"),
            transforming("make", [], "made"),
            writing("write", "b", *input_fields("read", "x"), *input_fields("make", "made")),
        ]
        answer = record(client, {"run": run(), "operations": operations}, dryRun="true")
        existing = {"namespace": "ns1", "name": "b"}
        assert answer.json["lineage"] == [
            {
                "source": None,
                "destination": existing,
                "fieldmap": [{"from": None, "to": "made"}],
                "level": 1,
                "direction": "backward",
            },
            {
                "source": {"namespace": "ns1", "name": "a"},
                "destination": existing,
                "fieldmap": [{"from": "x", "to": "x"}],
                "level": 1,
                "direction": "forward",
            },
        ]

    def test_it_warns_as_recording_does(self, client: FlaskClient) -> None:
        document = worked(colour="red")
        document["operations"][1]["inputs"] = input_fields("read", "hidden")
        would = record(client, document, dryRun="true").json["warnings"]
        assert would == record(client, document).json["warnings"]
        assert sorted(warning["at"] for warning in would) == ["operations.1.inputs.0", "run.colour"]

    def test_it_refuses_as_recording_does(self, client: FlaskClient) -> None:
        for document in ({**worked(), "operations": []}, {"operations": []}):
            would, did = record(client, document, dryRun="true"), record(client, document)
            assert assert_problem(would, did.status_code) == did.json

    def test_it_stores_nothing_of_a_run_that_would_replace(self, client: FlaskClient) -> None:
        record_new(client, copying("a", "b", "x"))
        previous = lineage(client, "a")
        assert record(client, copying("a", "b", "y"), dryRun="true").status_code == 200
        assert lineage(client, "a") == previous

    def test_false_records(self, client: FlaskClient) -> None:
        assert record(client, worked(), dryRun="false").status_code == 201

    @pytest.mark.parametrize("payload", ["TRUE", "1", "", "yes", " true"])
    def test_it_is_true_or_false(self, client: FlaskClient, payload: str) -> None:
        answer = record(client, worked(), dryRun=payload)
        assert [fault["at"] for fault in assert_problem(answer, 400)["errors"]] == ["dryRun"]
        assert is_store_empty(client)


class TestTheFirstDesignsForm:
    """Fields by name alone, taken at the same route."""

    def test_it_is_recorded_at_the_same_route(self, client: FlaskClient) -> None:
        assert record(client, first_design()).status_code == 201
        assert record(client, first_design()).json["recorded"] is False
        (dropped, entry) = lineage(client, "user_data")
        assert dropped["fieldmap"] == [{"from": "offset", "to": None}]
        assert entry["destination"] == {"namespace": "ns1", "name": "people"}
        assert entry["fieldmap"] == [
            {"from": "body", "to": "body"},
            {"from": "body", "to": "first_name"},
            {"from": "body", "to": "last_name"},
        ]

    def test_what_it_means_in_operations(self, client: FlaskClient) -> None:
        operations = record(client, first_design(), dryRun="true").json["operations"]
        payload = {operation["name"]: operation for operation in operations}
        assert {name: operation["type"] for name, operation in payload.items()} == {
            "read": "READ",
            "parse": "TRANSFORM",
            "drop": "TRANSFORM",
            "write": "WRITE",
        }
        assert payload["write"]["description"] == "Everyone"
        assert payload["write"]["destination"] == {
            "namespace": "ns1",
            "name": "people",
            "description": "Everyone",
        }
        written = {(item["origin"], item["name"]) for item in payload["write"]["inputs"]}
        assert written == {("read", "body"), ("parse", "first_name"), ("parse", "last_name")}

    def test_destination_may_list_the_fields(self, client: FlaskClient) -> None:
        document = first_design()
        document["destination"]["fields"] = ["first_name", {"name": "offset"}]
        record_new(client, document)
        entries = lineage(client, "people", direction="backward")
        pairs = [(pair["from"], pair["to"]) for entry in entries for pair in entry["fieldmap"]]
        assert pairs == [("body", "first_name"), ("offset", "offset")]

    def test_a_repeated_name_gets_a_number_in_order(self, client: FlaskClient) -> None:
        document = first_design()
        document["operations"] += [
            {"name": "parse", "inputs": [{"field": {"name": "body"}}], "outputs": ["age"]},
            {"name": "parse", "inputs": [{"field": {"name": "age"}}], "outputs": ["year"]},
            {"name": "write", "inputs": [{"field": {"name": "year"}}], "outputs": ["decade"]},
        ]
        operations = record(client, document, dryRun="true").json["operations"]
        payload = {operation["name"]: operation for operation in operations}
        assert set(payload) == {"read", "parse", "drop", "parse#2", "parse#3", "write", "write#2"}
        assert payload["parse#3"]["inputs"][0]["origin"] == "parse#2"
        assert payload["write#2"]["type"] == "WRITE"

    def test_a_source_beside_fields_is_a_read_of_its_own(self, client: FlaskClient) -> None:
        document = first_design()
        document["operations"].append(
            {
                "name": "join",
                "inputs": [{"field": {"name": "last_name"}}, {"source": {"name": "families"}}],
                "outputs": ["family"],
            }
        )
        operations = record(client, document, dryRun="true").json["operations"]
        payload = {operation["name"]: operation for operation in operations}
        assert payload["join.read"]["type"] == "READ"
        assert payload["join.read"]["source"] == {"namespace": "ns1", "name": "families", "description": ""}
        origins = {(item["origin"], item["name"]) for item in payload["join"]["inputs"]}
        assert origins == {("parse", "last_name"), ("join.read", "family")}

    def test_an_input_is_the_latest_earlier_output_of_its_name(self, client: FlaskClient) -> None:
        document = first_design()
        document["operations"].append(
            {"name": "trim", "inputs": [{"field": {"name": "last_name"}}], "outputs": ["last_name"]}
        )
        operations = record(client, document, dryRun="true").json["operations"]
        payload = {operation["name"]: operation for operation in operations}
        assert payload["trim"]["inputs"][0]["origin"] == "parse"
        written = {item["name"]: item["origin"] for item in payload["write"]["inputs"]}
        assert written["last_name"] == "trim"

    def test_a_field_that_nothing_made_before_is_422(self, client: FlaskClient) -> None:
        document: Any = copy.deepcopy(first_design())
        document["destination"]["fields"] = ["nowhere", "body"]
        document["operations"][1]["inputs"].append({"field": {"name": "first_name"}})
        document["operations"][2]["inputs"] = [{"field": {"name": "never"}}]
        answer = record(client, document)
        assert [fault["at"] for fault in assert_problem(answer, 422)["errors"]] == [
            "operations.1.inputs.1",
            "operations.2.inputs.0",
            "destination.fields.0",
        ]
        assert is_store_empty(client)

    def test_without_a_source_there_is_no_read(self, client: FlaskClient) -> None:
        document = first_design()
        document["operations"] = [{"name": "make", "inputs": [], "outputs": ["x"]}]
        assert [fault["at"] for fault in assert_problem(record(client, document), 422)["errors"]] == [
            "operations"
        ]

    def test_dry_runs_of_it(self, client: FlaskClient) -> None:
        answer = record(client, first_design(), dryRun="true")
        assert answer.status_code == 200
        assert is_store_empty(client)
        (checksum,) = record_new(client, first_design())
        assert answer.json["checksum"] == checksum


def test_recording_takes_no_other_parameters(client: FlaskClient) -> None:
    answer = record(client, worked(), dryrun="true")
    (fault,) = assert_problem(answer, 400)["errors"]
    assert fault["at"] == "dryrun"
    assert "dryRun" in fault["detail"]
    assert is_store_empty(client)


def test_what_was_recorded_is_known_at_once(client: FlaskClient) -> None:
    record_new(client, worked())
    assert get_json(client) == {"namespaces": ["ns1"]}
    listed = client.get(target("v3", "search", q="NAME")).json["results"]
    assert [result.get("field") for result in listed] == ["first_name", "last_name"]
    assert client.get(path("ns1", "endpoints")).json["endpoints"] == [
        {"namespace": "ns1", "name": "people"},
        {"namespace": "ns1", "name": "user_data", "description": "…"},
    ]


def test_an_operation_of_the_first_design_with_too_many_source_fields_is_413(client: FlaskClient) -> None:
    document = first_design()
    sources = [{"source": {"name": f"s{number}"}} for number in range(401)]
    outputs = [f"o{number}" for number in range(250)]
    document["operations"] = [{"name": "join", "inputs": sources, "outputs": outputs}]
    answer = record(client, document)
    assert answer.status_code == 413
    assert "operation 'join' has 401 sources with 250 outputs each" in answer.json["detail"]
    assert is_store_empty(client)
