"""Columns derived from the SQL of a job, for outputs of which no event gives any."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

from fll_hbase.model import event_operations, run_events
from fll_hbase.model.operations import InputField, Read, Transform, Write
from fll_hbase.model.run_events import DERIVED, EventLineage
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import RequestCancelled
from fll_hbase.sources import openlineage
from fll_hbase.sources.openlineage import sql_facet

POSTGRES = "postgres://db:5432"
AGGREGATE = "INSERT INTO totals SELECT customer, SUM(amount) FROM orders WHERE day > '2026-11-21' GROUP BY 1"


def dataset(name: str, *fields: str, namespace: str = POSTGRES, columns: Any = None) -> dict[str, Any]:
    facets: dict[str, Any] = {}
    if fields:
        facets["schema"] = {"fields": [{"name": field} for field in fields]}
    if columns is not None:
        facets["columnLineage"] = {
            "fields": {
                name: {"inputFields": [{"namespace": namespace, "name": source, "field": field}]}
                for name, (source, field) in columns.items()
            }
        }
    return {"namespace": namespace, "name": name, "facets": facets}


ORDERS = dataset("shop.public.orders", "id", "customer", "amount", "day")
TOTALS = dataset("shop.public.totals", "customer", "total")
WITH_COLUMNS = dataset("shop.public.totals", columns={"total": ("shop.public.orders", "id")})


def event(statement: str, *outputs: dict[str, Any], inputs: Any = (ORDERS,)) -> dict[str, Any]:
    return {
        "eventTime": "2026-11-23T10:00:00Z",
        "eventType": "COMPLETE",
        "producer": "p",
        "run": {"runId": "r"},
        "job": {"namespace": "j", "name": "n", "facets": {"sql": {"query": statement}}},
        "inputs": list(inputs),
        "outputs": list(outputs),
    }


def lineage(statement: str, *outputs: dict[str, Any], inputs: Any = (ORDERS,)) -> EventLineage:
    parsed = openlineage.read(event(statement, *outputs, inputs=inputs)).event
    assert parsed is not None
    return run_events.decode_lineage(parsed.bodies[parsed.event.lineage_digest])


def edges(merged: EventLineage) -> dict[str, set[str]]:
    """Sources of each written field, `*` for those of all rows, indirect ones with their kind."""
    operations = event_operations.build_operations(merged)
    reads = {item.name: item.source.name for item in operations if isinstance(item, Read)}
    result: dict[str, set[str]] = {}

    def add(key: str, inputs: tuple[InputField, ...]) -> None:
        for item in inputs:
            if item.origin in reads:
                source = f"{reads[item.origin]}.{item.name} {item.kind}".rstrip()
                result.setdefault(key, set()).add(source)

    for operation in operations:
        if isinstance(operation, Transform):
            add(operation.outputs[0].name, operation.inputs)
        elif isinstance(operation, Write):
            add("*", operation.inputs)
    return result


def test_an_insert_by_position() -> None:
    derived = lineage(AGGREGATE, TOTALS)
    assert edges(derived) == {
        "customer": {"shop.public.orders.customer"},
        "total": {"shop.public.orders.amount"},
        "*": {"shop.public.orders.customer group_by", "shop.public.orders.day filter"},
    }
    transforms = [item for item in event_operations.build_operations(derived) if isinstance(item, Transform)]
    assert {item.description for item in transforms} == {f"{DERIVED}customer", f"{DERIVED}SUM(amount)"}


def test_a_query_alone_is_written_into_the_only_output() -> None:
    statement = "select id, amount * 2 as total from shop.public.orders"
    assert edges(lineage(statement, dataset("shop.public.o"))) == {
        "id": {"shop.public.orders.id"},
        "total": {"shop.public.orders.amount"},
    }
    assert edges(lineage(statement, dataset("shop.public.o"), dataset("shop.public.q"))) == {}


def test_columns_of_events_have_priority() -> None:
    assert edges(lineage(AGGREGATE, WITH_COLUMNS)) == {"total": {"shop.public.orders.id"}}
    derived, given = lineage(AGGREGATE, TOTALS), lineage("", WITH_COLUMNS)
    for order in ([derived, given], [given, derived]):
        assert edges(run_events.merge_lineage(order)) == {"total": {"shop.public.orders.id"}}
    assert set(edges(run_events.merge_lineage([derived, lineage("", TOTALS)]))) == {"customer", "total", "*"}


def test_numbers_in_place_of_names_give_way() -> None:
    numbered = dataset(
        "shop.public.totals", "customer", "total", columns={"_0": ("shop.public.orders", "customer")}
    )
    assert set(edges(lineage(AGGREGATE, numbered))) == {"customer", "total", "*"}
    for order in (
        [lineage(AGGREGATE, TOTALS), lineage("", numbered)],
        [lineage("", numbered), lineage(AGGREGATE, TOTALS)],
    ):
        assert set(edges(run_events.merge_lineage(order))) == {"customer", "total", "*"}


BY_POSITION = "INSERT INTO totals SELECT day, amount FROM orders"
AS_IN_THE_QUERY = {"day": ("shop.public.orders", "day"), "amount": ("shop.public.orders", "amount")}
"""What the SQL parser of Airflow's operators reports for it."""


