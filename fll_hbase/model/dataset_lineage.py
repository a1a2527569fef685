"""Lineage between datasets as sets of column pairs: of one pair of datasets, and of many, merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from fll_hbase.model.datasets import Dataset

FieldPair: TypeAlias = tuple[str | None, str | None]
"""Source field (None if the other was generated) and destination field (None if the other was dropped)."""

DatasetPair: TypeAlias = tuple[Dataset | None, Dataset | None]
"""Source (None for generated fields) and destination (None for dropped fields)."""


@dataclass(frozen=True, slots=True)
class DatasetLineage:
    """The column lineage between two datasets.

    `source` is None for generated fields, `destination` for dropped ones. `dataset_wide` are source
    fields that influence the destination as a whole. `unknown` is set if the datasets are related but no
    field is known.
    """

    source: Dataset | None
    destination: Dataset | None
    direct: frozenset[FieldPair] = frozenset()
    indirect: frozenset[FieldPair] = frozenset()
    dataset_wide: frozenset[str] = frozenset()
    unknown: bool = False

    def cut(self, pairs_max: int) -> DatasetLineage:
        """Return a copy with the first `pairs_max` pairs by name: direct, indirect, then dataset-wide."""
        direct = sorted(self.direct, key=_pair_key)[:pairs_max]
        indirect = sorted(self.indirect, key=_pair_key)[: pairs_max - len(direct)]
        dataset_wide = sorted(self.dataset_wide)[: pairs_max - len(direct) - len(indirect)]
        return replace(
            self, direct=frozenset(direct), indirect=frozenset(indirect), dataset_wide=frozenset(dataset_wide)
        )

    @property
    def size(self) -> int:
        """The number of pairs, dataset-wide ones included."""
        return len(self.direct) + len(self.indirect) + len(self.dataset_wide)

    @property
    def cost(self) -> int:
        """The share of `pairs_max` that this lineage uses: its number of pairs, or 1 if no field is known."""
        return max(self.size, 1)

    def without_indirect(self) -> DatasetLineage:
        """Return a copy without indirect pairs and dataset-wide fields; direct pairs and `unknown` stay."""
        # `dataset_wide` is always indirect, so it is removed; an unknown relation may be direct, so it stays.
        return DatasetLineage(self.source, self.destination, direct=self.direct, unknown=self.unknown)

    @property
    def empty(self) -> bool:
        """True if there is no pair, no dataset-wide field and no unknown relation."""
        return not (self.direct or self.indirect or self.dataset_wide or self.unknown)


def _pair_key(pair: FieldPair) -> tuple[str, str]:
    """Return the sort key of a pair: its two names, None as ""."""
    # At most one of the two is None: a generated or a dropped field.
    return pair[0] or "", pair[1] or ""


@dataclass(frozen=True, slots=True)
class DatasetLineageSet:
    """The lineage of one dataset in one direction, by dataset pair.

    `truncated_by` lists the limits, as `limit=value`, that left out pairs.
    """

    by_datasets: dict[DatasetPair, DatasetLineage]
    truncated_by: frozenset[str] = frozenset()

    @property
    def truncated(self) -> bool:
        """True if a limit left out pairs."""
        return bool(self.truncated_by)

    @property
    def size(self) -> int:
        """The number of pairs, dataset-wide ones included."""
        return sum(lineage.size for lineage in self.by_datasets.values())

    def rename(self, name: Dataset, to: Dataset) -> DatasetLineageSet:
        """Return the lineage with dataset `name` called `to`, and so merged with what `to` already has."""
        if name == to:
            return self
        union = LineageUnion()
        for lineage in self.by_datasets.values():
            source, destination = (
                to if end == name else end for end in (lineage.source, lineage.destination)
            )
            # Merge: lineages from `name` to itself and from `name` to `to` now have the same pair.
            union.add_lineage(replace(lineage, source=source, destination=destination))
        union.truncated_by |= self.truncated_by
        return union.build()

    def without_indirect(self) -> DatasetLineageSet:
        """Return only direct pairs and unknown relations, without dataset pairs that become empty."""
        direct = {datasets: lineage.without_indirect() for datasets, lineage in self.by_datasets.items()}
        return DatasetLineageSet(
            {datasets: lineage for datasets, lineage in direct.items() if not lineage.empty},
            self.truncated_by,
        )


class LineageUnion:
    """A union under construction: the work grows with what is added, not with the union.

    `cost` is how much of `pairs_max` the union uses, `truncated_by` the limits that cut the additions.
    """

    def __init__(self) -> None:
        self.cost = 0
        self.truncated_by: set[str] = set()
        self._members: dict[DatasetPair, tuple[set[FieldPair], set[FieldPair], set[str]]] = {}
        self._unknown: set[DatasetPair] = set()

    def add(self, lineages: DatasetLineageSet) -> None:
        """Add all lineages of a set, and the limits that cut them."""
        self.truncated_by |= lineages.truncated_by
        for lineage in lineages.by_datasets.values():
            self.add_lineage(lineage)

    def add_lineage(self, lineage: DatasetLineage) -> None:
        """Add the pairs and the `unknown` of one lineage; `cost` grows by what is new to the union."""
        datasets = lineage.source, lineage.destination
        previous = self._cost_of(datasets)
        direct, indirect, dataset_wide = self.members(datasets)
        direct |= lineage.direct
        indirect |= lineage.indirect
        dataset_wide |= lineage.dataset_wide
        self.cost += self._cost_of(datasets) - previous
        if lineage.unknown:
            self._unknown.add(datasets)

    def add_unknown(self, datasets: DatasetPair) -> None:
        """Add an unknown relation, unless the union has these two datasets already; `cost` does not grow."""
        if datasets not in self._members:
            self.members(datasets)
            self._unknown.add(datasets)

    def members(self, datasets: DatasetPair) -> tuple[set[FieldPair], set[FieldPair], set[str]]:
        """Return the sets of direct pairs, indirect pairs and dataset-wide fields, added if missing.

        Callers may extend the sets in place, which `cost` does not count.
        """
        members = self._members.get(datasets)
        if members is None:
            members = self._members[datasets] = (set(), set(), set())
        return members

    def _cost_of(self, datasets: DatasetPair) -> int:
        """Return what two datasets add to `cost`: their pairs, at least 1; 0 if the union lacks the two."""
        if datasets not in self._members:
            return 0
        direct, indirect, dataset_wide = self._members[datasets]
        return max(len(direct) + len(indirect) + len(dataset_wide), 1)

    def build(self) -> DatasetLineageSet:
        """Return the current union as a DatasetLineageSet; later additions do not change it."""
        by_datasets = {
            datasets: DatasetLineage(
                *datasets,
                direct=frozenset(direct),
                indirect=frozenset(indirect),
                dataset_wide=frozenset(dataset_wide),
                unknown=datasets in self._unknown,
            )
            for datasets, (direct, indirect, dataset_wide) in self._members.items()
        }
        return DatasetLineageSet(by_datasets, frozenset(self.truncated_by))


def merge_lineages(lineages: Sequence[DatasetLineageSet]) -> DatasetLineageSet:
    """Return the union of lineages, or a single lineage unchanged. Commutative and associative."""
    if len(lineages) == 1:
        return lineages[0]
    union = LineageUnion()
    for lineage in lineages:
        union.add(lineage)
    return union.build()
