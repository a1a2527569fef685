"""The oracle agrees with the contract's own examples and small cases."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.operations import Json, filtered, read, run, transform, write
from tests.oracle.oracle import Oracle

ALL = (0, 10**15)
CHECKSUM = "0123456789abcdef0123456789abcdef"
OLDER = "fedcba9876543210fedcba9876543210"


def oracle_of(*operations: Json, run_members: Json | None = None) -> Oracle:
    oracle = Oracle()
    assert (
        oracle.record("ns1", {"run": run_members or run(), "operations": list(operations)}, CHECKSUM)[0]
        == 201
    )
    return oracle


def end(name: str) -> Json:
    return {"namespace": "ns1", "name": name}


def high(oracle: Oracle, name: str, **more: Any) -> list[tuple[Any, ...]]:
    """Entries in short: (level, direction, source, destination, field map)."""
    _, body, _ = oracle.high_level("ns1", name, *ALL, **more)
    names = [
        (e["source"] and e["source"]["name"], e["destination"] and e["destination"]["name"]) for e in body
    ]
    return [(e["level"], e["direction"], *n, e["fieldmap"]) for e, n in zip(body, names, strict=True)]


WORKED = [
    read("read", "user_data", "offset", "body", description="Reading the file"),
    {**transform("parse", ["read.body"], "first_name", "last_name"), "description": "…"},
    transform("drop", ["read.offset"]),
    write("store", "people", "parse.first_name", "parse.last_name"),
]


def test_worked_example_high_level() -> None:
    _, body, truncated = oracle_of(*WORKED).high_level("ns1", "user_data", *ALL)
    tail = {"level": 1, "direction": "forward"}
    names = [{"from": "body", "to": "first_name"}, {"from": "body", "to": "last_name"}]
    dropped = [{"from": "offset", "to": None}]
    assert body == [
        {"source": end("user_data"), "destination": None, "fieldmap": dropped, **tail},
        {"source": end("user_data"), "destination": end("people"), "fieldmap": names, **tail},
    ]
    assert not truncated


def test_worked_example_detailed() -> None:
    written = {
        "id": "parse.first_name",
        "label": "first_name",
        "origin": "parse",
        "destinationEndPoint": end("people"),
    }
    status, body = oracle_of(*WORKED).detailed("ns1", "people", "first_name", *ALL)
    assert status == 200
    assert body == {
        "nodes": [
            written,
            {"id": "read.body", "label": "body", "origin": "read", "sourceEndPoint": end("user_data")},
        ],
        "operations": [
            {"name": "parse", "description": "…", "type": "TRANSFORM"},
            {"name": "read", "description": "Reading the file", "type": "READ"},
            {"name": "store", "description": "", "type": "WRITE"},
        ],
        "connections": [{"from": "read.body", "to": "parse.first_name", "operation": "parse"}],
        "checksums": [CHECKSUM],
        "truncated": False,
    }


def test_worked_example_dry_run() -> None:
    document = {"run": run(), "operations": WORKED}
    oracle = oracle_of(*WORKED)
    _, body = Oracle().dry_run("ns1", document, CHECKSUM)
    assert body["lineage"] == oracle.high_level("ns1", "user_data", *ALL)[1]
    assert body["warnings"] == []


def first(name: str, inputs: list[Json], *outputs: str) -> Json:
    return {"name": name, "description": f"{name} it", "inputs": inputs, "outputs": list(outputs)}


def field(name: str) -> Json:
    return {"field": {"name": name}}


PIPELINE: Json = {
    "run": run(),
    "destination": {"namespace": "myns", "name": "mytableds", "description": "a table"},
    "operations": [
        first("read", [{"source": {"namespace": "myns", "name": "user_data"}}], "body"),
        first("parse", [field("body")], "first_name", "last_name", "age"),
        first("concat", [field("first_name"), field("last_name")], "name"),
        first("drop", [field("first_name")]),
        first("drop", [field("last_name")]),
        first("create", [field("name")], "id"),
    ],
}


def pipeline() -> Oracle:
    oracle = Oracle()
    assert oracle.record("ns1", PIPELINE, CHECKSUM)[0] == 201
    return oracle


def test_pipeline_detailed() -> None:
    _, body = pipeline().detailed("myns", "mytableds", "id", *ALL)
    steps = [(item["from"], item["to"], item["operation"]) for item in body["connections"]]
    assert steps == [
        ("concat.name", "create.id", "create"),
        ("parse.first_name", "concat.name", "concat"),
        ("parse.last_name", "concat.name", "concat"),
        ("read.body", "parse.first_name", "parse"),
        ("read.body", "parse.last_name", "parse"),
    ]
    assert [item["name"] for item in body["operations"]] == ["concat", "create", "parse", "read", "write"]


def test_pipeline_simple() -> None:
    _, body = pipeline().detailed("myns", "mytableds", "id", *ALL, view="simple")
    assert [item["id"] for item in body["nodes"]] == ["create.id", "read.body"]
    ran = ["parse", "concat", "create"]
    ends = {"from": "read.body", "to": "create.id"}
    assert body["connections"] == [{**ends, "operation": "parse, concat, create", "operations": ran}]


def test_pipeline_writes_what_lives() -> None:
    _, body = pipeline().fields("myns", "mytableds")
    assert [item["name"] for item in body["fields"]] == ["age", "body", "id", "name"]


def test_pipeline_as_the_first_design_asked() -> None:
    _, body = pipeline().first_design("myns", "mytableds", "id", 0, 2000)
    (path,) = body["paths"]
    assert (body["startTimeInSeconds"], body["endTimeInSeconds"], path["runs"]) == (0, 2, ["1"])
    assert [item["name"] for item in path["operations"]] == ["read", "parse", "concat", "create", "write"]
    assert path["operations"][0]["inputs"] == ["user_data"]
    assert path["operations"][-1]["outputs"] == []


def test_repeated_names_and_the_write_are_made_unique() -> None:
    oracle = Oracle()
    late = first("write", [field("name"), {"source": {"name": "more"}}], "write")
    oracle.record("ns1", {**PIPELINE, "operations": [*PIPELINE["operations"], late]}, CHECKSUM)
    (run_members,) = oracle.history.runs.values()
    names = [operation.name for operation in run_members.content]
    assert names == ["read", "parse", "concat", "drop", "drop#2", "create", "write.read", "write", "write#2"]


def test_unknown_field_of_the_first_design_is_refused() -> None:
    document = {**PIPELINE, "operations": [*PIPELINE["operations"], first("x", [field("never")], "y")]}
    status, body = Oracle().record("ns1", document)
    assert (status, [item["fault"] for item in body["errors"]]) == (422, ["unknown field"])


def test_drop_beside_use() -> None:
    oracle = oracle_of(read("r", "s", "a"), transform("drop", ["r.a"]), write("w", "d", "r.a"))
    assert high(oracle, "s") == [
        (1, "forward", "s", None, [{"from": "a", "to": None}]),
        (1, "forward", "s", "d", [{"from": "a", "to": "a"}]),
    ]
    assert high(oracle, "d") == [(1, "backward", "s", "d", [{"from": "a", "to": "a"}])]


def test_dropped_generated_field_has_no_pair() -> None:
    generate, drop = transform("g", [], "x"), transform("drop", ["g.x"])
    oracle = oracle_of(read("r", "s", "a"), generate, drop, write("w", "d", "r.a"))
    assert high(oracle, "s") == [(1, "forward", "s", "d", [{"from": "a", "to": "a"}])]


def test_unlisted_output_is_no_drop_but_a_warning() -> None:
    document = [read("r", "s", "a"), transform("t", ["r.a"]), write("w", "d", "t.new")]
    oracle = Oracle()
    _, body = oracle.record("ns1", {"run": run(), "operations": document}, CHECKSUM)
    assert body["warnings"] == [{"at": "operations.2.inputs.0"}]
    assert high(oracle, "s") == [(1, "forward", "s", "d", [{"from": "a", "to": "new"}])]


def test_generated_with_indirect_beside_it() -> None:
    generate = transform("g", [filtered("r.a")], "x")
    oracle = oracle_of(read("r", "s", "a"), generate, write("w", "d", "g.x"))
    assert high(oracle, "d") == [
        (1, "backward", None, "d", [{"from": None, "to": "x"}]),
        (1, "backward", "s", "d", [{"from": "a", "to": "x", "influence": "indirect"}]),
    ]
    assert high(oracle, "d", indirect=False) == [(1, "backward", None, "d", [{"from": None, "to": "x"}])]
    assert high(oracle, "s") == [
        (1, "forward", "s", "d", [{"from": "a", "to": "x", "influence": "indirect"}])
    ]


def test_indirect_only_where_no_way_is_direct() -> None:
    oracle = oracle_of(
        read("r", "s", "a"), transform("t", ["r.a", filtered("r.a")], "b"), write("w", "d", "t.b")
    )
    assert high(oracle, "d") == [(1, "backward", "s", "d", [{"from": "a", "to": "b"}])]
    _, body = oracle.detailed("ns1", "d", "b", *ALL)
    assert [item.get("influence") for item in body["connections"]] == [None]


def test_whole_data_set_influence() -> None:
    oracle = oracle_of(read("r", "s", "a", "*"), write("w", "d", "r.*", filtered("r.a")))
    wildcard = {"from": "a", "to": "*", "influence": "indirect", "scope": "dataset"}
    assert high(oracle, "d") == [(1, "backward", "s", "d", [{"from": "*", "to": "*"}, wildcard])]
    assert high(oracle, "d", indirect=False) == [(1, "backward", "s", "d", [{"from": "*", "to": "*"}])]
    assert oracle.detailed("ns1", "d", "*", *ALL)[1]["connections"] == []


def test_indirect_drop() -> None:
    oracle = oracle_of(read("r", "s", "a"), transform("drop", [filtered("r.a")]), write("w", "d"))
    dropped = {"from": "a", "to": None, "influence": "indirect"}
    assert high(oracle, "s") == [(1, "forward", "s", None, [dropped]), (1, "forward", "s", "d", [])]
    assert high(oracle, "s", indirect=False) == [(1, "forward", "s", "d", [])]


@pytest.mark.parametrize("name", ["s", "d"])
def test_unknown(name: str) -> None:
    oracle = oracle_of(read("r", "s"), read("r2", "s2", "a"), write("w", "d", "r2.a"))
    _, body, _ = oracle.high_level("ns1", name, *ALL)
    assert [e["unknown"] for e in body if e["source"] == end("s")] == [True]
    assert all("unknown" not in item for item in body if item["source"] == end("s2"))


def test_cycle_between_end_points_ends_the_walk() -> None:
    oracle = oracle_of(read("r", "a", "x"), write("w", "b", "r.x"))
    document = {"run": run(2), "operations": [read("r", "b", "x"), write("w", "a", "r.x")]}
    oracle.record("ns1", document, OLDER)
    pair = [{"from": "x", "to": "x"}]
    assert high(oracle, "a", level=9) == [
        (1, "forward", "a", "b", pair),
        (1, "backward", "b", "a", pair),
        (2, "backward", "a", "b", pair),
        (2, "forward", "b", "a", pair),
    ]


def chain(length: int) -> Oracle:
    oracle = Oracle()
    for number in range(1, length + 1):
        ends = [read("r", f"e{number:02}", "x"), write("w", f"e{number + 1:02}", "r.x")]
        oracle.record("ns1", {"run": run(number), "operations": ends}, f"{number:032x}")
    return oracle


@pytest.mark.parametrize(("level", "length", "truncated"), [(40, 33, True), (32, 33, False), (40, 31, False)])
def test_the_cap_says_so(level: int, length: int, truncated: bool) -> None:
    assert chain(length).high_level("ns1", "e01", *ALL, level=level)[2] is truncated


def test_older_namesakes_are_renamed() -> None:
    oracle = oracle_of(*WORKED, run_members=run(2))
    changed = [{**WORKED[0], "description": "otherwise"}, *WORKED[1:]]
    oracle.record("ns1", {"run": run(1), "operations": changed}, OLDER)
    _, body = oracle.detailed("ns1", "people", "last_name", *ALL)
    assert [item["name"] for item in body["operations"]] == ["parse", "read", "read@fedcba98", "store"]
    assert [item["from"] for item in body["connections"]] == ["read.body", "read@fedcba98.body"]
    assert body["checksums"] == [CHECKSUM, OLDER]


def test_forward_lists_drops_dead_ends_and_every_destination() -> None:
    operations = [read("r", "s", "a%.b"), transform("t", ["r.a%.b"], "dead"), transform("drop", ["t.dead"])]
    oracle = oracle_of(*operations, write("w1", "d2", "r.a%.b"), write("w2", "d1", "r.a%.b"))
    _, body = oracle.detailed("ns1", "s", "a%.b", *ALL, direction="forward")
    assert [item["id"] for item in body["nodes"]] == ["r.a%25%2Eb", "t.dead"]
    assert body["nodes"][0]["destinationEndPoint"] == end("d1")
    assert body["nodes"][0]["destinationEndPoints"] == [end("d1"), end("d2")]
    assert [item["name"] for item in body["operations"]] == ["drop", "r", "t", "w1", "w2"]


def test_same_replaced_and_failed() -> None:
    oracle = oracle_of(*WORKED)
    document = {"run": run(), "operations": WORKED}
    assert oracle.record("ns1", document, CHECKSUM) == (
        200,
        {"checksum": CHECKSUM, "run": "1", "recorded": False},
    )
    failed = {"run": run(state="FAIL"), "operations": [read("r", "s", "a"), write("w", "d", "r.a")]}
    assert oracle.record("ns1", failed, OLDER)[1]["replaced"]
    assert high(oracle, "people") == high(oracle, "s") == []
    assert len(high(oracle, "s", failed=True)) == 1
    assert oracle.runs("ns1", "people", *ALL) == (200, {"runs": []})
    assert oracle.runs("ns1", "s", *ALL)[1]["runs"][0]["state"] == "FAIL"


def test_unknown_names_are_404_known_ones_are_empty() -> None:
    oracle = oracle_of(*WORKED)
    assert oracle.high_level("ns1", "never", *ALL)[0] == 404
    assert oracle.detailed("ns1", "people", "never", *ALL)[0] == 404
    assert oracle.high_level("ns1", "people", 1001, 2000) == (200, [], False)
    assert oracle.high_level("ns1", "people", 0, 1000) == (200, [], False)
    assert oracle.high_level("ns1", "people", 1000, 1001)[1]


@pytest.mark.parametrize(
    ("operations", "faults"),
    [
        ([], ["no READ", "no WRITE"]),
        ([*WORKED, WORKED[0]], ["repeated name"]),
        ([*WORKED, transform("t", ["nowhere.x", "store.x"], "y")], ["bad origin", "bad origin"]),
        ([*WORKED, transform("t", ["t.x"], "x")], ["cycle"]),
        ([*WORKED, transform("t", ["u.x"], "x"), transform("u", ["t.x"], "x")], ["cycle"]),
    ],
)
def test_refused(operations: list[Json], faults: list[str]) -> None:
    oracle = Oracle()
    status, body = oracle.record("ns1", {"run": run(), "operations": operations})
    assert (status, [item["fault"] for item in body["errors"]]) == (422, faults)
    assert not oracle.history.ever
