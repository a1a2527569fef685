"""Tables of a query that a job sends to a database."""

from __future__ import annotations

import re

import sqlglot
from sqlglot import expressions as sql
from sqlglot.dialects.dialect import Dialect

from fll_hbase.sources.sql.dialects import facts_of
from fll_hbase.sources.sql.names.dataset_naming import DatasetNaming
from fll_hbase.sources.sql.script.complexity import find_excess

CHARACTERS_MAX = 100_000
"""Maximal length of a query to read."""
UNKNOWN_DIALECT = "postgres"
"""Dialect for a database unknown to the parser: most are close to the standard, as Postgres is."""

_PART = re.compile(r'"(?:[^"]++|"")*+"|`[^`]*`|\[[^\]]{0,256}+\]|[^."`\[\]]+')
"""A part of a name; a quoted dot does not separate. The bound on brackets keeps the work linear."""

Parts = tuple[str, ...]


def stored_parts(name: str, dialect: str | None) -> Parts:
    """Return the parts of a table name as the database stores them, or as written without a dialect."""
    naming = DatasetNaming("", dialect or "")
    return tuple(naming.fold(_identifier(part.strip())) for part in _PART.findall(name))


def _identifier(part: str) -> sql.Identifier:
    """Return a part of a table name as an identifier, quoted or not, with its text unquoted."""
    is_quoted = part[:1] in ('"', "`", "[")
    text = part[1:-1].replace('""', '"') if is_quoted else part
    return sql.Identifier(this=text, quoted=is_quoted)


def query_tables(query: str, dialect: str | None) -> dict[Parts, str]:
    """Return the tables of a query: written names by the parts of the names as the database stores them.

    Common table expressions are left out. The result is empty if the query cannot be read or exceeds
    CHARACTERS_MAX.
    """
    text = inner_query(query)
    parser_dialect = Dialect.get_or_raise(facts_of(dialect or UNKNOWN_DIALECT).parser_name)
    try:
        if len(text) > CHARACTERS_MAX or find_excess(parser_dialect.tokenize(text), parser_dialect):
            return {}
        tree = sqlglot.parse_one(text, dialect=parser_dialect)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return {}
    naming = DatasetNaming("", dialect or "")
    common = {name.alias for name in tree.find_all(sql.CTE)}
    tables = [table for table in tree.find_all(sql.Table) if table.db or table.name not in common]
    return {
        tuple(naming.fold(part) if isinstance(part, sql.Identifier) else part.name for part in table.parts): (
            ".".join(part.name for part in table.parts)
        )
        for table in tables
    }


def inner_query(query: str) -> str:
    """Return a query without the parentheses and the alias that Spark writes around it."""
    text = query.strip()
    return text[1 : text.rindex(")")] if text.startswith("(") and ")" in text else text
