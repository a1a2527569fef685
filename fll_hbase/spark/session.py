"""Spark sessions of jobs, from spark-submit or local, and the signals that end a stream between batches."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING

from fll_hbase.runtime.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*, 4]"
"""All cores of this machine. A failed task runs up to four times, as on a cluster."""

_INSTALL = "pip install '.[spark]' in the source tree, or append [spark] to the wheel's name"
_JDK = "install a JDK of 17 or later (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME"
_PACKAGES = "check the lines above for a package that could not be downloaded, or " + _JDK
_MEMORY = "give the driver less memory than the machine has, or " + _JDK

DRIVER_MEMORY = "spark.driver.memory"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_LATE = (DRIVER_MEMORY, _JAVA_OPTIONS, "spark.driver.defaultJavaOptions", "spark.driver.extraClassPath")
"""Settings of the driver's JVM, which already runs under spark-submit."""

SIGNALS = (signal.SIGTERM, signal.SIGINT)

_LOG = Path(__file__).with_name("log4j2.properties")
_LOCAL_SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "16",
    "spark.ui.enabled": "false",
    _JAVA_OPTIONS: f"-Dlog4j2.configurationFile=file:{_LOG}",
}
"""Settings of a local Spark, which is reachable only from this machine and logs only errors."""

# About 5,000 lines are one commit of a load (decision 0014). Filter pushdown is off by default. UTC, because
# days and times of an export must not depend on the machine. Simplified traces of workers would leave out the
# causes of an error. Java's serializer keeps written objects until a reset: by default 100 batches of
# rejected lines, of 4 MB each, in every task.
_SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "5000",
    "spark.serializer.objectStreamReset": "1",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
}


def session(name: str, *, master: str = "", settings: Mapping[str, str] | None = None) -> SparkSession:
    """Create or reuse a session for a job: on `master`, else the cluster of spark-submit, else LOCAL.

    `settings` override the settings of all jobs. Raises ConfigurationError with what to install if PySpark or
    a JDK is missing, for a master that Spark does not know, and for settings that only spark-submit can set.
    """
    # Imported here because PySpark is an extra, and `fll spark --help` and errors must work without it.
    try:
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"jobs on Spark need {error.name}, which is not installed: {_INSTALL}"
        ) from error
    # PySpark brings it, so an environment without both is told to install PySpark.
    from py4j.protocol import Py4JJavaError

    builder = SparkSession.builder.appName(f"fll {name}")
    master = master or ("" if _is_submitted() else LOCAL)
    if master:
        # Otherwise workers are started by name, and may find another Python without this package.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.master(master)
    for key, value in _merge_settings(settings or {}, is_local=master.startswith("local")).items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as error:
        raise ConfigurationError(
            f"Spark does not start: {error}; {_advice(settings or {}, master)}"
        ) from error
    except Py4JJavaError as error:
        # The text of the error is a trace of the JVM.
        reason = error.java_exception.getMessage()
        raise ConfigurationError(f"Spark does not start: {reason}; check the master and settings") from error


def _advice(settings: Mapping[str, str], master: str) -> str:
    """Return what to do if Spark does not start on a master ("" for spark-submit's) with these settings."""
    if master and not master.startswith("local"):
        return f"check the master {master!r} and the lines above, or {_JDK}"
    if "spark.jars.packages" in settings:
        return _PACKAGES
    return _MEMORY if DRIVER_MEMORY in settings else _JDK


def _merge_settings(settings: Mapping[str, str], *, is_local: bool) -> dict[str, str]:
    """Return the settings of a session: ours, `settings` with priority, and both Java options if local.

    Raises ConfigurationError for a setting of _LATE under spark-submit.
    """
    late = [name for name in _LATE if name in settings]
    if late and _is_submitted():
        raise ConfigurationError(f"{late[0]} has no effect any more: give it to spark-submit")
    if not is_local:
        return {**_SETTINGS, **settings}
    progress = {"spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower()}
    merged = {**_LOCAL_SETTINGS, **progress, **_SETTINGS, **settings}
    # Add to our options instead of replacing them, since without them Spark logs every warning.
    if _JAVA_OPTIONS in settings:
        merged[_JAVA_OPTIONS] = f"{_LOCAL_SETTINGS[_JAVA_OPTIONS]} {settings[_JAVA_OPTIONS]}"
    return merged


def _is_submitted() -> bool:
    """Return whether spark-submit runs this process, so that master and settings are its own."""
    return "PYSPARK_GATEWAY_PORT" in os.environ or "SPARK_ENV_LOADED" in os.environ


@contextmanager
def stop_on_signals(stop: Event) -> Iterator[None]:
    """Return a context in which the first SIGTERM or SIGINT sets `stop`.

    A second signal of the same kind goes to the previous handler. The previous handlers are restored at the
    end. Raises ValueError outside the main thread, because only the main thread may set handlers.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        """Set `stop` and restore the previous handler of the signal."""
        # A second Ctrl-C then interrupts at once.
        signal.signal(number, previous[signal.Signals(number)])
        stop.set()

    previous = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
