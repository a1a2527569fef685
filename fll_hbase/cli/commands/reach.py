"""`fll reach`: where the values of a field come from or go to, over many hops."""

from __future__ import annotations

from functools import partial

import click

from fll_hbase.cli.empty_answers import failed_note
from fll_hbase.cli.options import (
    NAME,
    dataset_arguments,
    direction_option,
    failed_option,
    indirect_option,
    open_target,
    target_options,
    window_options,
)
from fll_hbase.cli.output import CSV, JSON, MERMAID, TABLE, format_options, print_answer
from fll_hbase.cli.render.reach_table import reach_table
from fll_hbase.client.base import FieldReachQuery, WindowText
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.queries import reach_formats

GRAPHML = "graphml"
_TEXTS = {
    CSV: reach_formats.to_csv,
    GRAPHML: reach_formats.to_graphml,
    MERMAID: reach_formats.to_mermaid,
}


@click.command(
    epilog="""\b
Examples:
  fll reach bank DailyTransactions UID --direction forward
  fll reach hospital PatientRecords patient_medical_score --causal --format csv
  fll reach bank/CustomerAccounts.UID --direction both
""",
)
@dataset_arguments
@click.argument("field", metavar="FIELD", type=NAME)
@direction_option("backward", "forward", "both")
@click.option("--level", metavar="HOPS", type=click.IntRange(min=1), help="Maximum number of hops.")
@click.option("--causal", is_flag=True, help="Only what a value can have taken, by the starts of the runs.")
@indirect_option
@failed_option
@click.option("--no-counts", is_flag=True, help="Leave out the runs of each edge, which all have to be read.")
@window_options
@target_options
@format_options(TABLE, JSON, CSV, GRAPHML, MERMAID)
def reach(
    *,
    namespace: str,
    name: str,
    field: str,
    direction: str,
    level: int | None,
    causal: bool,
    indirect: bool,
    failed: bool,
    no_counts: bool,
    window: WindowText,
    store: str | None,
    server: str | None,
    output_format: str,
) -> None:
    """Show the fields that lead to FIELD (backward), that it leads to (forward), or both, over many hops.

    FIELD `*` is the dataset as a whole.
    """
    query = FieldReachQuery(
        DatasetField(Dataset(namespace, name), field),
        window,
        direction,
        level,
        causal,
        indirect,
        failed,
        counts=not no_counts,
    )
    with open_target(store, server) as client:
        answer = client.ask_reach(query)
        note = failed_note(client, query.field.dataset, query, window, output_format)
    print_answer(
        answer,
        output_format,
        table=lambda: reach_table(answer.body, query),
        texts={name: partial(render, answer.body) for name, render in _TEXTS.items()},
        note=note,
    )
