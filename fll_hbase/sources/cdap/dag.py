"""In which order do records run through the stages, and what keeps a config from being a pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fll_hbase.errors import FieldError
from fll_hbase.model import topology
from fll_hbase.sources.cdap.config import Pipeline, Role, Stage
from fll_hbase.sources.cdap.stage_operations import Kind
from fll_hbase.sources.validation import inside


@dataclass(frozen=True, slots=True)
class Course:
    """Stages, each after all that lead to it, ends first where that is free; who is before and after whom."""

    stages: tuple[Stage, ...]
    before: dict[str, tuple[str, ...]]
    after: dict[str, tuple[str, ...]]


def find_faults(pipeline: Pipeline) -> list[FieldError]:
    """Every reason why the stages and connections make no pipeline."""
    return [
        *_repeated_names(pipeline),
        *_repeated_operations(pipeline),
        *_unknown_stages(pipeline),
        *_cycles(pipeline),
        *_ends(pipeline),
    ]


def course(pipeline: Pipeline) -> Course:
    """The way through a pipeline that has no faults."""
    before: dict[str, set[str]] = {stage.name: set() for stage in pipeline.stages}
    after: dict[str, set[str]] = {stage.name: set() for stage in pipeline.stages}
    for arrow in pipeline.connections:
        before[arrow.target].add(arrow.origin)
        after[arrow.origin].add(arrow.target)
    by_name = {stage.name: stage for stage in pipeline.stages}
    ordered = topology.topological_sort(before, rank=lambda name: bool(after[name]))
    return Course(
        tuple(by_name[name] for name in ordered),
        {name: tuple(sorted(names)) for name, names in before.items()},
        {name: tuple(sorted(names)) for name, names in after.items()},
    )


def _repeated_names(pipeline: Pipeline) -> Iterator[FieldError]:
    first: dict[str, str] = {}
    for stage in pipeline.stages:
        if first.setdefault(stage.name, stage.at) != stage.at:
            detail = f"{stage.name!r} is also the name of {first[stage.name]}; names are unique in a pipeline"
            yield FieldError(inside(stage.at, "name"), detail)


def _repeated_operations(pipeline: Pipeline) -> Iterator[FieldError]:
    for stage in pipeline.stages:
        first: dict[str, str] = {}
        for one in stage.declared:
            if one.has_unique_name and first.setdefault(one.name, one.path) != one.path:
                detail = f"{one.name!r} is also the name of {first[one.name]}; names are unique in a stage"
                yield FieldError(inside(one.path, "name"), detail)


def _unknown_stages(pipeline: Pipeline) -> Iterator[FieldError]:
    names = {stage.name for stage in pipeline.stages}
    for arrow in pipeline.connections:
        for member, name in (("from", arrow.origin), ("to", arrow.target)):
            if name not in names:
                yield FieldError(inside(arrow.at, member), f"{name!r} is no stage of this pipeline")


def _cycles(pipeline: Pipeline) -> Iterator[FieldError]:
    numbers = {stage.name: number for number, stage in reversed([*enumerate(pipeline.stages)])}
    origins: dict[str, set[str]] = {name: set() for name in numbers}
    for arrow in pipeline.connections:
        if arrow.target in origins:
            origins[arrow.target].add(arrow.origin)
    for names in topology.cycles(origins):
        at = pipeline.stages[min(numbers[name] for name in names)].at
        if len(names) == 1:
            yield FieldError(at, f"{names[0]!r} leads to itself")
        else:
            yield FieldError(at, f"a cycle: {', '.join(map(repr, names))} lead to one another")


def _ends(pipeline: Pipeline) -> Iterator[FieldError]:
    kinds = {one.kind for stage in pipeline.stages for one in stage.declared}
    roles = {stage.role for stage in pipeline.stages}
    if Role.SOURCE not in roles and Kind.READ not in kinds:
        yield FieldError(
            "config.stages", "no source: no stage has a plugin of that type, and none declares a READ"
        )
    if Role.SINK not in roles and Kind.WRITE not in kinds:
        yield FieldError(
            "config.stages", "no sink: no stage has a plugin of that type, and none declares a WRITE"
        )
