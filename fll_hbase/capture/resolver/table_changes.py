"""Changes of tables without a query: their lifecycle, and their columns after the change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fll_hbase.capture.resolver.dump import Node
from fll_hbase.runtime.json_types import Json

CREATE, ALTER, OVERWRITE = "CREATE", "ALTER", "OVERWRITE"
DROP, RENAME, TRUNCATE = "DROP", "RENAME", "TRUNCATE"

LIFECYCLES = {
    "AddColumns": ALTER,
    "AlterColumn": ALTER,
    "AlterColumns": ALTER,
    "AlterTableAddColumnsCommand": ALTER,
    "AlterTableChangeColumnCommand": ALTER,
    "AlterTableRenameCommand": RENAME,
    "CreateDataSourceTableCommand": CREATE,
    "CreateDeltaTableCommand": CREATE,
    "CreateTable": CREATE,
    "CreateTableCommand": CREATE,
    "CreateTableLike": CREATE,
    "CreateTableLikeCommand": CREATE,
    "DropColumns": ALTER,
    "DropTable": DROP,
    "DropTableCommand": DROP,
    "RenameColumn": ALTER,
    "RenameTable": RENAME,
    "ReplaceColumns": ALTER,
    "ReplaceTable": OVERWRITE,
    "TruncateTable": TRUNCATE,
    "TruncateTableCommand": TRUNCATE,
}
"""Commands that write no rows, with OpenLineage's name of their change."""

_REPLACES = frozenset(
    ["OverwriteByExpression", "OverwritePartitionsDynamic", "ReplaceTable", "ReplaceTableAsSelect"]
)

Types = dict[str, str]


def write_lifecycle(node: Node, *, is_create: bool) -> str:
    """Return what a command that writes rows does to its table: OVERWRITE, CREATE, or "" for adding rows."""
    mode = node.members.get("mode")
    if mode == "Overwrite" or node.members.get("overwrite") or node.kind in _REPLACES:
        return OVERWRITE
    return CREATE if is_create and mode != "Append" else ""


def listed_columns(row: Mapping[str, Any]) -> Types:
    """Return the columns of a dataset in the catalogue, with their types, or "" for an unknown type."""
    names = row.get("fields", ())
    return dict.fromkeys(names, "") | dict(zip(names, row.get("types", ()), strict=False))


def changed_columns(node: Node, stored: Types) -> tuple[Types, dict[str, str]]:
    """Return the columns after the changes of a command, and former names of renamed columns by new name.

    Columns inside a struct do not count, but a change of its fields makes the struct's type unknown. Other
    kinds of change are ignored. Raises ValueError for a change of another form.
    """
    columns, renamed = dict(stored), dict[str, str]()
    changes = node.members.get("changes")
    for change in changes if isinstance(changes, list) else ():
        kind, path, value = _parts(change)
        if len(path) > 1:
            columns[path[0]] = ""
        elif kind == "DeleteColumn":
            columns.pop(path[0], None)
        elif kind == "RenameColumn":
            columns = {value if name == path[0] else name: type_ for name, type_ in columns.items()}
            renamed[value] = path[0]
        elif kind in ("AddColumn", "UpdateColumnType"):
            columns[path[0]] = value
    return columns, renamed


def _parts(change: Any) -> tuple[str, list[str], str]:
    """Return class, path (not empty) and new value ("" for null). Raises ValueError otherwise."""
    match change:
        case [str(kind), [str(_), *_] as path, str() | None as value]:
            return kind, [str(name) for name in path], value or ""
    raise ValueError(f"{change!r} is not a change of a column")


def row_of_change(row: Json) -> Json:
    """Return the row of a dataset after a change: `renamed` if the row has it, else the row itself."""
    renamed = row.get("renamed")
    return renamed if isinstance(renamed, dict) else row
