"""ClickHouse: aliases go before columns."""

from __future__ import annotations

from fll_hbase.sources.sql.dialects.facts import DialectFacts

CLICKHOUSE = DialectFacts(
    name="clickhouse",
    is_database_before_table=True,
    name_parts=2,
    renames_tables=True,
    has_lateral_aliases=True,
    has_aliases_first=True,
    has_columns=True,
)
