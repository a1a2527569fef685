"""Queries of a field map: its edges, the column pairs of datasets, and the fields of one dataset."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import NamedTuple, TypeVar

from fll_hbase.model import topology
from fll_hbase.model.dataset_lineage import DatasetLineageSet, DatasetPair, LineageUnion
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.field_map import CopiedFields, DerivedFields, FieldMap, fields_of, positions_of
from fll_hbase.model.field_sets import FieldSetResolver, Members
from fll_hbase.model.operations import Influence, Operation
from fll_hbase.model.simple_view import Steps
from fll_hbase.runtime.config import DEFAULTS

T = TypeVar("T")
E = TypeVar("E", CopiedFields, DerivedFields)


class SourceFields:
    """The source fields within a range of positions that lead to each destination."""

    def __init__(self, field_map: FieldMap, positions: range) -> None:
        """Prepare to resolve the fields of a map, returning only source fields at `positions`."""
        self.field_map = field_map
        self._positions = positions
        self._resolver = FieldSetResolver(field_map.sets, positions)
        self._copied = _by_destination(field_map.copied)
        self._derived = _by_destination(field_map.derived)
        self._dataset_wide = dict(field_map.dataset_wide)

    @property
    def steps(self) -> int:
        """The number of sets entered so far."""
        return self._resolver.steps

    def by_field(
        self, destination: Dataset | None, *, names: Collection[str] | None = None
    ) -> Iterator[tuple[str | None, Members]]:
        """Yield each field of a destination, in name order, with the source fields that lead to it.

        Fields without a source in the range are left out. With `names`, yield only these fields. For the
        destination None, yield the dropped fields, possibly none, with None as the name. A field that several
        Writes write may have members that are both direct and indirect.
        """
        if destination is None:
            yield from ((None, self._resolver.members(number)) for number in self._numbers(None))
            return
        positions = self._copied_positions(destination)
        numbers_by_field = self._derived_numbers(destination)
        listed = positions.keys() | numbers_by_field.keys()
        for name in sorted(listed if names is None else listed.intersection(names)):
            yield name, self._members(positions.get(name, []), numbers_by_field.get(name, []))

    def dataset_wide(self, destination: Dataset | None) -> tuple[int, ...]:
        """Return the sorted positions of the fields that influence a whole destination, or () for None."""
        number = self._dataset_wide.get(destination) if destination else None
        return self._resolver.members(number).indirect if number is not None else ()

    def datasets(self, destination: Dataset | None) -> set[Dataset]:
        """Return the datasets of fields in the range that lead to fields of a destination (None: dropped)."""
        numbers = [number for number in self._numbers(destination) if self._resolver.reaches(number)]
        copied = list(chain(*self._copied_positions(destination).values())) if destination else []
        fields = self.field_map.fields
        if not numbers and not copied:
            return set()
        first, last = fields[self._positions[0]].dataset, fields[self._positions[-1]].dataset
        if first == last:
            return {first}
        members = self._resolver.union(numbers)
        return {fields[position].dataset for position in chain(members.direct, members.indirect, copied)}

    def _numbers(self, destination: Dataset | None) -> list[int]:
        """Return the numbers of a destination's derived sets, or of the dropped fields' set for None."""
        if destination is None:
            return [self.field_map.dropped] if self.field_map.dropped is not None else []
        return [entry.number for entry in self._derived.get(destination, ())]

    def _copied_positions(self, destination: Dataset) -> dict[str, list[int]]:
        """Return, by copied field of a destination, the positions of its sources within the range."""
        positions: dict[str, list[int]] = {}
        for entry in self._copied.get(destination, ()):
            for name, position in zip(entry.fields, entry.positions, strict=True):
                if position in self._positions:
                    positions.setdefault(name, []).append(position)
        return positions

    def _derived_numbers(self, destination: Dataset) -> dict[str, list[int]]:
        """Return, by derived field of a destination, the numbers of its sets that reach into the range."""
        numbers: dict[str, list[int]] = {}
        for entry in self._derived.get(destination, ()):
            if self._resolver.reaches(entry.number):
                for name in entry.fields:
                    numbers.setdefault(name, []).append(entry.number)
        return numbers

    def _members(self, positions: Sequence[int], numbers: Sequence[int]) -> Members:
        """Return the union of copied positions, which are direct, and the members of field sets."""
        members = [self._resolver.members(number) for number in numbers]
        if len(members) == 1 and not positions:
            return members[0]
        # Several Writes may have the same sources: unite them, so that no edge is repeated.
        return Members(
            tuple(sorted({*positions, *chain.from_iterable(item.direct for item in members)})),
            tuple(sorted(set(chain.from_iterable(item.indirect for item in members)))),
        )


def _by_destination(entries: Iterable[E]) -> dict[Dataset, list[E]]:
    """Return the entries grouped by destination, keeping their order."""
    grouped: dict[Dataset, list[E]] = {}
    for entry in entries:
        grouped.setdefault(entry.destination, []).append(entry)
    return grouped


class FieldEdge(NamedTuple):
    """A dependency of a destination field on a source field, direct or indirect.

    An edge without a source is a generated field, one without a destination a dropped field. Without a
    destination field, the source field influences the dataset as a whole. Without both fields and an
    influence, the datasets are related in an unknown way.
    """

    source: Dataset | None
    source_field: str | None
    destination: Dataset | None
    destination_field: str | None
    influence: Influence | None


def iter_edges(field_map: FieldMap) -> Iterator[FieldEdge]:
    """Yield all edges of a field map once, including generated, dropped, dataset-wide and unknown ones."""
    sources = SourceFields(field_map, range(len(field_map.fields)))
    for destination in field_map.destinations:
        yield from _generated_edges(field_map, destination)
        yield from _edges(sources, destination)
        yield from _unknown_edges(field_map, destination, field_map.sources)
    yield from _edges(sources, None)


def edges_into(
    field_map: FieldMap, destination: Dataset, *, names: Collection[str] | None = None
) -> Iterator[FieldEdge]:
    """Yield the edges that end at a destination, generated fields included.

    With `names`, edges to other fields are left out; edges to the whole destination and unknown ones stay.
    """
    for edge in _generated_edges(field_map, destination):
        if names is None or edge.destination_field in names:
            yield edge
    if field_map.has_destination(destination):
        sources = SourceFields(field_map, range(len(field_map.fields)))
        yield from _edges(sources, destination, names=names)
        yield from _unknown_edges(field_map, destination, field_map.sources)


def edges_out_of(
    field_map: FieldMap, source: Dataset, *, names: Collection[str] | None = None
) -> Iterator[FieldEdge]:
    """Yield the edges that start at a source, dropped fields included; nothing if it is not read.

    With `names`, yield only edges that start at one of these fields, and relations without known fields.
    """
    if field_map.has_source(source):
        positions = positions_of(field_map.fields, source)
        if names is not None:
            positions = _narrowest(
                positions, [field_map.fields[position].name in names for position in positions]
            )
        sources = SourceFields(field_map, positions)
        for destination in (*field_map.destinations, None):
            for edge in _edges(sources, destination):
                if names is None or edge.source_field in names:
                    yield edge
            yield from _unknown_edges(field_map, destination, (source,))


def dataset_relations(
    field_map: FieldMap,
    dataset: Dataset,
    *,
    backward: bool,
    pairs_max: int,
    steps_max: int = DEFAULTS.steps_max,
) -> DatasetLineageSet:
    """Return the lineage of `dataset`: as destination if `backward`, else as source.

    Builds at most `pairs_max` field pairs and enters about `steps_max` sets; `truncated_by` names the limit
    if there are more. Even then the dataset pairs are complete if that takes at most twice as many sets.
    """
    builder = _Builder(field_map, pairs_max=pairs_max, steps_max=steps_max)
    if backward:
        generated = [field.name for field in fields_of(field_map.generated, dataset)]
        builder.add_generated(dataset, generated)
        if field_map.has_destination(dataset):
            builder.add(SourceFields(field_map, range(len(field_map.fields))), dataset, field_map.sources)
    elif field_map.has_source(dataset):
        sources = SourceFields(field_map, positions_of(field_map.fields, dataset))
        for destination in (None, *field_map.destinations):
            builder.add(sources, destination, (dataset,))
    return builder.build()


def all_relations(field_map: FieldMap, *, pairs_max: int) -> DatasetLineageSet:
    """Return the lineage of all datasets of a field map, up to `pairs_max` pairs and the default `steps_max`.

    Beyond a limit, which `truncated_by` names, datasets have no pairs, or are left out as in
    `dataset_relations`.
    """
    builder = _Builder(field_map, pairs_max=pairs_max, steps_max=DEFAULTS.steps_max)
    for destination in field_map.destinations:
        builder.add_generated(
            destination, [field.name for field in fields_of(field_map.generated, destination)]
        )
    sources = SourceFields(field_map, range(len(field_map.fields)))
    for target in (None, *field_map.destinations):
        builder.add(sources, target, field_map.sources)
    return builder.build()


def is_same_lineage(left: FieldMap, right: FieldMap) -> bool:
    """Return whether two field maps are equal in all but the division into sets."""
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
    """Return the datasets and fields of a map without their relations, to compare it with another map."""
    return (
        field_map.fields,
        field_map.sources,
        field_map.destinations,
        field_map.generated,
        field_map.read_without_fields,
        field_map.written_without_fields,
        field_map.unknown,
    )


def _generated_edges(field_map: FieldMap, destination: Dataset) -> Iterator[FieldEdge]:
    """Yield an edge without source for each generated field of a destination."""
    for field in fields_of(field_map.generated, destination):
        yield FieldEdge(None, None, destination, field.name, Influence.DIRECT)


def _narrowest(positions: range, selected: Sequence[bool]) -> range:
    """Return the shortest part of a range with all its selected positions; may be empty."""
    if not any(selected):
        return positions[:0]
    return positions[selected.index(True) : len(selected) - selected[::-1].index(True)]


def _edges(
    sources: SourceFields, destination: Dataset | None, *, names: Collection[str] | None = None
) -> Iterator[FieldEdge]:
    """Yield the edges to a destination without duplicates, or for None the edges of dropped fields.

    With `names`, edges to other fields are left out; edges to the whole dataset stay.
    """
    fields = sources.field_map.fields
    for name, members in sources.by_field(destination, names=names):
        for influence, positions in zip(Influence, (members.direct, members.indirect), strict=True):
            for position in positions:
                yield FieldEdge(fields[position].dataset, fields[position].name, destination, name, influence)
    for position in sources.dataset_wide(destination):
        yield FieldEdge(
            fields[position].dataset, fields[position].name, destination, None, Influence.INDIRECT
        )


def _unknown_edges(
    field_map: FieldMap, destination: Dataset | None, candidates: Sequence[Dataset]
) -> Iterator[FieldEdge]:
    """Yield an edge for each of `candidates` that is related to the destination only in an unknown way."""
    unknown = list(_unknown_sources(field_map, destination, candidates))
    if not unknown or destination is None:
        return
    # An edge between fields makes a relation known, even if the query left it out.
    sources = SourceFields(field_map, range(len(field_map.fields)))
    related = sources.datasets(destination)
    related |= {field_map.fields[position].dataset for position in sources.dataset_wide(destination)}
    for source in unknown:
        if source not in related:
            yield FieldEdge(source, None, destination, None, None)


def _unknown_sources(
    field_map: FieldMap, destination: Dataset | None, candidates: Sequence[Dataset]
) -> Iterator[Dataset]:
    """Yield the candidates with unknown fields: read, or written to the destination, without fields.

    Candidates are one source, or all sources of the field map. If WRITEs state unknown origins, only these
    count. For the destination None, there are none.
    """
    if destination is None:
        return
    if field_map.unknown is not None:
        for source in field_map.stated_sources(destination):
            if len(candidates) > 1 or source in candidates:
                yield source
    elif field_map.is_written_without_fields(destination):
        yield from candidates
    elif len(candidates) == 1:
        yield from filter(field_map.is_read_without_fields, candidates)
    else:
        yield from field_map.read_without_fields


class _Builder:
    """Collects field pairs by dataset pair, up to limits on pairs and on sets that are entered."""

    def __init__(self, field_map: FieldMap, *, pairs_max: int, steps_max: int) -> None:
        """Start empty, with `pairs_max` pairs left and up to `steps_max` sets to enter."""
        self._field_map = field_map
        self._pairs_max = pairs_max
        self._steps_max = steps_max
        self._remaining = pairs_max
        self._union = LineageUnion()
        self._truncated_by = self._union.truncated_by
        self._unknown: list[DatasetPair] = []

    def add_generated(self, destination: Dataset, names: Sequence[str]) -> None:
        """Add a destination's generated fields in order, while pairs are left, else only the dataset."""
        added = self._within(names)
        if names:
            self._union.members((None, destination))[0].update((None, name) for name in added)

    def add(self, sources: SourceFields, destination: Dataset | None, candidates: Sequence[Dataset]) -> None:
        """Add the lineage of a destination (None: dropped fields), and beyond a limit only its datasets.

        The datasets are left out, too, after twice as many sets as the limit. `candidates` may be unknown
        sources, and each unknown relation takes a pair.
        """
        self._add_pairs(sources, destination)
        # Datasets are complete even if pairs are cut, unless completing them takes too many steps.
        if self._truncated_by and sources.steps <= 2 * self._steps_max:
            for source in sources.datasets(destination):
                self._union.members((source, destination))
        self._add_dataset_wide(sources, destination)
        for source in _unknown_sources(self._field_map, destination, candidates):
            if not self._within([source]):
                return
            self._unknown.append((source, destination))

    def build(self) -> DatasetLineageSet:
        """Return everything added; datasets with known pairs are not also unknown relations."""
        for datasets in self._unknown:
            self._union.add_unknown(datasets)
        return self._union.build()

    def _add_pairs(self, sources: SourceFields, destination: Dataset | None) -> None:
        """Add a pair for each source field and field of a destination (None: dropped fields), up to a limit.

        Adds nothing if an earlier call reached one.
        """
        if self._truncated_by:
            return
        for name, members in sources.by_field(destination):
            for is_direct, positions in ((True, members.direct), (False, members.indirect)):
                # Cut before pairs are built: there may be nine million (decision 0008).
                for source, names in self._names_by_source(self._within(positions)):
                    direct, indirect, _ = self._union.members((source, destination))
                    (direct if is_direct else indirect).update((source_field, name) for source_field in names)
            self._check_steps(sources)
            if self._truncated_by:
                return

    def _add_dataset_wide(self, sources: SourceFields, destination: Dataset | None) -> None:
        """Add the sources that influence a destination as a whole; beyond the bound, only their datasets."""
        positions = sources.dataset_wide(destination)
        self._check_steps(sources)
        added = self._within(positions)
        for source, names in self._names_by_source(added):
            self._union.members((source, destination))[2].update(names)
        # Fields left out still count with their datasets. Positions and fields are sorted, so equal first and
        # last datasets mean that there is only one.
        if len(added) < len(positions):
            fields = self._field_map.fields
            is_one = fields[positions[0]].dataset == fields[positions[-1]].dataset
            for source in {fields[position].dataset for position in (positions[:1] if is_one else positions)}:
                self._union.members((source, destination))

    def _within(self, items: Sequence[T]) -> Sequence[T]:
        """Return the first items, up to the number of pairs left; subtract them and note a reached limit."""
        added = items[: self._remaining]
        self._remaining -= len(added)
        if len(added) < len(items):
            self._truncated_by.add(f"pairs_max={self._pairs_max}")
        return added

    def _check_steps(self, sources: SourceFields) -> None:
        """Note `steps_max` as a limit if `sources` entered more sets than that."""
        if sources.steps > self._steps_max:
            self._truncated_by.add(f"steps_max={self._steps_max}")

    def _names_by_source(self, positions: Iterable[int]) -> Iterator[tuple[Dataset, list[str]]]:
        """Yield datasets, some perhaps twice, with the names of their fields at the sorted positions."""
        fields = map(self._field_map.fields.__getitem__, positions)
        # Group by identity, which is cheaper than equality; equal datasets in two groups do no harm.
        for _, group in groupby(fields, key=lambda field: id(field.dataset)):
            members = list(group)
            yield members[0].dataset, [field.name for field in members]


