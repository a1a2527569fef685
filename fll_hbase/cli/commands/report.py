"""`fll report`: consumption and provenance of a field, and retention, for people who answer for data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import click
from msgspec import to_builtins

from fll_hbase.cli.options import (
    NAME,
    POLICY,
    Command,
    Target,
    dataset_arguments,
    now_ms,
    target_options,
)
from fll_hbase.cli.output import CSV, JSON, TABLE, format_options, print_answer
from fll_hbase.cli.query_options import query_options
from fll_hbase.cli.render.report_view import report_view, retention_view
from fll_hbase.client.answers import TableAnswer
from fll_hbase.client.lineage_client import WindowText
from fll_hbase.queries import tables
from fll_hbase.queries.query import Query
from fll_hbase.queries.reports import html_report
from fll_hbase.queries.reports.field_report import Consumption, Provenance
from fll_hbase.queries.retention import Retention

HTML = "html"

_DEFAULTS: dict[type[Query[Any]], dict[str, str]] = {Consumption: {"part": "programs"}}
"""Defaults of options; the API's CSV of a consumption report is by default that of derived fields."""


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


def _field_report(query_class: type[Consumption] | type[Provenance]) -> Command:
    """Return the command of a report about a field."""

    @dataset_arguments
    @click.argument("field", metavar="FIELD", type=NAME)
    @query_options(query_class, without=("limit", "cursor"), defaults=_DEFAULTS.get(query_class, {}))
    @target_options
    @format_options(TABLE, JSON, CSV, HTML)
    def print_report(
        *, query: Consumption | Provenance, window: WindowText, target: Target, output_format: str
    ) -> None:
        with target.open() as client:
            answer: TableAnswer[Any] = client.ask(query)
        body = to_builtins(answer.body)
        print_answer(
            answer,
            output_format,
            table=lambda: report_view(body, window, causal=query.causal),
            texts=_texts(query, answer),
        )

    return print_report


def _texts(query: Query[Any], answer: TableAnswer[Any]) -> dict[str, Callable[[], str]]:
    """Return functions that render an answer as CSV and HTML, by the names of the formats."""
    return {
        name: partial(query.to_text, media_type, answer.body, answer.window, now_ms=now_ms())
        for name, media_type in ((CSV, tables.CSV), (HTML, html_report.HTML))
    }


@click.command(
    epilog="""\b
Examples:
  fll report retention gdpr
  fll report retention gdpr --format html > retention.html
"""
)
@click.argument("policy", metavar="POLICY", type=POLICY)
@query_options(Retention)
@target_options
@format_options(TABLE, JSON, CSV, HTML)
def retention(*, query: Retention, window: WindowText, target: Target, output_format: str) -> None:
    """Print where data is older than POLICY allows: fields, the paths to them, and their programs."""
    with target.open() as client:
        answer = client.ask(query)
    print_answer(
        answer,
        output_format,
        table=lambda: retention_view(to_builtins(answer.body), window),
        texts={HTML: _texts(query, answer)[HTML]},
    )


_HELP = {
    "consumption": "Print who read FIELD: the programs and runs, and every field that was made from it.",
    "provenance": "Print where FIELD comes from: its sources, and the operations that produced it.",
}
_QUERIES: dict[str, type[Consumption] | type[Provenance]] = {
    "consumption": Consumption,
    "provenance": Provenance,
}
_EXAMPLES = {
    "consumption": "fll report consumption bank DailyTransactions UID --window 2026-03",
    "provenance": "fll report provenance bank/RiskScores.risk_band --format html",
}

for _kind, _help in _HELP.items():
    _epilog = f"\b\nExample:\n  {_EXAMPLES[_kind]}\n"
    report.add_command(click.command(_kind, help=_help, epilog=_epilog)(_field_report(_QUERIES[_kind])))
report.add_command(retention)
