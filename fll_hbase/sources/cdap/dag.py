"""Stage DAG: validation of the stages and connections of a config, and the order of its stages."""

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
    """Stages, each after all that lead to it, and by stage name the preceding and following ones."""

    stages: tuple[Stage, ...]
    preceding: dict[str, tuple[str, ...]]
    following: dict[str, tuple[str, ...]]


def find_errors(pipeline: Pipeline) -> Iterator[FieldError]:
    """Yield an error for each part of the config that is not a valid pipeline, none for a valid one.

    Errors are a repeated name of a stage, or of an operation in a stage; a connection from or to an unknown
    stage; a cycle, and no stage that reads, or none that writes. A stage without connections is valid.
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

    Where the order is free, stages that lead to no other come first, then by name.
    """
    preceding = _origins(pipeline)
    following: dict[str, set[str]] = {name: set() for name in preceding}
    for target, origins in preceding.items():
        for origin in origins:
            following[origin].add(target)
    by_name = {stage.name: stage for stage in pipeline.stages}
    # A last stage needs no copy of the fields if it is handled as early as possible.
    names = topology.topological_sort(preceding, rank=lambda name: bool(following[name]))
    return StageOrder(
        tuple(by_name[name] for name in names),
        {name: tuple(sorted(names)) for name, names in preceding.items()},
        {name: tuple(sorted(names)) for name, names in following.items()},
    )


def _origins(pipeline: Pipeline) -> dict[str, set[str]]:
    """Return by stage name the stages that lead to it, an empty set for a first stage."""
    origins: dict[str, set[str]] = {stage.name: set() for stage in pipeline.stages}
    for connection in pipeline.connections:
        # An unknown stage is an error of its own; cycles among the others are reported with it.
        if connection.target in origins:
            origins[connection.target].add(connection.origin)
    return origins


def _repeated_names(parts: Iterable[Stage | StageOperation], holder: str) -> Iterator[FieldError]:
    """Yield an error for each part of `holder` that has the name of an earlier one, at its `name`."""
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
    """Yield an error per cycle, at that of its stages which is first in the config."""
    # Of stages with the same name the first counts.
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
