"""The first design's form of operations (seed 000): inputs are field names, resolved in order.

A field name refers to the output of the latest earlier operation with that name. A field is alive until it is
an input of an operation without outputs; the fields alive at the end are written to the only destination.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.unique_names import UniqueNames
from fll_hbase.runtime.errors import ErrorList, FieldError, TooLarge
from fll_hbase.sources.native.shared_members import read_dataset, read_field
from fll_hbase.sources.validation import Part

SOURCE_FIELDS_MAX = 100_000
"""Fields that one operation may read: it couples each of its outputs with a field of each of its sources."""


def read(top: Part, items: Iterable[Part], namespace: str) -> tuple[list[Operation], ErrorList]:
    """Return operations with origins, including Reads and the Write, and errors for unresolved inputs."""
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
    # A dict, because a set has no order: it is the order of the inputs of the WRITE.
    alive: dict[str, None] = field(default_factory=dict)
    names: UniqueNames = field(default_factory=UniqueNames)

    def resolve_input(self, name: str, path: str) -> list[InputField]:
        """Return the input of that name; empty, with an error, if no earlier operation outputs it."""
        if name in self.origins:
            return [InputField(self.origins[name], name)]
        self.invalid.append(FieldError(path, f"no earlier operation outputs {name!r}"))
        return []

    def add_outputs(self, origin: str, outputs: tuple[Field, ...]) -> None:
        """Make `origin` the latest operation that outputs these fields, and the fields alive."""
        for output in outputs:
            self.origins[output.name] = origin
            self.alive[output.name] = None


def _add(flow: _Flow, item: Part, namespace: str) -> None:
    """Add an operation to the flow: a READ if its only input is a source, else a TRANSFORM."""
    item.with_members("name", "description", "inputs", "outputs")
    if not item.is_object:
        return
    own_name = item.required("name")
    description = item.optional("description")
    outputs = tuple(map(read_field, item.items("outputs")))
    # Inputs are resolved before the outputs are added: an operation may read and output the same name.
    operation_inputs = _read_inputs(flow, item.items("inputs"), namespace)
    # Names may repeat in this form, while origins refer to operations by name.
    name = flow.names.assign(own_name)
    # A READ has one source and no inputs; any other mix becomes a READ per source before a TRANSFORM.
    if len(operation_inputs.sources) == 1 and not operation_inputs.fields:
        flow.operations.append(Read(name, description, *operation_inputs.sources[0], outputs))
    else:
        _check_size(own_name, len(operation_inputs.sources), len(outputs))
        inputs = list(operation_inputs.inputs)
        for source in operation_inputs.sources:
            read_name = flow.names.assign(f"{name}.read")
            flow.operations.append(Read(read_name, description, *source, outputs))
            inputs += [InputField(read_name, output.name) for output in outputs]
        flow.operations.append(Transform(name, description, tuple(inputs), outputs))
    if not outputs:
        for dropped in operation_inputs.fields:
            flow.alive.pop(dropped, None)
    flow.add_outputs(name, outputs)


def _check_size(name: str, sources: int, outputs: int) -> None:
    """Raise TooLarge for an operation whose sources, each with all outputs, have too many fields."""
    if sources * outputs > SOURCE_FIELDS_MAX:
        size = f"{sources} sources with {outputs} outputs each"
        raise TooLarge(f"operation {name!r} has {size}, the limit is {SOURCE_FIELDS_MAX} fields; split it")


@dataclass(slots=True)
class _OperationInputs:
    """The inputs of one operation: sources to read, and fields by name and by origin."""

    sources: list[tuple[Dataset, str]] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    inputs: list[InputField] = field(default_factory=list)


def _read_inputs(flow: _Flow, items: Iterable[Part], namespace: str) -> _OperationInputs:
    """Read the inputs of an operation: sources, and fields that earlier operations output."""
    operation_inputs = _OperationInputs()
    for item in items:
        item.with_members("source", "field")
        if not item.is_object:
            continue
        if ("source" in item) == ("field" in item):
            item.error("must have either a source or a field")
        elif "source" in item:
            operation_inputs.sources.append(read_dataset(item, "source", namespace))
        else:
            name = read_field(item.member("field")).name
            operation_inputs.fields.append(name)
            operation_inputs.inputs += flow.resolve_input(name, item.path)
    return operation_inputs


def _write_inputs(flow: _Flow, destination: Part) -> tuple[InputField, ...]:
    """Return the inputs of the Write: the fields that the destination lists, else all live fields."""
    if "fields" not in destination:
        return tuple(InputField(flow.origins[name], name) for name in flow.alive)
    inputs: list[InputField] = []
    for item in destination.items("fields"):
        inputs += flow.resolve_input(read_field(item).name, item.path)
    return tuple(inputs)
