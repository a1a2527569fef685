"""Standard SQL, and SQLite: dialects without ways of their own."""

from __future__ import annotations

from fll_hbase.sources.sql.dialects.facts import DialectFacts
from fll_hbase.sources.sql.dialects.postgres import postgres_name

# `column::type` is PostgreSQL's, so engines that have it mostly name it as PostgreSQL does.
ANSI = DialectFacts(name="ansi", fold=str.lower, name_expression=postgres_name, names_casts_only=True)

SQLITE = DialectFacts(name="sqlite", fold=str.lower)
