"""A year of runs of a platform: programs of several domains, in layers from raw data to marts."""

from __future__ import annotations

import heapq
import random
import uuid
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from bench.documents import DAY_MS, FIRST_DAY_MS
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, DatasetField, Field
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun, State

T = TypeVar("T")

SEED = 1_110
DAYS = 365
YEAR_MS = DAYS * DAY_MS

LAYERS = (("raw", 0.2), ("staged", 0.2), ("core", 0.17), ("core", 0.13), ("mart", 0.17), ("mart", 0.13))
"""Namespace and share of the datasets of each level; a program reads below the level that it writes."""

_FIELDS = (10, 20)
_CONTENTS = ((1, 0.4), (2, 0.35), (3, 0.25))
"""How many contents a program has in the year, with the share of such programs: 1.85 on average."""

_RATES = ((0.5, 0.6), (1.0, 0.3), (4.0, 0.1))
"""How often programs run, as multiples of the average, with the share of such programs."""

_STATES = ((State.COMPLETE, 0.965), (State.FAIL, 0.03), (State.ABORT, 0.005))
_SOURCES = ((1, 0.5), (2, 0.4), (3, 0.1))


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of a platform; most programs read datasets of their own domain alone."""

    programs: int = 600
    datasets: int = 300
    domains: int = 12


@dataclass(frozen=True, slots=True)
class Program:
    """A program, its contents in their order, and the parts of its runs after which the next one is used."""

    namespace: str
    name: str
    rate: float
    contents: tuple[FieldLineageInfo, ...]
    changes: tuple[float, ...]

    def content(self, part: float) -> FieldLineageInfo:
        """Return the content of a run by the part of the runs that were before it, from 0 to 1 (excluded)."""
        return self.contents[bisect_right(self.changes, part)]


class Workload:
    """The programs of a platform and their runs. Equal shapes have equal workloads in every process."""

    def __init__(self, shape: Shape) -> None:
        rng = random.Random(SEED)
        levels = list(_levels(rng, shape))
        targets = [dataset for level in levels[1:] for dataset in level]
        writers = targets + rng.choices(targets, k=max(0, shape.programs - len(targets)))
        self.programs = tuple(
            _build_program(random.Random(f"{SEED} {number}"), f"job_{number:04}", target, levels)
            for number, target in enumerate(writers[: shape.programs])
        )

    def runs(self, size: int) -> Iterator[RecordedRun]:
        """Yield `size` runs by their starts, which are all different; every program has its own period."""
        rates = sum(program.rate for program in self.programs)
        counts = [int(size * program.rate / rates) for program in self.programs]
        for number in range(size - sum(counts)):
            counts[number % len(counts)] += 1
        merged = heapq.merge(
            *map(_program_runs, self.programs, counts), key=lambda recorded: recorded.run.start_ms
        )
        start_ms = 0
        for recorded in merged:
            start_ms = max(start_ms + 1, recorded.run.start_ms)
            yield replace(recorded, run=replace(recorded.run, start_ms=start_ms))


@dataclass(frozen=True, slots=True)
class _PlatformDataset:
    """A dataset with the names of its fields."""

    dataset: Dataset
    level: int
    domain: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """Fields of the destination and what all of them are derived from; a copy has no description."""

    outputs: tuple[str, ...]
    inputs: tuple[InputField, ...]
    description: str


def _levels(rng: random.Random, shape: Shape) -> Iterator[list[_PlatformDataset]]:
    total = 0
    for level, (layer, share) in enumerate(LAYERS):
        is_last = level == len(LAYERS) - 1
        count = shape.datasets - total if is_last else round(share * shape.datasets)
        total += count
        yield [
            _PlatformDataset(
                Dataset(layer, f"{layer}{level}_{number:03}"),
                level,
                number % shape.domains,
                tuple(f"f{position:02}" for position in range(rng.randint(*_FIELDS))),
            )
            for number in range(count)
        ]


def _build_program(
    rng: random.Random, name: str, target: _PlatformDataset, levels: Sequence[Sequence[_PlatformDataset]]
) -> Program:
    builder = _ContentBuilder(rng, name, target, _choose_sources(rng, target, levels))
    count = _choose(rng, _CONTENTS)
    contents = tuple(builder.build(release) for release in range(count))
    changes = tuple(sorted(rng.uniform(0.1, 0.9) for _ in contents[1:]))
    return Program(f"domain{target.domain:02}", name, _choose(rng, _RATES), contents, changes)


def _choose_sources(
    rng: random.Random, target: _PlatformDataset, levels: Sequence[Sequence[_PlatformDataset]]
) -> list[_PlatformDataset]:
    """Return the datasets that a program reads: mostly of its domain, and of the level below its target."""
    sources = []
    for _ in range(_choose(rng, _SOURCES)):
        level = target.level - 1 if rng.random() < 0.85 else rng.randrange(target.level)
        candidates = [dataset for dataset in levels[level] if dataset.domain == target.domain]
        sources.append(rng.choice(candidates if candidates and rng.random() < 0.95 else levels[level]))
    if rng.random() < 0.04:
        # An incremental load, which also reads what it wrote before.
        sources.append(target)
    return list(dict.fromkeys(sources))


class _ContentBuilder:
    """Builds the contents of one program, each from the steps of the one before."""

    def __init__(
        self,
        rng: random.Random,
        program: str,
        target: _PlatformDataset,
        sources: Sequence[_PlatformDataset],
    ) -> None:
        self._rng = rng
        self._program = program
        self._target = target
        self._sources = sources
        names = [name for name in target.names if rng.random() < 0.9] or list(target.names)
        self._steps = [self._step(outputs, release=0) for outputs in self._outputs(names)]
        self._conditions = tuple(self._write_conditions())
        # Read and not used, as by `SELECT *`; some programs say so.
        self._unused = [self._input() for _ in sources]
        self._drops = rng.random() < 0.1

    def build(self, release: int) -> FieldLineageInfo:
        """Return the content of a release, which changes one to three steps and may add a field."""
        rng = self._rng
        if release:
            for number in rng.sample(range(len(self._steps)), k=min(rng.randint(1, 3), len(self._steps))):
                self._steps[number] = self._step(self._steps[number].outputs, release=release)
            if rng.random() < 0.4:
                self._steps.append(self._step((f"{self._program}_r{release}",), release=release))
        return lineage.build_lineage(list(self._operations()))

    def _outputs(self, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Divide the fields of the destination: most have a step of their own."""
        position = 0
        while position < len(names):
            count = 3 if self._rng.random() < 0.08 else 1
            yield tuple(names[position : position + count])
            position += count

    def _step(self, outputs: tuple[str, ...], *, release: int) -> _Step:
        rng = self._rng
        source = rng.choice(self._sources)
        kind = rng.random()
        if kind < 0.45 and not release and len(outputs) == 1 and outputs[0] in source.names:
            return _Step(outputs, (InputField(_read_name(source), outputs[0]),), "")
        # Described by its release, so that a changed step is never a part of another one.
        description = f"{self._program} release {release}"
        if kind > 0.97:
            return _Step(outputs, (), description)
        inputs = [self._input() for _ in range(rng.choice((1, 1, 2, 3)))]
        if rng.random() < 0.2:
            inputs.append(replace(self._input(), influence=Influence.INDIRECT, kind="conditional"))
        return _Step(outputs, tuple(dict.fromkeys(inputs)), description)

    def _write_conditions(self) -> Iterator[InputField]:
        """Yield the inputs that decide which rows are written: join keys, and sometimes a filter."""
        if len(self._sources) > 1:
            for source in self._sources:
                key = InputField(_read_name(source), source.names[0], Influence.INDIRECT, "join")
                yield key
        if self._rng.random() < 0.3:
            yield replace(self._input(), influence=Influence.INDIRECT, kind="filter")

    def _input(self) -> InputField:
        source = self._rng.choice(self._sources)
        return InputField(_read_name(source), self._rng.choice(source.names))

    def _operations(self) -> Iterator[Operation]:
        inputs = [field for step in self._steps for field in step.inputs]
        for source in self._sources:
            origin = _read_name(source)
            used = {
                field.name for field in (*inputs, *self._conditions, *self._unused) if field.origin == origin
            }
            fields = tuple(Field(name) for name in sorted(used))
            yield Read(origin, f"{self._program} reads", source.dataset, "", fields)
        written: list[InputField] = []
        for step in self._steps:
            if not step.description:
                written += step.inputs
                continue
            name = f"make {step.outputs[0]}"
            yield Transform(name, step.description, step.inputs, tuple(map(Field, step.outputs)))
            written += [InputField(name, output) for output in step.outputs]
        if self._drops:
            yield Transform("drop", f"{self._program} drops", tuple(dict.fromkeys(self._unused)), ())
        yield Write("write", self._program, self._target.dataset, "", (*written, *self._conditions))