def written_fields(field_map: FieldMap, dataset: Dataset) -> set[str]:
    """Return the names of the fields that are written to a dataset, including generated ones."""
    entries: Iterable[CopiedFields | DerivedFields] = chain(field_map.copied, field_map.derived)
    names = {name for entry in entries if entry.destination == dataset for name in entry.fields}
    return names.union(field.name for field in fields_of(field_map.generated, dataset))


def read_fields(field_map: FieldMap, dataset: Dataset) -> set[str]:
    """Return the names of the fields that are read from a dataset."""
    return {field.name for field in fields_of(field_map.fields, dataset)}


def related_fields(field_map: FieldMap, field: DatasetField, *, backward: bool) -> Iterator[DatasetField]:
    """Yield the source fields that lead to a field, or, unless `backward`, the fields that it leads to.

    Includes direct and indirect relations, but no relations with whole datasets. A field may be yielded
    twice: if it is related both directly and indirectly.
    """
    edges_of = edges_into if backward else edges_out_of
    for edge in edges_of(field_map, field.dataset, names={field.name}):
        near, far = edge.destination_field, edge.source_field
        dataset = edge.source
        if not backward:
            near, far, dataset = far, near, edge.destination
        if near == field.name and far is not None and dataset is not None:
            yield DatasetField(dataset, far)


