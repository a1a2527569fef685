"""Query commands, with the parameters and defaults of the REST contract."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import click

from fll_hbase.cli import groups
from fll_hbase.cli.empty_answers import last_run_note, lineage_notes, programs_note, unknown_runs_note
from fll_hbase.cli.options import (
    NAME,
    Target,
    catalogue_arguments,
    dataset_arguments,
    field_arguments,
    limit_option,
    target_options,
    window_options,
)
from fll_hbase.cli.output import CSV, JSON, MERMAID, TABLE, format_options, print_answer, verbose_option
from fll_hbase.cli.query_options import query_options
from fll_hbase.cli.render import mermaid, result_tables, tree
from fll_hbase.cli.word_choice import WordChoice
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.runs import State
from fll_hbase.queries import reach_formats
from fll_hbase.queries.field_lineage import FieldLineage
from fll_hbase.queries.lineage import Lineage
from fll_hbase.queries.programs import Programs
from fll_hbase.queries.reach import Reach
from fll_hbase.queries.time_window import WindowText

if TYPE_CHECKING:
    from fll_hbase.client.answers import TableAnswer
    from fll_hbase.queries.runs import NamespaceRunsAnswer, RunsAnswer

GRAPHML = "graphml"
_TEXTS = {CSV: reach_formats.to_csv, GRAPHML: reach_formats.to_graphml, MERMAID: reach_formats.to_mermaid}
STATES = tuple(state.value for state in State)


@groups.command(
    "fll lineage bank DailyTransactions --direction forward --level 5",
    "fll lineage myns/mytableds --start now-90d --format csv",
)
@dataset_arguments
@query_options(Lineage)
@target_options
@format_options(TABLE, JSON, CSV, MERMAID)
def lineage(*, query: Lineage, window: WindowText, target: Target, output_format: str) -> None:
    """Show which fields of other datasets produce the fields of NAME, and which are produced from them."""
    with target.open() as client:
        answer = client.ask(query)
        is_empty = not answer.body
        note, failed_runs = lineage_notes(client, query, window, output_format, is_empty=is_empty)
    print_answer(
        answer,
        output_format,
        table=lambda: result_tables.lineage_tables(
            answer.body, query.dataset, window.answered(answer.window), note
        ),
        note=failed_runs,
        mermaid=lambda: mermaid.lineage_lines(answer.body),
    )


@groups.command(
    "fll field hospital PatientRecords patient_medical_score",
    "fll field bank/DailyTransactions.UID --direction forward --view simple",
)
@field_arguments
@query_options(FieldLineage)
@verbose_option
@target_options
@format_options(TABLE, JSON, CSV, MERMAID)
def field(*, query: FieldLineage, window: WindowText, target: Target, output_format: str) -> None:
    """Show the operations that produced FIELD (backward), or that used it (forward): one hop."""
    with target.open() as client:
        answer = client.ask(query)
        is_empty = not answer.body.operations
        note, failed_runs = lineage_notes(client, query, window, output_format, is_empty=is_empty)
    print_answer(
        answer,
        output_format,
        table=lambda: tree.field_tree(answer.body, query, window.answered(answer.window), note),
        note=failed_runs,
        mermaid=lambda: mermaid.field_lines(answer.body),
    )


@groups.command(
    "fll runs bank DailyTransactions --start now-1d",
    "fll runs bank/DailyTransactions --field UID --program features --state FAIL --format csv",
    "fll runs bank --state FAIL",
)
@catalogue_arguments
@click.option("--field", metavar="FIELD", type=NAME, help="Only runs that read or wrote FIELD.")
@click.option("--program", metavar="PROGRAM", type=NAME, help="Only runs of PROGRAM.")
@click.option("--state", type=WordChoice(STATES, case_sensitive=False), help="Only runs in this state.")
@window_options
@limit_option
@click.option("--cursor", metavar="CURSOR", help="Continue after the page that printed it.")
@target_options
@format_options(TABLE, JSON, CSV)
def runs(
    *,
    namespace: str,
    name: str,
    field: str | None,
    program: str | None,
    state: str | None,
    window: WindowText,
    limit: int,
    cursor: str | None,
    target: Target,
    output_format: str,
) -> None:
    """List the runs that read or wrote NAME, failed ones included, newest first.

    Without NAME, the runs of all programs of the namespace NS, or of all namespaces. If there are more, the
    options of the next page are printed on standard error.
    """
    if not name and (field or cursor):
        raise click.UsageError("--field and --cursor need NAME.")
    options: dict[str, Any] = {"start": window.start, "end": window.end, "limit": limit}
    options |= {"program": program or "", "state": state or ""}
    answer: TableAnswer[RunsAnswer] | TableAnswer[NamespaceRunsAnswer]
    note = unknown = ""
    with target.open() as client:
        if name:
            listed = client.runs(namespace, name, field=field or "", cursor=cursor, **options)
            answer, unknown = listed, unknown_runs_note(listed.body.runs_with_unknown_columns)
            dataset = Dataset(namespace, name)
            note = last_run_note(client, dataset, window, output_format) if not answer.rows else ""
        elif namespace:
            answer = client.namespace_runs(namespace, **options)
        else:
            answer = client.all_runs(**options)
    shown = window.answered(answer.window)
    subject = f"{namespace}/{name}" if name else namespace
    print_answer(
        answer,
        output_format,
        table=lambda: result_tables.runs_table(answer.rows, shown, note, subject=subject),
        note=unknown,
        # A cursor only works with NAME.
        following=_next_page(answer.next_page) if name and answer.next_page else "",
    )


def _next_page(page: Mapping[str, Any]) -> str:
    """Return the line with the options of the next page of runs."""
    times = f"--start {page['start']} --end {page['end']}"
    return f"fll: more: the same with `{times} --cursor {page['cursor']}`"


@groups.command(
    "fll programs bank DailyTransactions --start now-30d",
    "fll programs bank DailyTransactions --field UID --direction forward",
)
@dataset_arguments
@query_options(Programs)
@target_options
@format_options(TABLE, JSON, CSV)
def programs(*, query: Programs, window: WindowText, target: Target, output_format: str) -> None:
    """List the programs that wrote (backward) or read (forward) NAME, with the number of their runs."""
    with target.open() as client:
        answer = client.ask(query)
        note = last_run_note(client, query.dataset, window, output_format) if not answer.rows else ""
    shown = window.answered(answer.window)
    subject = str(query.dataset) + (f".{query.field}" if query.field else "")
    print_answer(
        answer,
        output_format,
        table=lambda: result_tables.programs_table(answer.rows, shown, note, subject=subject),
        note=programs_note(answer.body, listed=query.failed),
    )


@groups.command("fll find uid", "fll find transactions --kind endpoint")
@click.argument("text", metavar="TEXT", type=NAME)
@click.option(
    "--kind", type=WordChoice(("endpoint", "field")), help="Only datasets (endpoint), or only fields."
)
@limit_option
@target_options
@format_options(TABLE, JSON, CSV)
def find(
    *, text: str, kind: Literal["endpoint", "field"] | None, limit: int, target: Target, output_format: str
) -> None:
    """Find datasets and fields whose names contain TEXT, ignoring case."""
    with target.open() as client:
        answer = client.search(text, kind=kind or "", limit=limit)
    print_answer(answer, output_format, table=lambda: result_tables.search_table(answer.rows, text))


@groups.command(
    "fll reach bank DailyTransactions UID --direction forward",
    "fll reach hospital PatientRecords patient_medical_score --causal --format csv",
    "fll reach bank/CustomerAccounts.UID --direction both",
)
@field_arguments
@query_options(Reach)
@target_options
@format_options(TABLE, JSON, CSV, GRAPHML, MERMAID)
def reach(*, query: Reach, window: WindowText, target: Target, output_format: str) -> None:
    """Show the fields that lead to FIELD (backward), that it leads to (forward), or both, over many hops.

    FIELD `*` is the dataset as a whole.
    """
    with target.open() as client:
        answer = client.ask(query)
        is_empty = not answer.body.edges and not answer.body.unknown
        note, failed_runs = lineage_notes(client, query, window, output_format, is_empty=is_empty)
    print_answer(
        answer,
        output_format,
        table=lambda: result_tables.reach_table(answer.body, query, window.answered(answer.window), note),
        texts={name: partial(render, answer.body) for name, render in _TEXTS.items()},
        note=failed_runs,
    )
