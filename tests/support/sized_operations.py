"""Operations of any size: copies, renames, fans and chains."""

from __future__ import annotations

from fll_hbase.model.datasets import Field
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from tests.support.strategies import FEW_END_POINTS

A, B, _ = FEW_END_POINTS


def names(count: int) -> list[str]:
    return [f"f{number:05}" for number in range(count)]


def read(count: int) -> Read:
    return Read("read", "", A, "", tuple(map(Field, names(count))))


def write(inputs: list[InputField]) -> Write:
    return Write("write", "", B, "", tuple(inputs))


def copy(count: int) -> list[Operation]:
    return [read(count), write([InputField("read", name) for name in names(count)])]


def rename(count: int) -> list[Operation]:
    """Each field by a transform of its own, and in another order: field n becomes field 7n."""
    transforms = [
        Transform(f"t{name}", "", (InputField("read", name),), (Field(f"f{7 * number % count:05}"),))
        for number, name in enumerate(names(count))
    ]
    return [read(count), *transforms, write([InputField(t.name, t.outputs[0].name) for t in transforms])]


def all_to_all(count: int) -> list[Operation]:
    inputs = tuple(InputField("read", name) for name in names(count))
    transform = Transform("all", "", inputs, tuple(map(Field, names(count))))
    return [read(count), transform, write([InputField("all", name) for name in names(count)])]


def running_total(count: int) -> list[Operation]:
    """A chain in which each transform adds a field, and only the last is written."""
    transforms: list[Operation] = []
    for number, name in enumerate(names(count)):
        previous = [InputField(f"t{number - 1}", "total")] if number else []
        inputs = (*previous, InputField("read", name))
        transforms.append(Transform(f"t{number}", "", inputs, (Field("total"),)))
    return [read(count), *transforms, write([InputField(f"t{count - 1}", "total")])]


def fan_out(count: int) -> list[Operation]:
    """One field that every operation reads."""
    transforms = [
        Transform(f"t{name}", "", (InputField("read", "f00000"),), (Field(name),)) for name in names(count)
    ]
    return [read(1), *transforms, write([InputField(t.name, t.outputs[0].name) for t in transforms])]
