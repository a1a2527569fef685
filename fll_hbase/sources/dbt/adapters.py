"""dbt's adapters: their SQL dialects, and the dataset names of dbt's OpenLineage integration."""

from __future__ import annotations

import re

_DIALECTS = {
    # By `adapter_type` of the manifest. An engine that the parser does not have gets the nearest dialect.
    "athena": "athena",
    "bigquery": "bigquery",
    "clickhouse": "clickhouse",
    "databricks": "databricks",
    "doris": "doris",
    "dremio": "dremio",
    "duckdb": "duckdb",
    "exasol": "exasol",
    "fabric": "fabric",
    "fabricspark": "spark",
    "glue": "spark",
    "greenplum": "postgres",
    "hive": "hive",
    "impala": "hive",
    "materialize": "materialize",
    "mysql": "mysql",
    "oracle": "oracle",
    "postgres": "postgres",
    "presto": "presto",
    "redshift": "redshift",
    "risingwave": "risingwave",
    "singlestore": "singlestore",
    "snowflake": "snowflake",
    "spark": "spark",
    "sqlite": "sqlite",
    "sqlserver": "tsql",
    "starrocks": "starrocks",
    "synapse": "tsql",
    "teradata": "teradata",
    "trino": "trino",
    "vertica": "postgres",
    "watsonx_presto": "presto",
}

STANDARD_SQL = ""
"""The parser's own dialect, for adapters without one."""

FIXED_NAMESPACES = {"bigquery": "bigquery"}
"""Namespaces of adapters, without those that contain a host, an account or a file."""

# Quotes of standard SQL, of BigQuery and Spark, and of T-SQL: a dot inside of them separates nothing.
_PART = re.compile(r'"((?:[^"]|"")*)"|`([^`]*)`|\[([^\]]*)\]|([^."`\[\]\s]+)')


def adapters() -> tuple[str, ...]:
    """Return the names of all adapters with a dialect."""
    return tuple(_DIALECTS)


def dialect_of(adapter: str) -> str | None:
    """Return the parser's dialect for an adapter; None if it has none."""
    return _DIALECTS.get(adapter)


def dataset_name(database: str, schema: str, table: str) -> str:
    """Return the name that OpenLineage's dbt integration gives a dataset: non-empty parts joined by dots."""
    return ".".join(part for part in (database, schema, table) if part)


def unquote_relation(relation: str) -> str:
    """Return a quoted name such as `"shop"."main"."orders"` without its quotes: `shop.main.orders`."""
    groups = (match.groups("") for match in _PART.finditer(relation))
    return ".".join(quoted.replace('""', '"') or "".join(others) for quoted, *others in groups)
