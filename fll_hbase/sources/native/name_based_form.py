"""What do operations in the first design's form (seed 000) say: fields by name alone, in order.

A field is the one that the latest earlier operation made under that name. It lives until an operation without
outputs takes it; what is alive at the end is written to the one destination.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fll_hbase.errors import FieldError
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.unique_names import UniqueNames
from fll_hbase.sources.native.shared_members import read_end_point, read_field
from fll_hbase.sources.validation import Validator, each, inside


def read(
    checks: Validator, items: list[Any], destination: object, namespace: str
) -> tuple[list[Operation], list[FieldError]]:
    """The operations with origins, Reads and the Write put in; and inputs that nothing made before."""
    holder = {"destination": destination}
    target, description = read_end_point(checks, holder, "destination", "", namespace, also=("fields",))
    flow = _Flow()
    for item, at in each(items, "operations"):
        _add(checks, flow, item, at, namespace)
    taken = _written(checks, flow, destination)
    flow.operations.append(Write(flow.names.assign("write"), description, target, description, taken))
    return flow.operations, flow.invalid


@dataclass(slots=True)
class _Flow:
    """What was made so far: by name the origin of each field, and the fields alive in order."""

    operations: list[Operation] = field(default_factory=list)
    invalid: list[FieldError] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)
    alive: dict[str, None] = field(default_factory=dict)
    names: UniqueNames = field(default_factory=UniqueNames)

    def taken(self, name: str, at: str) -> list[InputField]:
        """The input of that name, none where no earlier operation made it."""
        if name in self.origins:
            return [InputField(self.origins[name], name)]
        self.invalid.append(FieldError(at, f"no earlier operation outputs {name!r}"))
        return []

    def made(self, origin: str, outputs: tuple[Field, ...]) -> None:
        for output in outputs:
            self.origins[output.name] = origin
            self.alive[output.name] = None


def _add(checks: Validator, flow: _Flow, item: object, at: str, namespace: str) -> None:
    said = checks.members(item, at, ("name", "description", "inputs", "outputs"))
    if not isinstance(item, dict):
        return
    own_name = checks.required(said, "name", at)
    description = checks.optional(said, "description", at)
    items = checks.items(said, "outputs", at)
    outputs = tuple(read_field(checks, output, place) for output, place in each(items, inside(at, "outputs")))
    taken = _taken(checks, flow, checks.items(said, "inputs", at), inside(at, "inputs"), namespace)
    name = flow.names.assign(own_name)
    if len(taken.sources) == 1 and not taken.fields:
        flow.operations.append(Read(name, description, *taken.sources[0], outputs))
    else:
        inputs = list(taken.inputs)
        for source in taken.sources:
            read_name = flow.names.assign(f"{name}.read")
            flow.operations.append(Read(read_name, description, *source, outputs))
            inputs += [InputField(read_name, output.name) for output in outputs]
        flow.operations.append(Transform(name, description, tuple(inputs), outputs))
    if not outputs:
        for dropped in taken.fields:
            flow.alive.pop(dropped, None)
    flow.made(name, outputs)


@dataclass(slots=True)
class _Taken:
    """The inputs of one operation: sources to read, and fields by name and by origin."""

    sources: list[tuple[Dataset, str]] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    inputs: list[InputField] = field(default_factory=list)


def _taken(checks: Validator, flow: _Flow, items: list[Any], at: str, namespace: str) -> _Taken:
    taken = _Taken()
    for item, place in each(items, at):
        members = checks.members(item, place, ("source", "field"))
        if not isinstance(item, dict):
            continue
        if ("source" in members) == ("field" in members):
            checks.error(place, "must have either a source or a field")
        elif "source" in members:
            taken.sources.append(read_end_point(checks, members, "source", place, namespace))
        else:
            name = read_field(checks, members["field"], inside(place, "field")).name
            taken.fields.append(name)
            taken.inputs += flow.taken(name, place)
    return taken


def _written(checks: Validator, flow: _Flow, destination: object) -> tuple[InputField, ...]:
    """What the Write takes: the fields that the destination lists, else all that are alive."""
    if not isinstance(destination, dict) or "fields" not in destination:
        return tuple(InputField(flow.origins[name], name) for name in flow.alive)
    listed = checks.items(destination, "fields", "destination")
    taken: list[InputField] = []
    for item, place in each(listed, "destination.fields"):
        taken += flow.taken(read_field(checks, item, place).name, place)
    return tuple(taken)
