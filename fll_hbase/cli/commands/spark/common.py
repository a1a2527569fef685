"""Shared parts of the Spark commands: options, the store, the session, the cause of an error."""

from __future__ import annotations

import functools
import re
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import TYPE_CHECKING, Any

import click

from fll_hbase.cli.commands.spark.config_file import ConfigFile, apply_config
from fll_hbase.cli.error_output import print_err
from fll_hbase.cli.options import Command, Option, add_options
from fll_hbase.cli.summary_file import SummaryFile, write_summary
from fll_hbase.cli.word_choice import STORE_HELP
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError, LineageError, StoreUnavailable
from fll_hbase.runtime.escape import escape_control
from fll_hbase.runtime.retry import RetryPolicy
from fll_hbase.runtime.threads import call_bounded
from fll_hbase.spark.lines.reject_limit import NO_LIMIT, RejectLimit, parse_limit
from fll_hbase.spark.session import DRIVER_MEMORY, session
from fll_hbase.spark.worker_store import job_settings
from fll_hbase.store.factory import open_store_table
from fll_hbase.store.rows import calendar_mark
from fll_hbase.tables.factory import check_creatable, store_exists

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark.sql import SparkSession

STORE_CHECK_MS, STORE_CHECK_SECONDS = 3_000, 10.0
"""Timeouts before Spark starts: of one call to the store, and of all calls with the resolution of names."""

# The second attempt tries the other gateways, because a call that a gateway does not answer is not repeated.
_STORE_CHECK = RetryPolicy(attempts_max=2)

_JOB_SETTINGS = {
    "spark.master": "give it as --master",
    "spark.sql.session.timeZone": "jobs need UTC: days and times of their output must not depend on it",
}
"""Spark settings that --conf cannot set."""


TRACE_CHARACTERS_MAX = 2**20
"""Maximum number of characters of a trace that are kept. The rest, where causes repeat, is left out."""

END_SECONDS = 10.0
"""How long a JVM that does not answer may take to end."""

OUT_OF_MEMORY = 52
"""Exit code of Spark after a thread ran out of memory."""

_ENDED = "the JVM of Spark has ended"
_JAVA_CAUSE = re.compile("(Caused by)?: ")
_TRACEBACK = "Traceback (most recent call last):"
_ERRORS_MODULE = "fll_hbase.runtime.errors."


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """How any job runs: the Spark master and settings, the summary file, and the place of traces."""

    master: str = ""
    spark_settings: Mapping[str, str] = field(default_factory=dict)
    summary: Path | None = None
    verbose: bool = False


def split_pairs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> Mapping[str, str]:
    """Return the values of an option by name, the last one of each name. Raises BadParameter without `=`."""
    for value in values:
        if "=" not in value:
            raise click.BadParameter(f"{value!r} is not NAME=VALUE.")
    return dict(value.split("=", 1) for value in values)


