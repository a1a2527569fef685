"""The dialect of an engine, by each name that clients give it.

These are schemes of namespaces in OpenLineage (`sqlserver://host:1433`), platforms of DataHub, adapters of
dbt (`adapter_type`) and subprotocols of JDBC (`jdbc:postgresql://host`).
"""

from __future__ import annotations

_DIALECTS = {
    # An engine that the parser does not have gets the nearest dialect.
    "athena": "athena",
    "awsathena": "athena",
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
    "hive2": "hive",
    "impala": "hive",
    "mariadb": "mysql",
    "materialize": "materialize",
    "mssql": "tsql",
    "mysql": "mysql",
    "oracle": "oracle",
    "postgres": "postgres",
    "postgresql": "postgres",
    "presto": "trino",
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
    "watsonx_presto": "trino",
}

ENGINES = tuple(_DIALECTS)
"""Names of all engines with a dialect."""


def dialect_of(engine: str) -> str | None:
    """Return the parser's dialect for a name of an engine; None if it has none."""
    return _DIALECTS.get(engine)


def scheme_of(url: str) -> str:
    """Return the name of the engine in a namespace or in a URL of JDBC, which has `jdbc:` in front."""
    return url.removeprefix("jdbc:").partition(":")[0]
