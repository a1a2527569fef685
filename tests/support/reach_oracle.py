"""Reach by brute force: every path of runs is walked, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fll_hbase.model import lineage
from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField, Field
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.query_parameters import ReachQuery

_INFLUENCE = {True: Influence.DIRECT, False: Influence.INDIRECT}


class Edge(NamedTuple):
    """A destination field, or the dataset as a whole, that depends on a source field."""

    source: DatasetField
    destination: DatasetField
    direct: bool


@dataclass(frozen=True)
class Run:
    """A run with its start and the edges that it made; an edge to a whole dataset is indirect."""

    name: str
    start_ms: int
    edges: tuple[Edge, ...]
    failed: bool = False

    def recorded(self) -> RecordedRun:
        """Return the run with operations that have these edges and no others."""
        state = State.FAIL if self.failed else State.COMPLETE
        run = ProgramRun("ns", "app", "", "spark", "program", self.name, self.start_ms, state)
        return RecordedRun(run, lineage.build_lineage(list(self._operations())))

    def _operations(self) -> Iterator[Operation]:
        sources = sorted({edge.source.dataset for edge in self.edges})
        for number, source in enumerate(sources):
            names = sorted({edge.source.name for edge in self.edges if edge.source.dataset == source})
            yield Read(f"read{number}", "", source, "", tuple(Field(name) for name in names))
        for number, destination in enumerate(sorted({edge.destination.dataset for edge in self.edges})):
            ends = sorted(
                {edge.destination for edge in self.edges if edge.destination.dataset == destination}
            )
            written = []
            for position, end in enumerate(ends):
                inputs = self._inputs(end, sources)
                if end.name == WHOLE_DATASET:
                    written += inputs
                    continue
                yield Transform(f"make{number}.{position}", "", inputs, (Field(end.name),))
                written.append(InputField(f"make{number}.{position}", end.name))
            yield Write(f"write{number}", "", destination, "", tuple(written))

    def _inputs(self, end: DatasetField, sources: Sequence[Dataset]) -> tuple[InputField, ...]:
        return tuple(
            InputField(
                f"read{sources.index(edge.source.dataset)}", edge.source.name, _INFLUENCE[edge.direct], None
            )
            for edge in self.edges
            if edge.destination == end
        )


@dataclass
class Expected:
    """Hops of the fields within reach, and for each edge its runs and whether it is direct in any."""

    hops: dict[DatasetField, int] = field(default_factory=dict)
    runs: dict[tuple[DatasetField, DatasetField], set[Run]] = field(default_factory=dict)
    direct: set[tuple[DatasetField, DatasetField]] = field(default_factory=set)


def reach(runs: Mapping[str, Run], query: ReachQuery, *, level: int) -> Expected:
    """Return what is within `level` hops, from every path of so many edges; `runs` are the last by name."""
    counted = [
        run for run in runs.values() if run.start_ms in query.window and query.window.failed >= run.failed
    ]
    expected = Expected(hops={query.field: 0})
    _walk(expected, counted, query, query.field, None, 0, level)
    if query.direction is Direction.FORWARD:
        for end, hops in expected.hops.items():
            # A field of a dataset that is reached as a whole is as near as this dataset.
            dataset_hops = expected.hops.get(DatasetField(end.dataset, WHOLE_DATASET), hops)
            expected.hops[end] = min(hops, dataset_hops)
    return expected


def reach_along(fields: Sequence[DatasetField], runs: Sequence[Run], query: ReachQuery) -> bool:
    """Return whether some runs lead from each field to the next, with `causal` in their order."""
    counted = [run for run in runs if run.start_ms in query.window and query.window.failed >= run.failed]
    return fields[0] == query.field and _leads_on(fields, counted, query, None)


def _leads_on(
    fields: Sequence[DatasetField], runs: Sequence[Run], query: ReachQuery, last: Run | None
) -> bool:
    if len(fields) == 1:
        return True
    backward = query.direction is Direction.BACKWARD
    near, far, *_ = fields
    # From a field to its dataset as a whole, or back, without a run.
    joined = near != far and _continues(near, far, backward=backward)
    if joined and _leads_on(fields[1:], runs, query, last):
        return True
    return any(
        _leads_on(fields[1:], runs, query, run)
        for run in runs
        if not (query.causal and last is not None and not _in_order(last, run, backward=backward))
        for edge in run.edges
        if (edge.direct or query.indirect)
        and (near, far) == ((edge.destination, edge.source) if backward else (edge.source, edge.destination))
    )


def _walk(
    expected: Expected,
    runs: Sequence[Run],
    query: ReachQuery,
    end: DatasetField,
    last: Run | None,
    hops: int,
    level: int,
) -> None:
    if hops == level:
        return
    backward = query.direction is Direction.BACKWARD
    for run in runs:
        if query.causal and last is not None and not _in_order(last, run, backward=backward):
            continue
        for edge in run.edges:
            near, far = (edge.destination, edge.source) if backward else (edge.source, edge.destination)
            if (edge.direct or query.indirect) and _continues(end, near, backward=backward):
                key = edge.source, edge.destination
                for reached, distance in ((near, hops), (far, hops + 1)):
                    expected.hops[reached] = min(distance, expected.hops.get(reached, distance))
                expected.runs.setdefault(key, set()).add(run)
                expected.direct |= {key} if edge.direct else set()
                _walk(expected, runs, query, far, run, hops + 1, level)


def _in_order(last: Run, run: Run, *, backward: bool) -> bool:
    return run.start_ms <= last.start_ms if backward else run.start_ms >= last.start_ms


def _continues(end: DatasetField, near: DatasetField, *, backward: bool) -> bool:
    """Return whether a path goes on from a field: the dataset as a whole stands before each field of it."""
    if near.dataset != end.dataset:
        return False
    return near.name == end.name or (near.name if backward else end.name) == WHOLE_DATASET


def window(runs: Sequence[Run]) -> Window:
    """A window of all runs."""
    return Window(min(run.start_ms for run in runs), max(run.start_ms for run in runs) + 1)
