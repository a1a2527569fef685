"""ClickHouse: aliases precede columns, and tables are renamed as in MySQL, or exchanged."""

from __future__ import annotations

from fll_hbase.sources.sql.dialects.facts import DialectFacts
from fll_hbase.sources.sql.dialects.mysql import with_altered_tables

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
