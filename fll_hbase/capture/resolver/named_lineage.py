"""Named lineage: of a column, and of all rows, by names of datasets and fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from fll_hbase.capture.resolver.dataset_names import DatasetName

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


NO_COLUMN, NO_ROWS = NamedColumn(), NamedRows()
