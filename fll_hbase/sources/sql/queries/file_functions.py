"""Functions that name a table or file by a constant: IDENTIFIER and readers of files."""

from __future__ import annotations

from sqlglot import exp

from fll_hbase.sources.sql.script.script_state import ScriptState

_READERS = {
    *("delta_scan", "iceberg_scan", "parquet_scan", "read_csv_auto", "read_files", "read_json"),
    *("read_json_auto", "read_ndjson", "read_ndjson_auto"),
}
"""Functions whose first argument is a file, in every dialect."""


def named_table(script: ScriptState, node: exp.Expr) -> exp.Expr:
    """Return the table or file that a function in a FROM names; any other item as it is.

    The path of a file is one part, in its own case.
    """
    function = node.this if isinstance(node, exp.Table) else None
    if name := _identifier(function):
        table = exp.to_table(name, dialect=script.script.dialect)
    elif isinstance(function, exp.Func) and (path := _path(function)) is not None:
        table = exp.Table(this=exp.Literal.string(path.name))
    else:
        return node
    for name in ("alias", "joins", "pivots", "laterals"):
        table.set(name, node.args.get(name))
    return table


def _identifier(function: object) -> str:
    """Return the text of IDENTIFIER, which some dialects do not know as a function; "" for anything else."""
    if isinstance(function, exp.DynamicIdentifier):
        argument = function.this
    elif isinstance(function, exp.Anonymous) and function.name.lower() == "identifier":
        argument = next(iter(function.expressions), None)
    else:
        return ""
    return str(argument.name) if _is_text(argument) else ""


def _path(function: exp.Func) -> exp.Expr | None:
    """Return the text that is the first argument of a reader of files; None for any other function."""
    is_reader = isinstance(function, (exp.ReadParquet, exp.ReadCSV)) or function.name.lower() in _READERS
    arguments = [function.this, *function.expressions] if is_reader else []
    path = next((argument for argument in arguments if isinstance(argument, exp.Expr)), None)
    return path if _is_text(path) else None


def _is_text(node: object) -> bool:
    """Return whether a node is a literal text that is not empty."""
    return isinstance(node, exp.Literal) and node.is_string and bool(node.name)
