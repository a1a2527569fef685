"""Options of `fll spark stream` about its source, parsed before Spark starts."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import click

from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.options import Command, now_ms
from fll_hbase.spark.streams import kafka_connector, stream_options
from fll_hbase.spark.streams.stream_options import KafkaOptions, ValueFormat

FORMATS = [value.value for value in ValueFormat if value is not ValueFormat.DETECT]


class PositionParam(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A position in topics: `earliest`, `latest`, a time, or offsets as JSON."""

    name = "position"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the position as `parse_position` does. Raises BadParameter for text that is not one."""
        try:
            return stream_options.parse_position(str(value), now_ms=now_ms())
        except ValueError as error:
            self.fail(str(error), param, ctx)


_POSITION = PositionParam()
_OPTIONS = (
    click.argument("source", metavar="SOURCE"),
    click.option(
        "--files-max",
        metavar="N",
        type=click.IntRange(min=1),
        help="Maximum files per batch (default: 100).",
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
        type=_POSITION,
        help="Where a new checkpoint begins: earliest (default), latest, a time, or offsets as JSON.",
    ),
    click.option(
        "--ending",
        metavar="POSITION",
        type=_POSITION,
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


def source_options(command: Command) -> Command:
    """Add SOURCE and its options.

    The command receives `source`, a SourceOptions, `dead_letter`, and `libraries`, settings of Spark.
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

    for option in reversed(_OPTIONS):
        with_source = option(with_source)
    return with_source
