"""Commands about changes: the history of a field, and the diff of a field or dataset in two windows."""

from __future__ import annotations

import click

from fll_hbase.cli.empty_answers import failed_note
from fll_hbase.cli.options import (
    Target,
    dataset_or_field_arguments,
    field_arguments,
    now_ms,
    target_options,
)
from fll_hbase.cli.output import CSV, JSON, TABLE, format_options, print_answer, verbose_option
from fll_hbase.cli.query_options import query_options
from fll_hbase.cli.render import changes
from fll_hbase.client.lineage_client import WindowText
from fll_hbase.queries.diff import DatasetDiff, DatasetDiffAnswer, Diff, DiffAnswer
from fll_hbase.queries.history import History
from fll_hbase.queries.query import Query


@click.command(
    epilog="""\b
Example:
  fll history hospital PatientRecords patient_medical_score --start now-90d
""",
)
@field_arguments
@query_options(History)
@verbose_option
@target_options
@format_options(TABLE, JSON, CSV)
def history(*, query: History, window: WindowText, target: Target, output_format: str) -> None:
    """Show when the way that FIELD is produced changed: stretches of runs with the same operations."""
    with target.open() as client:
        answer = client.ask(query)
        note = failed_note(client, query.dataset, query, window, output_format)
    print_answer(
        answer,
        output_format,
        table=lambda: changes.history_table(answer.body, query, window.answered(answer.window)),
        note=note,
    )


@click.command(
    epilog="""\b
Examples:
  fll diff hospital PatientRecords patient_medical_score
  fll diff bank RiskScores risk_band --start now-7d --base-start now-60d --base-end now-30d
  fll diff bank/RiskScores --start now-14d
""",
)
@dataset_or_field_arguments
@query_options(DatasetDiff)
@verbose_option
@target_options
@format_options(TABLE, JSON)
def diff(*, query: DatasetDiff, field: str, window: WindowText, target: Target, output_format: str) -> None:
    """Show how FIELD is produced in a window and was not in a base window (+), and the reverse (-).

    A way is all operations that lead into the field; ways can differ where each operation is in both windows.
    Without FIELD, show this of every field of the dataset that is produced in another way.
    """
    compared: Query[DiffAnswer | DatasetDiffAnswer] = Diff(field=field, **vars(query)) if field else query
    with target.open() as client:
        answer = client.ask(compared)
    # `now` of a server is that of its clock.
    now = answer.window.stop_ms if answer.window and query.end == "now" else now_ms()
    exact, exact_base = query.windows(now)
    base = WindowText(str(query.base_start or "now"), str(query.base_end or "now"), window.zone).answered(
        exact_base
    )
    print_answer(
        answer,
        output_format,
        table=lambda: changes.diff_table(answer.body, query, window.answered(exact), base=base, field=field),
    )


COMMANDS = (history, diff)