def test_names_that_the_schema_has_not_give_way() -> None:
    """An INSERT by position: the client names the columns as the query does."""
    misnamed = dataset("shop.public.totals", "customer", "total", columns=AS_IN_THE_QUERY)
    right = {"customer": {"shop.public.orders.day"}, "total": {"shop.public.orders.amount"}}
    assert edges(lineage(BY_POSITION, misnamed)) == right
    # At the START of a run that makes the table there is no schema yet.
    early = lineage(BY_POSITION, dataset("shop.public.totals", columns=AS_IN_THE_QUERY))
    for order in ([early, lineage(BY_POSITION, misnamed)], [lineage(BY_POSITION, misnamed), early]):
        assert edges(run_events.merge_lineage(order)) == right


def test_a_name_with_a_number_among_others_gives_way() -> None:
    given = {"_1": ("shop.public.orders", "amount"), "customer": ("shop.public.orders", "customer")}
    mixed = dataset("shop.public.totals", "customer", "total", columns=given)
    assert edges(lineage(AGGREGATE, mixed)) == edges(lineage(AGGREGATE, TOTALS))


def test_the_schema_of_a_table_that_is_replaced_decides_nothing() -> None:
    """CREATE TABLE AS over a table of other columns: at its START the client sends those."""
    columns = {"id": ("shop.public.orders", "id")}
    replaced = dataset("shop.public.totals", "customer", "total", columns=columns)
    statement = "DROP TABLE totals; CREATE TABLE totals AS SELECT id FROM orders"
    merged = lineage(statement, replaced)
    assert edges(merged) == {"id": {"shop.public.orders.id"}}
    transforms = [item for item in event_operations.build_operations(merged) if isinstance(item, Transform)]
    assert [item.description for item in transforms] == [""]


def test_letters_of_another_case_are_no_other_name() -> None:
    columns = {"TOTAL": ("shop.public.orders", "id")}
    output = dataset("shop.public.totals", "customer", "total", columns=columns)
    assert edges(lineage(AGGREGATE, output)) == {"total": {"shop.public.orders.id"}}


def warnings(statement: str, *outputs: dict[str, Any]) -> list[str]:
    return [f"{item.path}: {item.detail}" for item in openlineage.read(event(statement, *outputs)).warnings]


def test_what_the_sql_reads_beside_the_event_is_named() -> None:
    for query in (
        "SELECT o.customer, r.rate FROM orders o JOIN rates r ON o.day = r.day",
        "SELECT * FROM rates",
    ):
        (warning,) = warnings(f"CREATE TABLE totals AS {query}", TOTALS)
        assert warning.startswith("job.facets.sql.query: ")
        assert warning.endswith("left out are tables that the event does not list: rates")
    many = ", ".join(f"t{number}.a AS a{number}" for number in range(12))
    tables = ", ".join(f"t{number}" for number in range(12))
    (warning,) = warnings(
        f"CREATE TABLE totals AS SELECT {many} FROM {tables}", dataset("shop.public.totals")
    )
    assert warning.endswith("t0, t1, t10, t11, t2, t3, t4, t5, t6, t7 and 2 more")


def test_statements_that_are_left_out_are_named() -> None:
    (warning,) = warnings(f"{AGGREGATE}; INSERT INTO totals SELEC 1 FRM x", TOTALS)
    assert warning.startswith("job.facets.sql.query: ")
    assert "SELEC" in warning


def test_names_in_warnings_are_those_of_datasets() -> None:
    (warning,) = warnings(BY_POSITION, dataset("shop.public.totals"))
    assert "the columns of 'shop.public.totals', which is written by position, are not known" in warning


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE IF NOT EXISTS totals (a int)", "COMMIT", "DROP TABLE totals"]
)
def test_statements_without_columns_leave_nothing_out(statement: str) -> None:
    assert warnings(statement, TOTALS) == []


def test_only_tables_of_the_event_are_sources() -> None:
    statement = "INSERT INTO totals SELECT o.customer, r.rate FROM orders o JOIN rates r ON o.day = r.day"
    assert edges(lineage(statement, TOTALS)) == {
        "customer": {"shop.public.orders.customer"},
        "*": {"shop.public.orders.day join"},
    }


def test_names_that_two_tables_share_are_those_of_neither() -> None:
    inputs = (dataset("a.public.orders", "id", "customer"), dataset("b.public.orders", "id", "customer"))
    output = dataset("shop.public.o")
    assert edges(lineage("INSERT INTO o SELECT customer FROM orders", output, inputs=inputs)) == {}
    assert edges(lineage("INSERT INTO o SELECT customer FROM b.public.orders", output, inputs=inputs)) == {
        "customer": {"b.public.orders.customer"}
    }


