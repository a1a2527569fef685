"""Dialects that differ from standard SQL in few ways: their facts alone."""

from __future__ import annotations

import re

from fll_hbase.sources.sql.dialects.facts import DialectFacts
from fll_hbase.sources.sql.dialects.mysql import with_altered_tables
from fll_hbase.sources.sql.dialects.postgres import postgres_name

# `column::type` is PostgreSQL's, so engines that have it mostly name it as PostgreSQL does.
ANSI = DialectFacts(name="ansi", fold=str.lower, name_expression=postgres_name, names_casts_only=True)

SQLITE = DialectFacts(name="sqlite", fold=str.lower)

BIGQUERY = DialectFacts(
    name="bigquery",
    numbered_columns="f{}_",
    counts_unnamed=True,
    has_whole_rows=True,
    has_values_first=True,
    pseudo_columns=frozenset({"_file_name", "_partitiondate", "_partitiontime", "_table_suffix"}),
)

CLICKHOUSE = DialectFacts(
    name="clickhouse",
    is_database_before_table=True,
    name_parts=2,
    rewrite_script=with_altered_tables,
    has_lateral_aliases=True,
    has_aliases_first=True,
    has_columns=True,
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

TERADATA = DialectFacts(
    name="teradata",
    fold=str.lower,
    name_parts=2,
    client_command=re.compile(r"\s*\.[a-zA-Z]"),
    has_lateral_aliases=True,
)

TRINO = DialectFacts(
    name="trino",
    fold=str.lower,
    folds_columns=True,
    is_database_before_table=True,
    numbered_columns="_col{}",
)

ATHENA = DialectFacts(
    name="athena",
    fold=str.lower,
    folds_columns=True,
    is_database_before_table=True,
    numbered_columns="_col{}",
)
