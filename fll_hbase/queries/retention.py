"""The retention report: where data of a policy's fields, or derived from it, is too old."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.flow_policy import FlowPolicy
from fll_hbase.model.runs import ProgramRun
from fll_hbase.model.window import Direction, Window
from fll_hbase.queries import name_json
from fll_hbase.queries.names import ProgramName
from fll_hbase.queries.parameters import About, Time
from fll_hbase.queries.policies import NAMESPACE_HELP, Policy, policy_body
from fll_hbase.queries.query import (
    INDIRECT_HELP,
    Answer,
    Body,
    Printed,
    Query,
    WindowBody,
    WindowedWithFailed,
)
from fll_hbase.queries.reach import UnknownRelation, unknown_relations
from fll_hbase.queries.reports import html_report
from fll_hbase.queries.reports.field_tags import (
    FieldWithTags,
    SubjectField,
    TagNames,
    field_with_tags,
    read_tags,
    subject_field,
)
from fll_hbase.queries.reports.html_report import HTML
from fll_hbase.queries.reports.report_csv import tags_text
from fll_hbase.queries.reports.report_document import Stamp, count_text
from fll_hbase.queries.reports.retention_document import retention_document
from fll_hbase.queries.tables import CSV, Row, TableShape
from fll_hbase.queries.tags import TaggedField
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded, FieldError, InvalidQuery, NotFound
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.query_parameters import expired_query

if TYPE_CHECKING:
    from fll_hbase.store import results
    from fll_hbase.store.lineage_store import LineageStore

DATASETS_MAX = 50
"""Maximum number of datasets whose first runs a report looks up."""

POLICY_FIELDS_MAX = 50
"""Maximum number of fields of the policy whose possible writers a report looks up."""

_SPAN = ("runs", "oldestRun", "oldestStart", "newestRun", "newestStart")


class ExpiredProgram(ProgramName, frozen=True, kw_only=True):
    """A program and its too old runs that wrote a field; starts are in milliseconds since 1970."""

    runs: int
    oldest_run: str
    oldest_start: int
    newest_run: str
    newest_start: int


class ExpiredField(FieldWithTags, frozen=True, kw_only=True):
    """A field with data older than the policy allows; `path` begins with a field of the policy."""

    path: tuple[TaggedField, ...]
    runs: int
    oldest_run: str
    oldest_start: int
    newest_run: str
    newest_start: int
    programs: tuple[ExpiredProgram, ...]


class ReportWindow(Body, frozen=True, kw_only=True):
    """The window of the report in milliseconds since 1970, which ends at the cut-off or earlier."""

    start: int
    end: int


class RetentionReportAnswer(WindowBody, frozen=True, kw_only=True):
    """The fields with data older than a policy allows, and the fields that comply."""

    policy: Policy
    field: Annotated[
        SubjectField | None, msgspec.Meta(description="The field of the policy; left out for one on a tag")
    ] = None
    window: ReportWindow
    recorded_from: Annotated[
        int | None,
        msgspec.Meta(
            description="Without older data: a time in milliseconds since 1970 from which on each dataset of"
            " `complying` has recorded runs. Left out if one has none, or for more than 50 datasets"
        ),
    ] = None
    verdict: str
    fields: tuple[ExpiredField, ...]
    complying: Annotated[
        tuple[FieldWithTags, ...],
        msgspec.Meta(description="Fields of the policy, or made of them, without a known older run"),
    ]
    unknown: tuple[UnknownRelation, ...]
    truncated: bool
    truncated_by: tuple[str, ...] = ()


def _rows(body: Json) -> Iterator[Row]:
    """Yield a row for each program of each field; `source` columns name the first field of the path."""
    for item in body["fields"]:
        source = item["path"][0]
        ends = {name: item[name] for name in ("namespace", "name", "field")}
        ends |= {f"source{name.title()}": source[name] for name in ("namespace", "name", "field")}
        for program in item["programs"]:
            yield {
                **ends,
                "hops": len(item["path"]) - 1,
                **program,
                "programNamespace": program["namespace"],
                "namespace": item["namespace"],
                "tags": tags_text(item),
            }


_TABLE = TableShape(
    (
        *("namespace", "name", "field", "sourceNamespace", "sourceName", "sourceField", "hops"),
        *("programNamespace", "application", "program", "type", *_SPAN, "tags"),
    ),
    lambda body: list(_rows(body)),
    times=("oldestStart", "newestStart"),
)


@dataclass(frozen=True)
class Retention(WindowedWithFailed, Printed, Query[RetentionReportAnswer]):
    """Report where data of the fields of a policy, or derived from it, is older than the policy allows.

    Only runs of the window that started before now minus `maxAge` count. The window begins at 0 by default.
    `indirect` also follows filters, join keys and the like; `failed` counts failed and aborted runs. The
    order of runs is ignored. An unknown policy gets 404 (`NotFound` in Python). If policies of several
    namespaces have the name, the answer is 409 (`AmbiguousName`) unless `namespace` selects one, `*` for a
    policy on a tag. `Accept` selects JSON, `text/csv` (a line for each field and program) or `text/html`, a
    page to print.

    >>> client.put_tag("bank", "DailyTransactions", "UID", "PII").body.tag
    'PII'
    >>> client.put_policy("gdpr", "90d", tag="PII").body.name
    'gdpr'
    >>> client.retention_report("gdpr").body.fields
    ()
    """

    path: ClassVar[str] = "/v3/reports/retention"
    result: ClassVar[str] = "By namespace, dataset and field"
    statuses: ClassVar[tuple[int, ...]] = (400, 404, 409, 503)
    table: ClassVar[TableShape] = _TABLE
    formats: ClassVar[Mapping[str, Callable[..., str]]] = {CSV: _TABLE.to_csv, HTML: html_report.to_html}
    limits_in_headers: ClassVar[bool] = True

    policy: Annotated[str, About("Name of the policy", minimum=1)]
    namespace: Annotated[str, About(NAMESPACE_HELP, minimum=1)] = dataclasses.field(default="", kw_only=True)
    start: Annotated[Time, About("A time as for `end` (default: 0, as the report is about old data)")] = (
        dataclasses.field(default="0", kw_only=True)
    )
    indirect: Annotated[bool, About(INDIRECT_HELP)] = dataclasses.field(default=False, kw_only=True)

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[RetentionReportAnswer]:
        """Return the report. Raises NotFound, AmbiguousName, InvalidQuery, and errors of the store."""
        policy = store.policies.get(self.policy, self.namespace)
        if isinstance(policy, FlowPolicy):
            detail = f"{self.policy!r} is a flow policy; see `fll report flows` or GET /v3/reports/flows"
            raise InvalidQuery([FieldError("policy", detail)])
        query = expired_query(
            policy,
            window=self.window(now_ms),
            now_ms=now_ms,
            indirect=self.indirect,
        )
        report = store.retention_report(query)
        begins_later = report.retained_from_ms > report.window.start_ms
        retained_from_ms = report.retained_from_ms if begins_later else None
        truncated_by = set(report.truncated_by)
        tags = _tags(store, report, truncated_by)
        field = report.policy.field
        fields = tuple(_expired_field(item, tags) for item in report.fields)
        possible, recorded = 0, None
        if not fields and not truncated_by and not report.window.empty:
            try:
                possible = _possibly_written(store, report, tags, truncated_by)
                recorded = _recorded(store, report)
            except DeadlineExceeded:
                truncated_by.add(deadline.limit())
        body = RetentionReportAnswer(
            policy=policy_body(report.policy),
            field=None if field is None else subject_field(store, field, tags, truncated_by),
            window=ReportWindow(start=report.window.start_ms, end=report.window.stop_ms),
            recorded_from=recorded.from_ms if recorded else None,
            verdict=_verdict(
                replace(report, truncated_by=tuple(truncated_by)),
                fields,
                recorded,
                possible=possible,
                begins_later=begins_later,
            ),
            fields=fields,
            complying=tuple(field_with_tags(item, tags) for item in report.complying),
            unknown=tuple(unknown_relations(report.unknown)),
            truncated=bool(truncated_by),
            truncated_by=tuple(sorted(truncated_by)),
        )
        return Answer(body, query.window, retained_from_ms, body.truncated_by)

    def to_text(
        self, media_type: str, body: RetentionReportAnswer, window: Window | None, *, stamp: Stamp
    ) -> str:
        """Return a report as CSV, or as a page to print with the time when it was made."""
        if media_type == HTML:
            return html_report.to_html(retention_document(msgspec.to_builtins(body), stamp))
        return super().to_text(media_type, body, window, stamp=stamp)


@dataclass(frozen=True, slots=True)
class _Recorded:
    """How many datasets a report has, how many of them have no recorded run, and from when on each has some.

    `from_ms` is None if any has none, or if they are too many to look up.
    """

    datasets: int
    without_runs: int = 0
    from_ms: int | None = None

    def sentence(self, cutoff_ms: int) -> str:
        """Return since when the datasets have recorded runs, and what that means; "" without datasets."""
        if not self.datasets:
            return ""
        names = "the dataset" if self.datasets == 1 else f"all {self.datasets:,} datasets"
        if self.without_runs:
            have = "has" if self.without_runs == 1 else "have"
            return f" {self.without_runs:,} of {count_text(self.datasets, 'dataset')} {have} no recorded run."
        if self.from_ms is None:
            return f" Since when {names} have recorded runs was not looked up."
        since = f" Runs of {names} are recorded since {Stamp(0).time(self.from_ms)} UTC"
        if self.from_ms < cutoff_ms:
            return f"{since}."
        return f"{since}, after the cut-off: older data may exist without a recorded run."


def _recorded(store: LineageStore, report: results.RetentionReport) -> _Recorded:
    """Return since when the datasets of a report without older data have recorded runs.

    More than DATASETS_MAX datasets are only counted.
    """
    datasets = sorted({field.dataset for field in report.complying})
    if len(datasets) > DATASETS_MAX:
        return _Recorded(len(datasets))
    starts = [_first_start_ms(store, dataset) for dataset in datasets]
    recorded = [start_ms for start_ms in starts if start_ms is not None]
    without_runs = len(datasets) - len(recorded)
    return _Recorded(len(datasets), without_runs, None if without_runs else max(recorded, default=None))


def _possibly_written(
    store: LineageStore,
    report: results.RetentionReport,
    tags: TagNames,
    truncated_by: set[str],
) -> int:
    """Return how many fields of the policy itself an older run may have written without reporting them.

    Looks at the first POLICY_FIELDS_MAX fields. A limit that is reached is added to `truncated_by`.
    """
    policy, count = report.policy, 0
    subjects = [
        field for field in report.complying if field == policy.field or policy.tag in tags.get(field, ())
    ]
    if len(subjects) > POLICY_FIELDS_MAX:
        truncated_by.add(f"policy_fields_max={POLICY_FIELDS_MAX}")
    for field in subjects[:POLICY_FIELDS_MAX]:
        with contextlib.suppress(NotFound):
            writers = store.programs(
                field.dataset, report.window, field=field.name, directions=(Direction.BACKWARD,)
            )
            truncated_by.update(writers.truncated_by)
            count += any(report.window.failed or program.runs for program in writers.unknown_columns)
    return count


def _first_start_ms(store: LineageStore, dataset: Dataset) -> int | None:
    """Return the start of the first recorded run of a dataset, None without any."""
    try:
        _, bounds = store.dataset(dataset)
    except NotFound:
        # A policy may be put on a field before anything about it is recorded.
        return None
    return bounds.first_start_ms


def _verdict(
    report: results.RetentionReport,
    fields: Sequence[ExpiredField],
    recorded: _Recorded | None,
    *,
    possible: int,
    begins_later: bool,
) -> str:
    """Return whether a policy is kept, by how many fields, and what is not known.

    `possible` is the number of fields that older runs may have written. `begins_later` is true if older runs
    of the window were deleted.
    """
    total, age = count_text(len(fields) + len(report.complying), "field"), report.policy.max_age.text
    if fields:
        oldest = Stamp(0).time(min(field.oldest_start for field in fields))
        were = "was" if len(fields) == 1 else "were"
        return (
            f"Not kept: {len(fields):,} of {total} {were} written more than {age} ago, the oldest known run"
            f" is of {oldest} UTC."
        )
    if report.truncated_by:
        return f"Not known: no run more than {age} ago was found, but this report is not complete."
    if begins_later:
        return (
            f"Not known: no run more than {age} ago is known of {total}, but runs were deleted from the"
            " store, and their data may still exist."
        )
    if report.window.empty:
        return f"Not checked: the window begins after the cut-off, so that no run in it is older than {age}."
    if report.unknown:
        datasets = count_text(len({destination for _, destination in report.unknown}), "dataset")
        return (
            f"Not known: no run more than {age} ago wrote any of {total}, but of {datasets} it is not known"
            " which columns are made of them."
        )
    if possible:
        return (
            f"Not known: no run more than {age} ago is known to have written any of {total}, but older runs"
            f" wrote the datasets of {possible:,} of them without reporting all columns."
        )
    since = recorded.sentence(report.window.stop_ms) if recorded else ""
    return f"Kept: no run of the window more than {age} ago wrote any of {total}.{since}"


def _tags(store: LineageStore, report: results.RetentionReport, truncated_by: set[str]) -> TagNames:
    """Return the tags of the fields of a report and of the field of its policy."""
    fields = {*(item.path[-1] for item in report.fields), *report.complying}
    if report.policy.field is not None:
        fields.add(report.policy.field)
    return read_tags(store, fields, truncated_by)


def _expired_field(item: results.ExpiredField, tags: TagNames) -> ExpiredField:
    """Return an expired field in the form of an answer, with the span of the runs of all programs."""
    programs = item.written.programs
    oldest = min((program.oldest for program in programs), key=_start_and_id)
    newest = max((program.newest for program in programs), key=_start_and_id)
    return ExpiredField(
        **name_json.field(item.path[-1]),
        tags=tags.get(item.path[-1], ()),
        path=tuple(TaggedField(**name_json.field(step)) for step in item.path),
        runs=sum(program.runs for program in programs),
        **_span(oldest, newest),
        programs=tuple(map(_program, programs)),
    )


def _program(program: results.ProgramRuns) -> ExpiredProgram:
    """Return a program of the store, with its expired runs, in the form of an answer."""
    return ExpiredProgram(
        **name_json.program(program.newest),
        runs=program.runs,
        **_span(program.oldest, program.newest),
    )


def _span(oldest: ProgramRun, newest: ProgramRun) -> Json:
    """Return the ids and starts of the oldest and the newest run by attribute."""
    return {
        "oldest_run": oldest.run,
        "oldest_start": oldest.start_ms,
        "newest_run": newest.run,
        "newest_start": newest.start_ms,
    }


def _start_and_id(run: ProgramRun) -> tuple[int, str]:
    """Return the sort key of runs: start, then id."""
    return run.start_ms, run.run
