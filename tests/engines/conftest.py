"""The engines, one of each for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from pyspark.sql import SparkSession

from fll_hbase.spark.session import session
from tests.engines.postgres_server import PostgresServer
from tests.support.jvm_options import SPARK_JVM


@pytest.fixture(scope="session")
def postgres() -> Iterator[psycopg.Connection]:
    """A connection to a PostgreSQL, with the rights of its superuser."""
    with PostgresServer() as server, server.connect() as connection:
        yield connection


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A Spark of one thread."""
    spark = session("engines", master="local[1]", settings={"spark.sql.shuffle.partitions": "1", **SPARK_JVM})
    yield spark
    spark.stop()
