"""Commands about changes: the history of a field, and the diff of a field or dataset in two windows."""

from __future__ import annotations

from functools import partial

import click

from fll_hbase.cli.empty_answers import failed_note
from fll_hbase.cli.options import (
    NAME,
    Command,
    dataset_arguments,
    dataset_or_field_arguments,
    failed_option,
    indirect_option,
    open_target,
    resolve_times,
    target_options,
    window_options,
)
from fll_hbase.cli.output import CSV, JSON, TABLE, format_options, print_answer
from fll_hbase.cli.query_options import query_options
from fll_hbase.cli.render import changes
from fll_hbase.client.base import DatasetDiffQuery, DiffQuery, WindowText
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.queries.history import History


def _common_options(command: Command) -> Command:
    """Add the window, which runs and inputs count, and the store or server."""
    options = (
        window_options,
        indirect_option,
        failed_option,
        target_options,
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command(
    epilog="""\b
Example:
  fll history hospital PatientRecords patient_medical_score --start now-90d
""",
)
@dataset_arguments
@click.argument("field", metavar="FIELD", type=NAME)
@query_options(History)
@target_options
@format_options(TABLE, JSON, CSV)
def history(
    *, query: History, window: WindowText, store: str | None, server: str | None, output_format: str
) -> None:
    """Show when the way that FIELD is produced changed: stretches of runs with the same operations."""
    with open_target(store, server) as client:
        answer = client.ask(query)
        note = failed_note(client, query.dataset, query, window, output_format)
    print_answer(
        answer, output_format, table=lambda: changes.history_table(answer.body, query, window), note=note
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
@click.option(
    "--base-start",
    metavar="TIME",
    default=None,
    help="Start of the base window [default: as long before its end as the window is].",
)
@click.option(
    "--base-end",
    metavar="TIME",
    default=None,
    help="End of the base window [default: the start of the window].",
)
@_common_options
@format_options(TABLE, JSON)
def diff(
    *,
    namespace: str,
    name: str,
    field: str,
    base_start: str | None,
    base_end: str | None,
    window: WindowText,
    indirect: bool,
    failed: bool,
    store: str | None,
    server: str | None,
    output_format: str,
) -> None:
    """Show how FIELD is produced in a window and was not in a base window (+), and the reverse (-).

    Without FIELD, show this of every field of the dataset that is produced in another way.
    """
    base = {"base-start": base_start, "base-end": base_end}
    start, end = resolve_times(base, zone=window.zone).values()
    dataset, options = Dataset(namespace, name), (window, start, end, indirect, failed)
    with open_target(store, server) as client:
        if field:
            query = DiffQuery(DatasetField(dataset, field), *options)
            answer, render = client.ask_diff(query), partial(changes.diff_table, query=query)
        else:
            all_fields = DatasetDiffQuery(dataset, *options)
            answer = client.ask_dataset_diff(all_fields)
            render = partial(changes.dataset_diff_table, query=all_fields)
    print_answer(answer, output_format, table=lambda: render(answer.body))


COMMANDS = (history, diff)
