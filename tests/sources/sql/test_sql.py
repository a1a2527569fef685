"""SQL source: resolution of columns, descriptions, warnings, and one checksum per job."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.operations import Read, Write
from fll_hbase.runtime.errors import InvalidLineage, TooLarge, UnreadableDocument
from fll_hbase.sources import sql
from fll_hbase.sources.native.document import Reading
from tests.support.sql_readings import Edges, _edges, _is_indirect, _reads, direct, document, read, warnings

TABLES = {"s": ["id", "a", "b", "c"], "t": ["id", "x", "y"], "u": ["id", "z"]}


def indirect(reading: Reading) -> Edges:
    """Indirect inputs with their kinds, by written field; `table.*` for those of all its rows."""
    edges = {name: inputs for name, inputs in _edges(reading, _is_indirect).items() if inputs}
    reads = _reads(reading)
    for write in reading.operations.info.operations:
        if isinstance(write, Write):
            inputs = {
                f"{reads[field.origin]}.{field.name} {field.kind}"
                for field in write.inputs
                if _is_indirect(field)
            }
            edges |= {f"{write.destination.name}.*": inputs} if inputs else {}
    return edges


def descriptions(reading: Reading) -> dict[str, str]:
    return {operation.name: operation.description for operation in reading.operations.info.operations}


class TestChecksum:
    """A job has one checksum, independent of literals, blanks and comments."""

    DAILY = "INSERT INTO t SELECT id, a || 'x', 5 FROM s WHERE c = '2026-11-21' AND b IN (1, 2)"

    @pytest.mark.parametrize(
        "same",
        [
            DAILY.replace("21", "22").replace("'x'", "'why'").replace("5", "7.25"),
            DAILY.replace("(1, 2)", "(1, 2, 3, 4)"),
            DAILY.replace(" FROM", "\n  FROM  ").replace("WHERE", "-- today\nWHERE /* only */"),
            f"{DAILY};\n",
        ],
    )
    def test_the_same_job(self, same: str) -> None:
        first, second = read(self.DAILY, schema=TABLES), read(same, schema=TABLES)
        assert first.operations.info.checksum == second.operations.info.checksum

    @pytest.mark.parametrize("other", [DAILY.replace("a ||", "b ||"), DAILY.replace("c =", "a =")])
    def test_another_job(self, other: str) -> None:
        first, second = read(self.DAILY, schema=TABLES), read(other, schema=TABLES)
        assert first.operations.info.checksum != second.operations.info.checksum

    def test_the_statement_is_stored_with_the_run(self) -> None:
        assert json.loads(read(self.DAILY, schema=TABLES).run.details) == {"sql": self.DAILY}

    def test_reading_twice_gives_the_same_run(self) -> None:
        assert read(self.DAILY, schema=TABLES).recorded == read(self.DAILY, schema=TABLES).recorded


class TestDescriptions:
    """A description is the text of the expression, and of the columns it refers to."""

    @pytest.mark.parametrize(
        ("item", "text"),
        [
            ("UPPER(a) AS k", "UPPER(a)"),
            ("upper( a )  k", "upper( a )"),
            ("a /* why */ + 1 AS k", "a + ?"),
            ("CASE WHEN a = 'x' THEN b ELSE -1 END AS k", "CASE WHEN a = ? THEN b ELSE -? END"),
            ("s.a AS k", "s.a"),
            ("CAST(a AS DECIMAL(10, 2)) AS k", "CAST(a AS DECIMAL(?, ?))"),
            ("(SELECT MAX(z) FROM u) AS k", "(SELECT MAX(z) FROM u)"),
            ("SUM(a) OVER (PARTITION BY b ORDER BY c) AS k", "SUM(a) OVER (PARTITION BY b ORDER BY c)"),
            ("a IS DISTINCT FROM b AS k", "a IS DISTINCT FROM b"),
            ("LEFT(a, 3) AS k", "LEFT(a, ?)"),
            ("1 AS k", "?"),
            ("DISTINCT a + b AS k", "a + b"),
        ],
    )
    def test_column(self, item: str, text: str) -> None:
        reading = read(f"CREATE TABLE o AS SELECT {item}, c FROM s", schema=TABLES)
        assert descriptions(reading)["o.k"] == text

    def test_column_computed_from_others(self) -> None:
        reading = read(
            "WITH q AS (SELECT a - b AS net FROM s), r AS (SELECT net * 2 AS twice FROM q) "
            "INSERT INTO o (k) SELECT twice + 1 FROM r"
        )
        assert descriptions(reading)["o.k"] == "twice + ?\ntwice: net * ?\nnet: a - b"

    def test_write(self) -> None:
        reading = read(
            "INSERT OVERWRITE t SELECT s.id, MAX(a), 1 FROM s JOIN u ON s.id = u.id WHERE b > 5 "
            "GROUP BY s.id HAVING MAX(a) > 2 ORDER BY s.id",
            schema=TABLES,
        )
        assert descriptions(reading)["write t"].splitlines() == [
            "INSERT OVERWRITE",
            "ON s.id = u.id",
            "WHERE b > ?",
            "GROUP BY s.id",
            "HAVING MAX(a) > ?",
            "ORDER BY s.id",
        ]

    def test_long_descriptions_are_truncated(self) -> None:
        reading = read(f"CREATE TABLE o AS SELECT {' + '.join(['a'] * 5000)} AS k FROM s")
        assert len(descriptions(reading)["o.k"]) == 2000


class TestOperations:
    """One READ per source, one TRANSFORM per column of a statement, one WRITE per target."""

    def test_names(self) -> None:
        reading = read(
            "INSERT INTO t (x) SELECT a FROM s; INSERT INTO t (x, y) SELECT b, c FROM s; "
            "INSERT INTO u (z) SELECT x FROM t",
            schema=TABLES,
        )
        names = [operation.name for operation in reading.operations.info.operations]
        assert names == sorted(["read s", "read t", "t.x", "t.x#2", "t.y", "u.z", "write t", "write u"])
        assert direct(reading) == {"t.x": {"s.a", "s.b"}, "t.y": {"s.c"}, "u.z": {"t.x"}}

    def test_types(self) -> None:
        typed = {"s": [{"name": "a", "type": "int"}], "o": [{"name": "k", "type": "long"}]}
        operations = read("INSERT INTO o SELECT a FROM s", schema=typed).operations.info.operations
        outputs = {
            operation.name: operation.outputs[0].type
            for operation in operations
            if not isinstance(operation, Write)
        }
        assert outputs == {"read s": "int", "o.k": "long"}

    def test_datasets_are_in_the_namespace_and_under_one_spelling(self) -> None:
        reading = read(
            "CREATE TABLE O AS SELECT A, s.B FROM S; INSERT INTO o SELECT b, a FROM S", schema=TABLES
        )
        assert reading.operations.info.sources == (Dataset("ns", "s"),)
        assert reading.operations.info.destinations == (Dataset("ns", "o"),)
        assert direct(reading) == {"o.A": {"s.a", "s.b"}, "o.B": {"s.a", "s.b"}}

    @pytest.mark.parametrize("write", ["CREATE TABLE o AS", "INSERT INTO o"])
    def test_a_repeated_column_name_is_one_field(self, write: str) -> None:
        reading = read(f"{write} SELECT a AS k, b AS k FROM s")
        assert direct(reading) == {"o.k": {"s.a", "s.b"}}


class TestResolution:
    """Names are resolved by schema, then catalogue; ambiguous names give a warning, not a guess."""

    def test_the_only_unknown_table_has_the_columns_of_no_other(self) -> None:
        reading = read("CREATE TABLE o AS SELECT a, u.z FROM far JOIN u ON far.k = u.id", schema=TABLES)
        assert direct(reading) == {"o.a": {"far.a"}, "o.z": {"u.z"}}
        assert reading.warnings == ()

    def test_column_behind_an_unknown_star(self) -> None:
        reading = read("CREATE TABLE o AS SELECT k FROM (SELECT *, a + b AS n FROM far) q WHERE n > 1")
        assert (direct(reading), indirect(reading)) == (
            {"o.k": {"far.k"}},
            {"o.*": {"far.a filter", "far.b filter"}},
        )

    def test_of_two_unknown_tables_neither_is_chosen(self) -> None:
        reading = read("CREATE TABLE o AS SELECT k, x.a FROM x, y")
        assert direct(reading) == {"o.a": {"x.a"}}
        assert "column 'k': 'x', 'y' may contain it" in warnings(reading)

    def test_a_column_of_no_table(self) -> None:
        reading = read("CREATE TABLE o AS SELECT a, colour, a + colour AS m FROM s", schema=TABLES)
        assert direct(reading) == {"o.a": {"s.a"}, "o.m": {"s.a"}}
        assert "column 'colour': unknown in 's'" in warnings(reading)

    def test_columns_of_the_catalogue(self) -> None:
        catalogue = {"far": ["a", "k"], "other": ["b"]}
        reading = read("CREATE TABLE o AS SELECT a, b FROM far, other", catalogue=catalogue)
        assert direct(reading) == {"o.a": {"far.a"}, "o.b": {"other.b"}}
        star = read("CREATE TABLE o AS SELECT * FROM far", catalogue=catalogue)
        assert direct(star) == {"o.a": {"far.a"}, "o.k": {"far.k"}}

    def test_the_catalogue_has_no_column_order(self) -> None:
        catalogue = {"far": ["a", "k"], "o": ["p", "q"]}
        target = read("INSERT INTO o SELECT k, a FROM far", catalogue=catalogue)
        star = read("INSERT INTO o (x, y) SELECT * FROM far", catalogue=catalogue)
        for reading in (target, star):
            assert direct(reading) == {}
            assert "'o'" in warnings(reading)

    def test_schema_takes_precedence_over_the_catalogue(self) -> None:
        reading = read("CREATE TABLE o AS SELECT * FROM s", catalogue={"s": ["q"]}, schema={"s": ["a"]})
        assert direct(reading) == {"o.a": {"s.a"}}

    def test_an_unknown_target_has_the_names_of_the_query(self) -> None:
        reading = read("INSERT INTO o SELECT a, b + 1 AS c, b * 2, b * 3, 5 FROM s WHERE b = 1")
        assert direct(reading) == {
            "o.a": {"s.a"},
            "o.c": {"s.b"},
            "o.b * ?": {"s.b"},
            "o._4": {"s.b"},
            "o._5": set(),
        }
        assert "taken to be named as in the query" in warnings(reading)
        assert "columns without a name (b * ?, b * ?, ?) of 'o' are written under their texts" in warnings(
            reading
        )

    def test_target_names_in_the_catalogue_confirm_those_of_the_query(self) -> None:
        catalogue = {"o": ["a", "c", "d"]}
        assert direct(read("INSERT INTO o SELECT a, b AS c FROM s", catalogue=catalogue)) == {
            "o.a": {"s.a"},
            "o.c": {"s.b"},
        }
        assert direct(read("INSERT INTO o SELECT a, b AS z FROM s", catalogue=catalogue)) == {}

    def test_an_unknown_mapping_leaves_the_write_without_inputs(self) -> None:
        reading = read("INSERT INTO o SELECT a FROM s WHERE b = 1", catalogue={"o": ["x"]})
        operations = reading.operations.info.operations
        (write,) = (operation for operation in operations if isinstance(operation, Write))
        (source,) = (operation for operation in operations if isinstance(operation, Read))
        assert write.inputs == ()
        assert [field.name for field in source.outputs] == ["a", "b"]
        assert reading.operations.info.field_map.written_without_fields == (Dataset("ns", "o"),)

    def test_an_alias_beside_unknown_columns(self) -> None:
        text = "CREATE TABLE o AS SELECT a + 1 AS x, x * 2 AS y FROM far"
        assert direct(read(text)) == {"o.x": {"far.a"}}
        assert "may be one of the table or the alias" in warnings(read(text))
        assert direct(read(text, dialect="postgres"))["o.y"] == {"far.x"}
        assert direct(read(text, schema={"far": ["a"]}))["o.y"] == {"far.a"}
        assert direct(read(text, schema={"far": ["a", "x"]}))["o.y"] == {"far.x"}

    def test_a_column_under_its_own_name_is_not_ambiguous(self) -> None:
        reading = read("CREATE TABLE o AS SELECT a, TRIM(b) AS b, a || b AS n FROM far")
        assert direct(reading)["o.n"] == {"far.a", "far.b"}
        assert reading.warnings == ()

    @pytest.mark.parametrize(
        ("schema", "edges"),
        [
            (["p", "q"], {"o.c": {"s.p"}, "o.q": {"s.q"}}),
            (["p", "p/b/c", "q"], {"o.c": {"s.p/b/c"}, "o.q": {"s.q"}}),
            (["p/b", "q"], {"o.c": {"s.p/b"}, "o.q": {"s.q"}}),
        ],
    )
    def test_nested_fields_are_as_deep_as_the_schema(self, schema: list[str], edges: Edges) -> None:
        reading = read("CREATE TABLE o AS SELECT p.b.c, q FROM s", schema={"s": schema})
        assert direct(reading) == edges

    def test_enclosing_queries_are_searched_last(self) -> None:
        text = "CREATE TABLE o AS SELECT x FROM t WHERE EXISTS (SELECT 1 FROM u WHERE z = y AND u.id = t.id)"
        assert indirect(read(text, schema=TABLES)) == {
            "o.*": {"u.z filter", "t.y filter", "u.id filter", "t.id filter"}
        }

    def test_warnings_are_limited(self) -> None:
        columns = ", ".join(f"c{number}" for number in range(1_500))
        reading = read(f"CREATE TABLE o AS SELECT {columns} FROM s", schema=TABLES)
        assert len(reading.warnings) == 1_001
        assert reading.warnings[-1].count == 500


class TestDocuments:
    """Invalid documents are refused with every error."""

    def test_all_errors_at_once(self) -> None:
        wrong = {"run": {}, "sql": "SELECT FROM FROM", "dialect": "cobol", "schema": {"t": [5], "u": 1}}
        with pytest.raises(UnreadableDocument) as caught:
            sql.read_document(wrong, namespace="ns", columns=lambda _: None)
        paths = {error.path for error in caught.value.errors}
        assert paths >= {"run.application", "run.run", "dialect", "schema.t.0", "schema.u", "sql"}

    @pytest.mark.parametrize("text", [5, None, "", [], {"a": 1}])
    def test_sql_that_is_not_a_text(self, text: Any) -> None:
        with pytest.raises(UnreadableDocument) as caught:
            sql.read_document(document(text), namespace="ns", columns=lambda _: None)
        assert [error.path for error in caught.value.errors] == ["sql"]

    def test_missing_sql_and_documents_that_are_not_objects(self) -> None:
        for body in ({"run": document("x")["run"]}, 5, [], None):
            with pytest.raises(UnreadableDocument):
                sql.read_document(body, namespace="ns", columns=lambda _: None)

    def test_position_of_a_syntax_error(self) -> None:
        with pytest.raises(UnreadableDocument, match="line 2 column 11, near 'FROM'"):
            read("CREATE TABLE o AS\nSELECT (a FROM s")

    @pytest.mark.parametrize("text", ["SELECT a FROM s", "-- nothing", ";;", "DROP TABLE s", "DELETE FROM s"])
    def test_nothing_is_written(self, text: str) -> None:
        with pytest.raises(InvalidLineage, match="no statement writes"):
            read(text)

    @pytest.mark.parametrize("text", ["", " ", "-- nothing", "/* nothing */;"])
    def test_a_text_without_a_statement_says_what_to_send(self, text: str) -> None:
        with pytest.raises(
            (InvalidLineage, UnreadableDocument), match="send a statement that writes a table"
        ):
            read(text)

    @pytest.mark.parametrize("name", ["`" + "x" * 4097 + "`", "``"])
    def test_invalid_names(self, name: str) -> None:
        with pytest.raises(UnreadableDocument):
            read(f"CREATE TABLE {name} AS SELECT a FROM s")

    @pytest.mark.parametrize(
        ("name", "advice"), [("dialet", "; did you mean dialect?"), ("squl", ""), ("dialect" * 10, "")]
    )
    def test_a_mistyped_member_is_named(self, name: str, advice: str) -> None:
        """But not one that the document has as well."""
        body = document("CREATE TABLE o AS SELECT a FROM s", **{name: "spark"})
        reading = sql.read_document(body, namespace="ns", columns=lambda _: None)
        assert f"{name}: unknown member, ignored{advice}" in warnings(reading)

    def test_unknown_members_and_a_namespace(self) -> None:
        body = document("CREATE TABLE o AS SELECT a FROM s", namespace="own", colour=1)
        reading = sql.read_document(body, namespace=None, columns=lambda _: None)
        assert reading.run.namespace == "own"
        assert "colour: unknown member, ignored" in warnings(reading)
        with pytest.raises(UnreadableDocument, match="as in the URL"):
            sql.read_document(body, namespace="other", columns=lambda _: None)

    def test_nested_deeply_but_not_too_deeply(self) -> None:
        text = "CREATE TABLE o AS SELECT " + "UPPER(" * 30 + "a" + ")" * 30 + " AS k FROM s"
        assert direct(read(text)) == {"o.k": {"s.a"}}
        with pytest.raises(TooLarge, match="statement 1, line 1: nested too deeply"):
            read(text.replace("UPPER(", "UPPER(" * 40).replace(")", ")" * 40))


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    reading = read("\ufeffCREATE TABLE o AS SELECT a FROM s", schema=TABLES)
    assert direct(reading) == {"o.a": {"s.a"}}
    assert json.loads(reading.run.details)["sql"].startswith("\ufeff")


def test_branches_of_a_union_are_merged_at_once() -> None:
    branches = " UNION ALL ".join(f"SELECT id, {column} AS k FROM s" for column in ("a", "b", "a"))
    reading = read(f"CREATE TABLE o AS {branches} UNION SELECT id, x FROM t ORDER BY k", schema=TABLES)
    assert direct(reading) == {"o.id": {"s.id", "t.id"}, "o.k": {"s.a", "s.b", "t.x"}}
    assert descriptions(reading)["o.k"] == "a | b | x"


@pytest.mark.parametrize("dialect", ["spark", "databricks", "snowflake", "bigquery", "ansi"])
def test_identifier_names_a_table(dialect: str) -> None:
    """Some dialects of the library read IDENTIFIER as a function, others as one they do not know."""
    reading = read("INSERT INTO o SELECT x.a FROM IDENTIFIER('db.s') AS x", dialect=dialect)
    assert "identifier" not in warnings(reading).lower()
    assert {source.lower() for source in _reads(reading).values()} == {"db.s"}
