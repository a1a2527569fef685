"""Take all lineage along, as files that anything reads."""

from __future__ import annotations

import click

from fll_hbase import time_window
from fll_hbase.cli.clock import now_ms
from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.options import NAMESPACE
from fll_hbase.config import Settings
from fll_hbase.model.window import START_LIMIT_MS

FORMATS = ("openlineage", "parquet", "csv")


@click.command(
    epilog="""\b
Examples:
  fll spark export lineage --format parquet --start now-90d
  fll spark export s3a://lake/lineage --format parquet --distinct --store hbase://gateway:9090/lineage
  fll spark export events --format openlineage --namespace bank
""",
)
@click.argument("out", metavar="OUT")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="parquet", show_default=True, help="Of the files."
)
@click.option(
    "--start", metavar="TIME", default="0", help="Runs that start at TIME or later; by default all."
)
@click.option("--end", metavar="TIME", help="Runs that start before TIME; by default all.")
@click.option("--namespace", metavar="NS", type=NAMESPACE, help="What touches end points of NS.")
@click.option("--distinct", is_flag=True, help="Each edge once, with its runs counted.")
@click.option("--overwrite", is_flag=True, help="Replace what an earlier export wrote to OUT.")
@common.job_options
def export(
    *,
    out: str,
    form: str,
    start: str,
    end: str | None,
    namespace: str | None,
    distinct: bool,
    overwrite: bool,
    settings: Settings,
    master: str,
) -> None:
    """Write runs, edges from field to field and the catalogue to folders of OUT, any path that Spark knows.

    Parquet is parted by day. OpenLineage is one event a line, which recorded again gives the same answers.
    """
    if distinct and form == FORMATS[0]:
        raise click.UsageError("--distinct is of edges: give --format parquet or csv.")
    window = time_window.parse_window(start, end or str(START_LIMIT_MS), now_ms=now_ms())
    with common.running("export", master) as spark:
        from fll_hbase.spark.jobs import export as job

        wanted = job.ExportSpec(settings, window, namespace or "", distinct)
        exported = job.export(spark, wanted, out, form=job.Format(form), overwrite=overwrite)
    common.summary(exported.summary(), lambda: str(exported))
