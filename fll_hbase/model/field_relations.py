"""Queries of a field map: its edges one by one, and the column pairs of one dataset with each other one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.operations import Influence

FieldPair: TypeAlias = tuple[str | None, str | None]
"""Source field (None if the other was generated) and destination field (None if the other was dropped)."""

DatasetPair: TypeAlias = tuple[Dataset | None, Dataset | None]
"""Source (None for generated fields) and destination (None for dropped fields)."""


class FieldEdge(NamedTuple):
    """A dependency of a destination field on a source field, direct or indirect.

    Without a source the field was generated, without a destination it was dropped. Without a destination
    field the source field influences the dataset as a whole. Without both fields and an influence the
    datasets are related in an unknown way.
    """

    source: Dataset | None
    source_field: str | None
    destination: Dataset | None
    destination_field: str | None
    influence: Influence | None


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

    def merge(self, other: DatasetLineage) -> DatasetLineage:
        """Return the union of two lineages of the same dataset pair. Commutative and associative."""
        return DatasetLineage(
            source=self.source,
            destination=self.destination,
            direct=self.direct | other.direct,
            indirect=self.indirect | other.indirect,
            dataset_wide=self.dataset_wide | other.dataset_wide,
            unknown=self.unknown or other.unknown,
        )

    def without_indirect(self) -> DatasetLineage:
        """Return a copy with the direct pairs and `unknown` alone."""
        # `dataset_wide` is indirect by definition and goes too; an unknown relation may be direct and stays.
        return DatasetLineage(self.source, self.destination, direct=self.direct, unknown=self.unknown)

    @property
    def empty(self) -> bool:
        """Whether it contains no pair, no dataset-wide field and no unknown relation."""
        return not (self.direct or self.indirect or self.dataset_wide or self.unknown)


@dataclass(frozen=True, slots=True)
class DatasetLineageSet:
    """The lineage of one dataset in one direction by dataset pair; `truncated` if pairs were left out."""

    by_datasets: dict[DatasetPair, DatasetLineage]
    truncated: bool = False

    def merge(self, other: DatasetLineageSet) -> DatasetLineageSet:
        """Return the union of both. Commutative and associative."""
        union = dict(self.by_datasets)
        for datasets, lineage in other.by_datasets.items():
            union[datasets] = union[datasets].merge(lineage) if datasets in union else lineage
        return DatasetLineageSet(union, self.truncated or other.truncated)

    def rename(self, name: Dataset, to: Dataset) -> DatasetLineageSet:
        """Return the same lineage with the dataset `name` called `to`."""
        renamed = DatasetLineageSet({}, self.truncated)
        for (source, destination), lineage in self.by_datasets.items():
            datasets = to if source == name else source, to if destination == name else destination
            lineage = replace(lineage, source=datasets[0], destination=datasets[1])
            # Merged: lineages from `name` to itself and from `name` to `to` now have the same pair.
            renamed = renamed.merge(DatasetLineageSet({datasets: lineage}))
        return renamed

    def without_indirect(self) -> DatasetLineageSet:
        """Return the direct pairs and unknown relations alone, without dataset pairs that are left empty."""
        direct = {datasets: lineage.without_indirect() for datasets, lineage in self.by_datasets.items()}
        return DatasetLineageSet(
            {datasets: lineage for datasets, lineage in direct.items() if not lineage.empty}, self.truncated
        )


def iter_edges(field_map: FieldMap) -> Iterator[FieldEdge]:
    """Yield all edges of a field map, without duplicates."""
    for destination in field_map.destinations:
        yield from edges_into(field_map, destination)
    for source in field_map.sources:
        yield from _edges_between(field_map, (source,), None)


def edges_into(field_map: FieldMap, destination: Dataset) -> Iterator[FieldEdge]:
    """Yield the edges that end at a destination, generated fields included."""
    for field in field_map.generated:
        if field.dataset == destination:
            yield FieldEdge(None, None, destination, field.name, Influence.DIRECT)
    if destination in field_map.destinations:
        yield from _edges_between(field_map, field_map.sources, destination)


def edges_out_of(field_map: FieldMap, source: Dataset) -> Iterator[FieldEdge]:
    """Yield the edges that start at a source, dropped fields included."""
    if source in field_map.sources:
        for destination in (*field_map.destinations, None):
            yield from _edges_between(field_map, (source,), destination)


def dataset_relations(
    field_map: FieldMap, dataset: Dataset, *, backward: bool, pairs_max: int
) -> DatasetLineageSet:
    """Return the lineage of `dataset`: as destination if `backward`, else as source.

    At most `pairs_max` field pairs are built; `truncated` is set if there are more.
    """
    builder = _Builder(field_map, pairs_max)
    if backward:
        for field in field_map.generated:
            if field.dataset == dataset:
                builder.add_pairs((None, dataset), [None], [field.name], Influence.DIRECT)
        factors = _factors_into(field_map, dataset)
    else:
        factors = _factors(field_map, _fields_of(field_map, dataset))
    for factor in factors:
        builder.add_factor(factor)
    for source in field_map.sources:
        for destination in field_map.destinations:
            # All pairs of datasets, since READs or WRITEs without fields have no factor.
            if dataset == (destination if backward else source):
                builder.add_unknown(source, destination)
    return builder.build()


class _Factor(NamedTuple):
    """Each source field of the two bit sets leads to each of `fields`; None is the whole destination.

    Without a destination the source fields are dropped.
    """

    destination: Dataset | None
    fields: Sequence[str | None] | None
    direct: int
    indirect: int


def _factors(field_map: FieldMap, mask: int = -1) -> Iterator[_Factor]:
    """Yield the field map as products of source fields, those of the mask, and destination fields."""
    yield _Factor(None, (None,), field_map.dropped_direct & mask, field_map.dropped_indirect & mask)
    for entry in field_map.entries:
        yield _Factor(entry.destination, entry.fields, entry.direct & mask, entry.indirect & mask)
    for destination, bits in field_map.dataset_wide:
        yield _Factor(destination, None, 0, bits & mask)


def _factors_into(field_map: FieldMap, destination: Dataset | None, mask: int = -1) -> Iterator[_Factor]:
    return (factor for factor in _factors(field_map, mask) if factor.destination == destination)


def _edges_between(
    field_map: FieldMap, sources: Iterable[Dataset], destination: Dataset | None
) -> Iterator[FieldEdge]:
    """Yield the edges from sources to a destination without duplicates; for None those of dropped fields."""
    # Sets of different sources are disjoint, so that their sum is their union.
    masks = {source: _fields_of(field_map, source) for source in sources}
    wide = touched = 0
    by_field: dict[str | None, tuple[int, int]] = {}
    for _, names, direct, indirect in _factors_into(field_map, destination, sum(masks.values())):
        touched |= direct | indirect
        if names is None:
            wide |= indirect
        elif direct | indirect:
            for name in names:
                # In several factors if several Writes write it: united, so that no edge is repeated.
                other = by_field.get(name)
                by_field[name] = (other[0] | direct, other[1] | indirect) if other else (direct, indirect)
    for name, (direct, indirect) in sorted(by_field.items(), key=lambda item: item[0] or ""):
        yield from _edges(field_map, direct, destination, name, Influence.DIRECT)
        yield from _edges(field_map, indirect, destination, name, Influence.INDIRECT)
    yield from _edges(field_map, wide, destination, None, Influence.INDIRECT)
    for source, bits in masks.items():
        # Edges of this source make the relation known.
        if destination and not touched & bits and _is_unknown(field_map, source, destination):
            yield FieldEdge(source, None, destination, None, None)


def _edges(
    field_map: FieldMap, bits: int, destination: Dataset | None, name: str | None, influence: Influence
) -> Iterator[FieldEdge]:
    """Yield one edge for each source field of a bit set."""
    while bits:
        field = field_map.fields[(bits & -bits).bit_length() - 1]
        yield FieldEdge(field.dataset, field.name, destination, name, influence)
        bits &= bits - 1


def _is_unknown(field_map: FieldMap, source: Dataset, destination: Dataset) -> bool:
    """Return whether the source was read, or the destination written, without field names."""
    return source in field_map.read_without_fields or destination in field_map.written_without_fields


def _fields_of(field_map: FieldMap, source: Dataset) -> int:
    """Return the bit set of the fields of a source."""
    return sum(1 << number for number, field in enumerate(field_map.fields) if field.dataset == source)


class _Builder:
    """Collects field pairs by dataset pair, up to a number of pairs."""

    def __init__(self, field_map: FieldMap, pairs_max: int) -> None:
        self._field_map = field_map
        self._remaining = pairs_max
        self._truncated = False
        self._pairs: dict[DatasetPair, dict[Influence, set[FieldPair]]] = {}
        self._dataset_wide: dict[DatasetPair, set[str]] = {}
        self._unknown: set[DatasetPair] = set()

    def add_factor(self, factor: _Factor) -> None:
        """Add the pairs of a factor, up to the number of pairs."""
        # Direct pairs first: if the limit falls within a factor, its indirect pairs are left out.
        for influence, bits in ((Influence.DIRECT, factor.direct), (Influence.INDIRECT, factor.indirect)):
            for source, names in self._names_by_source(bits).items():
                datasets = source, factor.destination
                if factor.fields is None:
                    self._sets(datasets)
                    self._dataset_wide.setdefault(datasets, set()).update(names)
                else:
                    self.add_pairs(datasets, names, factor.fields, influence)

    def add_pairs(
        self,
        datasets: DatasetPair,
        source_fields: Sequence[str | None],
        destination_fields: Sequence[str | None],
        influence: Influence,
    ) -> None:
        """Add a pair for each source and destination field; set `truncated` beyond the number of pairs."""
        pairs = self._sets(datasets)[influence]
        for name in destination_fields:
            # Cut before the product is built: it may have nine million pairs (docs/decisions/0008).
            added = source_fields[: self._remaining]
            self._truncated = self._truncated or len(added) < len(source_fields)
            pairs.update((source_field, name) for source_field in added)
            self._remaining -= len(added)

    def add_unknown(self, source: Dataset, destination: Dataset) -> None:
        """Relate two datasets of which one was read or written without naming fields."""
        if _is_unknown(self._field_map, source, destination):
            self._unknown.add((source, destination))

    def build(self) -> DatasetLineageSet:
        """Return all pairs; datasets with pairs are not related in an unknown way as well."""
        by_datasets = {
            datasets: DatasetLineage(
                *datasets,
                direct=frozenset(sets[Influence.DIRECT]),
                indirect=frozenset(sets[Influence.INDIRECT]),
                dataset_wide=frozenset(self._dataset_wide.get(datasets, ())),
            )
            for datasets, sets in self._pairs.items()
        }
        for datasets in self._unknown - by_datasets.keys():
            by_datasets[datasets] = DatasetLineage(*datasets, unknown=True)
        return DatasetLineageSet(by_datasets, self._truncated)

    def _sets(self, datasets: DatasetPair) -> dict[Influence, set[FieldPair]]:
        return self._pairs.setdefault(datasets, {influence: set() for influence in Influence})

    def _names_by_source(self, bits: int) -> dict[Dataset, list[str]]:
        grouped: dict[Dataset, list[str]] = {}
        while bits:
            low = bits & -bits
            field = self._field_map.fields[low.bit_length() - 1]
            grouped.setdefault(field.dataset, []).append(field.name)
            bits ^= low
        return grouped
