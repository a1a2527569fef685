"""Stored rows as text and JSON: one line for each row, and below it a line for each cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment

from fll_hbase.cli.render.console import format_time
from fll_hbase.cli.render.screen import Block, Screen, wrap
from fll_hbase.cli.render.time_text import UTC_NAME, format_with_zone
from fll_hbase.runtime.escape import escape_control
from fll_hbase.store.rows.row_view import RowView

_INDENT = " " * 6
_TIMES = {"startMs": "start", "dayMs": "day", "periodMs": "period from"}


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The lines of rows, which a terminal breaks at spaces."""

    rows: Sequence[Sequence[str]]
    zone: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines for a pipe."""
        yield from (Segment(f"{line}\n") for row in self.rows for line in row)

    def fit(self, screen: Screen) -> Block:
        """Return the rows for a terminal, below the zone of their times."""
        items = [
            [part for line in row for part in wrap(line, screen.width, indent=_INDENT)] for row in self.rows
        ]
        return Block(head=[(f"Stored rows, times in {self.zone}", "bold")], items=items)


def row_lines(view: RowView, zone: str) -> Iterator[str]:
    """Yield the lines of a row, with control characters escaped and unreadable parts marked."""
    parts = ", ".join(_part(name, value, zone) for name, value in view.parts.items())
    described = f"unreadable: {view.error}" if view.error else parts
    yield escape_control(f"{view.key}  [{view.kind}] {described}")
    for cell in view.cells:
        mark = "" if cell.is_readable else "unreadable: "
        size = f" ({cell.size_bytes:,} bytes)" if cell.size_bytes > len(cell.value) or mark else ""
        time = _time(cell.stamp_ms, zone)
        yield escape_control(f"    {time}  {cell.column}  {mark}{cell.value}{size}".rstrip())
    if view.cells_total > len(view.cells):
        yield f"    … {view.cells_total - len(view.cells):,} more cells"


def row_json(view: RowView) -> dict[str, Any]:
    """Return a row as JSON members, with times in milliseconds since 1970."""
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


def _part(name: str, value: Any, zone: str) -> str:
    """Return a part of a key as text, with a time as a date."""
    if name in _TIMES:
        return f"{_TIMES[name]} {_time(value, zone)}"
    return f"{name} {value}"


def _time(milliseconds: int, zone: str) -> str:
    """Return a time as text, with its offset unless the zone is UTC."""
    return format_time(milliseconds) if zone == UTC_NAME else format_with_zone(milliseconds, zone)
