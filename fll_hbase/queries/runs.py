"""Pages of runs, newest first: of a dataset, of the programs of a namespace, or of all programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec

from fll_hbase.keys import layout
from fll_hbase.model.runs import ProgramRun, State
from fll_hbase.model.window import DAY_MS, Window
from fll_hbase.queries import name_json
from fll_hbase.queries.pages import Paged, decode_runs_cursor, encode_cursor
from fll_hbase.queries.parameters import About, AnyDirection, RunState
from fll_hbase.queries.programs import direction_word
from fll_hbase.queries.query import (
    FIELD_HELP,
    Answer,
    Body,
    BodyT,
    DatasetQuery,
    Query,
    Required,
    WindowBody,
    Windowed,
)
from fll_hbase.queries.tables import TableShape, member_rows
from fll_hbase.queries.time_window import short_seconds
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.query_parameters import RunsQuery

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore
    from fll_hbase.store.results import ListedRun as StoredRun
    from fll_hbase.store.results import RunsPage

# A third of the runs that the Spark agent reports never end (docs/record/openlineage.md).
SILENT_MS = DAY_MS
"""Time after the last event at which a run without a recorded end is returned without a state."""

TABLE = TableShape(
    (
        *("startTime", "state", "direction", "namespace", "application"),
        *("program", "version", "type", "run", "checksum"),
    ),
    member_rows("runs"),
    times=("startTime",),
)

BUCKETS_MAX = 1_000


class RunHead(Body, frozen=True, kw_only=True):
    """The common part of answers about a run; times are in milliseconds since 1970.

    A hidden program has a number and no names.
    """

    run: str
    hidden: int = 0
    namespace: Annotated[str | None, Required] = None
    application: Annotated[str | None, Required] = None
    version: Annotated[str | None, Required] = None
    type: Annotated[str | None, Required] = None
    program: Annotated[str | None, Required] = None
    start_time: int
    state: Annotated[
        RunState | None,
        msgspec.Meta(description="Left out where no end was recorded and the last event is a day old"),
    ] = None
    parent: Annotated[str | None, msgspec.Meta(description="The run that started this one")] = None
    last_event_time: Annotated[
        int | None, msgspec.Meta(description="Time of the last event, for a run without a recorded end")
    ] = None


class RunOfProgram(RunHead, frozen=True, kw_only=True):
    """A run of a page."""

    checksum: str


class ListedRun(RunOfProgram, frozen=True, kw_only=True):
    """A run of a page about a dataset."""

    direction: AnyDirection


class RunsAnswer(WindowBody, frozen=True, kw_only=True):
    """A page of the runs of a dataset."""

    runs: tuple[ListedRun, ...]
    runs_with_unknown_columns: Annotated[
        int,
        msgspec.Meta(
            description="Runs between those of this page that used the dataset without reporting whether they"
            " used the `field`; left out if there are none"
        ),
    ] = 0


class NamespaceRunsAnswer(WindowBody, frozen=True, kw_only=True):
    """A page of the runs of programs; `truncated` is true only if a limit left out namespaces."""

    runs: tuple[RunOfProgram, ...]
    truncated: bool = False
    truncated_by: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """Parameters that select the runs of one program, or in one state."""

    program: Annotated[str, About("Only runs of programs of this name", minimum=1)] = ""
    state: Annotated[Literal["", RunState], About("Only runs in this state")] = ""


@dataclass(frozen=True, kw_only=True)
class FieldFilter:
    """A parameter that selects the runs of one field."""

    field: Annotated[str, About(FIELD_HELP, minimum=1)] = ""


@dataclass(frozen=True, kw_only=True)
class DatasetRuns(RunFilter, FieldFilter, Windowed, Paged, DatasetQuery[BodyT]):
    """A query about a page of the runs of a dataset."""

    def read_page(self, store: LineageStore, window: Window) -> RunsPage:
        """Return the page. Raises InvalidQuery for an invalid cursor, NotFound, and errors of the store."""
        return store.runs(
            self.dataset,
            window,
            limit=self.page_limit(store),
            start_after=decode_runs_cursor(self.cursor),
            field=self.field,
            program=self.program,
            state=self.state,
        )


@dataclass(frozen=True, kw_only=True)
class ProgramRuns(RunFilter, Windowed, Paged, Query[BodyT]):
    """A query about a page of the runs of the programs of one namespace or all namespaces."""

    def read_page(self, store: LineageStore, window: Window, namespace: str) -> RunsPage:
        """Return the page; "" is all namespaces. Raises InvalidQuery for an invalid cursor, and store errors.

        Raises NotFound for a namespace without programs.
        """
        state = State(self.state) if self.state else None
        return store.namespace_runs(
            RunsQuery(namespace, window, self.program, state),
            limit=self.page_limit(store),
            start_after=decode_runs_cursor(self.cursor, layout.parse_run_index_tail),
        )


@dataclass(frozen=True, kw_only=True)
class Runs(DatasetRuns[RunsAnswer]):
    """List the runs of the window that read or wrote a dataset, including failed and aborted ones.

    `field` selects the runs that read or wrote this field, `program` the runs of programs of exactly this
    name, and `state` the runs in this state; a run must match all of them. With `field`,
    `runsWithUnknownColumns` counts the runs that used the dataset without reporting whether they used the
    field; they are not listed. `direction` of a run is `backward` if it wrote the dataset, `forward` if it
    read it, or `both`. `limit` bounds the runs, newest first.

    >>> page = client.runs("bank", "DailyTransactions", program="print", limit=2)
    >>> next_page = client.runs("bank", "DailyTransactions", limit=2, **page.next_page)
    >>> [run.program for run in next_page.body.runs]
    ['features', 'load_transactions']
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints/{name}/runs"
    result: ClassVar[str] = "Newest first"
    items: ClassVar[str] = "runs"
    table: ClassVar[TableShape] = TABLE

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[RunsAnswer]:
        """Return a page of runs. Raises InvalidQuery, NotFound for unknown names, and errors of the store."""
        window = self.window(now_ms)
        page = self.read_page(store, window)
        runs = tuple(listed_run(run, now_ms=now_ms) for run in page.runs)
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        body = RunsAnswer(runs=runs, runs_with_unknown_columns=sum(page.unknown_columns))
        return Answer(body, window, retained_from_ms, cursor=next_cursor(page))

    def join(self, pages: Sequence[RunsAnswer], items: Sequence[ListedRun]) -> RunsAnswer:
        """Return one page with the runs of all pages, and the sum of their runs with unknown columns."""
        joined: RunsAnswer = super().join(pages, items)
        unknown = sum(page.runs_with_unknown_columns for page in pages)
        return msgspec.structs.replace(joined, runs_with_unknown_columns=unknown)


