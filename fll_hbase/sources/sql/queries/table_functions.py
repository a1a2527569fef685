"""Functions that return rows or name a table: generators, file readers, dictionaries and IDENTIFIER.

Generators are in a FROM, or in a SELECT list for each row. The others name a table or file by a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from fll_hbase.model.datasets import Dataset
from fll_hbase.sources.sql.queries.column_provenance import UNKNOWN, ColumnProvenance
from fll_hbase.sources.sql.script.script_state import ScriptState

WITH_POSITION = (exp.Posexplode, exp.PosexplodeOuter)
EXPLODE = (exp.Explode, exp.ExplodeOuter, exp.Inline, *WITH_POSITION)
"""Functions that return a row for each element."""
_ROW_FUNCTIONS = {
    *("generate_subscripts", "json_array_elements", "json_array_elements_text", "json_object_keys"),
    *("jsonb_array_elements", "jsonb_array_elements_text", "jsonb_object_keys", "jsonb_path_query"),
    *("json_each", "jsonb_each", "json_each_text", "jsonb_each_text", "regexp_split_to_table"),
    *("string_to_table", "unnest", "json_populate_recordset", "jsonb_populate_recordset"),
}
"""Further functions of PostgreSQL, which may be in a SELECT list, too."""
ROW_GENERATORS = _ROW_FUNCTIONS | {
    *("generate_series", "generator", "generaterandom", "numbers", "numbers_mt", "range", "sequence"),
    *("zeros", "zeros_mt", "string_split", "split_to_table", "json_tree", "strtok_split_to_table"),
    *("values", "view", "input", "dual"),
}
"""Functions in a FROM that make rows from their arguments only."""
_ONE_ROW = {"json_tuple", "parse_url_tuple", "json_to_record", "jsonb_to_record"}
"""Functions that return one row of several columns."""
CALLS = (*EXPLODE, exp.ExplodingGenerateSeries, exp.Anonymous)
"""Calls that may return rows; Anonymous is any function that the library does not know."""
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


def makes_rows(node: exp.Expr) -> bool:
    """Return whether an expression is a function whose number of rows depends on its arguments."""
    is_plain = isinstance(node, exp.Anonymous) and node.name.lower() not in _ROW_FUNCTIONS
    return isinstance(node, CALLS) and not is_plain and not makes_fixed_rows(node)


def makes_fixed_rows(node: exp.Expr) -> bool:
    """Return whether a generator, or its only argument, returns as many rows as the SQL has values."""
    value = node.this if isinstance(node, EXPLODE) else node
    if isinstance(value, exp.Array):
        return not any(isinstance(item, exp.Query) for item in value.expressions)
    is_one = isinstance(value, exp.Anonymous) and value.name.lower() in _ONE_ROW
    return is_one or isinstance(value, (exp.Stack, exp.VarMap))


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
