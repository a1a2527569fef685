"""Distinct operations of one field in a window, with the programs that performed them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.field_relations import operations_from, operations_into
from fll_hbase.model.operations import Operation
from fll_hbase.model.runs import ProgramRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.store.components import Reader
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.content_cache import FieldOfContent, retry_on_missing_content
from fll_hbase.store.read.run_reader import newest_first_key
from fll_hbase.store.read.run_times import RunTimes

_Operations: TypeAlias = tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class PerformedOperations:
    """The operations of a field, in an executable order, and the newest run of each program that ran them."""

    operations: tuple[Operation, ...]
    last_runs: tuple[ProgramRun, ...]


@dataclass(frozen=True, slots=True)
class FieldPrograms:
    """Distinct operations of a field, ordered by newest run, and the limits that cut them."""

    performed: tuple[PerformedOperations, ...]
    truncated_by: tuple[str, ...]


class FieldProgramReader(Reader):
    """Reads the operations that lead into a field (backward) or that it leads to. Threads may share it.

    Methods raise StoreUnavailable and CorruptRow.
    """

    @retry_on_missing_content
    def read(self, field: DatasetField, window: Window, direction: Direction) -> FieldPrograms:
        """Return the operations of a field in a window, without failed runs unless `window.failed`.

        Runs of unsealed days are read newest first, up to `runs_max`, until shortly before the deadline. The
        result is empty for a known field that no run of the window touched. Raises NotFound for a field that
        was never recorded, and DeadlineExceeded if no content was read in time.
        """
        budget = self._times.budget(until_deadline=True)
        query = WindowQuery(direction, field.dataset, window)
        times = self._times.field_times(query, field.name, budget)
        # Start with the contents of the newest runs, so that these are known at the deadline.
        newest_first = sorted(times, key=lambda content: -times[content].runs[0].runs[0].start_ms)
        programs: dict[_Operations, dict[tuple[str, ...], ProgramRun]] = defaultdict(dict)
        performed = self._performed(times, newest_first, direction)
        for operations, run in deadline.until_over(performed, truncated_by=budget.limits):
            last_runs = programs[operations]
            last_runs[_program(run)] = min(run, last_runs.get(_program(run), run), key=newest_first_key)
        if not programs:
            self._catalogue.require_field(field)
        return FieldPrograms(_newest_first(programs), tuple(sorted(budget.limits)))

    def _performed(
        self,
        times: Mapping[FieldOfContent, RunTimes],
        contents: Sequence[FieldOfContent],
        direction: Direction,
    ) -> Iterator[tuple[_Operations, ProgramRun]]:
        """Yield each content's operations of the field, if any, with the newest run by program and day."""
        select = operations_into if direction is Direction.BACKWARD else operations_from
        stored = self._contents.iter_touching(contents, direction)
        for content, listed in zip(contents, stored, strict=True):
            operations = select(listed, content.field)
            if operations:
                for _, run in self._windows.runs_by_program(times[content].runs):
                    yield operations, run


def _newest_first(
    programs: Mapping[_Operations, Mapping[tuple[str, ...], ProgramRun]],
) -> tuple[PerformedOperations, ...]:
    """Return operations with the last runs of their programs, both ordered by newest run."""
    items = [
        PerformedOperations(operations, tuple(sorted(runs.values(), key=newest_first_key)))
        for operations, runs in programs.items()
    ]
    return tuple(sorted(items, key=lambda item: newest_first_key(item.last_runs[0])))


def _program(run: ProgramRun) -> tuple[str, ...]:
    """Return the identity of a run's program: namespace, application, version, type and name."""
    return run.namespace, run.application, run.version, run.type, run.program
