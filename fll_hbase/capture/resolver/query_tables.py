"""Tables of a query that a job sends to a database."""

from __future__ import annotations

import sqlglot
from sqlglot import expressions as sql
from sqlglot.dialects.dialect import Dialect

from fll_hbase.sources.sql.script.complexity import find_excess

CHARACTERS_MAX = 100_000
"""Length of a query that is read."""


def query_tables(query: str) -> list[str]:
    """Return the names of the tables, sorted; none if the query cannot be read."""
    text, dialect = inner_query(query), Dialect()
    try:
        if len(text) > CHARACTERS_MAX or find_excess(dialect.tokenize(text), dialect):
            return []
        tree = sqlglot.parse_one(text)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return []
    common = {name.alias for name in tree.find_all(sql.CTE)}
    tables = {".".join(part.name for part in table.parts) for table in tree.find_all(sql.Table)}
    return sorted(tables - common)


def inner_query(query: str) -> str:
    """Return a query without the parentheses and the alias that Spark writes around it."""
    text = query.strip()
    return text[1 : text.rindex(")")] if text.startswith("(") and ")" in text else text
