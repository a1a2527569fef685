"""Fields and rows that a content writes to each dataset, whatever the names of its operations are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from fll_hbase.model import checksum, topology
from fll_hbase.model.datasets import Dataset, DatasetField
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


@dataclass(slots=True)
class _Parts:
    """The ways of one dataset under construction; several Writes may write it."""

    fields: dict[str, list[Way]] = field(default_factory=lambda: defaultdict(list))
    rows: list[Way] = field(default_factory=list)


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
    parts: dict[Dataset, _Parts] = {}
    for operation in topology.sort_operations(tuple(declare_missing_outputs(operations).values())):
        if not isinstance(operation, Write):
            ways.add(operation)
        elif not is_hidden_operation(operation.name):
            written = parts.setdefault(operation.destination, _Parts())
            for item in inputs_of(operation):
                if item.influence is Influence.DIRECT:
                    written.fields[item.name].append(ways.input_way(item))
            written.rows.append(ways.row_way(operation))
    return {
        dataset: WrittenDataset(
            {name: _union(listed) for name, listed in written.fields.items()},
            _union(written.rows),
            field_map.may_write_more(dataset),
        )
        for dataset, written in parts.items()
    }


class _Ways:
    """The ways of the outputs of operations, which are added after their origins."""

    def __init__(self, former_names: Mapping[DatasetField, str]) -> None:
        self._former_names = former_names
        self._outputs: dict[tuple[str, str], Way] = {}

    def add(self, operation: Read | Transform) -> None:
        """Add the outputs of an operation."""
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
        """Return how the rows of a Write are selected: its indirect inputs and its text."""
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
    """Return one way for all ways in which several Writes make a field, or rows."""
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