@dataclass(frozen=True, kw_only=True)
class AllRuns(ProgramRuns[NamespaceRunsAnswer]):
    """List the runs of the window in all namespaces, including failed and aborted ones.

    `program` selects the runs of programs of exactly this name, `state` the runs in this state. A page
    examines at most 20,000 runs, so it may have fewer runs than its limit although a next page exists. The
    answer covers at most 10,000 namespaces, and is `truncated` if there are more.

    >>> client.all_runs(program="print", limit=1).body.runs[0].namespace
    'bank'
    """

    path: ClassVar[str] = "/v3/runs"
    result: ClassVar[str] = "Newest first"
    statuses: ClassVar[tuple[int, ...]] = (400, 503)
    items: ClassVar[str] = "runs"
    table: ClassVar[TableShape] = TABLE

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[NamespaceRunsAnswer]:
        """Return a page of runs."""
        return _program_runs(self, store, "", now_ms)


@dataclass(frozen=True)
class NamespaceRuns(ProgramRuns[NamespaceRunsAnswer]):
    """List the runs of the window of the programs of a namespace, including failed and aborted ones.

    The namespace is the one of the programs, whatever datasets they read and wrote. `program` selects the
    runs of programs of exactly this name, `state` the runs in this state. A page examines at most 20,000
    runs, so it may have fewer runs than its limit although a next page exists. A namespace without a
    recorded program is 404 (`NotFound` in Python).

    >>> client.namespace_runs("bank", program="print", limit=1).body.runs[0].program
    'print'
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/runs"
    result: ClassVar[str] = "Newest first"
    items: ClassVar[str] = "runs"
    table: ClassVar[TableShape] = TABLE

    namespace: str

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[NamespaceRunsAnswer]:
        """Return a page of runs. Raises InvalidQuery, NotFound without any program, and store errors."""
        return _program_runs(self, store, self.namespace, now_ms)


def _program_runs(
    query: ProgramRuns[NamespaceRunsAnswer], store: LineageStore, namespace: str, now_ms: int
) -> Answer[NamespaceRunsAnswer]:
    """Return a page of the runs of a query's window as an answer; "" means all namespaces."""
    window = query.window(now_ms)
    page = query.read_page(store, window, namespace)
    body = NamespaceRunsAnswer(
        runs=tuple(
            RunOfProgram(checksum=run.checksum, **head_members(run.run, now_ms=now_ms)) for run in page.runs
        ),
        truncated=bool(page.truncated_by),
        truncated_by=page.truncated_by,
    )
    retained_from_ms = store.runs_retained_from_ms(window)
    return Answer(body, window, retained_from_ms, page.truncated_by, next_cursor(page))


