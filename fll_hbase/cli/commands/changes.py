"""Commands about changes: the history of a field, and the diff of a field or dataset in two windows."""

from __future__ import annotations

from typing import Any

from fll_hbase.cli import groups
from fll_hbase.cli.empty_answers import lineage_notes
from fll_hbase.cli.options import Target, dataset_or_field_arguments, field_arguments, now_ms, target_options
from fll_hbase.cli.output import CSV, JSON, TABLE, format_options, print_answer, verbose_option
from fll_hbase.cli.query_options import query_options
from fll_hbase.cli.render import changes
from fll_hbase.cli.report_files import HTML, output_option, report_stamp, report_texts
from fll_hbase.client.answers import TableAnswer
from fll_hbase.queries.diff import DatasetDiff, Diff
from fll_hbase.queries.history import History
from fll_hbase.queries.time_window import WindowText


@groups.command("fll history hospital PatientRecords patient_medical_score --start now-90d")
@field_arguments
@query_options(History)
@verbose_option
@target_options
@format_options(TABLE, JSON, CSV)
def history(*, query: History, window: WindowText, target: Target, output_format: str) -> None:
    """Show when the way that FIELD is produced changed: stretches of runs with the same operations."""
    with target.open() as client:
        answer = client.ask(query)
        is_empty = not answer.body.stretches and not answer.body.missing_before
        note, failed_runs = lineage_notes(client, query, window, output_format, is_empty=is_empty)
    print_answer(
        answer,
        output_format,
        table=lambda: changes.history_table(answer.body, query, window.answered(answer.window), note),
        note=failed_runs,
    )


@groups.command(
    "fll diff hospital PatientRecords patient_medical_score",
    "fll diff bank RiskScores risk_band --start now-7d --base-start now-60d --base-end now-30d",
    "fll diff bank/RiskScores --start now-14d",
    "fll diff bank/RiskScores --output changes.html",
)
@dataset_or_field_arguments
@query_options(DatasetDiff, without=("timezone",))
@verbose_option
@target_options
@format_options(TABLE, JSON, HTML)
@output_option(HTML, JSON)
def diff(*, query: DatasetDiff, field: str, window: WindowText, target: Target, output_format: str) -> None:
    """Show how FIELD is produced in a window and was not in a base window (+), and the reverse (-).

    A way is all operations that lead into the field; ways can differ where each operation is in both windows.
    Without FIELD, show this for every field of the dataset that is produced differently. --output
    changes.html is a page to print.
    """
    compared: Diff | DatasetDiff = Diff(field=field, **vars(query)) if field else query
    with target.open() as client:
        answer: TableAnswer[Any] = client.ask(compared)
    exact, exact_base = query.answered_windows(answer.window, now_ms=now_ms())
    base = WindowText(str(query.base_start or "now"), str(query.base_end or "now"), window.zone).answered(
        exact_base
    )
    print_answer(
        answer,
        output_format,
        table=lambda: changes.diff_table(answer.body, query, window.answered(exact), base=base, field=field),
        texts=report_texts(compared, answer, report_stamp(target, window, answer.principal)),
    )
