"""Snowflake: upper-case names, staged files, and variables of the session."""

from __future__ import annotations

from fll_hbase.sources.sql.dialects.facts import DialectFacts

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
