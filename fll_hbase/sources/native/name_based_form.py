"""The name-based form of operations: inputs are field names, resolved in order.

A field name refers to the latest earlier operation with an output of that name. A field is alive until an
operation without outputs uses it. The fields alive at the end are written to the only destination.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.unique_names import UniqueNames
from fll_hbase.runtime.errors import ErrorList, FieldError, TooLarge
from fll_hbase.sources.native.shared_members import read_dataset, read_field
from fll_hbase.sources.validation import Part

SOURCE_FIELDS_MAX = 100_000
"""Fields that one operation may read: each output is coupled with a field of each of its sources."""


def read(top: Part, items: Iterable[Part], namespace: str) -> tuple[list[Operation], ErrorList]:
    """Return operations with origins, including Reads and the Write, and errors for unresolved inputs.

    Raises TooLarge for an operation that may read more than SOURCE_FIELDS_MAX fields.
    """
    target, description = read_dataset(top, "destination", namespace, also=("fields",))
    flow = _Flow()
    for item in items:
        _add(flow, item, namespace)
    inputs = _write_inputs(flow, top.member("destination"))
    flow.operations.append(Write(flow.names.assign("write"), description, target, description, inputs))
    return flow.operations, flow.invalid


@dataclass(slots=True)
class _Flow:
    """State while operations are read in order: origin of each field name, and live fields in order."""

    operations: list[Operation] = field(default_factory=list)
    invalid: ErrorList = field(default_factory=ErrorList)
    origins: dict[str, str] = field(default_factory=dict)
    # A dict instead of a set keeps the order, which is the order of the WRITE's inputs.
    alive: dict[str, None] = field(default_factory=dict)
    names: UniqueNames = field(default_factory=UniqueNames)

    def resolve_input(self, name: str, path: str) -> list[InputField]:
        """Return the input of that name, or [] with an error if no earlier operation outputs it."""
        if name in self.origins:
            return [InputField(self.origins[name], name)]
        self.invalid.append(FieldError(path, f"no earlier operation outputs {name!r}"))
        return []


def _add(flow: _Flow, item: Part, namespace: str) -> None:
    """Add an operation to the flow: a READ if its only input is a source, else a TRANSFORM."""
    item.with_members("name", "description", "inputs", "outputs")
    if not item.is_object:
        return
    own_name = item.required("name")
    description = item.optional("description")
    outputs = tuple(map(read_field, item.items("outputs")))
    # Resolve inputs before adding outputs, since an operation may read and output the same name.
    sources, fields, inputs = _read_inputs(flow, item.items("inputs"), namespace)
    # Names may repeat in this form, while origins refer to operations by name.
    name = flow.names.assign(own_name)
    # A READ has one source and no inputs. Any other mix becomes a READ per source before a TRANSFORM.
    if len(sources) == 1 and not fields:
        flow.operations.append(Read(name, description, *sources[0], outputs))
    else:
        if len(sources) * len(outputs) > SOURCE_FIELDS_MAX:
            size = f"{len(sources)} sources with {len(outputs)} outputs each"
            limit = f"the limit is {SOURCE_FIELDS_MAX} fields; split it"
            raise TooLarge(f"operation {own_name!r} has {size}, {limit}")
        for source in sources:
            read_name = flow.names.assign(f"{name}.read")
            flow.operations.append(Read(read_name, description, *source, outputs))
            inputs += [InputField(read_name, output.name) for output in outputs]
        flow.operations.append(Transform(name, description, tuple(inputs), outputs))
    if not outputs:
        for dropped in fields:
            flow.alive.pop(dropped, None)
    for output in outputs:
        flow.origins[output.name] = name
        flow.alive[output.name] = None


def _read_inputs(
    flow: _Flow, items: Iterable[Part], namespace: str
) -> tuple[list[tuple[Dataset, str]], list[str], list[InputField]]:
    """Return the inputs of an operation: sources, field names, and fields as outputs of operations."""
    sources: list[tuple[Dataset, str]] = []
    fields: list[str] = []
    inputs: list[InputField] = []
    for item in items:
        item.with_members("source", "field")
        if not item.is_object:
            continue
        if ("source" in item) == ("field" in item):
            item.error("must have either a source or a field")
        elif "source" in item:
            sources.append(read_dataset(item, "source", namespace))
        else:
            fields.append(read_field(item.member("field")).name)
            inputs += flow.resolve_input(fields[-1], item.path)
    return sources, fields, inputs


def _write_inputs(flow: _Flow, destination: Part) -> tuple[InputField, ...]:
    """Return the inputs of the Write: the fields that the destination lists, else all live fields."""
    if "fields" not in destination:
        return tuple(InputField(flow.origins[name], name) for name in flow.alive)
    inputs: list[InputField] = []
    for item in destination.items("fields"):
        inputs += flow.resolve_input(read_field(item).name, item.path)
    return tuple(inputs)
