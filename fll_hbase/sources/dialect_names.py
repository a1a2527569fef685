"""Names of SQL dialects and of engines, separate from the parser, which a name alone does not need.

Names of engines are schemes of namespaces in OpenLineage (`sqlserver://host:1433`), platforms of DataHub,
adapters of dbt (`adapter_type`) and subprotocols of JDBC (`jdbc:postgresql://host`).
"""

from __future__ import annotations

DIALECTS = (
    "spark",
    "ansi",
    "athena",
    "bigquery",
    "clickhouse",
    "databricks",
    "duckdb",
    "hive",
    "mysql",
    "oracle",
    "postgres",
    "redshift",
    "snowflake",
    "sqlite",
    "teradata",
    "trino",
    "tsql",
)
"""Supported dialects, each with golden cases; the first is the default, `ansi` is standard SQL."""

DIALECT_ALIASES = {
    "mariadb": "mysql",
    "mssql": "tsql",
    "postgresql": "postgres",
    "presto": "trino",
    "sparksql": "spark",
}
"""Other names of dialects that clients use."""

_PARSED = (
    *("athena", "bigquery", "clickhouse", "databricks", "doris", "dremio", "duckdb", "exasol", "fabric"),
    *("hive", "materialize", "mysql", "oracle", "postgres", "redshift", "risingwave", "singlestore"),
    *("snowflake", "spark", "sqlite", "starrocks", "teradata", "trino"),
)
"""Engines that have the same name in the parser."""
_DIALECTS = {
    **dict(zip(_PARSED, _PARSED, strict=True)),
    # An engine unknown to the parser gets the nearest dialect.
    "awsathena": "athena",
    "fabricspark": "spark",
    "glue": "spark",
    "greenplum": "postgres",
    "hive2": "hive",
    "impala": "hive",
    "mariadb": "mysql",
    "mssql": "tsql",
    "postgresql": "postgres",
    "presto": "trino",
    "sqlserver": "tsql",
    "synapse": "tsql",
    "vertica": "postgres",
    "watsonx_presto": "trino",
}

ENGINES = tuple(_DIALECTS)
"""Names of all engines that have a dialect."""


def dialect_of(engine: str) -> str | None:
    """Return the parser's dialect for an engine's name, or None if it has none."""
    return _DIALECTS.get(engine)


def scheme_of(url: str) -> str:
    """Return the engine's name: all before the first `:` of a namespace, or of a JDBC URL after `jdbc:`."""
    return url.removeprefix("jdbc:").partition(":")[0]
