"""`fll spark stream`: record documents as they arrive in a folder or in Kafka."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

import click

from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.commands.spark.stream_source import source_options
from fll_hbase.cli.error_output import PARTIAL
from fll_hbase.cli.options import NAMESPACE, NAMESPACE_HELP, replace_option
from fll_hbase.cli.summary_file import print_summary
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.lines.reject_limit import RejectLimit
from fll_hbase.spark.session import stop_on_signals
from fll_hbase.spark.streams.stream_options import DeadLetterTopic, SourceOptions

if TYPE_CHECKING:
    from fll_hbase.spark.stats import BatchReport

_SETTINGS = {
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.showConsoleProgress": "false",
}
"""Counts of a batch need few partitions, and Spark does not coalesce partitions of streams by itself.
Every batch is reported on a line, which Spark's progress bar would overwrite."""


@click.command(
    epilog="""\b
Examples:
  fll spark stream /data/incoming --store sqlite:///lineage.db --rejects rejects --checkpoint checkpoint
  fll spark stream kafka://broker:9092/lineage --store hbase://gateway:9090/field_level_lineage
      --rejects s3a://lake/rejects --checkpoint s3a://lake/checkpoint
""",
)
@source_options
@click.option("--rejects", metavar="DIR", required=True, help="Directory for lines that cannot be recorded.")
@click.option(
    "--max-rejects",
    "rejects_max",
    metavar="NUMBER|SHARE%",
    callback=common.parse_reject_limit,
    help="End the stream when more lines of a batch are rejected, such as 100 or 5% (default: no limit).",
)
@click.option(
    "--checkpoint", metavar="DIR", required=True, help="Directory for the Spark streaming checkpoint."
)
@click.option("--namespace", metavar="NS", type=NAMESPACE, default=None, help=NAMESPACE_HELP)
@replace_option
@click.option("--once", is_flag=True, help="Record everything available now, batch by batch, and end.")
@click.option(
    "--interval",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Minimum seconds between batch starts.",
)
@common.job_options
def stream(
    *,
    source: SourceOptions,
    dead_letter: DeadLetterTopic | None,
    libraries: dict[str, str],
    rejects: str,
    rejects_max: RejectLimit,
    checkpoint: str,
    namespace: str | None,
    take_over: bool,
    once: bool,
    interval: float,
    settings: Settings,
    launch: common.LaunchOptions,
) -> None:
    """Record documents, events and proposals as they arrive in SOURCE, until SIGTERM or Ctrl-C.

    SOURCE is a folder into which NDJSON files are moved, gzipped or not, or
    kafka://HOST:PORT[,HOST:PORT]/TOPIC[,TOPIC]. However it ended, a stream started again with the same
    checkpoint continues where it was: no line is lost, none is counted twice. Each batch is reported on one
    line, and all of them at the end: as text on a terminal, else as JSON. The exit code is 0 if all lines
    were recorded, 3 if some were rejected, 1 if the stream failed or a batch had more than allowed.
    """
    stop = Event()
    session = common.spark_job("stream", settings, launch, create=True, defaults=_SETTINGS | libraries)
    # In this order, because a SparkContext installs its own handler of SIGINT, which cancels all jobs.
    with session as spark, stop_on_signals(stop):
        from fll_hbase.spark.jobs import stream as job
        from fll_hbase.spark.lines.worker_ingest import Target
        from fll_hbase.spark.streams import stream_sources
        from fll_hbase.spark.streams.stream_rejects import Rejection

        stream_report = job.stream(
            spark,
            stream_sources.open_source(source, bytes_max=settings.document_bytes_max),
            Target(settings, namespace or "", take_over=take_over),
            paths=job.StreamPaths(checkpoint, rejects),
            trigger=job.Trigger(interval, once),
            report=_print_batch,
            stop=stop,
            rejection=Rejection(rejects_max, dead_letter),
        )
    print_summary(stream_report.summary(), lambda: str(stream_report), launch.summary)
    if stream_report.counts.rejected:
        click.get_current_context().exit(PARTIAL)


def _print_batch(batch: BatchReport) -> None:
    """Print the report of a batch, as text on a terminal, else as one line of JSON."""
    print_summary(batch.summary(), lambda: str(batch))
