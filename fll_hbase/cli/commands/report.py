"""`fll report`: consumption and provenance of a field, retention and flows, as pages to print."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click
from msgspec import to_builtins
from rich.console import Group
from rich.text import Text

from fll_hbase.cli import groups
from fll_hbase.cli.error_output import FAILURE
from fll_hbase.cli.options import POLICY, Command, Target, field_arguments, target_options
from fll_hbase.cli.output import (
    CSV,
    JSON,
    TABLE,
    format_options,
    has_all,
    print_answer,
    print_incomplete,
    print_page,
    shows_all,
)
from fll_hbase.cli.query_options import query_options
from fll_hbase.cli.render.console import print_json, print_text
from fll_hbase.cli.render.report_view import report_page
from fll_hbase.cli.report_files import HTML, output_option, report_stamp, report_texts
from fll_hbase.client.answers import TableAnswer, TypedAnswer
from fll_hbase.queries.flows import Flows
from fll_hbase.queries.policies import Policies
from fll_hbase.queries.reports import html_report
from fll_hbase.queries.reports.field_report import Consumption, Provenance
from fll_hbase.queries.reports.report_document import Document, Stamp
from fll_hbase.queries.reports.retention_document import retention_document
from fll_hbase.queries.retention import Retention
from fll_hbase.queries.time_window import WindowText
from fll_hbase.runtime.escape import escape_control

_OTHERWISE = ("limit", "cursor", "timezone")
"""Parameters without their own option: pages are joined, and the window has --timezone."""


@groups.group(
    "fll report consumption bank/DailyTransactions.UID --window 2026-03",
    "fll report provenance hospital/PatientRecords.patient_medical_score --output report.html",
    "fll report retention --all",
    "fll report flows no-pii-in-marketing --window 2026-11",
)
def report() -> None:
    """Print a report about a field or a policy; --output report.html is a page to print."""


def _field_report(query_class: type[Consumption | Provenance], **defaults: str) -> Command:
    """Return the command of a report about a field; `defaults` of options may differ from the query's."""

    @field_arguments
    @query_options(query_class, without=_OTHERWISE, defaults=defaults)
    @target_options
    @format_options(TABLE, JSON, CSV, HTML)
    @output_option(HTML, CSV, JSON)
    def print_report(
        *, query: Consumption | Provenance, window: WindowText, target: Target, output_format: str
    ) -> None:
        _print_report(query, window, target, output_format, following=lambda body: _following(query, body))

    return print_report


def _print_report(
    query: Consumption | Provenance | Flows,
    window: WindowText,
    target: Target,
    output_format: str,
    *,
    following: Callable[[Any], str] = lambda _: "",
) -> Any:
    """Print the report that answers a query, and next questions about its body; return the body."""
    with target.open() as client:
        answer: TableAnswer[Any] = client.ask(query)
    stamp = report_stamp(target, window, answer.principal)
    exact = answer.window or query.window(stamp.now_ms)
    print_answer(
        answer,
        output_format,
        table=lambda: report_page(query.document(answer.body, exact, stamp=stamp), has_annex=shows_all()),
        texts=report_texts(query, answer, stamp),
        following=following(answer.body),
    )
    return answer.body


def _following(query: Consumption | Provenance, body: Any) -> str:
    """Return what to ask next if a report has no run of the window, or ""."""
    if body.programs:
        return ""
    name = escape_control(shlex.quote(f"{query.namespace}/{query.name}"))
    return f"`fll dataset {name}` has the first and the last run of the dataset."


@groups.command("fll report retention gdpr", "fll report retention --all --output retention.html")
@click.argument(
    "policy", metavar="POLICY", type=POLICY, required=False, callback=lambda _, __, policy: policy or ""
)
@query_options(Retention, without=_OTHERWISE)
@target_options
@format_options(TABLE, JSON, CSV, HTML)
@output_option(HTML, CSV, JSON)
def retention(*, query: Retention, window: WindowText, target: Target, output_format: str) -> None:
    """Print whether POLICY is kept: fields with older data, the ways to them, programs, and other fields.

    Without POLICY, --all reports on all policies, one after the other.
    """
    if not query.policy and not has_all():
        raise click.UsageError("Give a POLICY, or --all for all policies.")
    if not query.policy:
        _print_all(query, window, target, output_format)
        return
    with target.open() as client:
        answer = client.ask(query)
    stamp = report_stamp(target, window, answer.principal)
    print_answer(
        answer,
        output_format,
        table=lambda: report_page(_retention(answer, stamp), has_annex=True),
        texts={HTML: report_texts(query, answer, stamp)[HTML]},
    )


def _print_all(query: Retention, window: WindowText, target: Target, output_format: str) -> None:
    """Print the reports on all visible policies on the age of data, by name. Raises UsageError for CSV."""
    if output_format == CSV:
        raise click.UsageError("--all has no CSV; ask for one policy, or for JSON.")
    with target.open() as client:
        # By page, because the default limit of a list would cut them.
        lists = list(client.pages(Policies()))
        policies = [policy for listed in lists for policy in listed.body.policies]
        answers = [
            # `*` is the namespace of a policy on a tag.
            client.ask(
                replace(query, policy=policy.name, namespace=policy.field.namespace if policy.field else "*")
            )
            for policy in policies
            if policy.max_age and (policy.field is None or not policy.field.hidden)
        ]
    print_incomplete(listed.incomplete for listed in lists)
    documents = [_retention(answer, report_stamp(target, window, answer.principal)) for answer in answers]
    if output_format == JSON:
        print_json({"reports": [to_builtins(answer.body) for answer in answers]})
    elif not documents:
        click.echo("There is no policy; `fll policy set` sets one.")
    elif output_format == HTML:
        print_text(html_report.to_html(*documents))
    else:
        pages = (report_page(item, has_annex=True) for item in documents)
        print_page(Group(*(part for page in pages for part in (page, Text()))))


def _retention(answer: TypedAnswer[Any], stamp: Stamp) -> Document:
    """Return a report on a policy as a document for people."""
    return retention_document(to_builtins(answer.body), stamp)


@groups.command(
    "fll report flows no-pii-in-marketing --window 2026-11",
    "fll report flows no-pii-in-marketing --output flows.html",
)
@click.argument("policy", metavar="POLICY", type=POLICY)
@query_options(Flows, without=_OTHERWISE)
@target_options
@format_options(TABLE, JSON, CSV, HTML)
@output_option(HTML, CSV, JSON)
def flows(*, query: Flows, window: WindowText, target: Target, output_format: str) -> None:
    """Print each field that data of a tag reaches although the flow policy POLICY forbids it.

    The exit code is 1 if there is any, or if a limit cut the report.
    """
    body = _print_report(query, window, target, output_format)
    if body.violations or body.truncated:
        click.get_current_context().exit(FAILURE)


_CONSUMPTION = groups.command(
    "fll report consumption bank/DailyTransactions.UID --window 2026-03",
    name="consumption",
    help="Print the programs and runs that read FIELD, and every field derived from it.",
)
_PROVENANCE = groups.command(
    "fll report provenance bank/RiskScores.risk_band --output report.html",
    name="provenance",
    help="Print the sources of FIELD, and the operations that made it.",
)
# A default that differs from the API, whose consumption report as CSV lists derived fields.
report.add_command(_CONSUMPTION(_field_report(Consumption, part="programs")))
report.add_command(_PROVENANCE(_field_report(Provenance)))
report.add_command(retention)
report.add_command(flows)
