"""Shared parts of the Spark commands: options, the session, the report at the end."""

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
    """Add --store and --master, which the command receives as `settings` and `master`."""

    @click.option("--store", metavar="URL", help=STORE_HELP)
    @click.option(
        "--master", metavar="MASTER", default="", help="Spark master URL (default: local, all cores)."
    )
    @functools.wraps(command)
    def with_settings(*, store: str | None, **others: Any) -> None:
        command(settings=settings.job_settings(store), **others)

    return with_settings


@contextmanager
def spark_job(
    name: str, master: str, spark_settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """Open the session of one job, and stop it at the end.

    Raises ConfigurationError if PySpark or a JDK is missing, and ClickException with the innermost cause of
    an error on a worker or in the JVM.
    """
    # `session` reports a missing PySpark with how to install it, so what follows can be imported after it.
    spark = session(name, master=master, settings=spark_settings)
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        # Inside, because stop() raises as well if the JVM has ended.
        try:
            yield spark
        finally:
            spark.stop()
    except (PySparkException, Py4JError) as error:
        raise click.ClickException(_reason(str(error))) from error
    except ConnectionError as error:
        raise click.ClickException(_reason("the JVM of Spark has ended")) from error


def print_summary(members: Mapping[str, Any], text: Callable[[], str]) -> None:
    """Print the report of a job: as text on a terminal, else as one line of JSON."""
    click.echo(text() if sys.stdout.isatty() else json.dumps(members))


def _reason(text: str) -> str:
    """Return the innermost error of a Java trace: one of this package, else Spark's last two causes."""
    lines = text.splitlines()
    # An error of a worker arrives as text: its Python traceback, with class names, within a Java trace.
    own_errors = [line for line in lines if line.startswith("fll_hbase.errors.")]
    if own_errors:
        reason = own_errors[-1].removeprefix("fll_hbase.errors.")
    else:
        causes = [line.removeprefix("Caused by").removeprefix(": ") for line in lines if _CAUSE.match(line)]
        reason = ": ".join(causes[-2:]) or text.partition("\n")[0]
    return f"the job ended: {reason}; start it again when that is corrected"
