"""Named lineage, and what an application remembers of it: columns of checkpoints and of batches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fll_hbase.capture.resolver.dataset_names import DatasetName
from fll_hbase.capture.resolver.lineage import ColumnLineage, Direct, IndirectInput
from fll_hbase.json_types import Json

COLUMNS_MAX = 100_000
"""Columns that are remembered; the oldest are forgotten, and plans that use them have no such inputs."""

NamedDirect: TypeAlias = tuple[DatasetName, str, int, bool]
NamedIndirect: TypeAlias = tuple[DatasetName, str, str]


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """Lineage of a column by names of datasets and fields."""

    direct: frozenset[NamedDirect] = frozenset()
    indirect: frozenset[NamedIndirect] = frozenset()


@dataclass(frozen=True, slots=True)
class NamedRows:
    """Influences on all rows of a dataset, and the datasets that it is made of."""

    inputs: frozenset[NamedIndirect] = frozenset()
    datasets: frozenset[DatasetName] = frozenset()


_NO_COLUMN, _NO_ROWS = NamedColumn(), NamedRows()


class RddMemory:
    """Columns that later plans refer to by ids of the application."""

    def __init__(self) -> None:
        self._columns: OrderedDict[int, tuple[NamedColumn, NamedRows]] = OrderedDict()

    def put(self, ids: Sequence[int], columns: Sequence[NamedColumn], rows: NamedRows) -> None:
        """Remember columns by position."""
        for number, column in zip(ids, columns, strict=False):
            self._columns[number] = (column, rows)
            self._columns.move_to_end(number)
        while len(self._columns) > COLUMNS_MAX:
            self._columns.popitem(last=False)

    def column(self, number: int) -> NamedColumn:
        """Return a column; one without lineage if the id is unknown."""
        return self._columns.get(number, (_NO_COLUMN, _NO_ROWS))[0]

    def rows(self, ids: Iterable[int]) -> NamedRows:
        """Return what influences the rows of an RDD: that of its first known column."""
        return next((self._columns[number][1] for number in ids if number in self._columns), _NO_ROWS)


class LineageNames:
    """Replaces numbers of datasets by names, and columns of RDDs by what is remembered of them."""

    def __init__(
        self, rows: Sequence[Json], names: Sequence[Sequence[DatasetName]], memory: RddMemory
    ) -> None:
        self._rows = rows
        self._names = names
        self._memory = memory
        self._columns: dict[ColumnLineage, NamedColumn] = {}

    def column(self, column: ColumnLineage) -> NamedColumn:
        """Return the named lineage of a column."""
        result = self._columns.get(column)
        if result is None:
            result = self._columns[column] = self._replace(column)
        return result

    def single(self, column: ColumnLineage) -> NamedDirect | None:
        """Return the only input of a column that has one; most columns of wide tables have."""
        if len(column.direct) != 1 or column.indirect:
            return None
        (((dataset, field), kind, masked),) = column.direct
        names = self._names[dataset]
        return (names[0], field, kind, masked) if len(names) == 1 else None

    def _replace(self, column: ColumnLineage) -> NamedColumn:
        direct: set[NamedDirect] = set()
        indirect = set(self.influences(column.indirect))
        for (dataset, field), kind, masked in column.direct:
            remembered = self._remembered(dataset, field)
            if remembered is None:
                direct.update((name, field, kind, masked) for name in self._names[dataset])
                continue
            indirect |= remembered.indirect
            tail = field.partition(".")[2]
            for name, source, inner, hidden in remembered.direct:
                path = f"{source}.{tail}" if tail and inner == Direct.IDENTITY else source
                direct.add((name, path, max(kind, inner), masked or hidden))
        return NamedColumn(frozenset(direct), frozenset(indirect))

    def influences(self, inputs: Iterable[IndirectInput]) -> Iterable[NamedIndirect]:
        """Yield indirect inputs by name."""
        for (dataset, field), kind in inputs:
            remembered = self._remembered(dataset, field)
            if remembered is None:
                yield from ((name, field, kind) for name in self._names[dataset])
            else:
                yield from ((name, source, kind) for name, source, _, _ in remembered.direct)
                yield from remembered.indirect

    def rows(self, inputs: Iterable[IndirectInput], datasets: Iterable[int]) -> NamedRows:
        """Return what influences all rows of a plan that reads some datasets."""
        numbers = set(datasets)
        remembered = [self._memory.rows(self._rows[number].get("ids", ())) for number in numbers]
        return NamedRows(
            frozenset(self.influences(inputs)).union(*(rows.inputs for rows in remembered)),
            frozenset(name for number in numbers for name in self._names[number]).union(
                *(rows.datasets for rows in remembered)
            ),
        )

    def _remembered(self, dataset: int, field: str) -> NamedColumn | None:
        ids = self._rows[dataset].get("ids")
        if ids is None:
            return None
        position = field.partition(".")[0]
        return self._memory.column(ids[int(position)]) if int(position) < len(ids) else _NO_COLUMN
