"""ALTER TABLE that renames, exchanges or moves: writes with the columns of the other table."""

from __future__ import annotations

import re

from sqlglot import exp

from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.sources.sql.queries.column_provenance import UNKNOWN, ColumnSet, RowDependencies
from fll_hbase.sources.sql.queries.scope import Resolver
from fll_hbase.sources.sql.script.script_state import ScriptState, TableWrite

_NAME = r"""[\w.$"`\[\]]+"""
_MOVE = re.compile(
    rf"""TABLE\s+(?:IF\s+EXISTS\s+|ONLY\s+)?(?P<table>{_NAME})\s+(?:
    EXCHANGE\s+(?:SUB)?PARTITION\s.*?\sWITH\s+TABLE\s+(?P<exchanged>{_NAME})
    |ATTACH\s+PARTITION\s+(?P<attached>{_NAME})\s+(?:FOR\s+VALUES|DEFAULT)\b
    |(?:APPEND|ATTACH\s+PARTITION\s.*?)\sFROM\s+(?P<source>{_NAME})
    |(?:SWITCH|MOVE\s+PARTITION)\s(?:.*?\s)?TO\s+(?!(?:DISK|VOLUME|SHARD)\b)(?:TABLE\s+)?
        (?P<target>{_NAME}) )""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
"""An ALTER that moves rows: its table and the other table."""


def alter(resolver: Resolver, node: exp.Expr) -> None:
    """Read ALTER as writes for renamed or swapped tables, replaced partitions and renamed columns only."""
    script = resolver.script
    for action in node.args.get("actions") or ():
        if isinstance(action, exp.AlterRename):
            _rename(script, node.this, action.this)
        elif isinstance(action, exp.SwapTable):
            _swap(script, node.this, action.this)
        elif isinstance(action, exp.ReplacePartition):
            _move(script, action.args["source"], node.this)
        elif isinstance(action, exp.RenameColumn):
            _rename_column(script, script.dataset(node.this), action.this.name, action.args["to"].name)


def move_rows(resolver: Resolver, node: exp.Expr) -> bool:
    """Read an ALTER that moves or exchanges rows of tables; return False for any other text."""
    script = resolver.script
    match = _MOVE.match(node.text("expression").strip())
    if match is None:
        return False
    table, other = (
        exp.to_table(name, dialect=script.script.dialect) for name in filter(None, match.groups())
    )
    if match["exchanged"] and not script.facts.moves_exchanged:
        _swap(script, table, other, "EXCHANGE PARTITION")
    elif match["target"]:
        _move(script, table, other)
    else:
        _move(script, other, table)
    return True


def _move(script: ScriptState, source: exp.Expr, target: exp.Expr) -> None:
    """Add a write of a table's rows into another table, which has the same columns."""
    script.write(_copy_columns(script, "ALTER", script.dataset(source), script.dataset(target)))


def sp_rename(resolver: Resolver, node: exp.Expr) -> None:
    """Read SQL Server's procedure that renames a table or, with COLUMN as third argument, `table.column`.

    Any other third argument, such as OBJECT, and a column without its table are ignored.
    """
    old, new, *kind = (argument.name for argument in node.expressions)
    script, dialect = resolver.script, resolver.script.script.dialect
    table, _, column = old.rpartition(".")
    if not kind:
        _rename(script, exp.to_table(old, dialect=dialect), exp.to_table(new))
    elif kind[0].upper() == "COLUMN" and table:
        # The name may have brackets, as in `[dbo].[orders].[amount]`.
        dataset = script.dataset(exp.to_table(table, dialect=dialect))
        _rename_column(script, dataset, column.strip('[]"'), new)


def _rename(script: ScriptState, old: exp.Expr, new: exp.Expr) -> None:
    """Move a view or temporary table to its new name; write the columns of all but temporary tables there."""
    if not new.args.get("db"):
        # A new name without a schema stays in the schema of the table.
        new = exp.Table(this=new.this, db=old.args.get("db"), catalog=old.args.get("catalog"))
    is_unqualified = not old.args.get("db") and old.name.lower() in script.unqualified
    source = script.dataset(old)
    if is_unqualified:
        script.unqualified.discard(old.name.lower())
        if not new.args.get("db"):
            script.unqualified.add(new.name.lower())
    target = script.dataset(new)
    if source in script.views:
        script.views[target] = script.views.pop(source)
    if source in script.temporary:
        script.temporary.discard(source)
        script.temporary.add(target)
        return
    script.write(_copy_columns(script, "RENAME", source, target))
    _declare(script, target, script.tables.declared_columns(source))


def _swap(script: ScriptState, first: exp.Expr, second: exp.Expr, verb: str = "SWAP") -> None:
    """Add two writes for an exchange of tables, which exchange their columns and declarations.

    Two temporary tables, which are not datasets, only exchange their columns.
    """
    left, right = script.dataset(first), script.dataset(second)
    if left in script.temporary and right in script.temporary:
        script.views[left], script.views[right] = script.views[right], script.views[left]
        return
    columns = [script.tables.declared_columns(dataset) for dataset in (left, right)]
    writes = [_copy_columns(script, verb, *pair) for pair in ((left, right), (right, left))]
    for write in writes:
        script.write(write)
    _declare(script, right, columns[0])
    _declare(script, left, columns[1])


def _copy_columns(script: ScriptState, verb: str, source: Dataset, target: Dataset) -> TableWrite:
    """Return a write of all columns of a table into another; warn if neither table has known columns."""
    columns = script.tables.columns(source)
    names = script.tables.declared_columns(target) or () if not columns.is_complete else ()
    if names:
        columns = ColumnSet(tuple((name, columns.lookup(name) or UNKNOWN) for name in names))
    if not columns.is_complete:
        script.warn(f"{verb} of {source.name!r}: unknown columns; list them in `schema`")
    fields = [(name, column.with_text(name)) for name, column in columns.items] or None
    return TableWrite(verb, target, fields, RowDependencies(reads=frozenset((source,))))


def _rename_column(script: ScriptState, dataset: Dataset, old: str, new: str) -> None:
    """Add a write of a column into its new name and rename it if declared, or warn if it is absent."""
    columns = script.tables.columns(dataset)
    column = columns.lookup(old)
    declared = script.tables.declared_columns(dataset)
    if column is None:
        script.warn(f"RENAME of column {old!r}: {dataset.name!r} is not known to have it")
        return
    script.write(TableWrite("RENAME", dataset, [(new, column.with_text(old))], RowDependencies()))
    if declared is not None:
        _declare(script, dataset, [new if name.lower() == old.lower() else name for name in declared])


def _declare(script: ScriptState, dataset: Dataset, names: list[str] | None) -> None:
    """Declare the columns of a dataset, without types, unless `names` is None."""
    if names is not None:
        script.tables.declare(dataset, [Field(name) for name in names])
