"""PostgreSQL's own record of a view: its columns, and the columns of tables that it depends on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg.sql import SQL, Identifier

from tests.engines.recorded_query import OUTPUT, Column, RecordedQuery

SCHEMA = "judged"
"""The schema of the tables and views, in front of all others."""

_DEPENDENCIES = """
    SELECT DISTINCT c.relname, a.attname
    FROM pg_catalog.pg_rewrite w
    JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = w.oid
        AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid <> w.ev_class AND d.refobjsubid > 0
    JOIN pg_catalog.pg_class c ON c.oid = d.refobjid
    JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
    WHERE w.ev_class = %s::regclass"""

_COLUMNS = """
    SELECT attname FROM pg_catalog.pg_attribute
    WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""

_NAME = r'("(?:[^"]|"")+"|\w+)'
_REFERENCE = re.compile(rf"(?<![\w\"]){_NAME}\.(\*|{_NAME})")

_OUTER_JOIN = re.compile(r"\b(LEFT|RIGHT|FULL) JOIN")

Types = Mapping[str, Mapping[str, str]]
"""The types of the columns of each table."""


@dataclass(frozen=True)
class EngineView:
    """One view, as PostgreSQL has it."""

    columns: tuple[str, ...]
    references: frozenset[Column]
    """Columns that the text of the query names, also those that nothing uses."""
    used: frozenset[Column]
    """Columns that the plan of the query reads."""
    is_exact: bool = True
    """Whether the plan of a random query reads nothing else than what the result needs."""

    def differences(self, recorded: RecordedQuery) -> list[str]:
        """Return how a reading differs: names, inputs that the engine lacks, inputs that are missing."""
        faults = []
        if recorded.columns != self.columns:
            faults.append(f"columns {recorded.columns}, PostgreSQL has {self.columns}")
        if invented := recorded.all_inputs - self.references - self.used:
            faults.append(f"invented {sorted(invented)}")
        if missing := self.used - recorded.all_inputs:
            faults.append(f"missing {sorted(missing)}")
        return faults + [f"warning: {warning}" for warning in recorded.warnings]


@contextmanager
def tables(connection: psycopg.Connection, types: Types) -> Iterator[None]:
    """Return a context in which these tables exist, empty, and are faults in front of all others."""
    with connection.transaction(force_rollback=True):
        connection.execute(f"CREATE SCHEMA {SCHEMA}")
        connection.execute(f"SET LOCAL search_path = {SCHEMA}, pg_catalog, information_schema")
        # Some catalogs have arrays of any type.
        connection.execute("SET LOCAL allow_system_table_mods = on")
        for name, columns in types.items():
            create(connection, name, columns)
        yield


def create(connection: psycopg.Connection, name: str, columns: Mapping[str, str]) -> None:
    """Create a table; plans name exactly the columns of it that they need, because it had another one."""
    listed = SQL(", ").join(
        SQL("{} {}").format(Identifier(column), SQL(kind)) for column, kind in columns.items()
    )
    table = Identifier(SCHEMA, name)
    connection.execute(SQL("CREATE TABLE {} ({}, fll_dropped int)").format(table, listed))
    connection.execute(SQL("ALTER TABLE {} DROP COLUMN fll_dropped").format(table))


def judge(connection: psycopg.Connection, query: str) -> EngineView:
    """Make a view of a query, and read what it depends on. Raises psycopg.Error if PostgreSQL refuses it."""
    with connection.transaction(force_rollback=True):
        connection.execute(f"CREATE VIEW {SCHEMA}.{OUTPUT} AS {query}".encode())
        view = (f"{SCHEMA}.{OUTPUT}",)
        columns = tuple(name for (name,) in connection.execute(_COLUMNS, view))
        references = frozenset((table, column) for table, column in connection.execute(_DEPENDENCIES, view))
        (plan,) = (
            connection.execute(f"EXPLAIN (VERBOSE, FORMAT JSON) TABLE {SCHEMA}.{OUTPUT}").fetchone() or ()
        )
        return EngineView(columns, references, frozenset(_used(connection, plan)), _is_exact(query, plan))


def _is_exact(query: str, plan: object) -> bool:
    """Return False where PostgreSQL reads what nothing needs.

    It reads the keys of a window also where it does not compute it, because nothing uses its values; it
    computes all columns of a UNION ALL of other types, and of a LATERAL query below an outer join. Tests that
    execute the query judge these.
    """
    windows = [node for node in _nodes(plan) if node.get("Node Type") == "WindowAgg"]
    is_computed = (
        "UNION ALL" in query or "RECURSIVE" in query or ("LATERAL" in query and _OUTER_JOIN.search(query))
    )
    return len(windows) == query.count(" OVER (") and not is_computed


def _used(connection: psycopg.Connection, plan: object) -> Iterator[Column]:
    """Yield the columns that a plan names; of a whole row all."""
    nodes = list(_nodes(plan))
    relations = {
        node["Alias"]: node["Relation Name"]
        for node in nodes
        if node.get("Schema") == SCHEMA and "Relation Name" in node
    }
    for text in _texts(plan):
        for alias, column, _ in _REFERENCE.findall(text):
            table = relations.get(_unquoted(alias))
            if table is not None and column == "*":
                names = connection.execute(_COLUMNS, (f'{SCHEMA}."{table}"',))
                yield from ((table, name) for (name,) in names)
            elif table is not None:
                yield table, _unquoted(column)


def _nodes(part: object) -> Iterator[dict[str, object]]:
    if isinstance(part, dict):
        yield part
    for member in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _nodes(member)


def _texts(part: object) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    for member in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _texts(member)


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
