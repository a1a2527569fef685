"""Functions that name a table or file by a constant: IDENTIFIER, file readers and dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from fll_hbase.model.datasets import Dataset
from fll_hbase.sources.sql.queries.column_provenance import UNKNOWN, ColumnProvenance
from fll_hbase.sources.sql.script.script_state import ScriptState

_READERS = {
    *("delta_scan", "iceberg_scan", "parquet_scan", "read_csv_auto", "read_files", "read_json"),
    *("read_json_auto", "read_ndjson", "read_ndjson_auto"),
}
"""Functions whose first argument is a file, in every dialect."""


_SAME_ROWS = {"appends", "changes", "query_table"}
"""Functions that return the rows of the table in their first argument."""
_NAMING = {"dictionary", "identifier", "query_table", "table", "table_changes"}
"""Functions whose first argument is the name of a table as a text."""
_LOOKUPS = ("dictget", "joinget")
"""Beginnings of ClickHouse's functions that look up a column of a dictionary or table by a key."""


def named_table(script: ScriptState, node: exp.Expr) -> exp.Expr:
    """Return the table, file or query that a function in a FROM names, or another item unchanged.

    A file's path is a single part and keeps its case.
    """
    item = _unwrap_rows(node)
    function = item.this if isinstance(item, exp.Table) else None
    first = next(iter(function.expressions), None) if isinstance(function, exp.Anonymous) else None
    if name := _identifier(item):
        table: exp.Expr = exp.to_table(name, dialect=script.script.dialect)
    elif isinstance(function, exp.Func) and (path := _path(function)) is not None:
        table = exp.Table(this=exp.Literal.string(path.name))
    elif isinstance(first, exp.Query) and item.this.name.lower() in _SAME_ROWS:
        table = exp.Subquery(this=first.unnest())
    elif item is node:
        return node
    else:
        table = item
    for name in ("alias", "joins", "pivots", "laterals"):
        table.set(name, node.args.get(name))
    if isinstance(node.this, exp.Identifier):
        # The parser reads the brackets of ClickHouse's `dictionary('d')` as names of columns.
        table.set("alias", None)
    return table


@dataclass(frozen=True, slots=True, eq=False)
class LookedUp:
    """Columns of a table that a function looks up by `keys`, and `defaults` used if nothing is found."""

    table: Dataset
    columns: tuple[ColumnProvenance, ...]
    keys: Sequence[exp.Expr]
    defaults: Sequence[exp.Expr]


def look_up(script: ScriptState, function: exp.Expr) -> LookedUp | None:
    """Return what a function such as ClickHouse's `dictGet('d', 'a', key)` reads, or None for others."""
    name, arguments = function.name.lower(), function.expressions
    if not name.startswith(_LOOKUPS) or len(arguments) < 2:
        return None
    table, attribute, *keys = arguments
    parts = [part.name for part in table.parts] if isinstance(table, exp.Column) else table.name.split(".")
    dataset = script.dataset(exp.to_table(".".join(parts)))
    columns = script.tables.columns(dataset)
    names = attribute.expressions if isinstance(attribute, exp.Tuple) else [attribute]
    values = (columns.lookup(item.name) if _is_text(item) else None for item in names)
    stop = len(keys) - name.endswith("ordefault")
    return LookedUp(dataset, tuple(value or UNKNOWN for value in values), keys[:stop], keys[stop:])


def _unwrap_rows(node: exp.Expr) -> exp.Expr:
    """Return `f(x)` of `TABLE(f(x))`, or another item unchanged."""
    inner = node.this if isinstance(node, exp.TableFromRows) else None
    if (
        isinstance(node, exp.Table)
        and isinstance(node.this, exp.Anonymous)
        and len(node.this.expressions) == 1
    ):
        inner = node.this.expressions[0] if node.this.name.lower() == "table" else None
    return exp.Table(this=inner) if isinstance(inner, (exp.Func, exp.Dot)) else node


def _identifier(node: exp.Expr) -> str:
    """Return the text of IDENTIFIER and similar functions, or "" for anything else."""
    function = node.this
    alias = node.args.get("alias")
    if isinstance(function, exp.DynamicIdentifier) or isinstance(node, exp.TableFromRows):
        argument = function.this if isinstance(function, exp.DynamicIdentifier) else function
    elif isinstance(function, exp.Anonymous) and function.name.lower() in _NAMING:
        argument = next(iter(function.expressions), None)
    elif isinstance(function, exp.Identifier) and function.name == "dictionary" and alias and not alias.name:
        return str(alias.columns[0].name) if alias.columns else ""
    else:
        return ""
    return str(argument.name) if _is_text(argument) else ""


def _path(function: exp.Func) -> exp.Expr | None:
    """Return the text in the first argument of a file reader, or None for other functions."""
    is_reader = isinstance(function, (exp.ReadParquet, exp.ReadCSV)) or function.name.lower() in _READERS
    arguments = [function.this, *function.expressions] if is_reader else []
    path = next((argument for argument in arguments if isinstance(argument, exp.Expr)), None)
    return path if _is_text(path) else None


def _is_text(node: object) -> bool:
    """Return whether a node is a literal text and not empty."""
    return isinstance(node, exp.Literal) and node.is_string and bool(node.name)
