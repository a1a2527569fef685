"""MySQL and MariaDB."""

from __future__ import annotations

import re

from fll_hbase.sources.sql.dialects.facts import DialectFacts

MYSQL = DialectFacts(
    name="mysql",
    is_database_before_table=True,
    name_parts=2,
    may_quote_names=True,
    has_text_aliases=True,
    client_command=re.compile(r"\s*(?:\\\.|source\s+\S+\s*$)", re.IGNORECASE),
    renames_tables=True,
    declares_in_block=True,
    has_open_conflicts=True,
)
