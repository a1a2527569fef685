"""PostgreSQL's own views, as it prints them, and the tables and views that they are of."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

CATALOGS = ("pg_catalog", "information_schema")

_VIEWS = """
    SELECT relname, pg_get_viewdef(oid) FROM pg_class
    WHERE relkind = 'v' AND relnamespace::regnamespace::text = ANY (%s) ORDER BY 1"""

_COLUMNS = """
    SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod)
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relkind IN ('r', 'v') AND c.relnamespace::regnamespace::text = ANY (%s) AND a.attnum > 0
    ORDER BY c.relname, a.attnum"""


SYSTEM_COLUMNS = {"cmax", "cmin", "ctid", "tableoid", "xmax", "xmin"}
"""Columns of every table, which no other column of a table may be called."""

FUNCTIONS = """
    CREATE FUNCTION judged._pg_truetypid(judged.pg_attribute, judged.pg_type) RETURNS oid
    LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE FUNCTION judged._pg_truetypmod(judged.pg_attribute, judged.pg_type) RETURNS int
    LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"""
"""Functions of rows of the catalog, for rows of its copy."""


@dataclass(frozen=True)
class Catalog:
    """All views and columns of the catalogs, in whose names no schema is."""

    views: dict[str, str]
    columns: dict[str, dict[str, str]]
    """The types of the columns of each table and view."""

    @property
    def copied(self) -> dict[str, dict[str, str]]:
        """The columns of those that can be tables of another schema."""
        return {name: types for name, types in self.columns.items() if not SYSTEM_COLUMNS & types.keys()}


def read_catalog(connection: psycopg.Connection) -> Catalog:
    """Read the catalogs of a database."""
    with connection.transaction(force_rollback=True):
        # A name in front of which the path leads is printed without its schema.
        connection.execute(f"SET LOCAL search_path = {', '.join(CATALOGS)}")
        columns: dict[str, dict[str, str]] = {}
        for table, name, kind in connection.execute(_COLUMNS, (list(CATALOGS),)):
            columns.setdefault(table, {})[name] = kind
        views = {name: text.rstrip(";") for name, text in connection.execute(_VIEWS, (list(CATALOGS),))}
        return Catalog(views, columns)
