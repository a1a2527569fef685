"""Field maps: which source fields lead to which destination fields of one set of operations.

A transform couples every output with all its inputs, so all its outputs share one set of source fields
(`field_sets`). A copied or renamed field is one pair. The size of a field map therefore grows with the size
of its operations: a transform of 3,000 by 3,000 fields is one entry, not nine million pairs. Only queries
build pairs (`field_relations`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias

from fll_hbase.model import topology
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.field_sets import EMPTY, FieldSet, FieldSetBuilder
from fll_hbase.model.operations import (
    Influence,
    InputField,
    Operation,
    Read,
    Transform,
    Write,
    outputs_of,
    used_outputs,
)
from fll_hbase.runtime import deadline


@dataclass(frozen=True, slots=True, order=True)
class CopiedFields:
    """Destination fields with one direct source each; the source of `fields[n]` is `positions[n]`.

    A field that several Writes copy is listed once for each source.
    """

    destination: Dataset
    fields: tuple[str, ...]
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True, order=True)
class DerivedFields:
    """Destination fields that all source fields of a set lead to."""

    destination: Dataset
    fields: tuple[str, ...]
    number: int


StatedSources: TypeAlias = tuple[tuple[Dataset, tuple[Dataset, ...]], ...]
"""Destinations, each with the sources that a WRITE states to be related to it, all sorted."""


@dataclass(frozen=True, slots=True)
class FieldMap:
    """The column lineage of one set of operations; positions refer to `fields`, which is sorted.

    `derived`, `dropped` and `dataset_wide` refer to sets by their number in `sets`. `generated` are
    destination fields without a direct source. `dropped` is the set of source fields that transforms without
    outputs use, or None. `dataset_wide` are source fields that influence a destination as a whole. Datasets
    read or written without fields are related to the others in an unknown way. If WRITEs state these
    relations, `unknown` contains only the stated ones: destinations, each with its sources, all sorted.
    """

    fields: tuple[DatasetField, ...]
    sources: tuple[Dataset, ...]
    destinations: tuple[Dataset, ...]
    sets: tuple[FieldSet, ...]
    copied: tuple[CopiedFields, ...]
    derived: tuple[DerivedFields, ...]
    generated: tuple[DatasetField, ...]
    dropped: int | None
    dataset_wide: tuple[tuple[Dataset, int], ...]
    read_without_fields: tuple[Dataset, ...]
    written_without_fields: tuple[Dataset, ...]
    unknown: StatedSources | None = None

    def has_source(self, dataset: Dataset) -> bool:
        """Return whether the dataset is read."""
        return _contains(self.sources, dataset)

    def has_destination(self, dataset: Dataset) -> bool:
        """Return whether the dataset is written."""
        return _contains(self.destinations, dataset)

    def is_read_without_fields(self, dataset: Dataset) -> bool:
        """Return whether the dataset is read without naming fields."""
        return _contains(self.read_without_fields, dataset)

    def is_written_without_fields(self, dataset: Dataset) -> bool:
        """Return whether the dataset is written without naming fields."""
        return _contains(self.written_without_fields, dataset)

    def may_read_more(self, source: Dataset) -> bool:
        """Return whether a source may have further fields: read without any, or related in an unknown way."""
        if not self.has_source(source):
            return False
        if self.is_read_without_fields(source):
            return True
        if self.unknown is not None:
            return any(_contains(sources, source) for _, sources in self.unknown)
        return bool(self.written_without_fields)

    def may_write_more(self, destination: Dataset) -> bool:
        """Return whether a destination may have further fields: written without any, or from unknown ones."""
        if not self.has_destination(destination):
            return False
        if self.is_written_without_fields(destination):
            return True
        if self.unknown is not None:
            return bool(self.stated_sources(destination))
        return bool(self.read_without_fields)

    def stated_sources(self, destination: Dataset) -> tuple[Dataset, ...]:
        """Return the sources in `unknown` that are related to a destination, sorted."""
        stated = self.unknown or ()
        number = bisect_left(stated, destination, key=itemgetter(0))
        is_stated = number < len(stated) and stated[number][0] == destination
        return stated[number][1] if is_stated else ()

    def has_source_field(self, name: DatasetField) -> bool:
        """Return whether a Read lists the field, or an operation takes it from a Read."""
        return _contains(self.fields, name)

    def has_destination_field(self, name: DatasetField) -> bool:
        """Return whether the field is written, be it copied, derived or generated."""
        entries: Iterable[CopiedFields | DerivedFields] = chain(self.copied, self.derived)
        return _contains(self.generated, name) or any(
            entry.destination == name.dataset and name.name in entry.fields for entry in entries
        )


def build_field_map(operations: Sequence[Operation]) -> FieldMap:
    """Build the field map of validated operations sorted by name. Raises as `deadline.check_reading` does."""
    used = used_outputs(operations)
    fields = _source_fields(operations, used)
    upstream = _UpstreamFields(operations, fields)
    reads = [operation for operation in operations if isinstance(operation, Read)]
    writes = [operation for operation in operations if isinstance(operation, Write)]
    written = _WrittenFields(upstream)
    for write in writes:
        written.add(write)
    deadline.check_reading()
    dropped = upstream.dropped(operations, used)
    dataset_wide = written.dataset_wide()
    sets, numbers = upstream.sets.extract({*dropped, *written.numbers(), *dataset_wide.values()})
    without_fields = {read.source for read in reads if not read.outputs and read.name not in used}
    return FieldMap(
        fields=fields,
        sources=tuple(sorted({read.source for read in reads})),
        destinations=tuple(sorted({write.destination for write in writes})),
        sets=sets,
        copied=written.copied_fields(),
        derived=written.derived_fields(numbers),
        generated=written.generated(),
        dropped=next((numbers[number] for number in dropped), None),
        dataset_wide=tuple(sorted((to, numbers[number]) for to, number in dataset_wide.items())),
        read_without_fields=tuple(sorted(without_fields)),
        written_without_fields=tuple(sorted({write.destination for write in writes if not write.inputs})),
        unknown=_stated_unknown(reads, writes),
    )


def _stated_unknown(reads: Iterable[Read], writes: Sequence[Write]) -> StatedSources | None:
    """Return the sources that WRITEs state to be related to each destination in an unknown way.

    The result is None if `unknown_origins` of every WRITE is None, and () if the stated ones are all empty.
    Each stated origin must be the name of one of `reads`.
    """
    stated = [write for write in writes if write.unknown_origins is not None]
    if not stated:
        return None
    sources = {read.name: read.source for read in reads}
    ordered = sorted(set(sources.values()))
    # Sort numbers, which is much faster than names: WRITEs may state millions of sources.
    numbers = {source: number for number, source in enumerate(ordered)}
    number_of = {name: numbers[source] for name, source in sources.items()}
    related: dict[Dataset, set[int]] = {}
    for write in deadline.watched(stated):
        related.setdefault(write.destination, set()).update(
            number_of[name] for name in write.unknown_origins or ()
        )
    return tuple(
        (destination, tuple(ordered[number] for number in sorted(related[destination])))
        for destination in deadline.watched(sorted(related))
        if related[destination]
    )


class _UpstreamFields:
    """The source fields upstream of each operation's outputs: one position in `fields`, or a set."""

    def __init__(self, operations: Sequence[Operation], fields: Sequence[DatasetField]) -> None:
        self.sets = FieldSetBuilder()
        positions: dict[Dataset, dict[str, int]] = {}
        for position, field in enumerate(fields):
            positions.setdefault(field.dataset, {})[field.name] = position
        self._positions_by_read = {
            operation.name: positions.get(operation.source, {})
            for operation in operations
            if isinstance(operation, Read)
        }
        self._by_transform: dict[str, int] = {}
        # Topological order: the sets of all origins must exist before a transform unites them.
        for operation in deadline.watched(topology.sort_operations(operations)):
            if isinstance(operation, Transform):
                self._by_transform[operation.name] = self.union(operation.inputs)

    def position_of(self, input_field: InputField) -> int | None:
        """Return the position of the field upstream of an input if it is the only one and direct, or None."""
        positions = self._positions_by_read.get(input_field.origin)
        if positions is not None:
            return positions[input_field.name]
        field_set = self.sets[self.set_of(input_field)]
        is_copy = len(field_set.direct) == 1 and field_set == FieldSet(field_set.direct)
        return field_set.direct[0] if is_copy else None

    def set_of(self, input_field: InputField) -> int:
        """Return the number of the set upstream of an input from a transform."""
        return self._by_transform[input_field.origin]

    def union(self, inputs: Iterable[InputField]) -> int:
        """Return the number of the set upstream of all inputs together, keeping the influence of each."""
        positions: dict[Influence, list[int]] = {influence: [] for influence in Influence}
        numbers: dict[Influence, list[int]] = {influence: [] for influence in Influence}
        for input_field in inputs:
            position = self.position_of(input_field)
            if position is None:
                numbers[input_field.influence].append(self.set_of(input_field))
            else:
                positions[input_field.influence].append(position)
        direct, indirect = Influence.DIRECT, Influence.INDIRECT
        return self.sets.add(positions[direct], positions[indirect], numbers[direct], numbers[indirect])

    def dropped(self, operations: Iterable[Operation], used: Container[str]) -> list[int]:
        """Return a list with the number of the set of dropped fields, empty without such fields."""
        number = self.sets.add(
            direct_sets=[
                self._by_transform[operation.name]
                for operation in operations
                # A transform drops nothing if other operations use its undeclared outputs.
                if isinstance(operation, Transform) and not operation.outputs and operation.name not in used
            ]
        )
        return [number] if self.sets[number] != EMPTY else []


