"""Load files by the million lines."""

from __future__ import annotations

import click

from fll_hbase.cli import stores
from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.errors import FAILURE
from fll_hbase.cli.options import NAMESPACE
from fll_hbase.config import Settings

FORMS = ("text", "parquet")


@click.command(
    epilog="""\b
Examples:
  fll spark load 'history/*.ndjson.gz' --rejects rejected
  fll spark load events.parquet --format parquet --rejects rejected
""",
)
@click.argument("paths", metavar="INPUT...", nargs=-1, required=True)
@click.option("--rejects", metavar="DIR", required=True, help="Where rejected lines go; DIR is replaced.")
@click.option("--namespace", metavar="NS", type=NAMESPACE, default=None, help="Of documents that name none.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    default=FORMS[0],
    show_default=True,
    help="Lines of text, or the column `value` of Parquet.",
)
@common.job_options
def load(
    *, paths: tuple[str, ...], rejects: str, namespace: str | None, form: str, settings: Settings, master: str
) -> None:
    """Record every line of INPUT: documents, OpenLineage events, DataHub proposals, told apart per line.

    INPUT is any path that Spark reads: files, folders, patterns; gzip, zstd. A line that is rejected stands
    in DIR with its file, its number and every fault, and stops no other. Loading again is safe, whatever
    ended it before.
    """
    with stores.opened(settings, new=True):
        pass
    with common.running("load", master) as spark:
        from fll_hbase.spark.jobs import load as job
        from fll_hbase.spark.worker_ingest import Target

        loaded = job.load(spark, paths, Target(settings, namespace or ""), rejects=rejects, form=form)
    common.summary(loaded.summary(), lambda: str(loaded))
    if loaded.counts.rejected:
        click.get_current_context().exit(FAILURE)
