"""A worker process keeps its store for later tasks, and what it imported out of their garbage collections."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

from fll_hbase.spark.worker_store import job_settings, worker_table


def test_what_is_imported_is_not_collected_after_each_task(spark: SparkSession, sample_url: str) -> None:
    settings = job_settings(sample_url)

    def count_objects(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            worker_table(settings)
            yield pa.RecordBatch.from_pydict(
                {"frozen": [gc.get_freeze_count()], "others": [len(gc.get_objects())]}
            )

    for _ in range(2):
        rows = spark.range(2).mapInArrow(count_objects, "frozen bigint, others bigint").collect()
    for row in rows:
        assert row["frozen"] > 20_000
        assert row["others"] < row["frozen"] / 4, row
