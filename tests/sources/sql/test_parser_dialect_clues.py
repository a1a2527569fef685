"""SQL of another dialect than the document names: double quotes, words of one dialect, suggestions."""

from __future__ import annotations

import pytest

from fll_hbase.runtime.errors import UnreadableDocument
from fll_hbase.sources.dialect_names import DIALECTS
from fll_hbase.sources.sql import dialects
from tests.support.sql_readings import direct, read, warnings


class TestDoubleQuotes:
    """Where a text in double quotes can only be a name, all of the script are names."""

    @pytest.mark.parametrize("dialect", ["spark", "databricks", "hive", "mysql"])
    def test_tables_and_columns(self, dialect: str) -> None:
        text = 'INSERT INTO "o" ("k") SELECT "a" FROM "s"'
        reading = read(text, dialect=dialect)
        assert direct(reading) == {"o.k": {"s.a"}}
        assert "double quotes are read as names" in warnings(reading)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ('INSERT INTO o SELECT "A" AS k FROM (SELECT a AS "A" FROM s) q', {"o.k": {"s.a"}}),
            ('INSERT INTO o SELECT x."a" AS k FROM s x', {"o.k": {"s.a"}}),
            ('INSERT INTO o SELECT "a" AS k FROM s JOIN "t" ON s.id = t.id', {"o.k": {"s.a"}}),
            ('UPDATE "o" SET k = "a"', {"o.k": {"o.a"}}),
        ],
    )
    def test_shown_by(self, text: str, expected: dict[str, set[str]]) -> None:
        assert direct(read(text, schema={"s": ["id", "a"], "t": ["id"]})) == expected

    @pytest.mark.parametrize(
        "text",
        [
            'INSERT INTO o SELECT concat(a, "b") AS k FROM s WHERE c = "d"',
            'INSERT INTO o SELECT trim(BOTH "x" FROM "a") AS k FROM s',
            'CREATE FUNCTION f AS "a.B"; INSERT INTO o SELECT f("a") AS k FROM s',
            'INSERT INTO o SELECT count("x") AS k FROM s',
        ],
    )
    def test_strings_stay(self, text: str) -> None:
        reading = read(text)
        assert direct(reading)["o.k"] <= {"s.a"}
        assert "double quotes" not in warnings(reading)

    @pytest.mark.parametrize("dialect", ["mysql", "bigquery"])
    def test_an_alias_may_be_a_string(self, dialect: str) -> None:
        reading = read('CREATE TABLE o AS SELECT "a" AS "k" FROM s', dialect=dialect)
        assert direct(reading) == {"o.k": set()}


class TestWordsOfOneDialect:
    """SQL of one dialect only, read in the others as well."""

    @pytest.mark.parametrize("dialect", ["spark", "ansi", "teradata"])
    def test_phrases_of_teradata(self, dialect: str) -> None:
        text = "CREATE VIEW o AS SELECT a (TITLE 'A'), b (FORMAT '999') FROM s"
        assert direct(read(text, dialect=dialect)) == {"o.a": {"s.a"}, "o.b": {"s.b"}}

    def test_dashes_of_bigquery(self) -> None:
        text = "INSERT INTO my-project.d.o (k) SELECT a - b FROM my-other-project.d.s WHERE a-b.c > 1"
        reading = read(text, dialect="bigquery")
        assert direct(reading) == {"my-project.d.o.k": {"my-other-project.d.s.a", "my-other-project.d.s.b"}}

    def test_differences_behind_the_from_of_a_function(self) -> None:
        text = "INSERT INTO o (k) SELECT extract(DAY FROM a-s.c) FROM s"
        schema = {"s": ["a", "c"]}
        assert direct(read(text, dialect="postgres", schema=schema)) == {"o.k": {"s.a", "s.c"}}


@pytest.mark.parametrize("dialect", ["Snowflake", "SNOWFLAKE"])
def test_dialects_in_any_case(dialect: str) -> None:
    assert direct(read("INSERT INTO o (k) SELECT a FROM s", dialect=dialect)) == {"O.K": {"S.A"}}


@pytest.mark.parametrize("text", ["hello world", "hello", "1 + 1"])
def test_text_that_is_no_statement(text: str) -> None:
    with pytest.raises(UnreadableDocument, match="is not a statement of spark"):
        read(text)


class TestSuggestions:
    """The error of a statement names the dialects that it is SQL of."""

    @pytest.mark.parametrize(
        ("text", "suggestion"),
        [
            (
                "SELECT a INTO [dbo].[o] FROM [dbo].[s]",
                "read as spark, but valid in tsql, sqlite: give `dialect`",
            ),
            (
                "CREATE TABLE o AS SELECT a FROM s FINAL PREWHERE x",
                "read as spark, but valid in clickhouse: give `dialect`",
            ),
        ],
    )
    def test_error(self, text: str, suggestion: str) -> None:
        with pytest.raises(UnreadableDocument) as caught:
            read(text)
        assert suggestion in str(caught.value)

    def test_every_dialect_may_be_suggested(self) -> None:
        assert sorted(dialects.SUGGESTED) == sorted(DIALECTS)

    def test_warning(self) -> None:
        reading = read(
            "INSERT INTO o SELECT a FROM s; SELECT a INTO #x FROM [dbo].[s]; SELECT a INTO #y FROM [s]"
        )
        assert warnings(reading).count("give `dialect`") == 1

    @pytest.mark.parametrize(
        "text",
        [
            "INSERT INTO o SELECT (a FROM s",
            "INSERT INTO [o " + "a" * 20_000,
            # Other dialects read these as a command of unknown text, or as an expression.
            "CREATE STAGE [s]",
            "CREATE FLOW f AS INSERT INTO [t] BY NAME SELECT a FROM s",
            "hello x y [z]",
        ],
    )
    def test_of_none(self, text: str) -> None:
        with pytest.raises(UnreadableDocument) as caught:
            read(text)
        assert "give `dialect`" not in str(caught.value)
