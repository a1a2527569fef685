"""`fll spark export`: all lineage as Parquet, CSV or OpenLineage files."""

from __future__ import annotations

import click

from fll_hbase import time_window
from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.options import NAMESPACE, now_ms
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
    "--format",
    "file_format",
    type=click.Choice(FORMATS),
    default="parquet",
    show_default=True,
    help="Output format.",
)
@click.option("--start", metavar="TIME", default="0", help="Runs that start at TIME or later (default: all).")
@click.option("--end", metavar="TIME", help="Runs that start before TIME (default: all).")
@click.option("--namespace", metavar="NS", type=NAMESPACE, help="Only lineage of datasets of NS.")
@click.option("--distinct", is_flag=True, help="Write each edge once, with the number of its runs.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier export in OUT.")
@common.job_options
def export(
    *,
    out: str,
    file_format: str,
    start: str,
    end: str | None,
    namespace: str | None,
    distinct: bool,
    overwrite: bool,
    settings: Settings,
    master: str,
) -> None:
    """Write runs, edges between fields and the catalogue to folders of OUT, any path that Spark writes.

    Parquet is partitioned by day. OpenLineage is one event a line; recorded again it gives the same answers.
    """
    if distinct and file_format == FORMATS[0]:
        raise click.UsageError("--distinct needs edges: give --format parquet or csv.")
    # The default is all: a run whose own clock is ahead may start later than `now`.
    window = time_window.parse_window(start, end or str(START_LIMIT_MS), now_ms=now_ms())
    with common.spark_job("export", master) as spark:
        from fll_hbase.spark.jobs import export as job

        spec = job.ExportSpec(settings, window, namespace or "", distinct)
        report = job.export(spark, spec, out, form=job.Format(file_format), overwrite=overwrite)
    common.print_summary(report.summary(), lambda: str(report))
