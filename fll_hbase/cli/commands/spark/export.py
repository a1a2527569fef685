"""`fll spark export`: all lineage as Parquet, CSV or OpenLineage files."""

from __future__ import annotations

from collections.abc import Mapping

import click

from fll_hbase.cli import groups
from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.options import NAMESPACE, now_ms, resolve_option, zone_option
from fll_hbase.cli.summary_file import print_summary
from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.queries import time_window
from fll_hbase.runtime.config import Settings

FORMATS = ("openlineage", "parquet", "csv", "delta", "iceberg")
LAKE_FORMATS = ("parquet", "delta", "iceberg")
"""Formats of incremental exports."""

MEGABYTE = 2**20
_DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""Settings that Spark needs to write Delta tables."""


@groups.command(
    "fll spark export lineage --format parquet --start now-90d",
    "fll spark export s3a://lake/lineage --format parquet --distinct --store hbase://gateway:9090/lineage",
    "fll spark export events --format openlineage --namespace bank",
    "fll spark export s3a://lake/lineage --since-last s3a://lake/lineage-state",
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
@click.option(
    "--since-last",
    "state",
    metavar="STATE",
    help="Append what changed since the last export with this directory; all in the first one.",
)
@click.option(
    "--file-size",
    "file_megabytes",
    metavar="MB",
    type=click.IntRange(min=1),
    default=256,
    show_default=True,
    help="Target file size.",
)
@zone_option
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
    state: str | None,
    file_megabytes: int,
    settings: Settings,
    launch: common.LaunchOptions,
) -> None:
    """Write runs, edges between fields and the catalogue to folders of OUT, any path that Spark writes.

    Parquet is partitioned by day. OpenLineage is one event per line; recorded again, it gives the same
    answers.
    """
    bounds = {"--start": start != "0", "--end": end, "--namespace": namespace}
    _check_options(file_format, state, {**bounds, "--distinct": distinct, "--overwrite": overwrite})
    file_bytes = file_megabytes * MEGABYTE
    if state:
        _export_changes(settings, launch, out, state, file_format=file_format, file_bytes=file_bytes)
        return
    # The default includes the future, because a run whose own clock is ahead may start later than `now`.
    window = time_window.parse_window(
        resolve_option("start", start), resolve_option("end", end or str(START_LIMIT_MS)), now_ms=now_ms()
    )
    with common.spark_job("export", settings, launch) as spark:
        from fll_hbase.spark.exports.export_files import Format
        from fll_hbase.spark.jobs import export as job

        spec = job.ExportSpec(settings, window, namespace or "", distinct, file_bytes)
        report = job.export(spark, spec, out, form=Format(file_format), overwrite=overwrite)
    print_summary(report.summary(), lambda: str(report), launch.summary)


def _check_options(file_format: str, state: str | None, options: Mapping[str, object]) -> None:
    """Raise UsageError for options that do not go together."""
    if options["--distinct"] and file_format == FORMATS[0]:
        raise click.UsageError("--distinct needs edges: give --format parquet or csv.")
    if not state and file_format in LAKE_FORMATS[1:]:
        raise click.UsageError(f"--format {file_format} appends to tables, and needs --since-last.")
    if state and file_format not in LAKE_FORMATS:
        raise click.UsageError(f"--since-last needs --format {', '.join(LAKE_FORMATS)}.")
    # A run that moves out of the bounds would stay in the tables as it was.
    given = [option for option, value in options.items() if value]
    if state and given:
        raise click.UsageError(f"--since-last exports every change: leave out {', '.join(given)}.")


def _export_changes(
    settings: Settings,
    launch: common.LaunchOptions,
    out: str,
    state: str,
    *,
    file_format: str,
    file_bytes: int,
) -> None:
    """Run the job that appends the changes since the last export with this `state`; print its report."""
    spark_settings = _DELTA_SETTINGS if file_format == "delta" else {}
    with common.spark_job("export", settings, launch, defaults=spark_settings) as spark:
        from fll_hbase.spark.exports.lake_tables import LakeFormat
        from fll_hbase.spark.jobs import export_changes as job

        spec = job.ChangesSpec(settings, out, state, LakeFormat(file_format), file_bytes)
        report = job.export_changes(spark, spec)
    print_summary(report.summary(), lambda: str(report), launch.summary)