class _WrittenFields:
    """Contributions of Writes to a field map: copied, derived and generated fields, and whole datasets.

    Several Writes may write one field, which is generated only if all of them generate it.
    """

    def __init__(self, upstream: _UpstreamFields) -> None:
        """Start without any Write; `upstream` resolves the inputs of Writes and numbers the sets."""
        self._upstream = upstream
        self._written: dict[Dataset, set[str]] = {}
        self._with_source: dict[Dataset, set[str]] = {}
        self._copied: dict[Dataset, set[tuple[str, int]]] = {}
        self._derived: dict[tuple[Dataset, int], set[str]] = {}
        self._dataset_wide: dict[Dataset, list[InputField]] = {}

    def add(self, write: Write) -> None:
        """Add the inputs of a WRITE: direct ones as copied or derived fields, indirect ones dataset-wide."""
        written = self._written.setdefault(write.destination, set())
        with_source = self._with_source.setdefault(write.destination, set())
        copied = self._copied.setdefault(write.destination, set())
        for input_field in deadline.watched(write.inputs):
            if input_field.influence is Influence.INDIRECT:
                # An indirect input decides which rows are written: one set for the dataset, not one per
                # field.
                self._dataset_wide.setdefault(write.destination, []).append(input_field)
                continue
            written.add(input_field.name)
            position = self._upstream.position_of(input_field)
            if position is not None:
                copied.add((input_field.name, position))
            if position is not None or self._add_derived(write.destination, input_field):
                with_source.add(input_field.name)

    def generated(self) -> tuple[DatasetField, ...]:
        """Return, sorted, the written fields without a direct source field."""
        return tuple(
            _sorted_fields({to: names - self._with_source[to] for to, names in self._written.items()})
        )

    def numbers(self) -> set[int]:
        """Return the numbers of the sets of derived fields, in the builder's numbering."""
        return {number for _, number in self._derived}

    def dataset_wide(self) -> dict[Dataset, int]:
        """Return the number of the set of fields that influence each destination as a whole, if not empty."""
        numbers = {to: self._upstream.union(inputs) for to, inputs in self._dataset_wide.items()}
        return {to: number for to, number in numbers.items() if self._upstream.sets[number] != EMPTY}

    def copied_fields(self) -> tuple[CopiedFields, ...]:
        """Return the copied fields of each destination that has any, sorted by destination and field."""
        return tuple(
            CopiedFields(to, *zip(*sorted(pairs), strict=True))
            for to, pairs in sorted(self._copied.items())
            if pairs
        )

    def derived_fields(self, numbers: Mapping[int, int]) -> tuple[DerivedFields, ...]:
        """Return, sorted, the derived fields of each destination and set, renumbered by `numbers`."""
        entries = (
            DerivedFields(destination, tuple(sorted(names)), numbers[number])
            for (destination, number), names in self._derived.items()
        )
        return tuple(sorted(entries))

    def _add_derived(self, destination: Dataset, input_field: InputField) -> bool:
        """Add a field with the source fields of a transform; return whether any of them is direct."""
        number = self._upstream.set_of(input_field)
        if self._upstream.sets[number] != EMPTY:
            # Fields with equal sets share an entry, so 3,000 outputs of one transform are one entry.
            self._derived.setdefault((destination, number), set()).add(input_field.name)
        return self._upstream.sets.has_direct(number)


