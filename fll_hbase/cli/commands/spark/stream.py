"""`fll spark stream`: record documents as they arrive in a folder or in Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.options import NAMESPACE, NAMESPACE_HELP
from fll_hbase.config import Settings
from fll_hbase.spark.shutdown import StopFlag, stop_on_signals
from fll_hbase.store.factory import open_store

if TYPE_CHECKING:
    from fll_hbase.spark.stats import BatchReport

_SETTINGS = {
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.showConsoleProgress": "false",
}
"""Counts of a batch need few partitions, and Spark does not coalesce partitions of streams by itself.
Every batch is reported on a line, which Spark's progress bar would overwrite."""


def _split_pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> Mapping[str, str]:
    """Return the name and value of every occurrence of an option. Raises BadParameter without `=`."""
    for value in values:
        if "=" not in value:
            raise click.BadParameter(f"{value!r} is not NAME=VALUE.", ctx, param)
    return dict(value.split("=", 1) for value in values)


@click.command(
    epilog="""\b
Examples:
  fll spark stream /data/incoming --store sqlite:///lineage.db --rejects rejects --checkpoint checkpoint
  fll spark stream kafka://broker:9092/lineage --store hbase://gateway:9090/field_level_lineage
      --rejects s3a://lake/rejects --checkpoint s3a://lake/checkpoint
      --package org.apache.spark:spark-sql-kafka-0-10_2.13:VERSION
""",
)
@click.argument("source", metavar="SOURCE")
@click.option("--rejects", metavar="DIR", required=True, help="Directory for lines that cannot be recorded.")
@click.option(
    "--checkpoint", metavar="DIR", required=True, help="Directory for the Spark streaming checkpoint."
)
@click.option("--namespace", metavar="NS", type=NAMESPACE, default=None, help=NAMESPACE_HELP)
@click.option("--once", is_flag=True, help="Record everything available now, batch by batch, and end.")
@click.option(
    "--interval",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Minimum seconds between batch starts.",
)
@click.option(
    "--files-max", metavar="N", type=click.IntRange(min=1), help="Maximum files of a batch (default: 100)."
)
@click.option(
    "--offsets-max",
    metavar="N",
    type=click.IntRange(min=1),
    help="Maximum messages of a batch (default: 100,000).",
)
@click.option(
    "--option",
    "options",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_split_pairs,
    help="Option of Spark's source, such as kafka.security.protocol=SSL; can be repeated.",
)
@click.option(
    "--package",
    "packages",
    metavar="GROUP:NAME:VERSION",
    multiple=True,
    help="Maven package to load with its dependencies; can be repeated.",
)
@click.option(
    "--jar", "jars", metavar="FILE", multiple=True, help="Jar to load in place of a package; can be repeated."
)
@common.job_options
def stream(
    *,
    source: str,
    rejects: str,
    checkpoint: str,
    namespace: str | None,
    once: bool,
    interval: float,
    files_max: int | None,
    offsets_max: int | None,
    options: Mapping[str, str],
    packages: tuple[str, ...],
    jars: tuple[str, ...],
    settings: Settings,
    master: str,
) -> None:
    """Record documents, events and proposals as they arrive in SOURCE, until SIGTERM or Ctrl-C.

    SOURCE is a folder into which NDJSON files are moved, gzipped or not, or
    kafka://HOST:PORT[,HOST:PORT]/TOPIC[,TOPIC]. However it ended, a stream started again with the same
    checkpoint continues where it was: no line is lost, none is counted twice. Each batch is reported on one
    line, and all of them at the end: as text on a terminal, else as JSON.
    """
    stop = StopFlag()
    # In this order: a SparkContext installs its own handler of SIGINT, which cancels all jobs.
    with common.spark_job("stream", master, _spark_settings(packages, jars)) as spark, stop_on_signals(stop):
        from fll_hbase.spark import stream_sources
        from fll_hbase.spark.jobs import stream as job
        from fll_hbase.spark.worker_ingest import Target

        stream_source = stream_sources.parse_source(
            source, files_max=files_max, offsets_max=offsets_max, options=options
        )
        # A store that cannot be opened is reported before the stream starts.
        open_store(settings).close()
        stream_report = job.stream(
            spark,
            stream_source,
            Target(settings, namespace or ""),
            paths=job.StreamPaths(checkpoint, rejects),
            trigger=job.Trigger(interval, once),
            report=_print_batch,
            stop=stop,
        )
    common.print_summary(stream_report.summary(), lambda: str(stream_report))


def _spark_settings(packages: tuple[str, ...], jars: tuple[str, ...]) -> dict[str, str]:
    libraries = {"spark.jars.packages": ",".join(packages), "spark.jars": ",".join(jars)}
    return _SETTINGS | {name: value for name, value in libraries.items() if value}


def _print_batch(batch: BatchReport) -> None:
    common.print_summary(batch.summary(), lambda: str(batch))
