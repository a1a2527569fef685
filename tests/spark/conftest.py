"""One Spark for all tests of jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from fll_hbase.sample import documents
from fll_hbase.sources.native.cached_reader import CachedDocumentReader
from fll_hbase.spark.session import session
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.jvm_options import SPARK_JVM
from tests.support.kafka.broker import FETCHED

SAMPLE_END_MS = 1_760_000_000_000

SETTINGS = {
    # Needed where a test reads Kafka; without, `make tests` builds them first.
    "spark.jars": ",".join(map(str, sorted((FETCHED / "connector").glob("*.jar")))),
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
    **SPARK_JVM,
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A Spark of two threads."""
    spark = session("tests", master="local[2]", settings=SETTINGS)
    yield spark
    spark.stop()


@pytest.fixture(scope="session")
def sample_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a store with a tenth of the sample's documents, of ninety days up to SAMPLE_END_MS."""
    url = f"sqlite:///{tmp_path_factory.mktemp('sample')}/lineage.db"
    store, reader = LineageStore(open_table(url)), CachedDocumentReader()
    lines = [json.dumps(document).encode() for document in documents(SAMPLE_END_MS)]
    readings = [reader.read(line, namespace=None) for line in lines[::10]]
    store.record([reading.recorded for reading in readings])
    store.close()
    return url
