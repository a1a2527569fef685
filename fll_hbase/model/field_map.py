"""Field maps: which source fields lead to which destination fields of one set of operations.

A transform couples every output with all its inputs, so all its outputs share one set of source fields. Sets
of source fields are integers with one bit per source field, and pairs are built only by queries
(`field_relations`): a transform of 3,000 by 3,000 fields is one entry, not nine million pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fll_hbase.errors import TooLarge
from fll_hbase.model import topology
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.operations import (
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
"""Operations times source fields of one run: a gigabyte of bits while the map is built."""


@dataclass(frozen=True, slots=True, order=True)
class FieldMapEntry:
    """One set of source fields, `direct` and `indirect` bits, that leads to each of `fields`."""

    destination: Dataset
    fields: tuple[str, ...]
    direct: int
    indirect: int


@dataclass(frozen=True, slots=True)
class FieldMap:
    """The column lineage of one set of operations; bit n of any set is `fields[n]`, and `fields` is sorted.

    `generated` are destination fields without a direct source. `dataset_wide` are source fields that
    influence a destination as a whole. Datasets read or written without fields are related to the others in
    an unknown way.
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


def build_field_map(operations: Sequence[Operation]) -> FieldMap:
    """Build the field map of valid operations.

    Raises TooLarge if operations times source fields exceed BITS_MAX.
    """
    used = _used_outputs(operations)
    fields = _source_fields(operations, used)
    # Checked before any set is built: each transform may have a set with a bit for every source field.
    if len(operations) * len(fields) > BITS_MAX:
        size = f"{len(operations)} operations over {len(fields)} source fields"
        raise TooLarge(f"{size} are too much for one run; split it")
    upstream = _UpstreamFields(operations, {name: 1 << number for number, name in enumerate(fields)})
    written = _WrittenFields()
    dropped_direct = dropped_indirect = 0
    for operation in operations:
        if isinstance(operation, Write):
            written.add(operation, upstream)
        # A transform whose undeclared outputs are used elsewhere drops nothing.
        elif isinstance(operation, Transform) and not operation.outputs and operation.name not in used:
            direct, indirect = upstream.transform_bits(operation.name)
            dropped_direct |= direct
            dropped_indirect |= indirect
    reads = [operation for operation in operations if isinstance(operation, Read)]
    writes = [operation for operation in operations if isinstance(operation, Write)]
    without_fields = {read.source for read in reads if not read.outputs and read.name not in used}
    return FieldMap(
        fields=fields,
        sources=tuple(sorted({read.source for read in reads})),
        destinations=tuple(sorted({write.destination for write in writes})),
        entries=written.entries(),
        generated=tuple(sorted(name for name, has_source in written.has_source.items() if not has_source)),
        dropped_direct=dropped_direct,
        # A pair has one influence; direct has priority, as in `_union`.
        dropped_indirect=dropped_indirect & ~dropped_direct,
        dataset_wide=tuple(sorted(item for item in written.dataset_wide.items() if item[1])),
        read_without_fields=tuple(sorted(without_fields)),
        written_without_fields=tuple(sorted({write.destination for write in writes if not write.inputs})),
    )


class _UpstreamFields:
    """The source fields upstream of each operation's outputs, as (direct, indirect) bits."""

    def __init__(self, operations: Sequence[Operation], bits: dict[DatasetField, int]) -> None:
        self._bits = bits
        self._sources = {
            operation.name: operation.source for operation in operations if isinstance(operation, Read)
        }
        self._by_transform: dict[str, tuple[int, int]] = {}
        # Topological order: the sets of all origins exist before a transform unites them.
        for operation in topology.sort_operations(operations):
            if isinstance(operation, Transform):
                self._by_transform[operation.name] = self._union(operation.inputs)

    def transform_bits(self, name: str) -> tuple[int, int]:
        return self._by_transform[name]

    def input_bits(self, input_field: InputField) -> tuple[int, int]:
        source = self._sources.get(input_field.origin)
        if source is not None:
            return self._bits[DatasetField(source, input_field.name)], 0
        return self._by_transform[input_field.origin]

    def _union(self, inputs: Iterable[InputField]) -> tuple[int, int]:
        direct = indirect = 0
        for input_field in inputs:
            field_direct, field_indirect = self.input_bits(input_field)
            if input_field.influence is Influence.INDIRECT:
                # What leads to an indirect input, even directly, has only an indirect influence from here on.
                indirect = _or(indirect, _or(field_direct, field_indirect))
            else:
                direct = _or(direct, field_direct)
                indirect = _or(indirect, field_indirect)
        # No complement of an empty set: it would copy a million bits in a wide run.
        return direct, indirect & ~direct if indirect else 0


@dataclass(slots=True)
class _WrittenFields:
    """Contributions of Writes to a field map: entries, generated fields, influences on whole datasets."""

    has_source: dict[DatasetField, bool] = field(default_factory=dict)
    dataset_wide: dict[Dataset, int] = field(default_factory=dict)
    _names: dict[tuple[Dataset, int, int], set[str]] = field(default_factory=dict)

    def add(self, write: Write, upstream: _UpstreamFields) -> None:
        destination = write.destination
        for input_field in write.inputs:
            direct, indirect = upstream.input_bits(input_field)
            if input_field.influence is Influence.INDIRECT:
                # It decides which rows are written: one set for the dataset, not one for each field.
                self.dataset_wide[destination] = self.dataset_wide.get(destination, 0) | direct | indirect
                continue
            target = DatasetField(destination, input_field.name)
            # Several Writes may write one field: it is generated only if all of them generate it.
            self.has_source[target] = self.has_source.get(target, False) or direct != 0
            if direct | indirect:
                # Fields with equal sets share an entry, so 3,000 outputs of one transform are one entry.
                self._names.setdefault((destination, direct, indirect), set()).add(input_field.name)

    def entries(self) -> tuple[FieldMapEntry, ...]:
        return tuple(
            sorted(
                FieldMapEntry(destination, tuple(sorted(names)), direct, indirect)
                for (destination, direct, indirect), names in self._names.items()
            )
        )


def _or(left: int, right: int) -> int:
    # Without a copy if one contains all: the sets of a wide run have a million bits.
    if not left or left is right:
        return right
    return left | right if right else left


def _used_outputs(operations: Iterable[Operation]) -> dict[str, set[str]]:
    """Return, per operation, the names of its fields that are inputs of others."""
    used: dict[str, set[str]] = {}
    for operation in operations:
        for input_field in inputs_of(operation):
            used.setdefault(input_field.origin, set()).add(input_field.name)
    return used


def _source_fields(operations: Sequence[Operation], used: dict[str, set[str]]) -> tuple[DatasetField, ...]:
    """Return, sorted, every field of a source that a Read lists or that another operation has as input."""
    fields: set[DatasetField] = set()
    for operation in operations:
        if isinstance(operation, Read):
            names = {output.name for output in outputs_of(operation)} | used.get(operation.name, set())
            fields.update(DatasetField(operation.source, name) for name in names)
    return tuple(sorted(fields))
