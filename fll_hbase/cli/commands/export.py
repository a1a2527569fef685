"""Take lineage along: the runs of an end point as events of OpenLineage."""

from __future__ import annotations

import json

import click

from fll_hbase.cli.options import WindowText, end_point_arguments, place_options, window_options
from fll_hbase.client import factory
from fll_hbase.model.datasets import Dataset

FORMATS = ("openlineage",)


@click.command(
    epilog="""\b
Examples:
  fll export bank DailyTransactions --start now-30d
  fll export bank DailyTransactions --server http://localhost:8080
""",
)
@end_point_arguments
@window_options
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), default=FORMATS[0], show_default=True, help="Of lines."
)
@place_options
def export(
    *, namespace: str, name: str, window: WindowText, format_: str, store: str | None, server: str | None
) -> None:
    """Every run that read or wrote NAME, one OpenLineage event a line, newest first.

    Recorded into another store they give the same answers about NAME.
    """
    with factory.opened(store, server) as side:
        for event in side.export(Dataset(namespace, name), window):
            click.echo(json.dumps(event, ensure_ascii=False, separators=(",", ":")))