def operations_into(operations: Sequence[Operation], target: DatasetField) -> tuple[Operation, ...]:
    """Return the operations that lead into a destination field, Writes included, each after its origins.

    Indirect inputs of transforms are followed, but not indirect inputs of Writes. The result is empty if
    no Write writes the field.
    """
    steps = Steps(operations, indirect=True)
    writes = [(write.name, origin) for write, origin in steps.writes_of(target)]
    starts = {origin: Influence.DIRECT for _, origin in writes}
    return _in_order(
        steps, [*(name for name, _ in writes), *steps.reachable_operations(starts, steps.origins)]
    )


def operations_from(operations: Sequence[Operation], source: DatasetField) -> tuple[Operation, ...]:
    """Return the operations that a source field leads to, Reads included, each after its origins.

    Indirect inputs are followed, too. The result is empty if no Read reads the field.
    """
    steps = Steps(operations, indirect=True)
    names: list[str] = []
    for read in steps.reads_of(source):
        # A Read also has other fields, so start from the consumers of this field only.
        start = read.name, source.name
        reachable = steps.reachable_operations(steps.consumers_of(start), steps.consumers)
        names += [read.name, *reachable]
        names += (name for _, writes in steps.writes_reached(start, reachable) for name in writes)
    return _in_order(steps, names)


def _in_order(steps: Steps, names: Iterable[str]) -> tuple[Operation, ...]:
    """Return the named operations, each once and after its origins."""
    return topology.sort_operations([steps.operations[name] for name in set(names)])