def _parse_conf(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> Mapping[str, str]:
    """Return Spark settings by name. Raises BadParameter for names that are not Spark's or are reserved."""
    conf = split_pairs(ctx, param, values)
    _check_conf(conf)
    return conf


def _check_conf(conf: Mapping[str, str]) -> None:
    """Raise BadParameter for names that are not Spark's, or that the job sets itself."""
    for name in conf:
        if not name.startswith("spark."):
            raise click.BadParameter(f"{name!r} is not a setting of Spark, spark.NAME.")
        if name in _JOB_SETTINGS:
            raise click.BadParameter(f"{name} cannot be set: {_JOB_SETTINGS[name]}.")


class MemorySize(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A size of memory as the JVM reads it."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the size as it was given. Raises BadParameter for anything but digits and k, m, g or t."""
        number, unit = str(value)[:-1], str(value)[-1:].lower()
        if not (number.isascii() and number.isdecimal() and unit in "kmgt"):
            self.fail(f"{value!r} is not a size such as 4g or 512m.", param, ctx)
        return str(value)


_OPTIONS = (
    click.option(
        "--config",
        metavar="FILE",
        type=click.File("rb"),
        callback=apply_config,
        is_eager=True,
        help="TOML file with options and settings; options given here have priority.",
    ),
    click.option("--store", metavar="URL", help=STORE_HELP),
    click.option(
        "--master", metavar="MASTER", default="", help="Spark master URL (default: local, all cores)."
    ),
    click.option(
        "--conf",
        metavar="KEY=VALUE",
        multiple=True,
        callback=_parse_conf,
        help="Setting of Spark; can be repeated.",
    ),
    click.option(
        "--driver-memory",
        metavar="SIZE",
        type=MemorySize(),
        help="Memory of the driver, such as 4g (default: Spark's, 1g).",
    ),
    click.option(
        "--summary", metavar="FILE", type=SummaryFile(), help="Also write the report to FILE, as JSON."
    ),
    click.option(
        "--verbose", "-v", is_flag=True, help="Print traces of errors instead of writing them to a file."
    ),
)


def job_options(command: Command) -> Command:
    """Add the options that all jobs have; the command receives them as `settings` and `launch`.

    An option has priority over the file of --config, and that over FLL_* variables. Raises BadParameter for a
    Spark setting that cannot be set, and ConfigurationError for another setting.
    """

    @functools.wraps(command)
    def with_settings(
        *,
        config: ConfigFile,
        store: str | None,
        master: str,
        conf: Mapping[str, str],
        driver_memory: str | None,
        summary: Path | None,
        verbose: bool,
        **others: Any,
    ) -> None:
        _check_conf(config.spark_settings)
        memory = {DRIVER_MEMORY: driver_memory} if driver_memory else {}
        launch = LaunchOptions(master, {**config.spark_settings, **conf, **memory}, summary, verbose)
        command(settings=job_settings(store, config.settings), launch=launch, **others)

    return add_options(with_settings, _OPTIONS)


def reach_store(settings: Settings, *, create: bool, any_release: bool = False) -> None:
    """Check that the store answers, within STORE_CHECK_SECONDS; retry while it is unavailable.

    With `create`, a SQLite file need not exist yet. It is not created, since the job may still find that its
    checkpoint or directories belong to another store. Raises ConfigurationError for a missing or invalid
    store, and unless `any_release` for a store of an earlier release. Raises StoreUnavailable if the store
    does not answer.
    """
    patient = replace(settings, store_timeout_ms=STORE_CHECK_MS)
    try:
        call_bounded(
            lambda: _STORE_CHECK.retrying(StoreUnavailable)(_read, patient, create, any_release),
            STORE_CHECK_SECONDS,
        )
    except TimeoutError as error:
        raise StoreUnavailable(
            f"{settings.store} does not answer within {STORE_CHECK_SECONDS:g} s; nothing was started"
        ) from error


def _read(settings: Settings, create: bool, any_release: bool) -> None:
    """Read from the store, or with `create` check that a missing one can be created. Raises LineageError."""
    if create and not store_exists(settings.store):
        check_creatable(settings.store)
        return
    with closing(open_store_table(settings, create=create)) as table:
        if any_release:
            # No row has this key, so that no row, which may be large, is read.
            table.get(b"\x00")
        else:
            calendar_mark.require(table)


def reject_limit_option(text: str) -> Option:
    """Return the option --max-rejects with this help, received as `rejects_max`."""
    return click.option(
        "--max-rejects",
        "rejects_max",
        metavar="NUMBER|SHARE%",
        callback=_parse_reject_limit,
        help=f"{text}, such as 100 or 5% (default: no limit).",
    )


def _parse_reject_limit(ctx: click.Context, param: click.Parameter, value: str | None) -> RejectLimit:
    """Return the limit in an option's value, NO_LIMIT for None, as click's callback. Raises BadParameter."""
    try:
        return NO_LIMIT if value is None else parse_limit(value)
    except ConfigurationError as error:
        raise click.BadParameter(str(error)) from error


@contextmanager
def spark_job(
    name: str,
    settings: Settings,
    launch: LaunchOptions,
    *,
    create: bool = False,
    any_release: bool = False,
    defaults: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """Check the store, then open the session of one job, and stop it at the end.

    `create` allows a SQLite store that does not exist yet, and `any_release` a store of an earlier release,
    without calendars. `defaults` are Spark settings of this job. Errors are also written to the summary file.
    Raises ConfigurationError if PySpark or a JDK is missing, and ConfigurationError or StoreUnavailable for
    the store. Raises ClickException with the innermost cause of an error on a worker or in the JVM.
    """
    try:
        reach_store(settings, create=create, any_release=any_release)
        with _session(name, launch, defaults or {}) as spark:
            yield spark
    except (LineageError, click.ClickException) as error:
        text = error.format_message() if isinstance(error, click.ClickException) else str(error)
        _summarize_error(launch.summary, {"job": name, "error": text})
        raise


@contextmanager
def _session(name: str, launch: LaunchOptions, defaults: Mapping[str, str]) -> Iterator[SparkSession]:
    """Return a context with a session, stopped at its end; an error of Spark becomes a ClickException."""
    # Imports of PySpark follow after this call, which reports how to install it if it is missing.
    spark = session(name, master=launch.master, settings={**defaults, **launch.spark_settings})
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, PySparkException

    gateway: Any = spark.sparkContext._gateway
    try:
        # Inside, because stop() also raises if the JVM has ended.
        try:
            yield spark
        finally:
            spark.stop()
    # An analysis error concerns an input or an option, and its text is sufficient.
    except AnalysisException as error:
        raise _job_error(find_cause(str(error))) from error
    except (PySparkException, Py4JError, ConnectionError) as error:
        # After the end of the JVM, every call raises its own error, which does not show the cause.
        if reason := jvm_end(gateway):
            raise _job_error(reason) from error
        # PySpark leaves the Java trace out of the text of its own errors, and gives no public access to it.
        trace = f"{traceback.format_exc()}\n{getattr(error, '_stackTrace', '')}"
        where = report_trace(trace, verbose=launch.verbose)
        raise _job_error(find_cause(str(error)), where) from error


def _summarize_error(file: Path | None, members: Mapping[str, str]) -> None:
    """Write an error to the summary file, if there is one, and only print a failure to do so."""
    try:
        if file:
            write_summary(file, members)
    # The error of the job is more important, and is raised.
    except click.ClickException as error:
        print_err(error.format_message())


def _job_error(cause: str, where: str = "") -> click.ClickException:
    """Return a ClickException for a job that `cause` ended; `where`, if any, says where its trace is."""
    text = f"the job ended: {cause}; start it again when that is corrected"
    return click.ClickException(f"{text}; {where}" if where else text)


def jvm_end(gateway: JavaGateway) -> str:
    """Return a text that says that the JVM behind a gateway has ended or hangs, or "" if it answers.

    The text gives the reason if the exit code shows it. This waits for the end of the JVM for at most
    END_SECONDS.
    """
    from py4j.protocol import Py4JError

    try:
        gateway.jvm.System.nanoTime()
    except (Py4JError, ConnectionError):
        # Under spark-submit there is no child process: the JVM started this process, and reports its own end.
        process: Popen[bytes] | None = getattr(gateway, "proc", None)
    else:
        return ""
    try:
        code = process.wait(END_SECONDS) if process else None
    except TimeoutExpired:
        return "the JVM of Spark does not answer"
    if code == OUT_OF_MEMORY:
        return f"{_ENDED}: out of memory; raise --driver-memory"
    if code is not None and code < 0:
        return f"{_ENDED}: killed by signal {-code}"
    return _ENDED if code is None else f"{_ENDED} with exit code {code}"


def find_cause(text: str) -> str:
    """Return the cause of an error of Spark in one line, from its Java and Python traces.

    The last error of this package is preferred, then the error that ended the Python worker, then the last
    two causes of the Java trace, and finally the first line that is not blank.
    """
    lines = text.splitlines()
    # An error of a worker arrives as text: its Python traceback, with class names, within a Java trace.
    own_errors = [line for line in lines if line.startswith(_ERRORS_MODULE)]
    if own_errors:
        return own_errors[-1].removeprefix(_ERRORS_MODULE)
    if python_errors := _python_errors(lines):
        return python_errors[-1]
    causes = [line.removeprefix("Caused by").removeprefix(": ") for line in lines if _JAVA_CAUSE.match(line)]
    return ": ".join(causes[-2:]) or next((line.strip() for line in lines if line.strip()), "no reason given")


def _python_errors(lines: list[str]) -> list[str]:
    """Return the last line of each Python traceback: the class of the error, and its message."""
    errors = []
    in_traceback = False
    for line in lines:
        if line.strip() == _TRACEBACK:
            in_traceback = True
        # Frames of a traceback are indented, but the error after them is not.
        elif in_traceback and line and not line[0].isspace():
            errors.append(line)
            in_traceback = False
    return errors


def report_trace(trace: str, *, verbose: bool) -> str:
    """Write a trace to standard error if `verbose`, else to a new file; return a clause that says where.

    The file is in the directory for temporary files, and only its owner can read it. If it cannot be written,
    the trace goes to standard error. A trace is cut to TRACE_CHARACTERS_MAX.
    """
    cut_trace = trace[:TRACE_CHARACTERS_MAX]
    if not verbose:
        try:
            with tempfile.NamedTemporaryFile(
                "w", encoding="utf-8", errors="backslashreplace", prefix="fll-", suffix=".log", delete=False
            ) as file:
                file.write(cut_trace)
        # The disk may be full or read-only.
        except OSError as error:
            print_err(f"the trace cannot be written to a file ({error}):")
        else:
            return f"the trace is in {file.name}"
    for line in cut_trace.splitlines():
        click.echo(escape_control(line.expandtabs()), err=True)
    return "the trace is above"
