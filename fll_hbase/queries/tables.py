"""Answers as tables: columns and rows, for CSV and data frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from fll_hbase.queries import name_json
from fll_hbase.runtime import escape
from fll_hbase.runtime.json_types import Json

Row = Mapping[str, Any]

CSV = "text/csv"
"""Media type of a table as CSV."""


@dataclass(frozen=True, slots=True)
class TableShape:
    """Columns of a table, and a function that builds its rows; `times` names columns in milliseconds."""

    columns: tuple[str, ...]
    build: Callable[[Any], Sequence[Row]]
    times: tuple[str, ...] = ()

    def rows(self, body: Any) -> list[Row]:
        """Return the rows with all columns, None for missing values.

        Hidden things of a typed body get names such as `hidden 1`; a body that is JSON must have them.
        """
        if isinstance(body, msgspec.Struct | tuple):
            body = named_json(body)
        return [{name: row.get(name) for name in self.columns} for row in self.build(body)]

    def to_csv(self, body: Any) -> str:
        """Return a line for each row, after a line with the columns; times are in milliseconds since 1970."""
        return escape.to_csv(self.columns, ([*row.values()] for row in self.rows(body)))


def named_json(body: Any) -> Any:
    """Return an answer as JSON in which hidden things have names such as `hidden 1`."""
    members = msgspec.to_builtins(body)
    name_json.add_hidden_names(members)
    return members


NO_TABLE = TableShape((), lambda body: ())


def member_rows(member: str) -> Callable[[Json], Sequence[Row]]:
    """Return a function that takes an answer's JSON and returns the items of this member as rows."""

    def build(body: Json) -> Sequence[Row]:
        rows: Sequence[Row] = body[member]
        return rows

    return build
