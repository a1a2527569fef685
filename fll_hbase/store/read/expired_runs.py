"""Runs that wrote fields from certain sources: how many of each program, the oldest and the newest."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from fll_hbase.model import field_relations
from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.operations import Influence
from fll_hbase.model.runs import ProgramRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.components import Reader
from fll_hbase.store.read.window_query import WindowQuery
from fll_hbase.store.results import ProgramRuns, WrittenField

BATCH_RUNS = 500
"""Runs that are read in one call."""


@dataclass(frozen=True, slots=True)
class WriterQuery:
    """Fields whose writers to find, and what counts as a write.

    A field of `origins` is written by every run that writes it, any other one by runs in which it comes from
    another of the `fields`; indirect dependencies count only with `indirect`, failed runs with `failed`.
    """

    fields: Collection[DatasetField]
    origins: Collection[DatasetField]
    window: Window
    indirect: bool
    failed: bool


class WriterReader(Reader):
    """Reads the writers of fields. Threads may share it."""

    def written(self, query: WriterQuery) -> Iterator[tuple[ProgramRun, frozenset[DatasetField]]]:
        """Yield each run that wrote any of the fields, by dataset, newest first. Raises DeadlineExceeded.

        A run that wrote several datasets is yielded once for each, with its fields in that dataset.
        """
        datasets = sorted({field.dataset for field in query.fields})
        aliases = self._catalogue.aliases(datasets)
        names = {name: dataset for dataset in reversed(datasets) for name in aliases.get(dataset, ())}
        names |= {dataset: dataset for dataset in datasets}
        for name in sorted(names):
            by_content: dict[str, frozenset[DatasetField]] = {}
            writers = WindowQuery(Direction.BACKWARD, name, query.window, query.failed)
            for run in self._windows.runs(writers, batch_size=BATCH_RUNS):
                # Thousands of runs share a content.
                if run.checksum not in by_content:
                    by_content[run.checksum] = frozenset(self._fields(query, run.checksum, name, names))
                if by_content[run.checksum]:
                    yield run.run, by_content[run.checksum]

    def _fields(
        self, query: WriterQuery, checksum: str, name: Dataset, names: Mapping[Dataset, Dataset]
    ) -> Iterator[DatasetField]:
        """Yield the fields of the query that a content writes from others of it, or that are origins."""
        for edge in field_relations.edges_into(self._contents.field_map(checksum), name):
            if edge.influence is None and edge.source is not None:
                continue
            written = DatasetField(names[name], edge.destination_field or WHOLE_DATASET)
            if written in query.origins:
                yield written
            elif written in query.fields and edge.source is not None:
                source = DatasetField(names.get(edge.source, edge.source), edge.source_field or WHOLE_DATASET)
                counts = query.indirect or edge.influence is not Influence.INDIRECT
                if counts and _is_member(source, query.fields):
                    yield written


class WriterUnion:
    """The writers of fields under construction."""

    def __init__(self) -> None:
        self._runs: dict[DatasetField, dict[tuple[str, str, str, str], ProgramRuns]] = {}

    def add(self, run: ProgramRun, fields: Collection[DatasetField]) -> None:
        """Count a run as a writer of fields."""
        program = run.namespace, run.application, run.program, run.type
        for field in fields:
            programs = self._runs.setdefault(field, {})
            programs[program] = _with_run(programs.get(program), run)

    def build(self) -> dict[DatasetField, WrittenField]:
        """Return the writers of each field that has any, programs by their names."""
        return {
            field: WrittenField(tuple(programs[program] for program in sorted(programs)))
            for field, programs in self._runs.items()
        }


def _with_run(runs: ProgramRuns | None, run: ProgramRun) -> ProgramRuns:
    if runs is None:
        return ProgramRuns(1, run, run)
    oldest = min(runs.oldest, run, key=_start_and_id)
    return ProgramRuns(runs.runs + 1, oldest, max(runs.newest, run, key=_start_and_id))


def _start_and_id(run: ProgramRun) -> tuple[int, str]:
    return run.start_ms, run.run


def _is_member(source: DatasetField, fields: Collection[DatasetField]) -> bool:
    """Return whether a field is one of the fields, alone or as a part of its whole dataset."""
    return source in fields or DatasetField(source.dataset, WHOLE_DATASET) in fields
