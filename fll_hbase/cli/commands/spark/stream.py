"""`fll spark stream`: record documents as they arrive in a folder or in Kafka."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from threading import Event
from typing import Any

import click

from fll_hbase.cli import groups
from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.error_output import PARTIAL
from fll_hbase.cli.options import NAMESPACE, NAMESPACE_HELP, Command, add_options, now_ms, replace_option
from fll_hbase.cli.summary_file import print_summary
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.lines.reject_limit import RejectLimit
from fll_hbase.spark.session import stop_on_signals
from fll_hbase.spark.streams import kafka_connector, stream_options
from fll_hbase.spark.streams.stream_options import DeadLetterTopic, KafkaOptions, SourceOptions, ValueFormat

_SETTINGS = {"spark.sql.shuffle.partitions": "4", "spark.ui.showConsoleProgress": "false"}
"""Counts of a batch need few partitions, and Spark does not coalesce partitions of streams by itself.
Every batch is reported on a line, which Spark's progress bar would overwrite."""

FORMATS = [value.value for value in ValueFormat if value is not ValueFormat.DETECT]


class _PositionParam(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A position in topics: `earliest`, `latest`, a time, or offsets as JSON."""

    name = "position"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return `earliest`, `latest`, milliseconds since 1970, or JSON. Raises BadParameter for others."""
        try:
            return stream_options.parse_position(str(value), now_ms=now_ms())
        except ValueError as error:
            self.fail(str(error), param, ctx)


_SOURCE_OPTIONS = (
    click.argument("source", metavar="SOURCE"),
    click.option(
        "--files-max", metavar="N", type=click.IntRange(min=1), help="Maximum files per batch (default: 100)."
    ),
    click.option(
        "--offsets-max",
        metavar="N",
        type=click.IntRange(min=1),
        help="Maximum messages per batch (default: 100,000).",
    ),
    click.option(
        "--topic-pattern",
        metavar="REGEX",
        default="",
        help="Read all topics with matching names, including new ones.",
    ),
    click.option(
        "--starting",
        metavar="POSITION",
        type=_PositionParam(),
        help="Where a new checkpoint begins: earliest (default), latest, a time, or offsets as JSON.",
    ),
    click.option(
        "--ending",
        metavar="POSITION",
        type=_PositionParam(),
        help="Where the stream ends, excluded: latest, a time, or offsets as JSON; needs --once.",
    ),
    click.option(
        "--value-format",
        type=click.Choice(FORMATS),
        help="Format of messages. Required for topics that use a schema registry.",
    ),
    click.option(
        "--option",
        "options",
        metavar="NAME=VALUE",
        multiple=True,
        callback=common.split_pairs,
        help="Option of Spark's source, such as kafka.security.protocol=SSL; can be repeated.",
    ),
    click.option(
        "--dead-letter",
        metavar="URL",
        help="Kafka topic that rejected lines are sent to, in addition to the directory.",
    ),
    click.option(
        "--package",
        "packages",
        metavar="GROUP:NAME:VERSION",
        multiple=True,
        help="Maven package to load with its dependencies; can be repeated.",
    ),
    click.option(
        "--jar",
        "jars",
        metavar="FILE",
        multiple=True,
        help="Jar to load in place of a package; can be repeated.",
    ),
)


def _source_options(command: Command) -> Command:
    """Add SOURCE and its options.

    The command receives `source`, a SourceOptions, `dead_letter`, None without one, and `libraries`, settings
    of Spark. It must have the option --once, without which --ending is a UsageError.
    """

    @functools.wraps(command)
    def with_source(
        *,
        source: str,
        options: Mapping[str, str],
        value_format: str | None,
        dead_letter: str | None,
        packages: tuple[str, ...],
        jars: tuple[str, ...],
        once: bool,
        **others: Any,
    ) -> None:
        names = ("files_max", "offsets_max", "topic_pattern", "starting", "ending")
        members = {name: others.pop(name) for name in names}
        parsed = stream_options.parse_source(
            source, **members, value_format=value_format and ValueFormat(value_format), extra=options
        )
        if members["ending"] and not once:
            raise click.UsageError("--ending needs --once.")
        topic = dead_letter and stream_options.parse_dead_letter(dead_letter, parsed)
        if topic or isinstance(parsed, KafkaOptions):
            packages += kafka_connector.missing_packages(packages, jars)
        names_of_jars = {"spark.jars.packages": ",".join(packages), "spark.jars": ",".join(jars)}
        libraries = {name: value for name, value in names_of_jars.items() if value}
        command(source=parsed, dead_letter=topic, libraries=libraries, once=once, **others)

    return add_options(with_source, _SOURCE_OPTIONS)


@groups.command(
    "fll spark stream /data/incoming --store sqlite:///lineage.db --rejects rejects --checkpoint checkpoint",
    "fll spark stream kafka://broker:9092/lineage --store hbase://gateway:9090/field_level_lineage\n"
    "      --rejects s3a://lake/rejects --checkpoint s3a://lake/checkpoint",
)
@_source_options
@click.option("--rejects", metavar="DIR", required=True, help="Directory for lines that cannot be recorded.")
@common.reject_limit_option("End the stream when more lines of a batch are rejected")
@click.option(
    "--checkpoint", metavar="DIR", required=True, help="Directory for the Spark streaming checkpoint."
)
@click.option("--namespace", metavar="NS", type=NAMESPACE, help=NAMESPACE_HELP)
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
            report=lambda batch: print_summary(batch.summary(), lambda: str(batch)),
            stop=stop,
            rejection=Rejection(rejects_max, dead_letter),
        )
    print_summary(stream_report.summary(), lambda: str(stream_report), launch.summary)
    if stream_report.counts.rejected:
        click.get_current_context().exit(PARTIAL)
