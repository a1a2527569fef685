"""Operations of one field in a window with the programs that performed them, by distinct operations."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from typing import TypeAlias

from fll_hbase import deadline
from fll_hbase.config import Settings
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.field_operations import operations_from, operations_into
from fll_hbase.model.operations import Operation
from fll_hbase.model.runs import ProgramRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.read.catalogue import Catalogue
from fll_hbase.store.read.content_cache import ContentCache, retry_on_missing_content
from fll_hbase.store.read.content_decoding import FieldOfContent
from fll_hbase.store.read.run_reader import BATCH_RUNS
from fll_hbase.store.read.window_query import WindowQuery, WindowReader, reference_tail_of
from fll_hbase.store.run_rows import CommittedRun

_Operations: TypeAlias = tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class PerformedOperations:
    """The operations of a field, in an order that can run, and the newest run of each program with them."""

    operations: tuple[Operation, ...]
    last_runs: tuple[ProgramRun, ...]


@dataclass(frozen=True, slots=True)
class FieldPrograms:
    """Distinct operations of a field, those of the newest run first; limits that cut them."""

    performed: tuple[PerformedOperations, ...]
    truncated_by: tuple[str, ...]


class FieldProgramReader:
    """Reads the operations that lead into a field (backward) or that it leads to. Threads may share it."""

    def __init__(
        self, windows: WindowReader, contents: ContentCache, catalogue: Catalogue, settings: Settings
    ) -> None:
        self._windows = windows
        self._contents = contents
        self._catalogue = catalogue
        self._runs_max = settings.runs_max

    @retry_on_missing_content
    def read(self, field: DatasetField, window: Window, direction: Direction) -> FieldPrograms:
        """Return the operations of a field, without those of failed runs.

        Reads every run of the window, newest first, at most `runs_max` and until the deadline. Empty for a
        known field that no run of the window touched; raises NotFound for one that was never recorded.
        """
        programs: dict[_Operations, dict[tuple[str, ...], ProgramRun]] = {}
        truncated_by: set[str] = set()
        performed = self._performed(field, window, direction, truncated_by)
        for run, operations in deadline.until_over(performed, truncated_by=truncated_by):
            if operations:
                # Newest first, so that the first run of a program is its last one.
                programs.setdefault(operations, {}).setdefault(_program(run), run)
        if not programs:
            self._catalogue.require_field(field)
        items = (PerformedOperations(key, tuple(runs.values())) for key, runs in programs.items())
        return FieldPrograms(tuple(items), tuple(sorted(truncated_by)))

    def _performed(
        self, field: DatasetField, window: Window, direction: Direction, truncated_by: set[str]
    ) -> Iterator[tuple[ProgramRun, _Operations]]:
        """Yield each run, newest first, with its operations of the field, none if it has no such field."""
        runs = self._runs(self._catalogue.names(field.dataset), window, direction)
        first_runs = islice(runs, self._runs_max)
        operations: dict[FieldOfContent, _Operations] = {}
        while batch := list(islice(first_runs, BATCH_RUNS)):
            contents = [FieldOfContent(run.checksum, DatasetField(name, field.name)) for run, name in batch]
            new = [content for content in dict.fromkeys(contents) if content not in operations]
            operations |= self._operations(new, direction)
            for (committed, _), content in zip(batch, contents, strict=True):
                yield committed.run, operations[content]
        if next(runs, None) is not None:
            truncated_by.add(f"runs_max={self._runs_max}")

    def _runs(
        self, names: Sequence[Dataset], window: Window, direction: Direction
    ) -> Iterator[tuple[CommittedRun, Dataset]]:
        """Yield the runs of a dataset, newest first, each with the name that it used."""
        runs_by_name = (
            zip(self._windows.runs(query, batch_size=BATCH_RUNS), repeat(query.dataset))
            for query in (WindowQuery(direction, name, window) for name in names)
        )
        return heapq.merge(*runs_by_name, key=lambda item: reference_tail_of(item[0]))

    def _operations(
        self, contents: Sequence[FieldOfContent], direction: Direction
    ) -> dict[FieldOfContent, _Operations]:
        """Return the operations of a field in each content, none where it is not mentioned."""
        self._contents.load(self._contents.find_missing(content.checksum for content in contents))
        select = operations_into if direction is Direction.BACKWARD else operations_from
        touching = [content for content in contents if self._contents.mentions_field(content, direction)]
        selected: dict[FieldOfContent, _Operations] = dict.fromkeys(contents, ())
        stored = self._contents.iter_operations(touching, direction)
        for content, operations in zip(touching, stored, strict=True):
            # Here, because contents that are all cached never wait for the store.
            deadline.check()
            selected[content] = select(operations, content.field)
        return selected


def _program(run: ProgramRun) -> tuple[str, ...]:
    return run.namespace, run.application, run.version, run.type, run.program
