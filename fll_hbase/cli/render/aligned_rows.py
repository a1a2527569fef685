"""Stored rows as text and JSON: one line for each row, one below it for each cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fll_hbase.cli.render.console import format_time
from fll_hbase.runtime.escape import escape_control
from fll_hbase.store.rows.row_view import RowView

_TIMES = {"startMs": "start", "dayMs": "day", "periodMs": "period from"}


def row_lines(view: RowView) -> Iterator[str]:
    """Yield the lines of a row; control characters are escaped, what cannot be read is marked."""
    parts = ", ".join(_part(name, value) for name, value in view.parts.items())
    described = f"unreadable: {view.error}" if view.error else parts
    yield escape_control(f"{view.key}  [{view.kind}] {described}")
    for cell in view.cells:
        mark = "" if cell.is_readable else "unreadable: "
        size = f" ({cell.size_bytes:,} bytes)" if cell.size_bytes > len(cell.value) or mark else ""
        time = format_time(cell.stamp_ms)
        yield escape_control(f"    {time}  {cell.column}  {mark}{cell.value}{size}".rstrip())
    if view.cells_total > len(view.cells):
        yield f"    … {view.cells_total - len(view.cells):,} more cells"


def row_json(view: RowView) -> dict[str, Any]:
    """Return a row as JSON members; times are milliseconds since 1970."""
    cells = [
        {
            "column": cell.column,
            "value": cell.value,
            "bytes": cell.size_bytes,
            "time": cell.stamp_ms,
            **({} if cell.is_readable else {"unreadable": True}),
        }
        for cell in view.cells
    ]
    body = {"key": view.key, "kind": view.kind, **view.parts, "cells": cells, "cellsTotal": view.cells_total}
    return body | ({"error": view.error} if view.error else {})


def _part(name: str, value: Any) -> str:
    """Return a part of a key as text; a member that is a time as a date."""
    if name in _TIMES:
        return f"{_TIMES[name]} {format_time(value)}"
    return f"{name} {value}"
