"""Queries of a field map: its edges one by one, and the column pairs of one dataset with each other one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple, TypeAlias

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.field_map import FieldMap, fields_of
from fll_hbase.model.field_sets import Members
from fll_hbase.model.operations import Influence
from fll_hbase.model.source_fields import SourceFields

STEPS_MAX = 1_000_000
"""Sets of fields that one query enters, about a second; only hostile operations need so many."""

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

    def cut(self, pairs_max: int) -> DatasetLineage:
        """Return a copy with the first pairs only, direct ones before indirect and dataset-wide ones."""
        direct = sorted(self.direct, key=_pair_key)[:pairs_max]
        indirect = sorted(self.indirect, key=_pair_key)[: pairs_max - len(direct)]
        dataset_wide = sorted(self.dataset_wide)[: pairs_max - len(direct) - len(indirect)]
        return replace(
            self,
            direct=frozenset(direct),
            indirect=frozenset(indirect),
            dataset_wide=frozenset(dataset_wide),
        )

    @property
    def size(self) -> int:
        """How many pairs it has, dataset-wide ones included."""
        return len(self.direct) + len(self.indirect) + len(self.dataset_wide)

    def without_indirect(self) -> DatasetLineage:
        """Return a copy with the direct pairs and `unknown` alone."""
        # `dataset_wide` is indirect by definition and goes too; an unknown relation may be direct and stays.
        return DatasetLineage(self.source, self.destination, direct=self.direct, unknown=self.unknown)

    @property
    def empty(self) -> bool:
        """Whether it contains no pair, no dataset-wide field and no unknown relation."""
        return not (self.direct or self.indirect or self.dataset_wide or self.unknown)


def _pair_key(pair: FieldPair) -> tuple[str, str]:
    # At most one of both is None: generated or dropped fields.
    return pair[0] or "", pair[1] or ""


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

    @property
    def size(self) -> int:
        """How many pairs it has, dataset-wide ones included."""
        return sum(lineage.size for lineage in self.by_datasets.values())

    def rename(self, name: Dataset, to: Dataset) -> DatasetLineageSet:
        """Return the same lineage with the dataset `name` called `to`."""
        renamed: dict[DatasetPair, DatasetLineage] = {}
        for (source, destination), lineage in self.by_datasets.items():
            datasets = to if source == name else source, to if destination == name else destination
            lineage = replace(lineage, source=datasets[0], destination=datasets[1])
            # Merged: lineages from `name` to itself and from `name` to `to` now have the same pair.
            renamed[datasets] = renamed[datasets].merge(lineage) if datasets in renamed else lineage
        return DatasetLineageSet(renamed, self.truncated)

    def without_indirect(self) -> DatasetLineageSet:
        """Return the direct pairs and unknown relations alone, without dataset pairs that are left empty."""
        direct = {datasets: lineage.without_indirect() for datasets, lineage in self.by_datasets.items()}
        return DatasetLineageSet(
            {datasets: lineage for datasets, lineage in direct.items() if not lineage.empty}, self.truncated
        )


def iter_edges(field_map: FieldMap) -> Iterator[FieldEdge]:
    """Yield all edges of a field map, without duplicates."""
    sources = SourceFields(field_map, range(len(field_map.fields)))
    for destination in field_map.destinations:
        yield from _generated_edges(field_map, destination)
        yield from _edges(sources, destination, field_map.sources)
    yield from _edges(sources, None, ())


def edges_into(field_map: FieldMap, destination: Dataset) -> Iterator[FieldEdge]:
    """Yield the edges that end at a destination, generated fields included."""
    yield from _generated_edges(field_map, destination)
    if field_map.has_destination(destination):
        sources = SourceFields(field_map, range(len(field_map.fields)))
        yield from _edges(sources, destination, field_map.sources)


def edges_out_of(field_map: FieldMap, source: Dataset) -> Iterator[FieldEdge]:
    """Yield the edges that start at a source, dropped fields included."""
    if field_map.has_source(source):
        sources = SourceFields(field_map, field_map.positions_of(source))
        for destination in (*field_map.destinations, None):
            yield from _edges(sources, destination, (source,))


def dataset_relations(
    field_map: FieldMap, dataset: Dataset, *, backward: bool, pairs_max: int
) -> DatasetLineageSet:
    """Return the lineage of `dataset`: as destination if `backward`, else as source.

    At most `pairs_max` field pairs are built, and about STEPS_MAX sets entered; `truncated` is set if there
    are more. The dataset pairs are complete even then, up to twice as many sets.
    """
    builder = _Builder(field_map, pairs_max)
    if backward:
        generated = [field.name for field in fields_of(field_map.generated, dataset)]
        builder.add_generated(dataset, generated)
        if field_map.has_destination(dataset):
            builder.add(SourceFields(field_map, range(len(field_map.fields))), dataset, field_map.sources)
    elif field_map.has_source(dataset):
        sources = SourceFields(field_map, field_map.positions_of(dataset))
        for destination in (None, *field_map.destinations):
            builder.add(sources, destination, (dataset,))
    return builder.build()


def all_relations(field_map: FieldMap, *, pairs_max: int) -> DatasetLineageSet:
    """Return the lineage of all datasets of a field map, bounded like `dataset_relations`."""
    builder = _Builder(field_map, pairs_max)
    for destination in field_map.destinations:
        builder.add_generated(
            destination, [field.name for field in fields_of(field_map.generated, destination)]
        )
    sources = SourceFields(field_map, range(len(field_map.fields)))
    for target in (None, *field_map.destinations):
        builder.add(sources, target, field_map.sources)
    return builder.build()


def is_same_lineage(left: FieldMap, right: FieldMap) -> bool:
    """Return whether two field maps relate the same fields, even if their sets are divided differently."""
    if _ends(left) != _ends(right):
        return False
    positions = range(len(left.fields))
    left_sources, right_sources = SourceFields(left, positions), SourceFields(right, positions)
    return all(
        dict(left_sources.by_field(destination)) == dict(right_sources.by_field(destination))
        and left_sources.dataset_wide(destination) == right_sources.dataset_wide(destination)
        for destination in (None, *left.destinations)
    )


def _ends(field_map: FieldMap) -> tuple[object, ...]:
    """Return everything but the source fields of each destination field."""
    return (
        field_map.fields,
        field_map.sources,
        field_map.destinations,
        field_map.generated,
        field_map.read_without_fields,
        field_map.written_without_fields,
    )


def _generated_edges(field_map: FieldMap, destination: Dataset) -> Iterator[FieldEdge]:
    for field in fields_of(field_map.generated, destination):
        yield FieldEdge(None, None, destination, field.name, Influence.DIRECT)


def _edges(
    sources: SourceFields, destination: Dataset | None, candidates: Sequence[Dataset]
) -> Iterator[FieldEdge]:
    """Yield the edges to a destination without duplicates, for None those of dropped fields.

    Of `candidates`, a dataset without an edge may be related to the destination in an unknown way.
    """
    fields = sources.field_map.fields
    related = set()
    for name, members in sources.by_field(destination):
        for influence, positions in _by_influence(members):
            for position in positions:
                related.add(fields[position].dataset)
                yield FieldEdge(fields[position].dataset, fields[position].name, destination, name, influence)
    for position in sources.dataset_wide(destination):
        related.add(fields[position].dataset)
        yield FieldEdge(
            fields[position].dataset, fields[position].name, destination, None, Influence.INDIRECT
        )
    for source in _unknown_sources(sources.field_map, destination, candidates):
        # Its edges make the relation known.
        if source not in related:
            yield FieldEdge(source, None, destination, None, None)


def _by_influence(members: Members) -> tuple[tuple[Influence, tuple[int, ...]], ...]:
    return (Influence.DIRECT, members.direct), (Influence.INDIRECT, members.indirect)


def _unknown_sources(
    field_map: FieldMap, destination: Dataset | None, candidates: Sequence[Dataset]
) -> Iterator[Dataset]:
    """Yield the candidates read, or written to the destination, without naming fields."""
    if destination is None:
        return
    if field_map.is_written_without_fields(destination):
        yield from candidates
    elif len(candidates) == 1:
        yield from filter(field_map.is_read_without_fields, candidates)
    else:
        # All sources of the field map.
        yield from field_map.read_without_fields


class _Builder:
    """Collects field pairs by dataset pair, up to a number of pairs."""

    def __init__(self, field_map: FieldMap, pairs_max: int) -> None:
        self._field_map = field_map
        self._remaining = pairs_max
        self._truncated = False
        self._pairs: dict[DatasetPair, dict[Influence, set[FieldPair]]] = {}
        self._dataset_wide: dict[DatasetPair, set[str]] = {}
        self._unknown: set[DatasetPair] = set()

    def add_generated(self, destination: Dataset, names: Sequence[str]) -> None:
        """Add the generated fields of a destination, up to the number of pairs."""
        added = names[: self._remaining]
        self._truncated = self._truncated or len(added) < len(names)
        self._remaining -= len(added)
        if names:
            self._sets((None, destination))[Influence.DIRECT].update((None, name) for name in added)

    def add(self, sources: SourceFields, destination: Dataset | None, candidates: Sequence[Dataset]) -> None:
        """Add the lineage of a destination, dropped fields for None; `candidates` may be unknown sources."""
        self._add_pairs(sources, destination)
        # Datasets are complete even so, unless that, too, would take too many steps.
        if self._truncated and sources.steps <= 2 * STEPS_MAX:
            for source in sources.datasets(destination):
                self._sets((source, destination))
        self._add_dataset_wide(sources, destination)
        for source in _unknown_sources(self._field_map, destination, candidates):
            if not self._remaining:
                self._truncated = True
                return
            self._remaining -= 1
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

    def _add_pairs(self, sources: SourceFields, destination: Dataset | None) -> None:
        """Add a pair for each source and destination field; set `truncated` beyond the limits."""
        if self._truncated:
            return
        for name, members in sources.by_field(destination):
            for influence, positions in _by_influence(members):
                # Cut before pairs are built: there may be nine million (docs/decisions/0008).
                added = positions[: self._remaining]
                self._truncated = self._truncated or len(added) < len(positions)
                self._remaining -= len(added)
                for source, names in self._names_by_source(added):
                    pairs = self._sets((source, destination))[influence]
                    pairs.update((source_field, name) for source_field in names)
            if self._truncated or sources.steps > STEPS_MAX:
                self._truncated = True
                return

    def _add_dataset_wide(self, sources: SourceFields, destination: Dataset | None) -> None:
        positions = sources.dataset_wide(destination)
        added = positions[: self._remaining]
        self._truncated = self._truncated or len(added) < len(positions) or sources.steps > STEPS_MAX
        self._remaining -= len(added)
        for source, names in self._names_by_source(added):
            self._sets((source, destination))
            self._dataset_wide.setdefault((source, destination), set()).update(names)
        # Of those left out, their datasets: both are sorted, so one dataset is known by its ends.
        if len(added) < len(positions):
            fields = self._field_map.fields
            is_one = fields[positions[0]].dataset == fields[positions[-1]].dataset
            for source in {fields[position].dataset for position in (positions[:1] if is_one else positions)}:
                self._sets((source, destination))

    def _names_by_source(self, positions: Iterable[int]) -> Iterator[tuple[Dataset, list[str]]]:
        fields = map(self._field_map.fields.__getitem__, positions)
        # By identity, which is cheaper than equality; equal datasets in two groups would do no harm.
        for _, group in groupby(fields, key=lambda field: id(field.dataset)):
            members = list(group)
            yield members[0].dataset, [field.name for field in members]

    def _sets(self, datasets: DatasetPair) -> dict[Influence, set[FieldPair]]:
        sets = self._pairs.get(datasets)
        if sets is None:
            sets = self._pairs[datasets] = {influence: set() for influence in Influence}
        return sets
