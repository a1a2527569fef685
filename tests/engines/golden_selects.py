"""The SELECTs of the golden cases of SQL, in the SQL of PostgreSQL, and tables that they could be of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from fll_hbase.sources import sql
from tests.support import golden_cases, golden_sql

OTHER_DIALECTS = {"ansi": "", "sparksql": "spark"}
"""How the parser calls them."""

TYPES = ("int", "text", "date", "numeric", "jsonb", "int[]", "boolean")
"""Types of columns, which no golden case names."""

TYPES_OF_NAMES = {
    "amount": "numeric",
    "day": "date",
    "js": "jsonb",
    "name": "text",
    "note": "jsonb",
    "xs": "int[]",
}
RANDOM_TYPINGS = 12

Tables = dict[str, list[str]]


@dataclass(frozen=True)
class GoldenSelect:
    """One SELECT."""

    case: str
    text: str
    tables: Tables

    def typings(self) -> Iterator[dict[str, dict[str, str]]]:
        """Yield types that the columns may have: by their names, all of one type, at random."""
        for default in TYPES:
            yield self._typed(lambda column, default=default: TYPES_OF_NAMES.get(column, default))  # type: ignore[misc]
        for default in TYPES:
            yield self._typed(lambda _, default=default: default)  # type: ignore[misc]
        random = Random(self.text)
        for _ in range(RANDOM_TYPINGS):
            yield self._typed(lambda _: random.choice(TYPES))

    def _typed(self, type_of: Callable[[str], str]) -> dict[str, dict[str, str]]:
        return {
            table: {column: type_of(column) for column in columns} for table, columns in self.tables.items()
        }


def golden_selects() -> list[GoldenSelect]:
    """Return the SELECTs, each once."""
    selects = {}
    for case in golden_cases.read_cases("sql"):
        document = golden_sql.document(case)
        dialect = sql.DIALECT_ALIASES.get(name := str(document.get("dialect", "spark")), name)
        schema = document.get("schema", {})
        for query in _queries(str(document["sql"]), OTHER_DIALECTS.get(dialect, dialect)):
            for table in list(query.find_all(exp.Table)):
                _simplify(table)
            try:
                text = query.sql("postgres", comments=False, unsupported_level=sqlglot.ErrorLevel.IGNORE)
            except ValueError:  # PostgreSQL has nothing of the kind
                continue
            selects.setdefault(text, GoldenSelect(case.name, text, _tables(query, schema)))
    return list(selects.values())


def _queries(text: str, dialect: str) -> Iterator[exp.Query]:
    """Yield the queries of the statements that the parser takes."""
    try:
        statements = sqlglot.parse(text, dialect=dialect)
    except SqlglotError:
        return
    for statement in statements:
        queries = [] if statement is None else list(statement.find_all(exp.Query))
        for query in queries:
            if query.find_ancestor(exp.Query) is None and not isinstance(query, exp.Subquery | exp.Table):
                yield query.copy()


def _simplify(table: exp.Table) -> None:
    """Leave out the schema of a table; its last name stays that of its columns."""
    table.set("db", None)
    table.set("catalog", None)


def _tables(query: exp.Query, schema: dict[str, list[object]]) -> Tables:
    """Return the columns of each table: those of the case, else those that the query names."""
    common = {cte.alias for cte in query.find_all(exp.CTE)}
    given = {name.rpartition(".")[2]: columns for name, columns in schema.items()}
    tables: Tables = {}
    for table in query.find_all(exp.Table):
        name = _folded(table.this)
        if not name or name in common:
            continue
        listed = [item["name"] if isinstance(item, dict) else str(item) for item in given.get(name, ())]
        columns = tables.setdefault(name, listed)
        if not listed:
            _add_named(columns, query, table.alias_or_name)
    return tables


def _add_named(columns: list[str], query: exp.Query, alias: str) -> None:
    """Add the columns that a query names with this alias, or with none."""
    for column in query.find_all(exp.Column):
        name = _folded(column.this)
        if column.table in ("", alias) and name and name not in columns:
            columns.append(name)


def _folded(identifier: object) -> str:
    """Return a name as PostgreSQL stores it; "" for anything else."""
    if not isinstance(identifier, exp.Identifier):
        return ""
    return identifier.name if identifier.quoted else identifier.name.lower()
