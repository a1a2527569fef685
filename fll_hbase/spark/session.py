"""Which Spark do jobs run on: the one that submitted them, else one of this machine's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fll_hbase.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*, 4]"
"""All cores of this machine; a task that fails is run again, as on a cluster."""

_INSTALL = "pip install '.[spark]' in the source tree, or the wheel with [spark] behind its name"
_JDK = "install a JDK of 17 or later (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME"
_PACKAGES = "above is which package cannot be had, if it is that; else " + _JDK

_LOG = Path(__file__).with_name("log4j2.properties")
_HERE = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "16",
    "spark.ui.enabled": "false",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{_LOG}",
}
"""Of a Spark of this machine's own: nobody else can reach it, and it says no more than it must."""

_ALWAYS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "5000",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}


def session(name: str, *, master: str = "", settings: Mapping[str, str] | None = None) -> SparkSession:
    """A session for a job, with its settings; that of spark-submit where that runs it.

    Raises ConfigurationError that says what to install where there is no PySpark or no JDK.
    """
    try:
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"jobs on Spark need {error.name}, which is not installed: {_INSTALL}"
        ) from error
    builder = SparkSession.builder.appName(f"fll {name}")
    own = master or ("" if _submitted() else LOCAL)
    if own:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.master(own)
    here = {**_HERE, "spark.ui.showConsoleProgress": _watched()} if own.startswith("local") else {}
    for key, value in {**here, **_ALWAYS, **(settings or {})}.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as error:
        mend = _PACKAGES if settings and "spark.jars.packages" in settings else _JDK
        raise ConfigurationError(f"Spark does not start: {error}; {mend}") from error


def _watched() -> str:
    """Whether somebody looks at Spark's own progress bar."""
    return str(sys.stderr.isatty()).lower()


def _submitted() -> bool:
    """Whether spark-submit runs this process: it says so, and with which settings."""
    return "PYSPARK_GATEWAY_PORT" in os.environ or "SPARK_ENV_LOADED" in os.environ