@pytest.mark.parametrize(
    "statement",
    [
        "no SQL (at all",
        "SELECT",
        "DROP TABLE totals",
        "",
        ";",
        "\x00",
        "(" * 5_000,
        f"SELECT '{'x' * 200_000}'",
    ],
)
def test_other_texts_derive_nothing(statement: str) -> None:
    assert edges(lineage(statement, TOTALS)) == {}


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("SELEC id FRM orders", "no columns are derived from it"),
        (f"SELECT {'1 + ' * 50_000}1", "longer than 100000 characters"),
    ],
)
def test_a_text_that_cannot_be_read_is_named_in_warnings(statement: str, reason: str) -> None:
    for _ in range(2):
        (warning,) = openlineage.read(event(statement, TOTALS)).warnings
        assert warning.path == "job.facets.sql.query"
        assert reason in warning.detail
    assert not openlineage.read(event(statement, WITH_COLUMNS)).warnings


def test_what_stays_of_statements_is_bounded_by_its_memory() -> None:
    """Not by their number: a statement may have 100,000 characters, and its event many tables."""
    sql_facet._results.clear()
    for number in range(60):
        long = f"{AGGREGATE} -- {number} {'x' * 90_000}"
        lineage(long, TOTALS)
    cached = sum(len(statement) for statement, _, _ in sql_facet._results)
    assert 2 * 2**20 < 4 * cached <= sql_facet._results.currsize <= sql_facet._RESULTS_BYTES_MAX


def test_a_dialect_by_namespace() -> None:
    namespace = "snowflake://org-account"
    source = dataset("DB.PUBLIC.ORDERS", "ID", "ITEMS", namespace=namespace)
    target = dataset("DB.PUBLIC.SKUS", "SKU", namespace=namespace)
    statement = "insert into skus select value:sku::string from orders, lateral flatten(items)"
    assert edges(lineage(statement, target, inputs=(source,)))["SKU"] == {"DB.PUBLIC.ORDERS.ITEMS"}


def test_a_statement_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read, statements = sql_facet._read_statement, []

    def counted(statement: str, *arguments: Any) -> Any:
        statements.append(statement)
        return read(statement, *arguments)

    monkeypatch.setattr(sql_facet, "_read_statement", counted)
    sql_facet._results.clear()
    for _ in range(3):
        lineage(AGGREGATE, TOTALS)
    assert len(statements) == 1
    assert json.dumps(edges(lineage(AGGREGATE, TOTALS)), default=sorted)


def test_the_sql_ends_with_the_time_of_its_request() -> None:
    """It is no result that later requests get."""
    statement = f"INSERT INTO totals SELECT {', '.join(['f(customer)', *['1'] * 2_000])} FROM orders"
    looks = count()
    with deadline.limited(60, is_cancelled=lambda: next(looks) > 20), pytest.raises(RequestCancelled):
        lineage(statement, TOTALS)
    assert next(looks) < 40
    assert edges(lineage(statement, TOTALS))["customer"] == {"shop.public.orders.customer"}


def test_what_is_too_much_for_the_parser_is_read_once() -> None:
    """And not once more as a query alone, which it cannot be either."""
    (warning,) = openlineage.read(event(f"SELECT customer{'[0]' * 1_000} FROM orders", TOTALS)).warnings
    assert "statement 1, line 1: has more than 100 words in a row" in warning.detail


def test_tables_between_the_statements_of_a_script() -> None:
    statement = (
        "CREATE TABLE staged AS SELECT customer, amount FROM orders WHERE day > '2026-11-21';\n"
        "INSERT INTO totals SELECT customer, SUM(amount) FROM staged GROUP BY 1;\nDROP TABLE staged"
    )
    assert edges(lineage(statement, TOTALS)) == {
        "customer": {"shop.public.orders.customer"},
        "total": {"shop.public.orders.amount"},
        "*": {"shop.public.orders.day filter", "shop.public.orders.customer group_by"},
    }


def test_a_table_that_dbt_renames() -> None:
    statement = (
        '/* {"app": "dbt", "node_id": "model.shop.totals"} */\n'
        'create table "shop"."public"."totals__dbt_tmp" as (\n'
        '  select customer, sum(amount) as total from "shop"."public"."orders" group by 1\n);'
    )
    derived = edges(lineage(statement, TOTALS))
    assert derived["total"] == {"shop.public.orders.amount"}
    assert derived["customer"] == {"shop.public.orders.customer"}


@pytest.mark.parametrize(
    "statement",
    [
        "DO $$ DECLARE m int; BEGIN SELECT max(amount) INTO m FROM orders; "
        "INSERT INTO totals SELECT customer, m FROM orders; END $$",
        "EXECUTE IMMEDIATE 'INSERT INTO totals SELECT customer, amount FROM orders'",
        "INSERT INTO totals SELECT customer, 'x FROM orders;\n"
        "INSERT INTO totals SELECT customer, amount FROM orders",
        "BEGIN; DELETE FROM totals;\n"
        "INSERT INTO totals SELECT customer, amount FROM orders WHERE day = {{ ds }}; COMMIT",
    ],
)
def test_scripts_of_operators(statement: str) -> None:
    derived = edges(lineage(statement, TOTALS))
    assert derived["total"] == {"shop.public.orders.amount"}
    assert derived["customer"] == {"shop.public.orders.customer"}
