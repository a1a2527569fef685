"""Names of SQL dialects, separate from the parser, which an option with these names does not need."""

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
