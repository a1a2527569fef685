"""`fll export`: the runs of a dataset as OpenLineage events."""

from __future__ import annotations

import click
import msgspec

from fll_hbase.cli import groups
from fll_hbase.cli.options import Target, dataset_arguments, target_options, window_options
from fll_hbase.cli.output import print_incomplete
from fll_hbase.cli.word_choice import WordChoice
from fll_hbase.queries.openlineage_events import OpenLineageEvents
from fll_hbase.queries.time_window import WindowText

FORMATS = ("openlineage",)


@groups.command(
    "fll export bank DailyTransactions --start now-30d",
    "fll export bank DailyTransactions --server http://localhost:8080",
)
@dataset_arguments
@window_options
@click.option(
    "--format",
    "line_format",
    type=WordChoice(FORMATS),
    default=FORMATS[0],
    show_default=True,
    help="Output format.",
)
@target_options
def export(*, namespace: str, name: str, window: WindowText, line_format: str, target: Target) -> None:
    """Print the runs that read or wrote NAME, one OpenLineage event per line, newest first.

    Recorded into another store, they give the same answers about NAME.
    """
    with target.open() as client:
        # Page by page, because the size of an export is unlimited and must not be collected in memory.
        query = OpenLineageEvents(namespace, name, start=window.start, end=window.end)
        reasons = set()
        for page in client.pages(query):
            reasons.add(page.incomplete)
            for event in page.body:
                click.echo(msgspec.json.encode(event))
    print_incomplete(sorted(reasons))
