"""`fll report`: consumption and provenance of a field, and retention, for people who answer for data."""

from __future__ import annotations

from functools import partial
from typing import Any

import click
from msgspec import to_builtins

from fll_hbase.cli.options import (
    NAME,
    POLICY,
    Command,
    dataset_arguments,
    failed_option,
    now_ms,
    open_target,
    retention_window_options,
    target_options,
    window_options,
)
from fll_hbase.cli.output import CSV, JSON, TABLE, format_options, print_answer
from fll_hbase.cli.render.report_view import report_view, retention_view
from fll_hbase.client.base import Answer, ReportQuestion, WindowText
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.queries.reports import html_report, report_csv, retention_page
from fll_hbase.queries.retention import Retention

HTML = "html"


@click.group(
    epilog="""\b
Examples:
  fll report consumption bank DailyTransactions UID --start 2026-03-01 --end 2026-04-01
  fll report provenance hospital PatientRecords patient_medical_score --format html > report.html
  fll report retention gdpr
"""
)
def report() -> None:
    """Print a report about a field, or about a policy; --format html is a page to print."""


def _field_report(kind: str) -> Command:
    """Return the command of a report about a field."""
    members = [part.member for part in report_csv.PARTS[kind]]

    @dataset_arguments
    @click.argument("field", metavar="FIELD", type=NAME)
    @click.option(
        "--causal/--no-causal",
        default=True,
        show_default=True,
        help="Only what a value can have taken, by the starts of the runs.",
    )
    @failed_option
    @window_options
    @target_options
    @format_options(TABLE, JSON, CSV, HTML)
    @click.option(
        "--part",
        type=click.Choice(members),
        default=members[0],
        show_default=True,
        help="The part that csv prints.",
    )
    def print_report(
        *,
        namespace: str,
        name: str,
        field: str,
        causal: bool,
        failed: bool,
        window: WindowText,
        store: str | None,
        server: str | None,
        output_format: str,
        part: str,
    ) -> None:
        question = ReportQuestion(kind, DatasetField(Dataset(namespace, name), field), window, causal, failed)
        with open_target(store, server) as client:
            answer = client.ask_report(question)
        _print(answer, question, output_format, part)

    return print_report


def _print(answer: Answer, question: ReportQuestion, output_format: str, part: str) -> None:
    start_ms, stop_ms = answer.body.pop("window")
    times: dict[str, Any] = {"start_ms": start_ms, "stop_ms": stop_ms, "now_ms": now_ms()}
    causal = question.causal
    print_answer(
        answer,
        output_format,
        table=lambda: report_view(answer.body, question.window, causal=causal),
        texts={
            CSV: partial(report_csv.to_csv, answer.body, part, causal=causal),
            HTML: partial(html_report.to_html, answer.body, causal=causal, **times),
        },
    )


@click.command(
    epilog="""\b
Examples:
  fll report retention gdpr
  fll report retention gdpr --format html > retention.html
"""
)
@click.argument("policy", metavar="POLICY", type=POLICY)
@click.option(
    "--indirect", is_flag=True, help="Also follow indirect dependencies, such as filters and joins."
)
@failed_option
@retention_window_options
@target_options
@format_options(TABLE, JSON, CSV, HTML)
def retention(
    *,
    policy: str,
    indirect: bool,
    failed: bool,
    window: WindowText,
    store: str | None,
    server: str | None,
    output_format: str,
) -> None:
    """Print where data is older than POLICY allows: fields, the paths to them, and their programs."""
    with open_target(store, server) as client:
        answer = client.ask(
            Retention(policy, start=window.start, end=window.end, indirect=indirect, failed=failed)
        )
    print_answer(
        answer,
        output_format,
        table=lambda: retention_view(to_builtins(answer.body), window),
        texts={HTML: partial(retention_page.to_html, answer.body, now_ms=now_ms())},
    )


_HELP = {
    "consumption": "Print who read FIELD: the programs and runs, and every field that was made from it.",
    "provenance": "Print where FIELD comes from: its sources, and the operations that produced it.",
}
_EXAMPLES = {
    "consumption": "fll report consumption bank DailyTransactions UID --window 2026-03",
    "provenance": "fll report provenance bank/RiskScores.risk_band --format html",
}

for _kind, _help in _HELP.items():
    _epilog = f"\b\nExample:\n  {_EXAMPLES[_kind]}\n"
    report.add_command(click.command(_kind, help=_help, epilog=_epilog)(_field_report(_kind)))
report.add_command(retention)
