"""One Spark for all tests of jobs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from fll_hbase.pipeline.session import session

SETTINGS = {
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A Spark of two threads."""
    found = session("tests", master="local[2]", settings=SETTINGS)
    yield found
    found.stop()
