"""The columns of a result that change when one column of a table has other values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Protocol, TypeAlias

from tests.engines.random_queries import LIST
from tests.engines.recorded_query import Column, RecordedQuery

Value: TypeAlias = object
Row: TypeAlias = Sequence[Value]

ROWS = 5
"""Rows of each table."""

VALUES = (0, 1, 2, 3, None)
"""Few values, so that rows meet in joins and groups."""


class Database(Protocol):
    """An engine with tables that can be filled again and again."""

    def fill(self, table: str, rows: Sequence[Row]) -> None:
        """Replace the rows of a table."""

    def query(self, text: str) -> list[Row]:
        """Return the rows of a query."""


class Contents:
    """Random rows of tables, and the same ones with other values in one column."""

    def __init__(self, tables: Mapping[str, Mapping[str, str]], seed: int, *, times: int = 3) -> None:
        """`times` (1 to 3): how often each column changes."""
        self._tables, self._random, self._times = tables, Random(seed), times
        columns = {(table, name): kind for table, names in tables.items() for name, kind in names.items()}
        self._values = {column: self._drawn(kind) for column, kind in columns.items()}
        self._kinds = columns

    def fill(self, database: Database) -> None:
        """Fill all tables."""
        for table in self._tables:
            database.fill(table, self._rows(table, {}))

    def restore(self, database: Database, table: str) -> None:
        """Fill a table with its rows again."""
        database.fill(table, self._rows(table, {}))

    def changes(self, database: Database, query: str) -> Iterator[Column]:
        """Yield each column of the tables in a query several times, with other values in it each time."""
        tables = {table for table in self._tables if re.search(rf"\b{table}\b", query)}
        for column, kind in self._kinds.items():
            if column[0] not in tables:
                continue
            constant: Value = [1] if kind == LIST else 2
            for values in (self._drawn(kind), [constant] * ROWS, [None] * ROWS)[: self._times]:
                database.fill(column[0], self._rows(column[0], {column: values}))
                yield column
            self.restore(database, column[0])

    def _drawn(self, kind: str) -> list[Value]:
        if kind == LIST:
            return [self._random.choices(VALUES, k=self._random.randrange(3)) for _ in range(ROWS)]
        return self._random.choices(VALUES, k=ROWS)

    def _rows(self, table: str, changed: Mapping[Column, list[Value]]) -> list[Row]:
        values = self._values | dict(changed)
        return list(zip(*(values[table, name] for name in self._tables[table]), strict=True))


def unrecorded(database: Database, query: str, contents: Contents, recorded: RecordedQuery) -> list[str]:
    """Return the changes of the result that no recorded input explains, each once."""
    contents.fill(database)
    earlier = database.query(query)
    faults = []
    for source in contents.changes(database, query):
        later = database.query(query)
        changed = _changed(earlier, later, len(recorded.columns))
        faults += [
            f"{'.'.join(source)} changes {recorded.columns[index]}"
            for index in changed
            if source not in recorded.rows | recorded.inputs[index]
        ]
        is_other = not changed and Counter(map(repr, earlier)) != Counter(map(repr, later))
        if is_other and source not in recorded.all_inputs:
            faults.append(f"{'.'.join(source)} changes rows")
    return list(dict.fromkeys(faults))


def _changed(earlier: list[Row], later: list[Row], count: int) -> list[int]:
    """Return the positions of columns that have other values, whatever their order."""
    return [index for index in range(count) if _values(earlier, index) != _values(later, index)]


def _values(rows: list[Row], index: int) -> Counter[str]:
    return Counter(repr(row[index]) for row in rows)


def literal(value: Value, text_of_list: Callable[[str], str]) -> str:
    """Return a value as SQL; the elements of a list are the argument of `text_of_list`."""
    if isinstance(value, list):
        return text_of_list(", ".join(literal(element, text_of_list) for element in value))
    return "NULL" if value is None else str(value)