def _program_runs(program: Program, count: int) -> Iterator[RecordedRun]:
    rng = random.Random(f"{SEED} {program.name} {count}")
    for number in range(count):
        # Late by up to nine tenths of the period, so that the runs of a program stay in order.
        start_ms = FIRST_DAY_MS + int((number + 0.9 * rng.random()) * YEAR_MS / count)
        run = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        state = _choose(rng, _STATES)
        yield RecordedRun(
            ProgramRun(program.namespace, "platform", "1", "spark", program.name, run, start_ms, state),
            program.content(number / count),
        )


def starting_fields(contents: Sequence[FieldLineageInfo], *, is_source: bool) -> list[DatasetField]:
    """Return, sorted, the fields that contents read, or those that they write."""
    if is_source:
        return sorted({field for info in contents for field in info.field_map.fields})
    return sorted(
        {
            DatasetField(operation.destination, item.name)
            for info in contents
            for operation in info.operations
            if isinstance(operation, Write)
            for item in operation.inputs
            if item.influence is Influence.DIRECT
        }
    )


def _read_name(source: _PlatformDataset) -> str:
    return f"read {source.dataset.name}"


def _choose(rng: random.Random, shares: Sequence[tuple[T, float]]) -> T:
    return rng.choices([value for value, _ in shares], [share for _, share in shares])[0]
