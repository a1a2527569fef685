"""Tools of queries: the name, description and JSON schema of each, and the query that a call means."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import msgspec

from fll_hbase import queries
from fll_hbase.queries.pages import Paged
from fll_hbase.queries.parameters import Kind, Parameter, parameters
from fll_hbase.queries.query import Posted, Query
from fll_hbase.runtime.errors import FieldError, InvalidQuery
from fll_hbase.runtime.json_types import Json

PAGE_LIMIT = 50
"""Items of a page of a tool that has no `limit`: fewer than elsewhere, because an assistant reads them."""

_OTHER_FORMATS = frozenset({"part", "timezone"})
"""Parameters that only choose how a report is printed or exported, which no tool does."""

# Sentences about HTTP and Python would mislead an assistant.
_OTHER_FRONTS = re.compile(r"\bAccept\b|\bPython\b|\bthe URL\b")
_SENTENCE_END = re.compile(r"(?<=\.)\s+")
_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])")

_NAME_HELP = {
    "namespace": "Namespace of the dataset, program or run",
    "name": "Name of the dataset",
    "field": "Name of the field",
}
_JSON_TYPES: dict[Kind, tuple[tuple[type, ...], str]] = {
    Kind.TEXT: ((str,), "a string"),
    Kind.WORD: ((str,), "a string"),
    Kind.TIME: ((str, int, float), "a time as a string"),
    Kind.COUNT: ((int,), "a whole number"),
    Kind.FLAG: ((bool,), "true or false"),
}
"""The Python types of JSON values by the kind of a parameter, and their description in errors."""

_SCHEMA_TYPES = {Kind.COUNT: "integer", Kind.FLAG: "boolean"}


@dataclass(frozen=True)
class QueryTool:
    """The tool of one query."""

    query: type[Query[Any]]

    @cached_property
    def name(self) -> str:
        """The name of the query in lower case, such as `field_lineage`."""
        return _WORD_START.sub("_", self.query.__name__).lower()

    @cached_property
    def description(self) -> str:
        """The description of the query, without examples and sentences about HTTP or Python."""
        text = inspect.cleandoc(self.query.__doc__ or "").partition("\n>>>")[0]
        sentences = _SENTENCE_END.split(" ".join(text.split()))
        return " ".join(item for item in sentences if not _OTHER_FRONTS.search(item))

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters of the tool by name, in the order of the query."""
        listed = (item for item in parameters(self.query) if item.attribute not in _OTHER_FORMATS)
        return {item.attribute: item for item in listed}

    @cached_property
    def input_schema(self) -> Json:
        """The JSON schema of the arguments, an object without other members."""
        values = {name: self._value_schema(item) for name, item in self.parameters.items()}
        schema = {
            "type": "object",
            "properties": values | self.body_members,
            "required": [name for name, item in self.parameters.items() if item.required],
            "additionalProperties": False,
        }
        return schema | ({"$defs": self._schemas} if self._schemas else {})

    @cached_property
    def body_members(self) -> Json:
        """The JSON schemas of the members of a request's body by name; a query without a body has none."""
        if not issubclass(self.query, Posted):
            return {}
        members: Json = self._schemas[self.query.request.__name__]["properties"]
        return members

    @cached_property
    def _schemas(self) -> Json:
        """The JSON schemas of a request's body and of its parts by name."""
        schema = msgspec.json.schema(self.query.request) if issubclass(self.query, Posted) else {}
        return dict(schema.get("$defs", {}))

    def to_query(self, arguments: Mapping[str, Any]) -> Query[Any]:
        """Return the query of a call; null means that an argument is absent.

        A list without a limit gets PAGE_LIMIT. Raises InvalidQuery with every argument that is missing,
        unknown or not valid, and UnreadableDocument with every error of what HTTP sends in a body.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        body = {name: given.pop(name) for name in self.body_members if name in given}
        listed = ", ".join((*self.parameters, *self.body_members)) or "none"
        errors = [
            FieldError(name, f"unknown parameter; parameters here: {listed}")
            for name in given
            if name not in self.parameters
        ]
        for name, item in self.parameters.items():
            if name in given and (fault := _type_fault(item, given[name])):
                errors.append(FieldError(name, fault))
            elif item.required and name not in given:
                errors.append(FieldError(name, "missing"))
        if errors:
            raise InvalidQuery(errors)
        if issubclass(self.query, Posted):
            given |= self.query.body_parameters(msgspec.json.encode(body))
        query = self.query(**given)
        query.check()
        if isinstance(query, Paged) and query.limit is None:
            return replace(query, limit=PAGE_LIMIT)
        return query

    def _value_schema(self, parameter: Parameter) -> Json:
        """Return the JSON schema of one argument, with its help, words, bounds and default, if it has any."""
        about, name = parameter.about, parameter.attribute
        is_page_limit = name == "limit" and issubclass(self.query, Paged)
        is_counted = parameter.kind is Kind.COUNT
        members = {
            "description": about.help or (parameter.required and _NAME_HELP.get(name)),
            "type": _SCHEMA_TYPES.get(parameter.kind, "string"),
            "enum": list(parameter.words),
            "minimum": about.minimum if is_counted else None,
            "maximum": about.maximum if is_counted else None,
            "default": PAGE_LIMIT if is_page_limit else parameter.default,
        }
        return {
            key: value for key, value in members.items() if value or (key == "default" and value is False)
        }


def _type_fault(parameter: Parameter, value: Any) -> str:
    """Return what is wrong with the JSON type of an argument, or "" for a value of the right type."""
    types, expected = _JSON_TYPES[parameter.kind]
    # `true` is a number in Python, and JSON of Python has `Infinity`.
    is_flag = isinstance(value, bool)
    is_valid = isinstance(value, types) and is_flag == (parameter.kind is Kind.FLAG)
    is_infinite = isinstance(value, float) and not math.isfinite(value)
    return "" if is_valid and not is_infinite else f"invalid value: expected {expected}"


@cache
def query_tools() -> Mapping[str, QueryTool]:
    """Return the tool of each query that `fll_hbase.queries` lists, by name."""
    tools = (QueryTool(getattr(queries, name)) for name in queries.__all__)
    return {tool.name: tool for tool in tools}
