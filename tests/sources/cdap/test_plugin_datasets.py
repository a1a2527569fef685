"""Datasets that properties of plugins name."""

from __future__ import annotations

import pytest

from fll_hbase.sources.cdap.plugin_datasets import PluginProperties


def name_of(plugin: str, **properties: str) -> str:
    plugin_properties = PluginProperties(
        plugin, lambda key: properties.get(key, ""), properties.get("connection", "")
    )
    return plugin_properties.dataset_name()


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("jdbc:postgresql://h/db", "postgres://h:5432/db"),
        ("jdbc:postgresql://me:secret@h:6000/db?user=me&password=secret", "postgres://h:6000/db"),
        ("jdbc:sqlserver://h:1433;databaseName=c;user=me;password=secret", "mssql://h:1433/c"),
        ("jdbc:oracle:thin:@//h:1521/db", "oracle://h:1521/db"),
        ("jdbc:oracle:thin:me/secret@h:1521:sid", "oracle://h:1521/sid"),
        ("jdbc:mysql://h", "mysql://h:3306"),
    ],
)
def test_a_table_is_in_the_database_of_its_connection(url: str, location: str) -> None:
    assert name_of("Database", connectionString=url, tableName="s.t") == f"{location}.s.t"


def test_a_connection_of_another_form_is_shown_as_its_digest() -> None:
    name = name_of("Database", connectionString="jdbc:other:secret", tableName="t")
    assert name.startswith("other-")
    assert name.endswith(".t")
    assert "secret" not in name


@pytest.mark.parametrize(
    ("plugin", "properties", "name"),
    [
        (
            "Postgres",
            {"host": "h", "port": "5432", "database": "db", "tableName": "t"},
            "postgres://h:5432/db.t",
        ),
        ("Postgres", {"connection": "${conn(crm)}", "tableName": "t", "schemaName": "s"}, "crm.s.t"),
        (
            "BigQueryTable",
            {"project": "a", "datasetProject": "b", "dataset": "d", "table": "t"},
            "bigquery:b.d.t",
        ),
        ("BigQueryTable", {"project": "auto-detect", "dataset": "d", "table": "t"}, "bigquery:d.t"),
        ("GCSFile", {"path": "gs://b/in/"}, "gcs:b.in"),
        ("GCS", {"path": "b/in"}, "gcs:b.in"),
        ("File", {"path": "s3a://key:secret@b/in"}, "s3a://b/in"),
        ("Table", {"name": "people"}, "people"),
        ("Table", {}, ""),
        ("Whatever", {"format": "csv"}, ""),
    ],
)
def test_names(plugin: str, properties: dict[str, str], name: str) -> None:
    assert name_of(plugin, **properties) == name


def test_queries_of_one_database_are_several_datasets() -> None:
    names = {
        name_of("Odd", connectionString="jdbc:odd://h/db", importQuery=f"SELECT {column} FROM t")
        for column in "ab"
    }
    assert len(names) == 2
    assert all(name.startswith("odd://h/db.query-") for name in names)
