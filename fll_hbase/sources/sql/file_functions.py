"""Functions that name a table or file by a constant: IDENTIFIER, readers of files, `s3(…)` of ClickHouse."""

from __future__ import annotations

import re

from sqlglot import exp

from fll_hbase.model.datasets import Field
from fll_hbase.sources.sql.script_state import ScriptState

_READERS = {
    *("delta_scan", "iceberg_scan", "parquet_scan", "read_csv_auto", "read_files", "read_json"),
    *("read_json_auto", "read_ndjson", "read_ndjson_auto"),
}
"""Functions whose first argument is a file, in every dialect."""
_CLICKHOUSE_READERS = {*("deltalake", "file", "gcs", "hdfs", "hudi", "iceberg", "oss", "s3", "url")}
_STRUCTURE = re.compile(r'\s*[`"]?\w+[`"]?\s+\w')
"""The start of the columns of a file as ClickHouse has them in a text: a name and a type."""


def named_table(script: ScriptState, node: exp.Expr) -> exp.Expr:
    """Return the table or file that a function in a FROM names; any other item as it is."""
    function = node.this if isinstance(node, exp.Table) else None
    if name := _identifier(function):
        table = exp.to_table(name, dialect=script.script.dialect)
    elif isinstance(function, exp.Func) and (file := file_table(script, function)) is not None:
        table = file
        declare_columns(script, table, listed_columns(function))
    else:
        return node
    for name in ("alias", "joins", "pivots", "laterals"):
        table.set(name, node.args.get(name))
    return table


def file_table(script: ScriptState, function: exp.Expr) -> exp.Table | None:
    """Return the file that a function names, whose path is one part in its own case; None for any other."""
    if not isinstance(function, exp.Func) or not _is_reader(script, function):
        return None
    arguments = [function.this, *function.expressions]
    path = next((argument for argument in arguments if isinstance(argument, exp.Expr)), function)
    return exp.Table(this=exp.Literal.string(path.name)) if _is_text(path) else None


def listed_columns(function: exp.Expr) -> list[str]:
    """Return the columns that a reader of files lists: names, or in ClickHouse `'a Int32, b String'`."""
    arguments = function.expressions[1:]
    names = [argument.name for argument in arguments if isinstance(argument, exp.Column)]
    texts = (argument.name for argument in arguments if _is_text(argument))
    structure = next((text for text in texts if _STRUCTURE.match(text)), "")
    return names or [part.split()[0].strip('`"') for part in _outer_parts(structure) if part.strip()]


def declare_columns(script: ScriptState, table: exp.Table, columns: list[str]) -> None:
    """Set the columns of a file, which may be others each time that it is read."""
    if columns:
        script.tables.declare(script.dataset(table), [Field(name) for name in columns])


def _identifier(function: object) -> str:
    """Return the text of IDENTIFIER, which some dialects do not know as a function; "" for anything else."""
    if isinstance(function, exp.DynamicIdentifier):
        argument = function.this
    elif isinstance(function, exp.Anonymous) and function.name.lower() == "identifier":
        argument = next(iter(function.expressions), None)
    else:
        return ""
    return str(argument.name) if _is_text(argument) else ""


def _is_reader(script: ScriptState, function: exp.Func) -> bool:
    name = function.name.lower()
    is_clickhouse = script.dialect_name == "clickhouse" and name in _CLICKHOUSE_READERS
    return isinstance(function, (exp.ReadParquet, exp.ReadCSV)) or name in _READERS or is_clickhouse


def _is_text(node: object) -> bool:
    return isinstance(node, exp.Literal) and node.is_string and bool(node.name)


def _outer_parts(text: str) -> list[str]:
    """Return the parts between the commas that are in no parentheses."""
    parts, depth, start = [], 0, 0
    for number, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:number])
            start = number + 1
    return [*parts, text[start:]]
