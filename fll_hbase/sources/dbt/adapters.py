"""dbt's adapters: which SQL they speak, and how dbt's OpenLineage integration names their datasets."""

from __future__ import annotations

import re

_DIALECTS = {
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
"""The parser's own dialect, for adapters that have none."""

FIXED_NAMESPACES = {"bigquery": "bigquery"}
"""Namespaces that do not depend on a connection; all others name a host, an account or a file."""

_PART = re.compile(r'"((?:[^"]|"")*)"|`([^`]*)`|\[([^\]]*)\]|([^."`\[\]\s]+)')


def adapters() -> tuple[str, ...]:
    """The adapters that have a dialect."""
    return tuple(_DIALECTS)


def dialect_of(adapter: str) -> str | None:
    """The parser's dialect for an adapter; None where it has none."""
    return _DIALECTS.get(adapter)


def dataset_name(database: str, schema: str, table: str) -> str:
    """The name of a dataset, as OpenLineage's dbt integration joins it: empty parts are left out."""
    return ".".join(part for part in (database, schema, table) if part)


def unquote_relation(relation: str) -> str:
    """A relation as SQL names it (`"shop"."main"."orders"`) as its parts without quotes, joined by dots."""
    groups = (match.groups("") for match in _PART.finditer(relation))
    return ".".join(quoted.replace('""', '"') or "".join(others) for quoted, *others in groups)
