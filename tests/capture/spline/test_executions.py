"""Executions of Spline become events; whatever else the text is becomes an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.capture.spline import read_executions
from fll_hbase.capture.spline.spline_plan import INPUTS_MAX
from fll_hbase.runtime.errors import InputError
from tests.support import spline_plans as plans


def events(raw: bytes) -> list[dict[str, Any]]:
    items = list(read_executions(raw, namespace="shop"))
    return [json.loads(item) for item in items if isinstance(item, bytes)]


def fault(raw: bytes) -> str:
    with pytest.raises(InputError) as caught:
        list(read_executions(raw, namespace="shop"))
    return str(caught.value)


def test_an_execution_keeps_its_time_and_is_the_same_each_time() -> None:
    raw = plans.line(plans.join(), plans.execution(), plans.execution(plans.TIME_MS + 1))
    first, second = events(raw)
    assert (first["eventTime"], first["eventType"]) == ("2026-03-01T10:00:00.000Z", "COMPLETE")
    assert first["run"]["facets"]["fll_capture"]["started"] == "2026-03-01T09:59:55.000Z"
    assert first["run"]["runId"] != second["run"]["runId"]
    assert events(raw) == [first, second]


def test_the_file_of_the_agent_has_one_execution() -> None:
    document = {"executionPlan": plans.join(), "executionEvent": plans.execution()}
    assert events(json.dumps(document).encode()) == events(plans.line(plans.join(), plans.execution()))


def test_a_plan_that_never_ran_gives_nothing() -> None:
    assert events(plans.line(plans.join())) == []


def test_a_discriminator_makes_another_run() -> None:
    executions = [plans.execution(discriminator=name) for name in "ab"]
    first, second = events(plans.line(plans.join(), *executions))
    assert first["run"]["runId"] != second["run"]["runId"]


def test_columns_of_an_unknown_child_are_unknown() -> None:
    plan = plans.join()
    plan["operations"]["write"]["childIds"] = ["elsewhere"]
    (event,) = events(plans.line(plan, plans.execution()))
    assert "columnLineage" not in event["outputs"][0]["facets"]
    assert len(event["inputs"]) == 3


def test_columns_of_a_query_are_not_those_of_its_table() -> None:
    source = plans.read("top", ["a"], "jdbc:mysql://db/shop:(SELECT id AS k FROM orders) q")
    plan = plans.plan(reads=[source], attributes=[plans.attribute("a", "k")])
    (event,) = events(plans.line(plan, plans.execution()))
    assert [item["name"] for item in event["inputs"]] == ["shop.orders"]
    assert event["outputs"][0]["facets"]["columnLineage"]["fields"] == {}


@pytest.mark.parametrize("kind", ["ScalarSubquery", "Exists"])
def test_a_subquery_is_unknown(kind: str) -> None:
    assert columns_of(plans.function("e", kind, plans.attr("o")), plans.expr("e")) == {}


def test_a_cycle_is_unknown() -> None:
    assert columns_of(plans.function("e", "Add", plans.expr("e"), plans.attr("o")), plans.expr("e")) == {}


def columns_of(function: dict[str, Any], child: dict[str, str]) -> dict[str, Any]:
    """The columns of a plan with one column made by a function of `o`."""
    plan = plans.plan(
        reads=[plans.read("r", ["o"], "file:/in")],
        others=[plans.other("top", "Project", ["r"], ["p"])],
        attributes=[plans.attribute("o", "id"), plans.attribute("p", "x", child)],
        functions=[function],
    )
    (event,) = events(plans.line(plan, plans.execution()))
    columns: dict[str, Any] = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    return columns


@pytest.mark.parametrize("length", [10, 1_000, pytest.param(50_000, marks=pytest.mark.long)])
def test_a_long_chain(length: int) -> None:
    chain = [plans.function(f"e{number}", "Upper", plans.expr(f"e{number + 1}")) for number in range(length)]
    last = plans.function(f"e{length}", "Alias", plans.attr("o"))
    plan = plans.plan(
        reads=[plans.read("r", ["o"], "file:/in")],
        others=[plans.other("top", "Project", ["r"], ["p"])],
        attributes=[plans.attribute("o", "id"), plans.attribute("p", "x", plans.expr("e0"))],
        functions=[*chain, last],
    )
    (event,) = events(plans.line(plan, plans.execution()))
    (used,) = event["outputs"][0]["facets"]["columnLineage"]["fields"]["x"]["inputFields"]
    assert (used["field"], used["transformations"][0]["subtype"]) == ("id", "TRANSFORMATION")


def test_too_many_inputs_are_refused() -> None:
    width = 1_100
    names = [f"o{number}" for number in range(width)]
    sums = [plans.attribute(f"p{number}", f"x{number}", plans.expr("all")) for number in range(width)]
    plan = plans.plan(
        reads=[plans.read("r", names, "file:/in")],
        others=[plans.other("top", "Project", ["r"], [item["id"] for item in sums])],
        attributes=[*(plans.attribute(name, name) for name in names), *sums],
        functions=[plans.function("all", "Concat", *map(plans.attr, names))],
    )
    assert fault(plans.line(plan, plans.execution())) == f"expressions: have more than {INPUTS_MAX} inputs"


@pytest.mark.parametrize(
    ("document", "detail"),
    [
        ([], "must be an object, is an array"),
        ({}, "executionEvents: missing"),
        ({"executionPlan": plans.join()}, "executionEvents: missing"),
        ({"executionPlan": plans.join(), "executionEvents": 7}, "executionEvents: must be an array"),
        ({"executionPlan": {"id": "x"}, "executionEvents": []}, "outputSource: missing"),
    ],
)
def test_faults(document: Any, detail: str) -> None:
    assert detail in fault(json.dumps(document).encode())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "name", "__attrId"]), inner)
    ),
    max_leaves=5,
)


@given(st.data())
def test_any_change_of_a_plan_gives_events_or_input_errors(data: st.DataObject) -> None:
    document = {"executionPlan": plans.join(), "executionEvents": [plans.execution()]}
    target: Any = document
    while isinstance(target, (dict, list)) and target:
        keys = sorted(target) if isinstance(target, dict) else range(len(target))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(target[key], (dict, list)) or not target[key] or data.draw(st.integers(0, 3)) == 0:
            target[key] = data.draw(_JSON)
            break
        target = target[key]
    try:
        items = list(read_executions(json.dumps(document).encode(), namespace="shop"))
    except InputError:
        return
    assert len(items) <= 1
