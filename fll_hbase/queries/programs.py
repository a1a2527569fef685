"""Programs that read or wrote a dataset or a field, by their runs of a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from fll_hbase.model.masking import HIDDEN_NAMESPACE
from fll_hbase.model.window import BOTH, Direction
from fll_hbase.queries import time_window
from fll_hbase.queries.name_json import PROGRAM, hidden_number
from fll_hbase.queries.names import ProgramName
from fll_hbase.queries.parameters import About, AnyDirection
from fll_hbase.queries.query import (
    FIELD_HELP,
    Answer,
    Body,
    DatasetQuery,
    WindowBody,
    WindowedWithFailed,
    directions,
    flow_word,
)
from fll_hbase.queries.tables import Row, TableShape
from fll_hbase.runtime.json_types import Json

if TYPE_CHECKING:
    from fll_hbase.store import results
    from fll_hbase.store.lineage_store import LineageStore


class ProgramDay(Body, frozen=True, kw_only=True):
    """The runs of a program on a day in UTC; `failed_runs` has the ids of the newest failed runs."""

    day: Annotated[str, msgspec.Meta(description="As `2026-11-01`")]
    runs: int
    failed: int
    first_start: int
    last_start: int
    failed_runs: tuple[str, ...]


class Program(ProgramName, frozen=True, kw_only=True):
    """A program by its runs of a window; starts are in milliseconds since 1970.

    `failed` counts failed and aborted runs, `runs` all others. The first start, last start and last run leave
    out failed runs, unless all runs failed: then `failed_only` is true.
    """

    direction: AnyDirection
    runs: int
    failed: int
    failed_only: Annotated[bool, msgspec.Meta(description="All of its runs in the window failed")] = False
    first_start: int
    last_start: int
    last_run: str
    days: Annotated[
        tuple[ProgramDay, ...] | None, msgspec.Meta(description="In the consumption report, newest first")
    ] = None


UNKNOWN_COLUMNS = msgspec.Meta(
    description="Programs of runs that read or wrote the dataset without reporting whether they used the"
    " `field`, also programs all of whose runs failed. A program may be in `programs`, too, for other runs."
    " Left out if there are none"
)


class ProgramsAnswer(WindowBody, frozen=True, kw_only=True):
    """The programs of the runs of a window, newest run first, but programs with only failed runs last.

    `failed_only` counts the programs with only failed runs, listed or not.
    """

    programs: tuple[Program, ...]
    programs_with_unknown_columns: Annotated[tuple[Program, ...], UNKNOWN_COLUMNS] = ()
    failed_only: int
    truncated: bool
    truncated_by: tuple[str, ...] = ()


def program_rows(body: Json) -> list[Row]:
    """Return the programs of an answer as rows; those with unknown columns are last and marked."""
    unknown = body.get("programsWithUnknownColumns", ())
    return [*body.get("programs", ()), *({**program, "columns": "unknown"} for program in unknown)]


@dataclass(frozen=True, kw_only=True)
class Programs(WindowedWithFailed, DatasetQuery[ProgramsAnswer]):
    """List the programs that read (forward) or wrote (backward) a dataset, or one field of it.

    For each program, `runs` counts the runs of the window and `failed` its failed and aborted runs. Programs
    with only failed runs are listed with `failed=true`, after the others; `failedOnly` counts them in any
    case. With `field`, `programsWithUnknownColumns` lists programs of runs that used the dataset without
    reporting whether they used the field. Lists have at most FLL_LIST_LIMIT_MAX programs, those with the
    newest runs.

    >>> answer = client.programs("bank", "DailyTransactions", field="UID", direction="forward")
    >>> [program.program for program in answer.body.programs]
    ['features', 'print', 'build_accounts']
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints/{name}/programs"
    result: ClassVar[str] = "The program of the newest run first"
    table: ClassVar[TableShape] = TableShape(
        (
            *("namespace", "application", "program", "type", "direction"),
            *("runs", "failed", "firstStart", "lastStart", "lastRun", "columns"),
        ),
        program_rows,
        times=("firstStart", "lastStart"),
    )

    field: Annotated[str, About(FIELD_HELP, minimum=1)] = ""
    direction: AnyDirection = "both"

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[ProgramsAnswer]:
        """Return the programs. Raises InvalidQuery, NotFound for an unknown dataset, and store errors."""
        window = self.window(now_ms)
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        listed = store.programs(
            self.dataset,
            window,
            field=self.field,
            directions=directions(self.direction),
        )
        return Answer(programs_answer(listed), window, retained_from_ms, listed.truncated_by)


def programs_answer(listed: results.Programs) -> ProgramsAnswer:
    """Return the programs that the store lists, in their order, as an answer."""
    return ProgramsAnswer(
        programs=tuple(map(_program, listed.programs)),
        programs_with_unknown_columns=tuple(map(_program, listed.unknown_columns)),
        failed_only=listed.failed_only,
        truncated=bool(listed.truncated_by),
        truncated_by=listed.truncated_by,
    )


def _program(usage: results.ProgramUsage) -> Program:
    """Return a program of the store in the form of an answer; a hidden program has only a number."""
    last = usage.last
    counts = Program(
        direction=direction_word(usage.directions),
        runs=usage.runs,
        failed=usage.failed,
        failed_only=not usage.runs,
        first_start=usage.first_start_ms,
        last_start=last.start_ms,
        last_run=last.run,
        days=tuple(map(_day, usage.days)) or None,
    )
    if last.namespace == HIDDEN_NAMESPACE:
        return msgspec.structs.replace(counts, hidden=hidden_number(last.program))
    names = {member: getattr(last, member) for member in PROGRAM}
    return msgspec.structs.replace(counts, **names)


def _day(item: results.ProgramDay) -> ProgramDay:
    """Return a day of the store in the form of an answer."""
    return ProgramDay(
        day=time_window.day_text(item.day),
        runs=item.runs,
        failed=item.failed,
        first_start=item.first_start_ms,
        last_start=item.last_start_ms,
        failed_runs=item.failed_runs,
    )


def direction_word(values: frozenset[Direction]) -> AnyDirection:
    """Return directions, at least one, as one word: both, backward or forward."""
    if len(values) == len(BOTH):
        return "both"
    return flow_word(*values)
