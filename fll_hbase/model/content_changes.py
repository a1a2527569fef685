"""Datasets as a content writes them, and changes of them: fields, their types, and rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType

from fll_hbase.model import checksum, topology
from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.field_map import FieldMap
from fll_hbase.model.hop_operations import copied_inputs
from fll_hbase.model.lineage import declare_missing_outputs
from fll_hbase.model.masking import HIDDEN, is_hidden_operation
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

SAME_ROWS = frozenset({"dbt view", "dbt table", "dbt materialized_view"})
"""First lines of descriptions of Writes that store the same rows in another way."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a field, or the set of rows, of a dataset is made.

    Ways with equal digests have equal texts of operations over equal source fields. `text` is the text of the
    last operation. `type` is "" if unknown. `has_inputs` is false for a constant.
    """

    digest: str
    text: str
    type: str = ""
    has_inputs: bool = True


@dataclass(frozen=True, slots=True)
class WrittenDataset:
    """The fields that a content writes to a dataset, by name, and how its rows are selected.

    `is_partial` is true if the dataset has further fields that are unknown.
    """

    fields: Mapping[str, Way]
    rows: Way
    is_partial: bool


def written_datasets(
    operations: Sequence[Operation],
    field_map: FieldMap,
    *,
    former_names: Mapping[DatasetField, str] = MappingProxyType({}),
) -> dict[Dataset, WrittenDataset]:
    """Return what the operations of a content write, by dataset.

    Names of operations have no effect, nor do operations that only pass a field on, so that a CTE and the
    order of columns change nothing. All fields of hidden sources count as the same field, and hidden
    destinations are left out. A source field with a former name counts as the field of this name. The work
    grows with the operations and their inputs.
    """
    ways = _Ways(former_names)
    # By dataset, the ways of its fields and of its rows: several Writes may write it.
    parts: dict[Dataset, tuple[dict[str, list[Way]], list[Way]]] = {}
    for operation in topology.sort_operations(tuple(declare_missing_outputs(operations).values())):
        if not isinstance(operation, Write):
            ways.add(operation)
        elif not is_hidden_operation(operation.name):
            fields, rows = parts.setdefault(operation.destination, (defaultdict(list), []))
            for item in inputs_of(operation):
                if item.influence is Influence.DIRECT:
                    fields[item.name].append(ways.input_way(item))
            rows.append(ways.row_way(operation))
    return {
        dataset: WrittenDataset(
            {name: _union(listed) for name, listed in fields.items()},
            _union(rows),
            field_map.may_write_more(dataset),
        )
        for dataset, (fields, rows) in parts.items()
    }


class _Ways:
    """The ways of the outputs of operations, which are added after their origins."""

    def __init__(self, former_names: Mapping[DatasetField, str]) -> None:
        self._former_names = former_names
        self._outputs: dict[tuple[str, str], Way] = {}

    def add(self, operation: Read | Transform) -> None:
        """Add the ways of an operation's outputs; a copy of a single input has the way of that input."""
        if isinstance(operation, Read):
            self._add_read(operation)
            return
        copied = copied_inputs(operation)
        text = "" if copied.is_all else " ".join(operation.description.split())
        inputs = [self._input_digest(item) for item in operation.inputs]
        digest = _digest(text, sorted(set(inputs)))
        passes_on = copied.is_all and len(operation.inputs) == 1
        for output in operation.outputs:
            # Outputs of one operation differ by their names alone.
            output_digest = digest if len(operation.outputs) == 1 else _digest(digest, output.name)
            way = Way(output_digest, text, output.type, bool(inputs))
            if passes_on:
                origin = self.input_way(operation.inputs[0])
                way = Way(origin.digest, origin.text, output.type or origin.type)
            self._outputs[operation.name, output.name] = way

    def input_way(self, item: InputField) -> Way:
        """Return the way of an input, whose origin was added. Every Read and Transform lists its outputs."""
        return self._outputs[item.origin, item.name]

    def row_way(self, write: Write) -> Way:
        """Return how rows of a Write are selected: its indirect inputs, and its text without SAME_ROWS."""
        head, _, rest = write.description.partition("\n")
        text = "\n".join(("" if head in SAME_ROWS else head, rest)).strip()
        inputs = {self._input_digest(item) for item in write.inputs if item.influence is Influence.INDIRECT}
        return Way(_digest(text, sorted(inputs)), text)

    def _add_read(self, read: Read) -> None:
        hidden = is_hidden_operation(read.name)
        for output in outputs_of(read):
            name = self._former_names.get(DatasetField(read.source, output.name), output.name)
            digest = _digest(HIDDEN) if hidden else _digest("read", read.source, name)
            self._outputs[read.name, output.name] = Way(digest, "", output.type)

    def _input_digest(self, item: InputField) -> str:
        return _digest(item.influence.value, item.kind, self.input_way(item).digest)


def _union(ways: Sequence[Way]) -> Way:
    """Return the only way unchanged, or one way of several Writes, with distinct texts and types joined."""
    if len(ways) == 1:
        return ways[0]
    return Way(
        _digest(sorted({way.digest for way in ways})),
        " | ".join(dict.fromkeys(way.text for way in ways if way.text)),
        " | ".join(dict.fromkeys(way.type for way in ways if way.type)),
        any(way.has_inputs for way in ways),
    )


