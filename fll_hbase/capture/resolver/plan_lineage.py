"""Lineage of columns: source fields, and how a column depends on them.

Within one plan, datasets are numbers. Results that outlive the plan have their names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TypeAlias

from fll_hbase.capture.resolver.dataset_names import DatasetName

SourceField: TypeAlias = tuple[int, str]
"""Number of the dataset in the line, and the path of the field in the dataset."""


class Direct(IntEnum):
    """Kinds of direct dependency; a column that passes through several has the highest."""

    IDENTITY = 0
    TRANSFORMATION = 1
    AGGREGATION = 2


DirectInput: TypeAlias = tuple[SourceField, int, bool]
"""A source field, a value of Direct, and whether the value was masked."""

IndirectInput: TypeAlias = tuple[SourceField, str]
"""A source field, and one of JOIN, FILTER, GROUP_BY, SORT, WINDOW, CONDITIONAL."""

JOIN, FILTER, GROUP_BY, SORT = "JOIN", "FILTER", "GROUP_BY", "SORT"
WINDOW, CONDITIONAL = "WINDOW", "CONDITIONAL"
ROW_KINDS = frozenset({JOIN, FILTER, GROUP_BY, SORT})

NO_INPUTS: frozenset[IndirectInput] = frozenset()

KEYS, VALUES = -1, -2
"""Parts of a map that the plan builds: its keys, and its values whose keys are not constants.

The value of a constant key is a part under the number of the constant. Names of fields are texts.
"""


@dataclass(frozen=True, slots=True)
class OtherFields:
    """Fields of a struct that the plan reads: a path of each identical input of `struct`.

    A field has at least the kind `least`, and depends on `direct` and `indirect`, too.
    """

    struct: frozenset[DirectInput]
    indirect: frozenset[IndirectInput] = NO_INPUTS
    direct: frozenset[DirectInput] = frozenset()
    least: int = Direct.IDENTITY


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """Lineage of one column.

    `parts` are the fields of a struct that the plan builds, or KEYS and values of a map. `rest` are fields of
    structs that it reads, unless they are simply paths of the inputs. `row` is the describing expression, -1
    for none. Only `direct` and `indirect` are compared.
    """

    direct: frozenset[DirectInput] = frozenset()
    indirect: frozenset[IndirectInput] = NO_INPUTS
    parts: dict[str | int, ColumnLineage] | None = field(default=None, compare=False)
    row: int = field(default=-1, compare=False)
    rest: tuple[OtherFields, ...] = field(default=(), compare=False)

    def fields(self) -> Iterable[SourceField]:
        """Yield the source fields of the values, without those that only influence them."""
        return (source for source, _, _ in self.direct)

    def sources(self) -> Iterable[SourceField]:
        """Yield the source fields of direct inputs, then of indirect inputs, with repetitions."""
        yield from self.fields()
        yield from (source for source, _ in self.indirect)


NO_LINEAGE = ColumnLineage()


def source_column(source: SourceField) -> ColumnLineage:
    """Return the lineage of a column that is read unchanged from a source field."""
    return ColumnLineage(frozenset({(source, int(Direct.IDENTITY), False)}))


def merge(
    columns: Iterable[ColumnLineage],
    *,
    least: int = Direct.IDENTITY,
    masked: bool = False,
    indirect: frozenset[IndirectInput] = NO_INPUTS,
) -> ColumnLineage:
    """Merge the lineage of several values into one of at least the kind `least`, and add `indirect`.

    A single value that needs no change is returned as it is; any other result has no `parts`, `rest` and
    `row`.
    """
    inputs = [column for column in columns if column.direct or column.indirect]
    if not inputs:
        return ColumnLineage(indirect=indirect) if indirect else NO_LINEAGE
    if len(inputs) == 1 and least == Direct.IDENTITY and not masked and not indirect:
        return inputs[0]
    direct = frozenset(
        (source, kind if kind > least else least, hidden or masked)
        for column in inputs
        for source, kind, hidden in column.direct
    )
    return ColumnLineage(direct, indirect.union(*(column.indirect for column in inputs)))


def highest_kinds(column: ColumnLineage) -> ColumnLineage:
    """Return a column with only the highest kind of each source field among its direct inputs."""
    kinds: dict[SourceField, int] = {}
    for source, kind, _ in column.direct:
        kinds[source] = max(kind, kinds.get(source, kind))
    return replace(column, direct=frozenset(item for item in column.direct if item[1] == kinds[item[0]]))


def influences(columns: Iterable[ColumnLineage], kind: str) -> frozenset[IndirectInput]:
    """Return what a condition or key depends on; influences on a subquery's rows keep their kind."""
    return frozenset(
        influence
        for column in columns
        for influence in (
            *((source, kind) for source in column.fields()),
            *((source, given if given in ROW_KINDS else kind) for source, given in column.indirect),
        )
    )


@dataclass(frozen=True, slots=True)
class Relation:
    """Result of a node: columns by id, influences on all of its rows, and ids by position.

    `order` is empty if no other node needs the columns by position.
    """

    columns: dict[int, ColumnLineage]
    rows: frozenset[IndirectInput] = NO_INPUTS
    order: tuple[int, ...] = ()

    def by_position(self) -> list[ColumnLineage]:
        """Return the lineage of the columns in the order of `order`; NO_LINEAGE for an unknown id."""
        return [self.columns.get(number, NO_LINEAGE) for number in self.order]


NamedDirect: TypeAlias = tuple[DatasetName, str, int, bool]
NamedIndirect: TypeAlias = tuple[DatasetName, str, str]


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """Lineage of a column by names of datasets and fields, `is_partial` if some inputs are unknown."""

    direct: frozenset[NamedDirect] = frozenset()
    indirect: frozenset[NamedIndirect] = frozenset()
    is_partial: bool = False


@dataclass(frozen=True, slots=True)
class NamedRows:
    """Influences on all rows of a dataset, and the datasets from which it is made."""

    inputs: frozenset[NamedIndirect] = frozenset()
    datasets: frozenset[DatasetName] = frozenset()


UNKNOWN_COLUMN, NO_ROWS = NamedColumn(is_partial=True), NamedRows()
