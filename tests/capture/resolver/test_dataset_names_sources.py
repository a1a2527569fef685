"""One table of a database has one name in JDBC, in SQL and in an OpenLineage event."""

from __future__ import annotations

from typing import Any

import pytest

from fll_hbase.capture.resolver.dataset_names import DatasetName, dataset_names
from fll_hbase.capture.resolver.jdbc_query import query_lineage
from fll_hbase.capture.resolver.plan_lineage import Direct
from fll_hbase.model import run_events
from fll_hbase.sources import openlineage
from tests.support import sql_readings

ORACLE, MYSQL = "oracle://db:1521", "mysql://db:3306"
URLS = {ORACLE: "jdbc:oracle:thin:@//db:1521/XE", MYSQL: "jdbc:mysql://db:3306/shop"}
SQL = {
    ORACLE: {"dialect": "oracle", "datasetNamespace": ORACLE, "defaults": {"catalog": "XE", "schema": "s"}},
    MYSQL: {"dialect": "mysql", "datasetNamespace": MYSQL, "defaults": {"schema": "shop"}},
}
NAMES = {ORACLE: "XE.S.A", MYSQL: "shop.A"}
"""As the naming page of OpenLineage has them, in the case in which the database stores them."""

TABLES = [
    *((ORACLE, name) for name in ("s.a", "S.A", "s.A", '"S"."A"', 's."A"', "xe.s.a")),
    *((MYSQL, name) for name in ("A", "`A`", "shop.A", "`shop`.`A`")),
]


def jdbc(namespace: str, **members: str) -> dict[str, Any]:
    return {"kind": "jdbc", "url": URLS[namespace], **members}


def from_event(namespace: str) -> set[tuple[str, str]]:
    event = {
        "eventTime": "2026-11-23T10:00:00Z",
        "eventType": "COMPLETE",
        "run": {"runId": "r"},
        "job": {"namespace": "j", "name": "n"},
        "outputs": [{"namespace": namespace, "name": NAMES[namespace]}],
    }
    parsed = openlineage.read(event).event
    assert parsed is not None
    lineage = run_events.decode_lineage(parsed.bodies[parsed.event.lineage_digest])
    return set(lineage.datasets)


@pytest.mark.parametrize(("namespace", "table"), TABLES)
def test_a_table_that_is_read_or_written(namespace: str, table: str) -> None:
    (captured,) = dataset_names(jdbc(namespace, name=table))
    reading = sql_readings.read(f"INSERT INTO {table} (id) SELECT id FROM b", **SQL[namespace])
    assert captured[:2] == (namespace, NAMES[namespace])
    assert {(item.namespace, item.name) for item in reading.operations.info.destinations} == {captured[:2]}
    assert from_event(namespace) == {captured[:2]}


@pytest.mark.parametrize(("namespace", "table"), TABLES)
def test_a_table_of_a_query(namespace: str, table: str) -> None:
    row = jdbc(namespace, query=f"(SELECT id AS k, v FROM {table} WHERE v > 0) SPARK_GEN_SUBQ_0")
    column = query_lineage(row).column("K")
    (captured,) = dataset_names(row)
    assert captured[:2] == (namespace, NAMES[namespace])
    assert [item[:2] for item in column.direct] == [(captured, "ID" if namespace == ORACLE else "id")]


def test_the_name_of_the_agent_is_an_alias() -> None:
    """It writes the name of the table as the job has it, behind the database of the URL."""
    assert dataset_names(jdbc(ORACLE, name="s.a")) == [DatasetName(ORACLE, "XE.S.A", (ORACLE, "XE.s.a"))]
    assert dataset_names(jdbc(ORACLE, name="S.A")) == [DatasetName(ORACLE, "XE.S.A")]
    assert dataset_names(jdbc(MYSQL, name="crm.t")) == [DatasetName(MYSQL, "crm.t", (MYSQL, "shop.crm.t"))]


def test_steps_of_a_query_are_found_in_any_case() -> None:
    row = jdbc(ORACLE, query="(SELECT t + 0 AS x FROM (SELECT SUM(v) AS t FROM s.a) q) SPARK_GEN_SUBQ_0")
    (item,) = query_lineage(row).column("X").direct
    assert (item[0].name, item[1], item[2]) == ("XE.S.A", "V", Direct.AGGREGATION)


def test_a_database_without_a_dialect_keeps_names() -> None:
    row = {"kind": "jdbc", "url": "jdbc:db2://db:50000/shop", "name": "s.Orders"}
    assert dataset_names(row) == [DatasetName("db2://db:50000", "shop.s.Orders")]
