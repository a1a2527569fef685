"""The consumption report: programs that read a field in a window, and fields made from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from fll_hbase.model.window import Direction, Window
from fll_hbase.queries.names import FieldName, field_name
from fll_hbase.queries.pages import Paged, decode_runs_cursor
from fll_hbase.queries.parameters import About
from fll_hbase.queries.programs import Program, programs_answer
from fll_hbase.queries.query import Answer, Body, FirstReads
from fll_hbase.queries.reach import UnknownRelation
from fll_hbase.queries.reports.field_report import PART_HELP, FieldReport, ReachedField
from fll_hbase.queries.runs import ListedRun, listed_run, next_cursor
from fll_hbase.store.lineage_store import LineageStore


class ConsumptionAnswer(Body, frozen=True, kw_only=True):
    """Programs and runs that read a field, and fields made from it; later pages have the runs alone."""

    report: Literal["consumption"]
    field: FieldName
    runs: tuple[ListedRun, ...]
    retained_from: int | None = None
    programs: tuple[Program, ...] | None = None
    derived: tuple[ReachedField, ...] | None = None
    dropped: bool | None = None
    unknown: tuple[UnknownRelation, ...] | None = None
    truncated: bool
    truncated_by: tuple[str, ...] = ()
    more_runs: bool


@dataclass(frozen=True)
class Consumption(FieldReport[ConsumptionAnswer], Paged):
    """Return the programs and runs that read a field, and every field made from it, each with a path.

    `runs` is paged by the link to the next page, on which it is alone. By `Accept` the answer is JSON,
    `text/csv` (one `part` of it) or `text/html`, a page to print.

    >>> body = client.consumption("bank", "DailyTransactions", "UID").body
    >>> [program.program for program in body.programs]
    ['features', 'print', 'build_accounts']
    """

    path: ClassVar[str] = "/v3/reports/consumption"
    result: ClassVar[str] = "Runs and programs newest first"
    items: ClassVar[str] = "runs"
    reads_all: ClassVar[bool] = True

    part: Annotated[Literal["derived", "programs", "runs"], About(PART_HELP)] = dataclasses.field(
        default="derived", kw_only=True
    )

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[ConsumptionAnswer]:
        """Return the report with a page of runs. Raises NotFound for a field that was never recorded."""
        window = self.window(now_ms)
        page = store.runs(
            self.dataset,
            window,
            limit=self.page_limit(store),
            start_after=decode_runs_cursor(self.cursor),
            field=self.field,
            directions=(Direction.FORWARD,),
        )
        body = ConsumptionAnswer(
            report="consumption",
            field=field_name(self.dataset_field),
            runs=tuple(listed_run(run, now_ms=now_ms) for run in page.runs),
            truncated=False,
            more_runs=bool(page.next_after),
        )
        if self.cursor is not None:
            return Answer(body, window, cursor=next_cursor(page))
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        reached = self.reached(store, window, Direction.FORWARD)
        programs = store.programs(
            self.dataset, window, field=self.field, directions=(Direction.FORWARD,), failed=self.failed
        )
        truncated_by = tuple(sorted(reached.truncated_by | {*programs.truncated_by}))
        body = msgspec.structs.replace(
            body,
            retained_from=retained_from_ms,
            programs=programs_answer(programs).programs,
            derived=reached.listed(reached.reach.paths.keys() - {self.dataset_field}),
            dropped=self.dataset_field in reached.reach.dropped,
            unknown=reached.unknown,
            truncated=bool(truncated_by),
            truncated_by=truncated_by,
        )
        return Answer(body, window, retained_from_ms, truncated_by, next_cursor(page))

    def first_reads(self, *, now_ms: int) -> FirstReads:
        """Return the times of the contents that read the dataset."""
        return FirstReads(times=self.window_queries(self.dataset, "forward", now_ms=now_ms))

    def to_text(self, media_type: str, body: Any, window: Window | None, *, now_ms: int) -> str:
        """Return the report as a page to print, or the `part` of it as CSV."""
        return self.part_text(self.part, media_type, body, window or self.window(now_ms), now_ms=now_ms)

    def join(self, first: Any, last: Any, items: Sequence[Any]) -> Any:
        """Return the first page with the runs of all."""
        return msgspec.structs.replace(first, runs=tuple(items), more_runs=last.more_runs)
