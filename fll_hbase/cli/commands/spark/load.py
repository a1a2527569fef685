"""`fll spark load`: record files with millions of lines."""

from __future__ import annotations

import click

from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.errors import FAILURE
from fll_hbase.cli.options import NAMESPACE, NAMESPACE_HELP
from fll_hbase.config import Settings
from fll_hbase.store.factory import open_store

FORMATS = ("text", "parquet")


@click.command(
    epilog="""\b
Examples:
  fll spark load 'history/*.ndjson.gz' --rejects rejected
  fll spark load events.parquet --format parquet --rejects rejected
""",
)
@click.argument("paths", metavar="INPUT...", nargs=-1, required=True)
@click.option("--rejects", metavar="DIR", required=True, help="Directory for rejected lines; it is replaced.")
@click.option("--namespace", metavar="NS", type=NAMESPACE, default=None, help=NAMESPACE_HELP)
@click.option(
    "--format",
    "input_format",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    show_default=True,
    help="Input format: lines of text, or the column `value` of Parquet.",
)
@common.job_options
def load(
    *,
    paths: tuple[str, ...],
    rejects: str,
    namespace: str | None,
    input_format: str,
    settings: Settings,
    master: str,
) -> None:
    """Record every line of INPUT: documents, OpenLineage events and DataHub proposals, detected line by line.

    INPUT is any path that Spark reads: files, folders, patterns; gzip, zstd. A line that is rejected is
    written to DIR with its file, its number and every error, and the others are recorded. Loading again is
    safe, however an earlier load ended.
    """
    # A store that cannot be opened is reported before Spark starts.
    open_store(settings).close()
    with common.spark_job("load", master) as spark:
        from fll_hbase.spark.jobs import load as job
        from fll_hbase.spark.worker_ingest import Target

        report = job.load(spark, paths, Target(settings, namespace or ""), rejects=rejects, form=input_format)
    common.print_summary(report.summary(), lambda: str(report))
    if report.counts.rejected:
        click.get_current_context().exit(FAILURE)
