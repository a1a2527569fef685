"""Names in lineage, and what an application remembers: columns of checkpoints and of batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cachetools import LRUCache

from fll_hbase.capture.resolver.dataset_names import DatasetName
from fll_hbase.capture.resolver.plan_lineage import (
    NO_ROWS,
    UNKNOWN_COLUMN,
    ColumnLineage,
    Direct,
    IndirectInput,
    NamedColumn,
    NamedDirect,
    NamedIndirect,
    NamedRows,
)
from fll_hbase.runtime.json_types import Json

if TYPE_CHECKING:
    from fll_hbase.capture.resolver.jdbc_query import QueryLineage

COLUMNS_MAX = 100_000
"""Columns to remember. Those used least recently are forgotten: plans that use them lack these inputs."""

RDDS_MAX = 10_000
"""RDDs to remember by number, with the ids under which their columns were first read."""

TABLES_MAX = 10_000
"""Tables whose location is remembered."""


class RddMemory:
    """Columns that later plans refer to by ids of the application."""

    def __init__(self) -> None:
        self._columns: LRUCache[int, tuple[NamedColumn, NamedRows]] = LRUCache(COLUMNS_MAX)
        self._rdds: LRUCache[int, list[int]] = LRUCache(RDDS_MAX)

    def put(self, ids: Sequence[int], columns: Sequence[NamedColumn], rows: NamedRows) -> None:
        """Remember columns under ids, by position, each with what influences its rows.

        Replaces columns with equal ids. Ids or columns beyond the shorter list are left out.
        """
        for number, column in zip(ids, columns, strict=False):
            self._columns[number] = (column, rows)

    def link(self, rows: Sequence[Json]) -> None:
        """Remember columns of RDDs under new ids, which Spark assigns where a plan reads an RDD twice."""
        read = [(row["rdd"], row["ids"]) for row in rows if row.get("kind") == "rdd" and "rdd" in row]
        for rdd, ids in read:
            if any(number in self._columns for number in ids):
                self._rdds[rdd] = ids
        pairs = [pair for rdd, ids in read for pair in zip(self._rdds.get(rdd, ()), ids, strict=False)]
        # Looked up first, since adding a column may remove one that is still to be copied.
        columns = {number: self._columns[first] for first, number in pairs if first in self._columns}
        for number, column in columns.items():
            self._columns.setdefault(number, column)

    def column(self, number: int) -> NamedColumn | None:
        """Return the lineage of the column with an id, or None if the id is unknown."""
        return self._columns[number][0] if number in self._columns else None

    def rows(self, ids: Iterable[int]) -> NamedRows:
        """Return what influences the rows of the first known column of the ids; NO_ROWS if none is known."""
        return next((self._columns[number][1] for number in ids if number in self._columns), NO_ROWS)


class TableMemory:
    """Locations of tables by their catalogue and name, for commands that delete them from the catalogue."""

    def __init__(self) -> None:
        self._paths: LRUCache[tuple[str, str], list[str]] = LRUCache(TABLES_MAX)

    def located(self, row: Json) -> Json:
        """Return a row with its own paths, which are remembered, else the last of its table, if any."""
        key = str(row.get("catalog")), str(row.get("identifier"))
        if "catalog" not in row or "identifier" not in row:
            return row
        if row.get("paths"):
            self._paths[key] = row["paths"]
        return {**row, "paths": self._paths[key]} if key in self._paths else row


class LineageNames:
    """Replaces numbers of datasets with names, and columns of RDDs with their remembered lineage.

    `has_unknown` is set once a column with unknown inputs was requested.
    """

    def __init__(
        self, rows: Sequence[Json], names: Sequence[Sequence[DatasetName]], memory: RddMemory
    ) -> None:
        self._rows = rows
        self._names = names
        self._memory = memory
        self.has_unknown = False
        self._columns: dict[ColumnLineage, NamedColumn] = {}
        self._queries = {number: _query_lineage(row) for number, row in enumerate(rows) if row.get("query")}

    def datasets(self, number: int) -> Sequence[DatasetName]:
        """Return the datasets of a number, none for a query, whose columns differ from its tables'."""
        return self._names[number] if number < len(self._names) and number not in self._queries else ()

    def column(self, column: ColumnLineage) -> NamedColumn:
        """Return the lineage of a column by names, cached."""
        result = self._columns.get(column)
        if result is None:
            result = self._columns[column] = self._replace(column)
        return result

    def single(self, column: ColumnLineage) -> NamedDirect | None:
        """Return the only input of a column, as in most columns of wide tables, or None for other columns."""
        if len(column.direct) != 1 or column.indirect:
            return None
        (((dataset, field), kind, masked),) = column.direct
        if dataset in self._queries:
            return None
        names = self._names[dataset]
        return (names[0], field, kind, masked) if len(names) == 1 else None

    def _replace(self, column: ColumnLineage) -> NamedColumn:
        """Return the lineage of a column by names, through columns remembered from earlier plans."""
        direct: set[NamedDirect] = set()
        indirect = set(self.influences(column.indirect))
        is_partial = False
        for (dataset, field), kind, masked in column.direct:
            remembered = self._remembered(dataset, field)
            if remembered is None:
                direct.update((name, field, kind, masked) for name in self._names[dataset])
                is_partial |= not self._names[dataset]
                continue
            indirect |= remembered.indirect
            is_partial |= remembered.is_partial
            tail = "" if dataset in self._queries else field.partition(".")[2]
            for name, source, inner, hidden in remembered.direct:
                path = f"{source}.{tail}" if tail and inner == Direct.IDENTITY else source
                direct.add((name, path, max(kind, inner), masked or hidden))
        is_partial |= any(self._is_unknown(*source) for source, _ in column.indirect)
        self.has_unknown |= is_partial
        return NamedColumn(frozenset(direct), frozenset(indirect), is_partial)

    def _is_unknown(self, dataset: int, field: str) -> bool:
        """Return whether a field of a dataset has any input without a name."""
        remembered = self._remembered(dataset, field)
        return not self._names[dataset] if remembered is None else remembered.is_partial

    def influences(self, inputs: Iterable[IndirectInput]) -> Iterable[NamedIndirect]:
        """Yield indirect inputs by name; a remembered column yields its own inputs instead."""
        for (dataset, field), kind in inputs:
            remembered = self._remembered(dataset, field)
            if remembered is None:
                yield from ((name, field, kind) for name in self._names[dataset])
            else:
                yield from ((name, source, kind) for name, source, _, _ in remembered.direct)
                yield from remembered.indirect

    def rows(self, inputs: Iterable[IndirectInput], datasets: Iterable[int]) -> NamedRows:
        """Return the influences on a plan's rows: `inputs`, and what RDDs and queries in `datasets` have."""
        numbers = set(datasets)
        remembered = [self._memory.rows(self._rows[number].get("ids", ())) for number in numbers]
        queries = [self._queries[number].rows for number in sorted(numbers & set(self._queries))]
        return NamedRows(
            frozenset(self.influences(inputs)).union(*(rows.inputs for rows in remembered), *queries),
            frozenset(name for number in numbers for name in self._names[number]).union(
                *(rows.datasets for rows in remembered)
            ),
        )

    def _remembered(self, dataset: int, field: str) -> NamedColumn | None:
        """Return the lineage of a query's or RDD's column, even if forgotten, and None for other fields."""
        query = self._queries.get(dataset)
        if query is not None:
            return query.column(field)
        ids = self._rows[dataset].get("ids")
        if ids is None:
            return None
        position = int(field.partition(".")[0])
        column = self._memory.column(ids[position]) if position < len(ids) else None
        return column or (NamedColumn() if self._rows[dataset].get("brought") else UNKNOWN_COLUMN)


def _query_lineage(row: Json) -> QueryLineage:
    """Return the lineage of the query in a row of `datasets`."""
    # Imported here, because importing the parser takes longer than all of capture, and few jobs read queries.
    from fll_hbase.capture.resolver.jdbc_query import query_lineage

    return query_lineage(row)
