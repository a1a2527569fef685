"""Macros, schemas and operations of pipeline configs, tested separately."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.datasets import Field
from fll_hbase.sources.cdap import stage_operations
from fll_hbase.sources.cdap.macros import DEPTH_MAX, TEXT_CHARS_MAX, Macros, ResolvedText
from fll_hbase.sources.cdap.record_schema import InvalidSchema, TooManyFields, describe_type, parse_schema
from fll_hbase.sources.cdap.stage_operations import Kind, StageInput, StageOperation

ARGUMENTS = {
    "a": "A",
    "b1": "B",
    "one": "1",
    "empty": "",
    "to_a": "<${a}>",
    "me": "${me}",
    "a:b": "whole key",
    **{f"deep{number}": f"${{deep{number + 1}}}" for number in range(20)},
}


class TestMacros:
    """Replacement of macros in texts."""

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("", ""),
            ("plain {x} $ } text", "plain {x} $ } text"),
            ("${a}", "A"),
            ("x${a}y${a}", "xAyA"),
            ("${b${one}}", "B"),
            ("${to_a}", "<A>"),
            ("${empty}", ""),
            ("${none:default}", "default"),
            ("${a:default}", "A"),
            ("${none:}", ""),
            ("${a:b}", "whole key"),
            ("${none:${a}}", "A"),
            ('${none:{"x": {}}}', '{"x": {}}'),
            ("\\${a}", "${a}"),
            ("${none:\\}}", "}"),
        ],
    )
    def test_resolved(self, text: str, expected: str) -> None:
        assert Macros(ARGUMENTS).resolve(text) == ResolvedText(expected)

    @pytest.mark.parametrize(
        ("text", "keys"),
        [
            ("${none}", ["none"]),
            ("${none} ${a} ${gone} ${none}", ["none", "gone"]),
            ("${b${none}}", ["none", "b"]),
            ("${secure(key)}", ["secure(key)"]),
            ("${}", [""]),
            ("${a", ["a"]),
            ("${me}", ["me"]),
            ("${deep0}", [f"deep{DEPTH_MAX}"]),
        ],
    )
    def test_unresolved(self, text: str, keys: list[str]) -> None:
        assert list(Macros(ARGUMENTS).resolve(text).unresolved) == keys

    def test_a_value_too_deep_resolves_elsewhere(self) -> None:
        macros = Macros({**ARGUMENTS, "deep13": "bottom"})
        assert macros.resolve("${deep0}").unresolved
        assert macros.resolve("${deep10}") == ResolvedText("bottom")

    @given(
        st.lists(st.sampled_from(["${", "}", "{", "\\", "$", "a", ":", "b1", "one", "me", "to_a"])).map(
            "".join
        )
    )
    def test_any_text_is_resolved(self, text: str) -> None:
        resolved = Macros(ARGUMENTS).resolve(text)
        assert resolved == Macros(ARGUMENTS).resolve(text)
        if "$" not in text:
            assert resolved == ResolvedText(text.replace("\\}", "}"))

    def test_an_escaped_brace_is_a_brace_also_without_macros(self) -> None:
        assert Macros({"a": "x\\}"}).resolve("\\}") == ResolvedText("}")
        assert Macros({"a": "x\\}"}).resolve("${a}") == ResolvedText("x}")

    def test_a_text_that_is_too_long_is_not_taken_apart(self) -> None:
        resolved = Macros({}).resolve("${" * TEXT_CHARS_MAX)
        assert (resolved.text, resolved.unresolved) == ("", ("a text that is too long",))


class TestSchemas:
    """Fields and types of schemas."""

    @pytest.mark.parametrize(
        ("schema", "expected"),
        [
            ("long", "long"),
            (["string", "null"], "string?"),
            (["null", "string"], "string?"),
            (["null"], "null"),
            (["int", "string", "null"], "union<int, string>?"),
            ({"type": "array", "items": "int"}, "array<int>"),
            ({"type": "array", "items": ["int", "null"]}, "array<int?>"),
            ({"type": "map", "keys": "string", "values": "string"}, "map<string, string>"),
            ({"type": "map", "values": {"type": "array", "items": "long"}}, "map<string, array<long>>"),
            ({"type": "long", "logicalType": "timestamp-micros"}, "timestamp-micros"),
            ({"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1}, "decimal(5, 1)"),
            ({"type": "enum", "symbols": ["A"]}, "enum"),
            ({"type": ["int", "null"]}, "int?"),
            ({}, ""),
            (7, ""),
        ],
    )
    def test_types(self, schema: Any, expected: str) -> None:
        assert describe_type(schema) == expected

    def test_records_are_paths(self) -> None:
        inner = {"type": "record", "name": "inner", "fields": [{"name": "x", "type": "int"}]}
        fields = [
            {"name": "id", "type": "long"},
            {"name": "one", "type": inner},
            {"name": "many", "type": {"type": "array", "items": ["null", "inner"]}},
            {"name": "keyed", "type": {"type": "map", "values": {**inner, "name": "other"}}},
            {"name": "empty", "type": {"type": "record", "name": "none", "fields": []}},
        ]
        schema = parse_schema(json.dumps({"type": "record", "name": "r", "fields": fields}), spare_fields=10)
        assert schema.types == {
            "id": "long",
            "one/x": "int",
            "many/x": "int",
            "keyed/x": "int",
            "empty": "record",
        }
        assert schema.records["many"] == ("many/x",)

    def test_a_record_inside_itself_is_a_field(self) -> None:
        fields = [{"name": "next", "type": ["node", "null"]}, {"name": "x", "type": "int"}]
        schema = parse_schema(
            json.dumps({"type": "record", "name": "node", "fields": fields}), spare_fields=10
        )
        assert schema.types == {"next": "node?", "x": "int"}

    @pytest.mark.parametrize(
        "text",
        [
            *("", "public", "[]", "7", "{}", '{"type": "record"}', '{"type": "record", "fields": {}}'),
            *('{"type": "record", "fields": [1]}', '{"type": "record", "fields": [{"name": "a"}]}'),
            *('{"type": "record", "fields": [{"name": "", "type": "int"}]}', '{"type": "string"}'),
            '{"type": "record", "fields": [{"name": "' + "a" * 4_097 + '", "type": "int"}]}',
            '{"type": "record", "fields": [{"name": "\\ud800", "type": "int"}]}',
            '{"type": "record", "fields": [{"name": "a", "type": ' + "[" * 5_000 + "]" * 5_000 + "}]}",
        ],
    )
    def test_invalid(self, text: str) -> None:
        with pytest.raises(InvalidSchema):
            parse_schema(text, spare_fields=10)

    def test_expansion_of_named_records_is_limited(self) -> None:
        fields = [
            {"name": "f0", "type": {"type": "record", "name": "r0", "fields": [{"name": "x", "type": "int"}]}}
        ]
        for number in range(1, 20):
            pair = [{"name": name, "type": f"r{number - 1}"} for name in "ab"]
            fields.append(
                {"name": f"f{number}", "type": {"type": "record", "name": f"r{number}", "fields": pair}}
            )
        with pytest.raises(TooManyFields):
            parse_schema(json.dumps({"type": "record", "name": "r", "fields": fields}), spare_fields=1_000)


def transform(name: str, inputs: str, outputs: str) -> StageOperation:
    """An operation over fields of one letter each."""
    return StageOperation(
        Kind.TRANSFORM, name, "", "", tuple(map(StageInput, inputs)), tuple(map(Field, outputs))
    )


class TestLint:
    """Lint of operations beyond the ancestor's cases."""

    def test_an_input_output_later_is_unknown(self) -> None:
        result = stage_operations.lint(
            [transform("one", "z", "d"), transform("two", "a", "z")], is_available="a".__contains__
        )
        assert result.unknown_inputs == {"z": ["one"]}

    def test_an_input_counts_once_per_operation(self) -> None:
        result = stage_operations.lint(
            [transform("one", "zz", "a"), transform("two", "z", "b")], is_available="".__contains__
        )
        assert result.unknown_inputs == {"z": ["one", "two"]}

    def test_an_output_used_in_between_is_not_redundant(self) -> None:
        operations = [transform("one", "a", "x"), transform("two", "x", "y"), transform("three", "a", "x")]
        assert stage_operations.lint(operations, is_available="a".__contains__).redundant_outputs == {}

    def test_all_but_the_last_output_before_a_use_are_redundant(self) -> None:
        operations = [transform(str(number), "a", "x") for number in range(3)]
        operations.append(transform("last", "ax", "x"))
        result = stage_operations.lint(operations, is_available="a".__contains__)
        assert result.redundant_outputs == {"x": ["0", "1"]}
        assert result.unknown_inputs == {}
