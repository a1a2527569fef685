"""Spark's connector for Kafka, whose version must match Spark and Scala."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

NAME = "spark-sql-kafka-0-10"
_CORE = re.compile(r"spark-core_(?P<scala>\d+\.\d+)-(?P<spark>\d+\.\d+\.\d+).*\.jar")


def connector_package(jars: Iterable[str]) -> str:
    """Return the Maven coordinates of the connector for a Spark with these jars, or "" without Spark.

    Vendors append to the version: their Spark 3.5.1-amzn-0 works with the connector of 3.5.1.
    """
    for match in filter(None, map(_CORE.fullmatch, jars)):
        return f"org.apache.spark:{NAME}_{match['scala']}:{match['spark']}"
    return ""


def installed_jars() -> list[str]:
    """Return the sorted file names of Spark's jars, in SPARK_HOME or else in PySpark, or [] without Spark."""
    pyspark = find_spec("pyspark")
    homes = [os.environ.get("SPARK_HOME", ""), *(pyspark.submodule_search_locations or () if pyspark else ())]
    home = next((home for home in homes if home), "")
    folder = Path(home, "jars")
    return sorted(path.name for path in folder.iterdir()) if home and folder.is_dir() else []


def missing_packages(packages: tuple[str, ...], jars: tuple[str, ...]) -> tuple[str, ...]:
    """Return the connector as a package, or nothing if packages, jars or Spark have it or without Spark."""
    installed = installed_jars()
    names = [*packages, *(Path(jar).name for jar in jars), *installed]
    package = connector_package(installed)
    return (package,) if package and not any(NAME in name for name in names) else ()


def connector_advice() -> str:
    """Return advice for an error about a missing connector, or "" if the version of Spark is unknown."""
    package = connector_package(installed_jars())
    return f"; add the connector with --package {package}" if package else ""
