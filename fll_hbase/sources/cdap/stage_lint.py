"""Do the operations that one stage declares fit together, and with the fields that reach it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fll_hbase.sources.cdap.stage_operations import StageOperation, Kind


@dataclass(frozen=True, slots=True)
class StageLint:
    """Per field, operations by name: those that take it though nothing gives it, and those that make it
    in vain, since a later one makes it again before any takes it."""

    unknown_inputs: dict[str, list[str]] = field(default_factory=dict)
    redundant_outputs: dict[str, list[str]] = field(default_factory=dict)


def lint(operations: Sequence[StageOperation], *, is_available: Callable[[str], bool]) -> StageLint:
    """What is odd about operations in order; `given` tells which fields reach the stage.

    An output that nothing takes is not odd, nor one that is not in the stage's schema: joiners make keys and
    leave them out.
    """
    found = StageLint()
    made: set[str] = set()
    waiting: dict[str, list[str]] = {}
    for operation in operations:
        for name in operation.input_names:
            if name not in made and not is_available(name):
                found.unknown_inputs.setdefault(name, []).append(operation.name)
            _take(found, name, waiting.pop(name, []))
        if operation.kind is not Kind.WRITE:
            for output in operation.outputs:
                made.add(output.name)
                waiting.setdefault(output.name, []).append(operation.name)
    for name, makers in waiting.items():
        _take(found, name, makers)
    return found


def _take(found: StageLint, name: str, makers: list[str]) -> None:
    """A field is taken from the last of those that made it; the others made it in vain."""
    if len(makers) > 1:
        found.redundant_outputs.setdefault(name, []).extend(makers[:-1])
