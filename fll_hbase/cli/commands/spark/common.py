"""What do jobs on Spark share on the command line: where they run, the store, and how they end."""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from fll_hbase.cli.options import STORE_HELP, Command
from fll_hbase.spark import settings
from fll_hbase.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CAUSE = re.compile("(Caused by)?: ")


def job_options(command: Command) -> Command:
    """--store and --master, given to the command as `settings` and `master`."""

    @click.option("--store", metavar="URL", help=STORE_HELP)
    @click.option(
        "--master", metavar="MASTER", default="", help="Of Spark; by default all cores of this machine."
    )
    @functools.wraps(command)
    def placed(*, store: str | None, **said: Any) -> None:
        command(settings=settings.job_settings(store), **said)

    return placed


@contextmanager
def running(
    name: str, master: str, spark_settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """A session for one job, with its settings; what fails on a worker is told as it was raised there."""
    spark = session(name, master=master, settings=spark_settings)
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        try:
            yield spark
        finally:
            spark.stop()
    except (PySparkException, Py4JError) as error:
        raise click.ClickException(_reason(str(error))) from error
    except ConnectionError as error:
        raise click.ClickException(_reason("the JVM of Spark is gone")) from error


def summary(said: Mapping[str, Any], words: Callable[[], str]) -> None:
    """One line at the end: for people on a terminal, as JSON elsewhere."""
    click.echo(words() if sys.stdout.isatty() else json.dumps(said))


def _reason(text: str) -> str:
    """The innermost errors of a trace: what our own code raised, else Spark's last two."""
    lines = text.splitlines()
    ours = [line for line in lines if line.startswith("fll_hbase.errors.")]
    if ours:
        said = ours[-1].removeprefix("fll_hbase.errors.")
    else:
        causes = [line.removeprefix("Caused by").removeprefix(": ") for line in lines if _CAUSE.match(line)]
        said = ": ".join(causes[-2:]) or text.partition("\n")[0]
    return f"the job ended: {said}; start it again when that is mended"
