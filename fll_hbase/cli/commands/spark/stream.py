"""Follow lineage as it comes, from a folder or from Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from fll_hbase.cli import stores
from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.options import NAMESPACE
from fll_hbase.config import Settings
from fll_hbase.spark.shutdown import StopFlag, stop_on_signals

if TYPE_CHECKING:
    from fll_hbase.spark.stream_stats import BatchReport

_SETTINGS = {
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.showConsoleProgress": "false",
}
"""Counting a batch takes few partitions, and Spark does not find that out for streams as it does elsewhere.
Batches tell how far it is; a bar of Spark's would run through their lines."""


def _pairs(ctx: click.Context, param: click.Parameter, said: tuple[str, ...]) -> Mapping[str, str]:
    """NAME=VALUE, each."""
    for one in said:
        if not one.partition("=")[1]:
            raise click.BadParameter(f"{one!r} is not NAME=VALUE.", ctx, param)
    return {name: value for name, _, value in (one.partition("=") for one in said)}


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
@click.option("--rejects", metavar="DIR", required=True, help="Where lines go that cannot be recorded.")
@click.option("--checkpoint", metavar="DIR", required=True, help="Where is kept how far the stream is.")
@click.option("--namespace", metavar="NS", type=NAMESPACE, default=None, help="Of documents that name none.")
@click.option("--once", is_flag=True, help="Take all that is there, batch by batch, and end.")
@click.option(
    "--interval",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="From the begin of a batch to that of the next, at least.",
)
@click.option("--files-max", metavar="N", type=click.IntRange(min=1), help="Files a batch; by default 100.")
@click.option(
    "--offsets-max", metavar="N", type=click.IntRange(min=1), help="Messages a batch; by default 100,000."
)
@click.option(
    "--option",
    "options",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_pairs,
    help="Of Spark's source, such as kafka.security.protocol=SSL; can be given many times.",
)
@click.option(
    "--package",
    "packages",
    metavar="GROUP:NAME:VERSION",
    multiple=True,
    help="From Maven, with all it needs.",
)
@click.option("--jar", "jars", metavar="FILE", multiple=True, help="In place of a package.")
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
    """Record documents, events and proposals as they come into SOURCE, until SIGTERM or Ctrl-C.

    SOURCE is a folder into which NDJSON files are moved, gzipped or not, or
    kafka://HOST:PORT[,HOST:PORT]/TOPIC[,TOPIC]. Ended in any way and started again with the same checkpoint
    it goes on where it was: no line is lost, none counts twice. A batch is told on one line, as JSON where
    nobody watches; so are all of them at the end.
    """
    shipped = {"spark.jars.packages": ",".join(packages), "spark.jars": ",".join(jars)}
    asked = _SETTINGS | {name: value for name, value in shipped.items() if value}
    stop = StopFlag()
    with common.running("stream", master, asked) as spark, stop_on_signals(stop):
        from fll_hbase.spark import stream_sources
        from fll_hbase.spark.jobs import stream as job
        from fll_hbase.spark.worker_ingest import Target

        found = stream_sources.parse_source(source, files_max=files_max, offsets_max=offsets_max, options=options)
        with stores.opened(settings, new=True):
            pass
        streamed = job.stream(
            spark,
            found,
            Target(settings, namespace or ""),
            paths=job.StreamPaths(checkpoint, rejects),
            trigger=job.Trigger(interval, once),
            report=_told,
            stop=stop,
        )
    common.summary(streamed.summary(), lambda: str(streamed))


def _told(batch: BatchReport) -> None:
    common.summary(batch.summary(), lambda: str(batch))
