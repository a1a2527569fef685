"""The catalog: columns of relations with their types, as dbt found them in the database."""

from __future__ import annotations

from typing import Any

from fll_hbase.model.datasets import Field
from fll_hbase.sources.dbt.artifact import CATALOG, Artifact
from fll_hbase.sources.openlineage.json_access import members, text
from fll_hbase.sources.validation import NAME_BYTES_MAX, Validator, child_path


def read_catalog(validator: Validator, artifact: Artifact) -> dict[str, tuple[Field, ...]]:
    """Return the columns of each node and source by unique id, in table order; none of them is empty."""
    fields: dict[str, tuple[Field, ...]] = {}
    for member in ("nodes", "sources"):
        path = child_path(CATALOG.member, member)
        for unique_id, value in members(validator, artifact.data.get(member), path, optional=True).items():
            table_path = child_path(path, unique_id)
            columns = members(validator, value, table_path, optional=True).get("columns")
            columns_path = child_path(table_path, "columns")
            fields[unique_id] = _fields(
                validator, members(validator, columns, columns_path, optional=True), columns_path
            )
    # Without columns in the catalog, those that the project declares are used.
    return {unique_id: columns for unique_id, columns in fields.items() if columns}


def _fields(validator: Validator, columns: dict[str, Any], path: str) -> tuple[Field, ...]:
    """Return a table's readable columns, sorted by their `index`; the others are left out."""
    indexed: list[tuple[int, Field]] = []
    for key, value in columns.items():
        column_path = child_path(path, key)
        errors_before = validator.errors.count
        column = members(validator, value, column_path)
        name = validator.required(column, "name", column_path, bytes_max=NAME_BYTES_MAX)
        if not validator.leave_out(column_path, errors_before=errors_before):
            indexed.append((_index(column), Field(name, text(validator, column, "type", column_path))))
    # `SELECT *` and writes by position depend on the order; JSON objects of adapters may have another.
    return tuple(field for _, field in sorted(indexed, key=lambda item: item[0]))


def _index(column: dict[str, Any]) -> int:
    """Return the ordinal of a column, 0 if the adapter does not write one."""
    index = column.get("index")
    return index if isinstance(index, int) else 0
