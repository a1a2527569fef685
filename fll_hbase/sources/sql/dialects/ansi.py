"""Standard SQL and SQLite: dialects without peculiarities."""

from __future__ import annotations

from fll_hbase.sources.sql.dialects.facts import DialectFacts
from fll_hbase.sources.sql.dialects.postgres import postgres_name

# `column::type` is PostgreSQL's syntax, so engines that accept it mostly name it like PostgreSQL.
ANSI = DialectFacts(name="ansi", fold=str.lower, name_expression=postgres_name, names_casts_only=True)

SQLITE = DialectFacts(name="sqlite", fold=str.lower)
