"""Which fields made which: the field map of one set of operations, and what it says of an end point.

A transform couples every output with all its inputs, so all its outputs share one set of source fields. Sets
of source fields are whole numbers, one bit per source field, and pairs are made only when asked for: a
transform of 3,000 by 3,000 fields is one flow, not nine million pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from fll_hbase.errors import TooLarge
from fll_hbase.model import topology
from fll_hbase.model.operations import (
    Dataset,
    DatasetField,
    Influence,
    InputField,
    Operation,
    Read,
    Transform,
    Write,
    inputs_of,
    outputs_of,
)

BITS_MAX = 2**33
"""Operations times source fields of one run: a gigabyte of bits while they are summed up."""

FieldPair: TypeAlias = tuple[str | None, str | None]
"""Source field and destination field; None at the left is generated, at the right dropped."""

DatasetPair: TypeAlias = tuple[Dataset | None, Dataset | None]
"""Source and destination of a relation; None at the left is generated, at the right dropped."""


@dataclass(frozen=True, slots=True, order=True)
class FieldMapEntry:
    """One set of source fields (`direct` and `indirect` bits) that leads into each of `fields`."""

    destination: Dataset
    fields: tuple[str, ...]
    direct: int
    indirect: int


@dataclass(frozen=True, slots=True)
class FieldMap:
    """What became of every source field and where every destination field comes from.

    Bit n of any set means `fields[n]`, sorted. `whole` are influences on whole destinations. `unread` are
    end points read without fields, `unwritten` those written without inputs: related, but not known how.
    """

    fields: tuple[DatasetField, ...]
    sources: tuple[Dataset, ...]
    destinations: tuple[Dataset, ...]
    entries: tuple[FieldMapEntry, ...]
    generated: tuple[DatasetField, ...]
    dropped_direct: int
    dropped_indirect: int
    dataset_wide: tuple[tuple[Dataset, int], ...]
    read_without_fields: tuple[Dataset, ...]
    written_without_fields: tuple[Dataset, ...]


@dataclass(frozen=True, slots=True)
class DatasetLineage:
    """What one end point gave another; `source` None is generated, `destination` None is dropped."""

    source: Dataset | None
    destination: Dataset | None
    direct: frozenset[FieldPair] = frozenset()
    indirect: frozenset[FieldPair] = frozenset()
    dataset_wide: frozenset[str] = frozenset()
    unknown: bool = False

    def merge(self, other: DatasetLineage) -> DatasetLineage:
        """Union of both, which are of the same end points; order does not matter."""
        return DatasetLineage(
            source=self.source,
            destination=self.destination,
            direct=self.direct | other.direct,
            indirect=self.indirect | other.indirect,
            dataset_wide=self.dataset_wide | other.dataset_wide,
            unknown=self.unknown or other.unknown,
        )

    def without_indirect(self) -> DatasetLineage:
        """The direct pairs alone."""
        return DatasetLineage(self.source, self.destination, direct=self.direct, unknown=self.unknown)

    @property
    def empty(self) -> bool:
        return not (self.direct or self.indirect or self.dataset_wide or self.unknown)


@dataclass(frozen=True, slots=True)
class DatasetLineageSet:
    """All relations of one end point in one direction; `truncated` where pairs were left out."""

    by_datasets: dict[DatasetPair, DatasetLineage]
    truncated: bool = False

    def merge(self, other: DatasetLineageSet) -> DatasetLineageSet:
        """Union of both; order does not matter."""
        union = dict(self.by_datasets)
        for ends, relation in other.by_datasets.items():
            union[ends] = union[ends].merge(relation) if ends in union else relation
        return DatasetLineageSet(union, self.truncated or other.truncated)

    def rename(self, name: Dataset, to: Dataset) -> DatasetLineageSet:
        """The same of an end point under another name."""
        renamed = DatasetLineageSet({}, self.truncated)
        for (source, destination), relation in self.by_datasets.items():
            ends = to if source == name else source, to if destination == name else destination
            renamed = renamed.merge(
                DatasetLineageSet({ends: replace(relation, source=ends[0], destination=ends[1])})
            )
        return renamed

    def without_indirect(self) -> DatasetLineageSet:
        """What is left of direct pairs; relations left empty are no more."""
        direct = {ends: relation.without_indirect() for ends, relation in self.by_datasets.items()}
        return DatasetLineageSet(
            {ends: relation for ends, relation in direct.items() if not relation.empty}, self.truncated
        )


def build_field_map(operations: Sequence[Operation]) -> FieldMap:
    """The field map of valid operations. Raises TooLarge where it could not be summed up in memory."""
    used = _used(operations)
    fields = _source_fields(operations, used)
    if len(operations) * len(fields) > BITS_MAX:
        size = f"{len(operations)} operations over {len(fields)} source fields"
        raise TooLarge(f"{size} are too much for one run; split it")
    bits = {field: 1 << number for number, field in enumerate(fields)}
    reaches = _Reaches(operations, bits)
    flows: dict[tuple[Dataset, int, int], set[str]] = {}
    made: dict[DatasetField, bool] = {}
    whole: dict[Dataset, int] = {}
    dropped = dropped_indirect = 0
    for operation in operations:
        if isinstance(operation, Write):
            for field in operation.inputs:
                direct, indirect = reaches.of_input(field)
                if field.influence is Influence.INDIRECT:
                    whole[operation.destination] = whole.get(operation.destination, 0) | direct | indirect
                    continue
                target = DatasetField(operation.destination, field.name)
                made[target] = made.get(target, False) or direct != 0
                if direct | indirect:
                    flows.setdefault((operation.destination, direct, indirect), set()).add(field.name)
        elif isinstance(operation, Transform) and not operation.outputs and operation.name not in used:
            direct, indirect = reaches.of_operation(operation.name)
            dropped |= direct
            dropped_indirect |= indirect
    reads = [operation for operation in operations if isinstance(operation, Read)]
    writes = [operation for operation in operations if isinstance(operation, Write)]
    return FieldMap(
        fields=fields,
        sources=tuple(sorted({read.source for read in reads})),
        destinations=tuple(sorted({write.destination for write in writes})),
        entries=tuple(sorted(FieldMapEntry(ends[0], tuple(sorted(names)), *ends[1:]) for ends, names in flows.items())),
        generated=tuple(sorted(field for field, has_source in made.items() if not has_source)),
        dropped_direct=dropped,
        dropped_indirect=dropped_indirect & ~dropped,
        dataset_wide=tuple(sorted(item for item in whole.items() if item[1])),
        read_without_fields=tuple(sorted({read.source for read in reads if not read.outputs and read.name not in used})),
        written_without_fields=tuple(sorted({write.destination for write in writes if not write.inputs})),
    )


def dataset_relations(field_map: FieldMap, end_point: Dataset, *, backward: bool, pairs_max: int) -> DatasetLineageSet:
    """What the map says of `end_point`: as destination where `backward`, else as source.

    At most `pairs_max` pairs are made; the rest is told by `truncated`.
    """
    parts = _backward_parts if backward else _forward_parts
    gathered = _Gathered(pairs_max)
    for part in parts(field_map, end_point):
        gathered.add(part)
    for ends in _unknown_ends(field_map):
        if ends[1 if backward else 0] == end_point:
            gathered.add_unknown(ends)
    return gathered.relations()


class _Part(NamedTuple):
    """Every one of `froms` leads into every one of `tos`; `tos` None is the whole destination."""

    source: Dataset | None
    destination: Dataset | None
    froms: Sequence[str | None]
    tos: Sequence[str | None] | None
    influence: Influence = Influence.DIRECT


def _backward_parts(field_map: FieldMap, destination: Dataset) -> Iterator[_Part]:
    for field in field_map.generated:
        if field.dataset == destination:
            yield _Part(None, destination, [None], [field.name])
    for flow in field_map.entries:
        if flow.destination == destination:
            for source, names in _by_source(field_map, flow.direct):
                yield _Part(source, destination, names, flow.fields)
            for source, names in _by_source(field_map, flow.indirect):
                yield _Part(source, destination, names, flow.fields, Influence.INDIRECT)
    for source, names in _by_source(field_map, dict(field_map.dataset_wide).get(destination, 0)):
        yield _Part(source, destination, names, None)


def _forward_parts(field_map: FieldMap, source: Dataset) -> Iterator[_Part]:
    mask = sum(1 << number for number, field in enumerate(field_map.fields) if field.dataset == source)
    for _, names in _by_source(field_map, field_map.dropped_direct & mask):
        yield _Part(source, None, names, [None])
    for _, names in _by_source(field_map, field_map.dropped_indirect & mask):
        yield _Part(source, None, names, [None], Influence.INDIRECT)
    for flow in field_map.entries:
        for _, names in _by_source(field_map, flow.direct & mask):
            yield _Part(source, flow.destination, names, flow.fields)
        for _, names in _by_source(field_map, flow.indirect & mask):
            yield _Part(source, flow.destination, names, flow.fields, Influence.INDIRECT)
    for destination, bits in field_map.dataset_wide:
        for _, names in _by_source(field_map, bits & mask):
            yield _Part(source, destination, names, None)


def _unknown_ends(field_map: FieldMap) -> Iterator[DatasetPair]:
    """Source and destination of one run of which at least one was touched without naming fields."""
    for source in field_map.sources:
        for destination in field_map.destinations:
            if source in field_map.read_without_fields or destination in field_map.written_without_fields:
                yield source, destination


def _by_source(field_map: FieldMap, bits: int) -> Iterable[tuple[Dataset, list[str | None]]]:
    grouped: dict[Dataset, list[str | None]] = {}
    while bits:
        low = bits & -bits
        field = field_map.fields[low.bit_length() - 1]
        grouped.setdefault(field.dataset, []).append(field.name)
        bits ^= low
    return grouped.items()


class _Gathered:
    """Pairs by their end points while a field map is read, up to a number of pairs."""

    def __init__(self, pairs_max: int) -> None:
        self._left = pairs_max
        self._truncated = False
        self._pairs: dict[DatasetPair, dict[Influence, set[FieldPair]]] = {}
        self._whole: dict[DatasetPair, set[str]] = {}
        self._unknown: set[DatasetPair] = set()

    def add(self, part: _Part) -> None:
        ends = part.source, part.destination
        sets = self._pairs.setdefault(ends, {influence: set() for influence in Influence})
        if part.tos is None:
            self._whole.setdefault(ends, set()).update(name for name in part.froms if name is not None)
            return
        for to in part.tos:
            kept = part.froms[: self._left]
            self._truncated = self._truncated or len(kept) < len(part.froms)
            sets[part.influence].update((name, to) for name in kept)
            self._left -= len(kept)

    def add_unknown(self, ends: DatasetPair) -> None:
        self._unknown.add(ends)

    def relations(self) -> DatasetLineageSet:
        by_ends = {
            ends: DatasetLineage(
                *ends,
                direct=frozenset(sets[Influence.DIRECT]),
                indirect=frozenset(sets[Influence.INDIRECT]),
                dataset_wide=frozenset(self._whole.get(ends, ())),
            )
            for ends, sets in self._pairs.items()
        }
        for ends in self._unknown - by_ends.keys():
            by_ends[ends] = DatasetLineage(*ends, unknown=True)
        return DatasetLineageSet(by_ends, self._truncated)


class _Reaches:
    """The source fields behind every operation's outputs, as (direct, indirect) bits."""

    def __init__(self, operations: Sequence[Operation], bits: dict[DatasetField, int]) -> None:
        self._bits = bits
        self._sources = {
            operation.name: operation.source for operation in operations if isinstance(operation, Read)
        }
        self._behind: dict[str, tuple[int, int]] = {}
        for operation in topology.sort_operations(operations):
            if isinstance(operation, Transform):
                self._behind[operation.name] = self._sum(operation.inputs)

    def of_operation(self, name: str) -> tuple[int, int]:
        return self._behind[name]

    def of_input(self, field: InputField) -> tuple[int, int]:
        source = self._sources.get(field.origin)
        if source is not None:
            return self._bits[DatasetField(source, field.name)], 0
        return self._behind[field.origin]

    def _sum(self, inputs: Iterable[InputField]) -> tuple[int, int]:
        direct = indirect = 0
        for field in inputs:
            field_direct, field_indirect = self.of_input(field)
            if field.influence is Influence.INDIRECT:
                indirect = _union(indirect, _union(field_direct, field_indirect))
            else:
                direct = _union(direct, field_direct)
                indirect = _union(indirect, field_indirect)
        return direct, indirect & ~direct if indirect else 0


def _union(left: int, right: int) -> int:
    """Left or right, without a copy where one of them says it all."""
    if not left or left is right:
        return right
    return left | right if right else left


def _used(operations: Iterable[Operation]) -> dict[str, set[str]]:
    """Per operation, the names of its fields that others take."""
    used: dict[str, set[str]] = {}
    for operation in operations:
        for field in inputs_of(operation):
            used.setdefault(field.origin, set()).add(field.name)
    return used


def _source_fields(operations: Sequence[Operation], used: dict[str, set[str]]) -> tuple[DatasetField, ...]:
    """Every field that a Read lists, or that is taken from it as though listed."""
    fields: set[DatasetField] = set()
    for operation in operations:
        if isinstance(operation, Read):
            listed = {field.name for field in outputs_of(operation)} | used.get(operation.name, set())
            fields.update(DatasetField(operation.source, name) for name in listed)
    return tuple(sorted(fields))
