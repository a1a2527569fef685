"""Queries that a JDBC source sends to its database: their tables, and the fields from which columns come.

Spark only knows the columns' names, so the text is read as SQL of the database. It contains no
constants, because the listener replaces them with 0 and ''.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import sqlglot
from sqlglot import expressions as exp
from sqlglot.dialects.dialect import Dialect

from fll_hbase.capture.resolver.dataset_names import DatasetName, jdbc_dialect, jdbc_table
from fll_hbase.capture.resolver.plan_lineage import (
    UNKNOWN_COLUMN,
    Direct,
    NamedColumn,
    NamedDirect,
    NamedIndirect,
)
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write
from fll_hbase.runtime.errors import LineageError
from fll_hbase.runtime.json_types import Json
from fll_hbase.sources import sql
from fll_hbase.sources.sql.dialects import facts_of
from fll_hbase.sources.sql.names.dataset_naming import DatasetNaming
from fll_hbase.sources.sql.script.complexity import find_excess

_log = logging.getLogger(__name__)

CHARACTERS_MAX = 100_000
"""Maximal length of a query to read."""
UNKNOWN_DIALECT = "postgres"
"""Dialect for a database unknown to the parser: most are close to the standard, as Postgres is."""

QUERIES_MAX = 256
"""Queries whose lineage stays in memory."""

_PART = re.compile(r'"(?:[^"]++|"")*+"|`[^`]*`|\[[^\]]{0,256}+\]|[^."`\[\]]+')
"""A part of a name; a quoted dot does not separate. The bound on brackets keeps the work linear."""

Parts: TypeAlias = tuple[str, ...]

_Use: TypeAlias = tuple[Direct, bool]
"""How a field is used, and whether its value is masked, as by COUNT."""

_RESULT = Dataset("", "\n")
"""Target under which a query is read: a name that cannot be a table's."""


@dataclass(frozen=True, slots=True)
class QueryLineage:
    """Lineage of a query: columns by lower-case name, and influences on all rows.

    `others` is the table from which every other column is read: the only table of `SELECT * FROM table`.
    """

    columns: Mapping[str, NamedColumn]
    rows: frozenset[NamedIndirect] = frozenset()
    others: DatasetName | None = None

    def column(self, name: str) -> NamedColumn:
        """Return the lineage of a column, whose name may have any case; UNKNOWN_COLUMN if it is unknown."""
        column = self.columns.get(name.lower())
        if column is not None or self.others is None:
            return column or UNKNOWN_COLUMN
        return NamedColumn(frozenset({(self.others, name, int(Direct.IDENTITY), False)}))


_UNKNOWN = QueryLineage({})


def query_lineage(row: Json) -> QueryLineage:
    """Return the lineage of the query in a row of `datasets`, cached by query, URL and home.

    If the query cannot be read or exceeds CHARACTERS_MAX, a warning is logged and the result has no columns.
    """
    location = tuple((name, str(row[name])) for name in ("url", "home") if row.get(name) is not None)
    return _read(str(row["query"]), location)


@lru_cache(QUERIES_MAX)
def _read(query: str, location: tuple[tuple[str, str], ...]) -> QueryLineage:
    """Read a query against the database in `location`; log a failure and return unknown lineage."""
    row = dict(location)
    database_dialect = jdbc_dialect(row)
    dialect = database_dialect or UNKNOWN_DIALECT
    text = inner_query(query)
    if len(text) > CHARACTERS_MAX:
        _log.warning("capture: a query of a JDBC source has more than %d characters", CHARACTERS_MAX)
        return _UNKNOWN
    naming = DatasetNaming("", database_dialect or "")
    tables = sql.TableSchemas("", {}, lambda _: None, naming=naming)
    try:
        reading = sql.read_query(text, dialect=dialect, target=_RESULT, verb="SELECT", tables=tables)
    except LineageError as error:
        _log.warning("capture: a query of a JDBC source cannot be read: %s", error)
        return _UNKNOWN
    schema = tables.schema(_RESULT)
    is_complete = schema is not None and schema.declared
    written = {".".join(parts): name for parts, name in query_tables(query, database_dialect).items()}
    sources = {item.name: item.source.name for item in reading.info.operations if isinstance(item, Read)}
    names = {
        read: jdbc_table(row, name.split("."), written=written.get(name, name))
        for read, name in sources.items()
    }
    return _query_lineage(reading.info.operations, names, dialect, is_complete=is_complete)


