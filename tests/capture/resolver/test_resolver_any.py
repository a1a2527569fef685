"""Any line gives events or a warning, never an error; work grows with the plan only."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.capture.resolver import Resolver
from tests.support.capture.golden_dumps import recorded, resolve, resolver, short

LINES = [line for job in recorded("jobs-3.5.ndjson").values() for line in job]
LINES += [line for case in recorded("cases-3.5.ndjson").values() for line in case][::7]
LINES += [line for case in recorded("more-cases-4.3.ndjson").values() for line in case][::7]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 60) | st.text(max_size=3) | st.just(2**70),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(st.sampled_from(LINES), st.data())
def test_mutilated_text_raises_nothing(line: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(line)))
    stop = data.draw(st.integers(start, len(line)))
    events = resolve([line[:start] + data.draw(st.binary(max_size=4)) + line[stop:]])
    assert all(event["outputs"] for event in events)


@given(st.sampled_from(LINES), VALUES, st.data())
def test_any_value_in_any_place_raises_nothing(line: bytes, value: Any, data: st.DataObject) -> None:
    members = json.loads(line)
    parent, key = data.draw(st.sampled_from(list(_members(members))))
    parent[key] = value
    resolving = resolver()
    events = resolve([json.dumps(members).encode()], by=resolving) + resolving.finish()
    assert all(event["outputs"] for event in events)


def _members(value: Any) -> Any:
    """Every container in a JSON value, with each of its keys."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        yield from _members(item)


def test_an_unknown_plan_is_recorded_without_lineage(caplog: pytest.LogCaptureFixture) -> None:
    (line,) = recorded("jobs-4.3.ndjson")["_insert"]
    members = json.loads(line)
    members["plan"]["nodes"][0][2]["output"] = [99]
    (event,) = resolve([json.dumps(members).encode()])
    assert short(event)["output"] == "file /data/warehouse/t2"
    assert "fields" not in short(event)
    assert "lineage of a plan is unknown" in caplog.text


def test_rdds_that_are_written_are_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    lines = recorded("jobs-4.3.ndjson")["_rdd_files"]
    assert resolve(lines) == []
    assert caplog.text.count("RDDs that the application writes is not recorded") == 1


@pytest.mark.parametrize(("is_stream", "warnings"), [(False, 1), (True, 0)])
def test_paths_that_are_left_out_are_a_warning(
    is_stream: bool, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Once; the files of a stream are in few directories, whose names are complete."""
    (line, *_) = recorded("jobs-4.3.ndjson")["_files"]
    members = json.loads(line)
    members["datasets"][0] |= {"pathsLeftOut": 50, "stream": is_stream}
    resolving = resolver()
    for _ in range(2):
        (event,) = resolve([json.dumps(members).encode()], by=resolving)
        assert short(event)["inputs"]
    assert caplog.text.count("50 paths of a source are not recorded") == warnings


def chain(length: int) -> bytes:
    """A plan of `length` projections, each of which adds to the column of the one before."""
    expressions: list[Any] = [["AttributeReference", [], 0, "n"]]
    nodes: list[Any] = [["LogicalRelation", [], {"output": [0], "dataset": 0}]]
    for number in range(1, length + 1):
        row = len(expressions)
        expressions += [["Literal", []], ["Add", [row - 1, row]], ["Alias", [row + 1], number, "n"]]
        expressions.append(["AttributeReference", [], number, "n"])
        nodes.append(["Project", [number - 1], {"projectList": [row + 2], "output": [row + 2]}])
    nodes.append(["InsertIntoHadoopFsRelationCommand", [length], {"target": 1, "query": {"node": length}}])
    paths = ({"kind": "files", "paths": [f"file:/data/{name}"]} for name in ("in", "out"))
    execution = {"id": 1, "root": 1, "start": 1, "end": 2}
    plan = {"expressions": expressions, "nodes": nodes}
    return json.dumps({"execution": execution, "datasets": list(paths), "plan": plan}).encode()


@pytest.mark.parametrize("length", [1, 100, 20_000])
def test_deep_plans_need_no_deep_stack(length: int) -> None:
    (event,) = resolve([chain(length)])
    assert short(event)["fields"] == {"n": ["/data/in n TRANSFORMATION (n + ?)"]}


def test_a_plan_is_resolved_once() -> None:
    """The same query again is another write; only its times and ids differ."""
    resolving = Resolver("shop")
    first = json.loads(chain(3))
    second = {**first, "execution": {"id": 2, "root": 2, "start": 3, "end": 4}}
    events = resolve([json.dumps(line).encode() for line in (first, second)], by=resolving)
    assert short(events[0]) == short(events[1])
    assert events[0]["run"]["runId"] != events[1]["run"]["runId"]