def _digest(*values: object) -> str:
    """Return 32 hex digits that are equal only for values with equal `repr`."""
    return checksum.digest(repr(values).encode())


UNWRITTEN = WrittenDataset({}, Way("", ""), is_partial=False)
"""A dataset that a program does not write."""


class ChangeKind(Enum):
    """Kind of a change, the most severe first.

    REMOVED and RENAMED fields are gone under their names. RETYPED fields have another type. ROWS: other rows,
    groups or order of the whole dataset. DERIVED: values of one field are made in another way. LITERALS: the
    SQL has other constants, which lineage lacks, so any value or row may differ. UNKNOWN: the change does not
    say which fields it writes. ADDED fields are new.
    """

    REMOVED = "removed"
    RENAMED = "renamed"
    RETYPED = "retyped"
    ROWS = "rows"
    DERIVED = "derived"
    LITERALS = "literals"
    UNKNOWN = "unknown"
    ADDED = "added"


_RANKS = {kind: rank for rank, kind in enumerate(ChangeKind)}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a field, or of a whole dataset, whose field is `*`.

    `to` is the new name of a renamed field, else "". `old` and `new` are the ways, None where there is none.
    """

    kind: ChangeKind
    field: DatasetField
    to: str = ""
    old: Way | None = None
    new: Way | None = None

    def sort_key(self) -> tuple[int, DatasetField]:
        """Return the key by which changes are ordered: the most severe kind first, then by name."""
        return _RANKS[self.kind], self.field


def find_changes(
    dataset: Dataset,
    old: WrittenDataset,
    new: WrittenDataset,
    *,
    types: Mapping[DatasetField, str],
    new_types: Mapping[DatasetField, str],
    type_key: Callable[[str], str] = str.casefold,
) -> Iterator[Change]:
    """Yield the changes of a dataset, unsorted. A type in `types` or `new_types` overrides the content's own.

    A field counts as renamed only if it is the only removed field, and the new one the only added field, that
    is made in the same way from the same inputs. Types are compared by their `type_key`, if both are known.
    One field may be both RETYPED and DERIVED. ROWS needs rows that are known on both sides.
    If `new` is partial, no field counts as removed or renamed: missing fields, or a partial `old`, give one
    UNKNOWN change of the whole dataset. If `old` is partial, no field counts as added or renamed.
    """
    removed = {name: way for name, way in old.fields.items() if name not in new.fields}
    added = {name: way for name, way in new.fields.items() if name not in old.fields}
    if new.is_partial:
        if removed or old.is_partial:
            yield Change(ChangeKind.UNKNOWN, DatasetField(dataset, WHOLE_DATASET))
        removed = {}
    renamed = {} if new.is_partial or old.is_partial else _renames(removed, added)
    for name, way in removed.items():
        to = renamed.get(name, "")
        kind = ChangeKind.RENAMED if to else ChangeKind.REMOVED
        yield Change(kind, DatasetField(dataset, name), to, way, added.get(to))
    if not old.is_partial:
        for name, way in added.items():
            if name not in renamed.values():
                yield Change(ChangeKind.ADDED, DatasetField(dataset, name), new=way)
    for name in sorted(old.fields.keys() & new.fields.keys()):
        field = DatasetField(dataset, name)
        old_way, new_way = (
            replace(way, type=given.get(field) or way.type)
            for way, given in ((old.fields[name], types), (new.fields[name], new_types))
        )
        yield from _field_changes(field, old_way, new_way, type_key)
    if _has_rows(old) and _has_rows(new) and old.rows.digest != new.rows.digest:
        yield Change(ChangeKind.ROWS, DatasetField(dataset, WHOLE_DATASET), old=old.rows, new=new.rows)


def _has_rows(written: WrittenDataset) -> bool:
    """Return whether it is known how rows are selected: a Write without known fields has no inputs at all."""
    return written is not UNWRITTEN and (bool(written.fields) or not written.is_partial)


def _field_changes(
    field: DatasetField, old: Way, new: Way, type_key: Callable[[str], str]
) -> Iterator[Change]:
    """Yield the changes of a field that both contents write."""
    if old.type and new.type and type_key(old.type) != type_key(new.type):
        yield Change(ChangeKind.RETYPED, field, old=old, new=new)
    if old.digest != new.digest:
        yield Change(ChangeKind.DERIVED, field, old=old, new=new)


def _renames(removed: Mapping[str, Way], added: Mapping[str, Way]) -> dict[str, str]:
    """Return new names by old ones, if just one removed and one added field have equal ways with inputs."""
    old_names, new_names = _by_digest(removed.items()), _by_digest(added.items())
    return {
        names[0]: new_names[digest][0]
        for digest, names in old_names.items()
        if len(names) == 1 and len(new_names.get(digest, ())) == 1
    }


def _by_digest(ways: Iterable[tuple[str, Way]]) -> dict[str, list[str]]:
    """Return names by digest, without constants: nothing tells one constant from another."""
    names: dict[str, list[str]] = defaultdict(list)
    for name, way in ways:
        if way.has_inputs:
            names[way.digest].append(name)
    return names
