"""Each query has a tool, whose schema states its parameters, and whose errors list every fault."""

from __future__ import annotations

import inspect
from importlib import import_module  # noqa: TID251
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fll_hbase import queries
from fll_hbase.mcp.query_tools import PAGE_LIMIT, QueryTool, query_tools
from fll_hbase.queries import cdap_routes
from fll_hbase.queries.impact.change_impact import Impact
from fll_hbase.queries.parameters import Kind
from fll_hbase.queries.query import Changeable, Query
from fll_hbase.queries.runs import Runs
from fll_hbase.runtime.errors import InvalidQuery, UnreadableDocument

TOOLS = sorted(query_tools().items())
CHANGE = {"namespace": "bank", "name": "DailyTransactions", "field": "UID", "change": "drop"}
EXAMPLES = {Kind.TEXT: "x", Kind.TIME: "now-1d", Kind.COUNT: 3, Kind.FLAG: True}


def _all_queries() -> set[type[Query[Any]]]:
    """Every query with a path, wherever it is defined."""
    folder = Path(queries.__path__[0])
    listed: set[type[Query[Any]]] = set()
    for file in folder.rglob("*.py"):
        name = ".".join(file.relative_to(folder).with_suffix("").parts)
        module = import_module(f"fll_hbase.queries.{name}".removesuffix(".__init__"))
        listed.update(
            item
            for item in vars(module).values()
            if inspect.isclass(item) and issubclass(item, Query) and hasattr(item, "path")
        )
    return listed


def test_each_query_has_a_tool() -> None:
    """Apart from those of one tag or policy, which lists show, and from the words of another system."""
    others = {item for item in _all_queries() if item.__module__ == cdap_routes.__name__}
    others |= {item for item in _all_queries() if issubclass(item, Changeable)}
    assert {tool.query for _, tool in TOOLS} == _all_queries() - others


@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_a_schema_is_valid_and_accepts_what_the_tool_does(name: str, tool: QueryTool) -> None:
    Draft202012Validator.check_schema(tool.input_schema)
    arguments = {
        attribute: item.words[-1] if item.words else EXAMPLES[item.kind]
        for attribute, item in tool.parameters.items()
    }
    arguments = {key: value for key, value in arguments.items() if key not in ("end", "base_end")}
    body = {"fields": [CHANGE]} if tool.body_members else {}
    Draft202012Validator(tool.input_schema).validate(arguments | body)
    query = tool.to_query(arguments | body)
    assert {key: getattr(query, key) for key in arguments} == arguments
    assert name.isascii()
    assert len(name) <= 40
    assert tool.description
    assert "Accept" not in tool.description
    assert "Python" not in tool.description


def test_members_of_a_body_are_arguments_with_a_schema() -> None:
    tool = query_tools()["impact"]
    parsed = Impact.body_parameters(msgspec.json.encode({"fields": [CHANGE]}))
    query = tool.to_query({"fields": [CHANGE], "level": 2, "documents": None})
    assert query == Impact(level=2, fields=parsed["fields"])
    validator = Draft202012Validator(tool.input_schema)
    assert not validator.is_valid({"fields": [{**CHANGE, "change": "lose"}]})
    with pytest.raises(UnreadableDocument) as refused:
        tool.to_query({"fields": [{**CHANGE, "change": "lose"}, 7]})
    assert len(refused.value.errors) == 2


def test_a_schema_states_help_bounds_words_and_defaults() -> None:
    schema = query_tools()["runs"].input_schema
    assert schema["required"] == ["namespace", "name"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["limit"] == {"type": "integer", "minimum": 1, "default": PAGE_LIMIT}
    assert schema["properties"]["state"]["enum"] == ["RUNNING", "COMPLETE", "FAIL", "ABORT"]
    assert query_tools()["reach"].input_schema["properties"]["indirect"]["default"] is True
    assert query_tools()["history"].input_schema["properties"]["failed"] == {
        "description": "Include failed and aborted runs",
        "type": "boolean",
        "default": False,
    }


def test_null_means_absent_and_pages_are_short() -> None:
    query = query_tools()["runs"].to_query({"namespace": "a", "name": "b", "field": None, "limit": None})
    assert query == Runs("a", "b", limit=PAGE_LIMIT)


def test_an_error_lists_every_fault() -> None:
    with pytest.raises(InvalidQuery) as caught:
        query_tools()["runs"].to_query({"name": 3, "limit": True, "field": ["x"], "start": {}, "windw": 1})
    assert {error.path for error in caught.value.errors} == {
        *("windw", "namespace", "name", "start", "field", "limit")
    }
    with pytest.raises(InvalidQuery) as caught:
        query_tools()["reach"].to_query(
            {"namespace": "", "name": "b", "field": "c", "direction": "up", "level": 0}
        )
    assert [error.path for error in caught.value.errors] == ["namespace", "level", "direction"]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(st.data())
def test_any_json_gives_a_query_or_its_faults(data: st.DataObject) -> None:
    _, tool = data.draw(st.sampled_from(TOOLS))
    names = st.sampled_from([*tool.parameters]) | st.text(max_size=3)
    arguments = data.draw(st.dictionaries(names, _JSON, max_size=6))
    try:
        assert isinstance(tool.to_query(arguments), tool.query)
    except InvalidQuery as error:
        assert error.errors  # noqa: PT017 (either is right)