def fields_of(fields: Sequence[DatasetField], dataset: Dataset) -> Sequence[DatasetField]:
    """Return the part of `fields`, which are sorted, that belongs to the dataset; may be empty."""
    positions = positions_of(fields, dataset)
    return fields[positions.start : positions.stop]


def positions_of(fields: Sequence[DatasetField], dataset: Dataset) -> range:
    """Return the positions of a dataset's fields in `fields`, which are sorted; may be empty."""
    by_dataset = attrgetter("dataset")
    first = bisect_left(fields, dataset, key=by_dataset)
    return range(first, bisect_right(fields, dataset, lo=first, key=by_dataset))


def _contains(ordered: Sequence[Any], item: object) -> bool:
    """Return whether an item is in a sorted sequence."""
    position = bisect_left(ordered, item)
    return position < len(ordered) and ordered[position] == item


def _source_fields(operations: Sequence[Operation], used: dict[str, set[str]]) -> tuple[DatasetField, ...]:
    """Return, sorted, every source field that a Read lists or another operation has as input."""
    names: dict[Dataset, set[str]] = {}
    for operation in operations:
        if isinstance(operation, Read):
            listed = names.setdefault(operation.source, set())
            listed.update(output.name for output in outputs_of(operation))
            listed.update(used.get(operation.name, ()))
    return tuple(_sorted_fields(names))


def _sorted_fields(names: Mapping[Dataset, Iterable[str]]) -> Iterator[DatasetField]:
    """Yield the fields of each dataset, sorted by dataset and name."""
    # Sort names within each dataset: comparing fields would compare their datasets each time.
    for dataset in sorted(names):
        yield from (DatasetField(dataset, name) for name in sorted(names[dataset]))
