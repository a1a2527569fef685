"""Tables are read region by region from a real HBase, set up as by an operator."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from fll_hbase.keys import layout
from fll_hbase.spark import datasource
from fll_hbase.spark.datasource.reader_options import TableName
from fll_hbase.tables import Put, Table, open_table
from tests.support.clusters import Cluster

BATCH_ROWS = 500


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, sample_url: str) -> Iterator[str]:
    """A table of many regions with the rows of the sample."""
    with Cluster(tmp_path_factory.mktemp("hbase")) as cluster:
        cluster.start()
        fll = Path(sys.executable).with_name("fll")
        command = [fll, "table", "ddl", "--store", cluster.url, "--compression", "NONE"]
        cluster.ddl(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        copy(open_table(sample_url), open_table(cluster.url))
        yield cluster.url


def copy(from_: Table, to: Table) -> None:
    puts: list[Put] = []
    for key, row in from_.scan(b"", b"\x7f"):
        puts += [Put(key, column, cell.value) for column, cell in row.items()]
        if len(puts) > BATCH_ROWS:
            to.write([puts])
            puts = []
    to.write([puts])
    from_.close()
    to.close()


def table(spark: SparkSession, url: str, name: str) -> DataFrame:
    return spark.read.format("fll").option("store", url).option("table", name).load()


@pytest.mark.parametrize("name", [name.value for name in TableName])
def test_regions_hold_the_same_rows(spark: SparkSession, url: str, sample_url: str, name: str) -> None:
    datasource.register(spark)
    frame, expected = table(spark, url, name), table(spark, sample_url, name)
    assert Counter(frame.collect()) == Counter(expected.collect())


def test_each_region_is_a_part(spark: SparkSession, url: str) -> None:
    datasource.register(spark)
    store = open_table(url)
    regions = store.splits(layout.RUNS, b"r}", parts=1)
    store.close()
    assert len(regions) > 10
    assert table(spark, url, "runs").rdd.getNumPartitions() == len(regions) + 1


def test_a_window_of_an_end_point_is_read_by_references(
    spark: SparkSession, url: str, sample_url: str
) -> None:
    datasource.register(spark)
    into_dataset = "destination_namespace = 'bank' and destination_name = 'DailyTransactions'"
    where = f"{into_dataset} and start_ms > 1759000000000"
    frame = table(spark, url, "edges").where(where)
    assert Counter(frame.collect()) == Counter(table(spark, sample_url, "edges").where(where).collect())
    assert frame.count() > 10
    assert frame.rdd.getNumPartitions() == 1