def next_cursor(page: RunsPage) -> str:
    """Return the cursor of the page after `page`, or "" if it is the last."""
    return encode_cursor(page.next_after.decode()) if page.next_after else ""


def listed_run(listed: StoredRun, *, now_ms: int) -> ListedRun:
    """Return one run of a dataset. A run that is silent for SILENT_MS at `now_ms` has no state."""
    return ListedRun(
        checksum=listed.checksum,
        direction=direction_word(listed.directions),
        **head_members(listed.run, now_ms=now_ms),
    )


def head_members(run: ProgramRun, *, now_ms: int) -> dict[str, Any]:
    """Return the members of a RunHead by attribute; `state` is None if the run is silent for SILENT_MS."""
    facts = run_facts(run)
    last_event_time = facts.get("lastEventTime")
    # A run that a document reports as running has no events, so it is never silent.
    is_silent = run.state is State.RUNNING and now_ms - (last_event_time or now_ms) >= SILENT_MS
    return {
        "run": run.run,
        **name_json.program(run, name_json.PROGRAM_WITH_VERSION),
        "start_time": run.start_ms,
        "state": None if is_silent else run.state.value,
        "parent": facts.get("parent"),
        "last_event_time": last_event_time,
    }


def run_facts(run: ProgramRun) -> Json:
    """Return the facts of a run that are not part of its lineage, such as `sql`, by JSON member."""
    return json.loads(run.details) if run.details else {}


class RunBucket(Body, frozen=True, kw_only=True):
    """The runs that start between `start`, in seconds since 1970, and the next bucket."""

    start: int | float
    complete: Annotated[int, msgspec.Meta(description="Runs that neither failed nor were aborted")]
    failed: int


class RunCountsAnswer(WindowBody, frozen=True, kw_only=True):
    """Counts of the runs of a window, the oldest bucket first."""

    buckets: tuple[RunBucket, ...]
    truncated: bool
    truncated_by: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RunCounts(Windowed, DatasetQuery[RunCountsAnswer]):
    """Count the runs that read or wrote a dataset, over the window.

    The window is divided into `buckets` equal parts, or fewer if it has fewer milliseconds. `complete` counts
    the runs of a part that neither failed nor were aborted, `failed` the others. `field` selects runs that
    read or wrote this field. On days without a seal, runs are read one by one, newest first, up to
    FLL_RUNS_MAX; older runs of such days are then not counted.

    >>> answer = client.run_counts("bank", "DailyTransactions", start="now-3d", buckets=3)
    >>> [(bucket.complete, bucket.failed) for bucket in answer.body.buckets]
    [(49, 2), (49, 2), (48, 3)]
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints/{name}/runs/counts"
    result: ClassVar[str] = "The oldest bucket first"
    table: ClassVar[TableShape] = TableShape(("start", "complete", "failed"), member_rows("buckets"))

    buckets: Annotated[int, About("Parts of the window", minimum=1, maximum=BUCKETS_MAX)] = 30
    field: Annotated[str, About(FIELD_HELP, minimum=1)] = ""

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[RunCountsAnswer]:
        """Return the counts. Raises InvalidQuery, NotFound for unknown names, and errors of the store."""
        window = self.window(now_ms)
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        counts = store.run_counts(self.dataset, window, buckets=self.buckets, field=self.field)
        body = RunCountsAnswer(
            buckets=tuple(
                RunBucket(
                    start=short_seconds(bucket.start_ms), complete=bucket.complete, failed=bucket.failed
                )
                for bucket in counts.buckets
            ),
            truncated=bool(counts.truncated_by),
            truncated_by=counts.truncated_by,
        )
        return Answer(body, window, retained_from_ms, counts.truncated_by)
