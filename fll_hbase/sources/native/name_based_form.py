"""The first design's form of operations (seed 000): inputs are field names, resolved in order.

A field name refers to the output of the latest earlier operation with that name. A field is alive until it is
an input of an operation without outputs; the fields alive at the end are written to the only destination.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.unique_names import UniqueNames
from fll_hbase.runtime.errors import ErrorList, FieldError, TooLarge
from fll_hbase.sources.native.shared_members import read_dataset, read_field
from fll_hbase.sources.validation import Validator, child_path, items_with_path

SOURCE_FIELDS_MAX = 100_000
"""Fields that one operation may read: it couples each of its outputs with a field of each of its sources."""


def read(
    validator: Validator, items: list[Any], destination: object, namespace: str
) -> tuple[list[Operation], ErrorList]:
    """Return operations with origins, including Reads and the Write, and errors for unresolved inputs."""
    holder = {"destination": destination}
    target, description = read_dataset(validator, holder, "destination", "", namespace, also=("fields",))
    flow = _Flow()
    for item, path in items_with_path(items, "operations"):
        _add(validator, flow, item, path, namespace)
    inputs = _write_inputs(validator, flow, destination)
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
        for output in outputs:
            self.origins[output.name] = origin
            self.alive[output.name] = None


def _add(validator: Validator, flow: _Flow, item: object, path: str, namespace: str) -> None:
    """Add an operation to the flow: a READ if its only input is a source, else a TRANSFORM."""
    data = validator.members(item, path, ("name", "description", "inputs", "outputs"))
    if not isinstance(item, dict):
        return
    own_name = validator.required(data, "name", path)
    description = validator.optional(data, "description", path)
    items = validator.items(data, "outputs", path)
    outputs = tuple(
        read_field(validator, output, item_path)
        for output, item_path in items_with_path(items, child_path(path, "outputs"))
    )
    # Inputs are resolved before the outputs are added: an operation may read and output the same name.
    operation_inputs = _read_inputs(
        validator, flow, validator.items(data, "inputs", path), child_path(path, "inputs"), namespace
    )
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


def _read_inputs(
    validator: Validator, flow: _Flow, items: list[Any], path: str, namespace: str
) -> _OperationInputs:
    """Read the inputs of an operation: sources, and fields that earlier operations output."""
    operation_inputs = _OperationInputs()
    for item, item_path in items_with_path(items, path):
        members = validator.members(item, item_path, ("source", "field"))
        if not isinstance(item, dict):
            continue
        if ("source" in members) == ("field" in members):
            validator.error(item_path, "must have either a source or a field")
        elif "source" in members:
            operation_inputs.sources.append(read_dataset(validator, members, "source", item_path, namespace))
        else:
            name = read_field(validator, members["field"], child_path(item_path, "field")).name
            operation_inputs.fields.append(name)
            operation_inputs.inputs += flow.resolve_input(name, item_path)
    return operation_inputs


def _write_inputs(validator: Validator, flow: _Flow, destination: object) -> tuple[InputField, ...]:
    """Return the inputs of the Write: the fields that the destination lists, else all live fields."""
    if not isinstance(destination, dict) or "fields" not in destination:
        return tuple(InputField(flow.origins[name], name) for name in flow.alive)
    listed = validator.items(destination, "fields", "destination")
    inputs: list[InputField] = []
    for item, item_path in items_with_path(listed, "destination.fields"):
        inputs += flow.resolve_input(read_field(validator, item, item_path).name, item_path)
    return tuple(inputs)