def _query_lineage(
    operations: Sequence[Operation], tables: Mapping[str, DatasetName], dialect: str, *, is_complete: bool
) -> QueryLineage:
    """Return lineage by lower-case column; unlisted columns belong to the table if it is the only one."""
    columns = {
        item.outputs[0].name.lower(): _column(item, tables, dialect)
        for item in operations
        if isinstance(item, Transform)
    }
    writes = [item for item in operations if isinstance(item, Write)]
    rows = frozenset(influence for item in writes for influence in _indirect(item.inputs, tables))
    others = next(iter(tables.values())) if len(tables) == 1 and not is_complete else None
    return QueryLineage(columns, rows, others)


def _column(transform: Transform, tables: Mapping[str, DatasetName], dialect: str) -> NamedColumn:
    """Return the lineage of a column from the inputs of the TRANSFORM that makes it."""
    uses = _uses(transform.description, dialect)
    direct: set[NamedDirect] = set()
    for item in transform.inputs:
        if item.influence is Influence.DIRECT:
            kind, masked = uses.get(item.name.lower(), (Direct.TRANSFORMATION, False))
            direct.add((tables[item.origin], item.name, int(kind), masked))
    return NamedColumn(frozenset(direct), frozenset(_indirect(transform.inputs, tables)))


def _indirect(inputs: Sequence[InputField], tables: Mapping[str, DatasetName]) -> Iterator[NamedIndirect]:
    """Yield the indirect inputs that have a kind, each as table, field and upper-case kind."""
    return (
        (tables[item.origin], item.name, item.kind.upper())
        for item in inputs
        if item.influence is Influence.INDIRECT and item.kind
    )


def _uses(description: str, dialect: str) -> dict[str, _Use]:
    """Return how a column's `describe` text uses each lower-case name; masked if all its uses are."""
    expression, *lines = description.split("\n")
    steps = {name.lower(): step for name, _, step in (line.partition(": ") for line in lines) if step}
    uses: dict[str, _Use] = {}
    pending = [(expression, (Direct.IDENTITY, False))]
    while pending:
        text, (least, masked) = pending.pop()
        for name, (kind, hidden) in _uses_in(text, dialect):
            step = steps.pop(name.lower(), None)
            if step is not None:
                pending.append((step, (max(kind, least), hidden or masked)))
                continue
            other, others_hidden = uses.get(name.lower(), (Direct.IDENTITY, True))
            uses[name.lower()] = (max(kind, least, other), (hidden or masked) and others_hidden)
    return uses


def _uses_in(text: str, dialect: str) -> Iterator[tuple[str, _Use]]:
    """Yield the columns of alternatives `a | b` with the use of each; skip text that cannot be parsed."""
    for alternative in text.split(" | "):
        try:
            tree = sqlglot.parse_one(alternative, dialect=dialect)
        except (sqlglot.errors.SqlglotError, RecursionError):
            continue
        for column in tree.find_all(exp.Column):
            if column is tree:
                yield column.name, (Direct.IDENTITY, False)
                continue
            is_aggregated = column.find_ancestor(exp.AggFunc) is not None
            kind = Direct.AGGREGATION if is_aggregated else Direct.TRANSFORMATION
            yield column.name, (kind, column.find_ancestor(exp.Count) is not None)


def stored_parts(name: str, dialect: str | None) -> Parts:
    """Return the parts of a table name as the database stores them, or as written without a dialect."""
    naming = DatasetNaming("", dialect or "")
    return tuple(naming.fold(_identifier(part.strip())) for part in _PART.findall(name))


def _identifier(part: str) -> exp.Identifier:
    """Return a part of a table name as an identifier, quoted or not, with its text unquoted."""
    is_quoted = part[:1] in ('"', "`", "[")
    text = part[1:-1].replace('""', '"') if is_quoted else part
    return exp.Identifier(this=text, quoted=is_quoted)


def query_tables(query: str, dialect: str | None) -> dict[Parts, str]:
    """Return the tables of a query: written names by the parts of the names as the database stores them.

    Common table expressions are left out. A query that cannot be read or exceeds CHARACTERS_MAX has none.
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
    common = {name.alias for name in tree.find_all(exp.CTE)}
    tables = [table for table in tree.find_all(exp.Table) if table.db or table.name not in common]
    return {
        tuple(naming.fold(part) if isinstance(part, exp.Identifier) else part.name for part in table.parts): (
            ".".join(part.name for part in table.parts)
        )
        for table in tables
    }


def inner_query(query: str) -> str:
    """Return a query without the parentheses and alias that Spark writes around it, if it has them."""
    text = query.strip()
    return text[1 : text.rindex(")")] if text.startswith("(") and ")" in text else text
