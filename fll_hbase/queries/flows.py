"""The flow report: where data of the fields with a tag goes although a policy forbids it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec

from fll_hbase.model.flow_policy import FlowPolicy
from fll_hbase.model.window import Window
from fll_hbase.queries import name_json
from fll_hbase.queries.names import FieldName, ProgramName, field_name
from fll_hbase.queries.parameters import About
from fll_hbase.queries.policies import Policy, policy_body
from fll_hbase.queries.query import Answer, Printed, Query, WindowBody, WindowedWithFailed
from fll_hbase.queries.reach import UnknownRelation, unknown_relations
from fll_hbase.queries.reports import html_report
from fll_hbase.queries.reports.flows_document import flows_document
from fll_hbase.queries.reports.html_report import HTML
from fll_hbase.queries.reports.reached_fields import hop_text
from fll_hbase.queries.reports.report_document import Document, Stamp, count_text
from fll_hbase.queries.tables import CSV, Row, TableShape
from fll_hbase.runtime.errors import FieldError, InvalidQuery
from fll_hbase.runtime.json_types import Json
from fll_hbase.store.query_parameters import FlowQuery

if TYPE_CHECKING:
    from fll_hbase.store import results
    from fll_hbase.store.lineage_store import LineageStore

_SPAN = ("runs", "firstRun", "firstStart", "lastRun", "lastStart", "current")
_NAMES = ("namespace", "name", "field")


class FlowStep(FieldName, frozen=True, kw_only=True):
    """A field on the path of a flow, and how the data came from the field before it."""

    kind: Annotated[
        Literal["", "copied", "computed", "masked", "influence"],
        msgspec.Meta(
            description="`copied` if any way copies the value, `masked` if every way masks it, `computed`"
            " otherwise, `influence` if it decides rows or groups alone. Left out for the first field, and if"
            " it is not known"
        ),
    ] = ""
    operation: Annotated[
        str | None,
        msgspec.Meta(description="The operations in their own words; distinct ways are joined by ` | `"),
    ] = None


class FlowProgram(ProgramName, frozen=True, kw_only=True):
    """A program and its runs that wrote the end of a flow; starts are in milliseconds since 1970."""

    runs: int
    first_run: str
    first_start: int
    last_run: str
    last_start: int
    current: Annotated[
        bool, msgspec.Meta(description="Whether the program's last run of the window wrote it in this way")
    ]


class Violation(FieldName, frozen=True, kw_only=True):
    """A forbidden field, and the field with the tag whose data it has; `path` has both ends."""

    source: FieldName
    hops: int
    path: tuple[FlowStep, ...]
    programs: tuple[FlowProgram, ...]


class FlowsAnswer(WindowBody, frozen=True, kw_only=True):
    """The flows that violate a policy; `tagged` counts the fields with its tag."""

    policy: Policy
    verdict: str
    tagged: int
    violations: tuple[Violation, ...]
    unknown: tuple[UnknownRelation, ...]
    truncated: bool
    truncated_by: tuple[str, ...] = ()
    forbids_none: Annotated[
        bool, msgspec.Meta(description="True if no recorded dataset matches the patterns of a kept policy")
    ] = False


def _rows(body: Json) -> Iterator[Row]:
    """Yield a row for each program of each violation, and one without program columns if it has none."""
    no_program: list[Json] = [{}]
    for item in body["violations"]:
        ends = {name: item[name] for name in _NAMES}
        ends |= {f"source{name.title()}": item["source"][name] for name in _NAMES}
        ends |= {"hops": item["hops"], "path": " > ".join(map(name_json.text, item["path"]))}
        ends["kinds"] = ", ".join(step.get("kind", "") for step in item["path"][1:])
        ends["operations"] = "; ".join(step.get("operation", "") for step in item["path"][1:])
        for program in item["programs"] or no_program:
            row = {**program, "programNamespace": program.get("namespace")}
            yield {**row, **ends}


_TABLE = TableShape(
    (
        *("sourceNamespace", "sourceName", "sourceField", "namespace", "name", "field"),
        *("hops", "path", "kinds", "operations"),
        *("programNamespace", "application", "program", "type", *_SPAN),
    ),
    lambda body: list(_rows(body)),
    times=("firstStart", "lastStart"),
)


@dataclass(frozen=True)
class Flows(WindowedWithFailed, Printed, Query[FlowsAnswer]):
    """Report each field that data of a field with a tag reaches although a flow policy forbids it.

    Only runs of the window count. By default, `causal` follows an edge only if the upstream run started
    first. `failed` counts failed and aborted runs. The path of a violation is a shortest one. Its programs
    are those whose runs made the last hop. An unknown policy gets 404 (`NotFound` in Python), a policy on the
    age of data of a tag 400, of one field 404. `Accept` selects JSON, `text/csv` (a line for each violation
    and program) or `text/html`, a page to print.

    >>> client.put_tag("bank", "DailyTransactions", "UID", "PII").body.tag
    'PII'
    >>> client.put_flow_policy("no-pii", tag="PII", into="bank/*").body.into
    'bank/*'
    >>> str(client.flows("no-pii").body.violations[0].source)
    'bank/DailyTransactions.UID'
    """

    path: ClassVar[str] = "/v3/reports/flows"
    result: ClassVar[str] = "By the field with the tag, then by the field that it reaches"
    statuses: ClassVar[tuple[int, ...]] = (400, 404, 503)
    table: ClassVar[TableShape] = _TABLE
    formats: ClassVar[Mapping[str, Callable[..., str]]] = {CSV: _TABLE.to_csv, HTML: html_report.to_html}
    limits_in_headers: ClassVar[bool] = True

    policy: Annotated[str, About("Name of the flow policy", minimum=1)]
    causal: Annotated[bool, About("Follow an edge only if the upstream run started first")] = (
        dataclasses.field(default=True, kw_only=True)
    )

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[FlowsAnswer]:
        """Return the report. Raises NotFound for an unknown policy, InvalidQuery, and errors of the store.

        InvalidQuery is for times and, like NotFound, for policies that `flow_policy` refuses.
        """
        policy = flow_policy(store, self.policy)
        window = self.window(now_ms)
        report = store.flow_report(FlowQuery(policy, window, causal=self.causal))
        body = FlowsAnswer(
            policy=policy_body(policy),
            verdict=_verdict(report),
            tagged=report.tagged,
            violations=tuple(map(violation, report.flows)),
            unknown=tuple(unknown_relations(report.unknown)),
            truncated=bool(report.truncated_by),
            truncated_by=report.truncated_by,
            forbids_none=report.forbids_none,
        )
        begins_earlier = window.start_ms < report.retained_from_ms and not window.empty
        retained_from_ms = report.retained_from_ms if begins_earlier else None
        return Answer(body, window, retained_from_ms, body.truncated_by)

    def to_text(self, media_type: str, body: FlowsAnswer, window: Window | None, *, stamp: Stamp) -> str:
        """Return a report as CSV, or as a page to print with the time when it was made."""
        if media_type == HTML:
            return html_report.to_html(self.document(body, window or self.window(stamp.now_ms), stamp=stamp))
        return super().to_text(media_type, body, window, stamp=stamp)

    def document(self, body: FlowsAnswer, window: Window, *, stamp: Stamp) -> Document:
        """Return the report as a document to print."""
        return flows_document(msgspec.to_builtins(body), window, stamp)


def flow_policy(store: LineageStore, name: str) -> FlowPolicy:
    """Return a flow policy. Raises InvalidQuery for a policy on the age of data with a tag.

    Raises NotFound for an unknown policy and one on the age of data of a single field, and errors of the
    store.
    """
    # Policies on the age of single fields may have the same name.
    policy = store.policies.get(name, "*")
    if not isinstance(policy, FlowPolicy):
        detail = f"{name!r} is a policy on the age of data; `fll report retention` checks it"
        raise InvalidQuery([FieldError("policy", detail)])
    return policy


def violation(flow: results.Flow) -> Violation:
    """Return a flow of the store in the form of an answer."""
    steps = [FlowStep(**name_json.field(flow.path[0]))]
    steps += [
        FlowStep(
            **name_json.field(hop.destination),
            kind=hop.kind,  # type: ignore[arg-type]  # the words of FlowHop
            operation=hop_text(hop.ways) if hop.ways else None,
        )
        for hop in flow.hops
    ]
    return Violation(
        **name_json.field(flow.destination),
        source=field_name(flow.source),
        hops=flow.distance,
        path=tuple(steps),
        programs=tuple(map(_program, flow.programs)),
    )


def _program(program: results.FlowProgram) -> FlowProgram:
    """Return a program of the store, with its runs, in the form of an answer."""
    oldest, newest = program.runs.oldest, program.runs.newest
    return FlowProgram(
        **name_json.program(newest),
        runs=program.runs.runs,
        first_run=oldest.run,
        first_start=oldest.start_ms,
        last_run=newest.run,
        last_start=newest.start_ms,
        current=program.is_current,
    )


def _verdict(report: results.FlowReport) -> str:
    """Return whether a policy is kept, by how many fields, and what is not known."""
    tagged = f"{count_text(report.tagged, 'field')} with the tag {report.policy.tag}"
    if report.flows:
        ends = len({flow.destination for flow in report.flows})
        sources = len({flow.source for flow in report.flows})
        current = sum(any(program.is_current for program in flow.programs) for flow in report.flows)
        return (
            f"Violated: data of {sources:,} of {tagged} reaches {count_text(ends, 'forbidden field')};"
            f" {current:,} of {count_text(len(report.flows), 'flow')} still in the last run of a program."
        )
    if report.truncated_by:
        return f"Not known: no violation by {tagged} was found, but this report is not complete."
    if report.unknown:
        return f"Not known: no violation by {tagged} was found, but not all columns are known."
    advice = " No recorded dataset matches its patterns: check them." if report.forbids_none else ""
    return f"Kept: no data of {tagged} reaches a forbidden field.{advice}"
