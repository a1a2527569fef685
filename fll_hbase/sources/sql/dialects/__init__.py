"""Dialects: their facts, by the names that documents, engines and clients use.

Dialects with code of their own have a module, and the others are here.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from fll_hbase.sources.sql.dialects.duckdb import DUCKDB
from fll_hbase.sources.sql.dialects.facts import DialectFacts
from fll_hbase.sources.sql.dialects.mysql import MYSQL, with_altered_tables
from fll_hbase.sources.sql.dialects.oracle import ORACLE
from fll_hbase.sources.sql.dialects.postgres import POSTGRES, REDSHIFT, postgres_name
from fll_hbase.sources.sql.dialects.spark import DATABRICKS, HIVE, SPARK
from fll_hbase.sources.sql.dialects.teradata import TERADATA
from fll_hbase.sources.sql.dialects.tsql import TSQL

# `column::type` is PostgreSQL's syntax, so engines that accept it mostly name it like PostgreSQL.
ANSI = DialectFacts(name="ansi", fold=str.lower, name_expression=postgres_name, names_casts_only=True)

SQLITE = DialectFacts(name="sqlite", fold=str.lower)

BIGQUERY = DialectFacts(
    name="bigquery",
    numbered_columns="f{}_",
    counts_unnamed=True,
    has_whole_rows=True,
    has_values_first=True,
    pseudo_columns=frozenset(
        {
            *("_file_name", "_partitiondate", "_partitiontime", "_table_suffix"),
            *("_change_type", "_change_timestamp", "_change_sequence_number"),
        }
    ),
)

CLICKHOUSE = DialectFacts(
    name="clickhouse",
    is_database_before_table=True,
    name_parts=2,
    rewrite_script=with_altered_tables,
    has_lateral_aliases=True,
    has_aliases_first=True,
    has_columns=True,
    numbers_fields=True,
)

SNOWFLAKE = DialectFacts(
    name="snowflake",
    fold=str.upper,
    folds_columns=True,
    has_exact_quotes=True,
    default_schema="PUBLIC",
    is_lowercase_platform=True,
    has_declare_section=True,
    has_lateral_aliases=True,
    pseudo_columns=frozenset(
        {
            *("metadata$action", "metadata$file_row_number", "metadata$filename", "metadata$isupdate"),
            *("metadata$file_content_key", "metadata$file_last_modified", "metadata$row_id"),
        }
    ),
    has_staged_columns=True,
    has_sequences=True,
    has_session_variables=True,
)

TRINO = DialectFacts(
    name="trino",
    fold=str.lower,
    folds_columns=True,
    is_database_before_table=True,
    numbered_columns="_col{}",
    numbers_fields=True,
)

ATHENA = replace(TRINO, name="athena")

# In the order in which an error lists the dialects that accept a statement: the most common first.
_FACTS = (
    *(POSTGRES, SNOWFLAKE, BIGQUERY, TSQL, ORACLE, MYSQL, REDSHIFT, DATABRICKS, DUCKDB, TRINO, HIVE),
    *(CLICKHOUSE, TERADATA, ATHENA, SQLITE, SPARK, ANSI),
)
_BY_NAME = {facts.name: facts for facts in _FACTS}

SUGGESTED = tuple(_BY_NAME)
"""Dialects in the order in which an error names them."""

STANDARD_SQL = ""
"""The parser's own dialect, for `ansi` and for engines without a dialect."""


@cache
def facts_of(name: str) -> DialectFacts:
    """Return the facts of a dialect, or the facts of most engines for an unknown name.

    STANDARD_SQL has the facts of `ansi`, but leaves names as written.
    """
    if name == STANDARD_SQL:
        return replace(ANSI, name=name, fold=str)
    return _BY_NAME.get(name) or DialectFacts(name=name)
