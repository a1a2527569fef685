"""Stage DAG: validation of a config's stages and connections, and the order of its stages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fll_hbase.model import topology
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import FieldError
from fll_hbase.sources.cdap.pipeline_config import Pipeline, Role, Stage
from fll_hbase.sources.cdap.stage_operations import Kind, StageOperation
from fll_hbase.sources.validation import child_path


@dataclass(frozen=True, slots=True)
class StageOrder:
    """Stages, each after all stages that lead to it, with preceding and following stages by name."""

    stages: tuple[Stage, ...]
    preceding: dict[str, tuple[str, ...]]
    following: dict[str, tuple[str, ...]]


def find_errors(pipeline: Pipeline) -> Iterator[FieldError]:
    """Yield an error for each part of the config that is not a valid pipeline.

    Errors are repeated names of stages, or of operations in a stage, connections from or to unknown stages,
    and cycles. A pipeline needs a stage that reads and a stage that writes. A stage without connections is
    valid.
    """
    yield from _repeated_names(pipeline.stages, "a pipeline")
    for stage in pipeline.stages:
        unique = (operation for operation in deadline.watched(stage.operations) if operation.has_unique_name)
        yield from _repeated_names(unique, "a stage")
    yield from _unknown_stages(pipeline)
    yield from _cycles(pipeline)
    yield from _missing_ends(pipeline)


def stage_order(pipeline: Pipeline) -> StageOrder:
    """Return the order of a pipeline for which `find_errors` returned nothing.

    Stages whose order is free are sorted by name, those that lead to no other stage first.
    """
    preceding = _origins(pipeline)
    following: dict[str, set[str]] = {name: set() for name in preceding}
    for target, origins in preceding.items():
        for origin in origins:
            following[origin].add(target)
    by_name = {stage.name: stage for stage in pipeline.stages}
    # Handling a last stage as early as possible saves a copy of the fields.
    names = topology.topological_sort(preceding, rank=lambda name: bool(following[name]))
    return StageOrder(
        tuple(by_name[name] for name in names),
        {name: tuple(sorted(names)) for name, names in preceding.items()},
        {name: tuple(sorted(names)) for name, names in following.items()},
    )


def _origins(pipeline: Pipeline) -> dict[str, set[str]]:
    """Return the stages that lead to each stage, by its name; an empty set for a first stage."""
    origins: dict[str, set[str]] = {stage.name: set() for stage in pipeline.stages}
    for connection in pipeline.connections:
        # An unknown stage is a separate error; cycles among the other stages are reported with it.
        if connection.target in origins:
            origins[connection.target].add(connection.origin)
    return origins


def _repeated_names(parts: Iterable[Stage | StageOperation], holder: str) -> Iterator[FieldError]:
    """Yield an error at the `name` of each part of `holder` that repeats an earlier name."""
    first: dict[str, str] = {}
    for part in parts:
        path = first.setdefault(part.name, part.path)
        if path != part.path:
            detail = f"{part.name!r} is also the name of {path}; names are unique in {holder}"
            yield FieldError(child_path(part.path, "name"), detail)


def _unknown_stages(pipeline: Pipeline) -> Iterator[FieldError]:
    """Yield an error for each `from` or `to` of a connection that names an unknown stage."""
    names = {stage.name for stage in pipeline.stages}
    for connection in pipeline.connections:
        for member, name in (("from", connection.origin), ("to", connection.target)):
            if name not in names:
                path = child_path(connection.path, member)
                yield FieldError(path, f"{name!r} is not a stage of this pipeline")


def _cycles(pipeline: Pipeline) -> Iterator[FieldError]:
    """Yield an error per cycle, at its first stage in the config."""
    # The first of several stages with the same name counts.
    numbers = {stage.name: number for number, stage in reversed([*enumerate(pipeline.stages)])}
    for names in topology.cycles(_origins(pipeline)):
        path = pipeline.stages[min(numbers[name] for name in names)].path
        if len(names) == 1:
            yield FieldError(path, f"{names[0]!r} leads to itself")
        else:
            yield FieldError(path, f"a cycle: {', '.join(map(repr, names))} lead to one another")


def _missing_ends(pipeline: Pipeline) -> Iterator[FieldError]:
    """Yield an error if there is neither a source nor a READ, and one if neither a sink nor a WRITE."""
    kinds = {operation.kind for stage in pipeline.stages for operation in stage.operations}
    roles = {stage.role for stage in pipeline.stages}
    for role, kind in ((Role.SOURCE, Kind.READ), (Role.SINK, Kind.WRITE)):
        if role not in roles and kind not in kinds:
            end = f"no {role.value}: no stage has a plugin of that type"
            yield FieldError("config.stages", f"{end}, and none declares a {kind.value}")
