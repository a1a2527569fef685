"""`fll reach`: where the values of a field come from or go to, over many hops."""

from __future__ import annotations

from functools import partial

from fll_hbase.cli import groups
from fll_hbase.cli.empty_answers import lineage_notes
from fll_hbase.cli.options import Target, field_arguments, target_options
from fll_hbase.cli.output import CSV, JSON, MERMAID, TABLE, format_options, print_answer
from fll_hbase.cli.query_options import query_options
from fll_hbase.cli.render.reach_table import reach_table
from fll_hbase.queries import reach_formats
from fll_hbase.queries.reach import Reach
from fll_hbase.queries.time_window import WindowText

GRAPHML = "graphml"
_TEXTS = {CSV: reach_formats.to_csv, GRAPHML: reach_formats.to_graphml, MERMAID: reach_formats.to_mermaid}


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
        table=lambda: reach_table(answer.body, query, window.answered(answer.window), note),
        texts={name: partial(render, answer.body) for name, render in _TEXTS.items()},
        note=failed_runs,
    )
