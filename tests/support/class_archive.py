"""Write the classes that small jobs load to the archive from which the JVMs of tests map them.

To load, verify and link them is half of what a JVM of Spark does until its first job has ended.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from fll_hbase.spark.session import session

DUMP_SECONDS_MAX = 600


def write_archive(path: Path) -> None:
    """Replace the archive at `path`, at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    options = f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ArchiveClassesAtExit={partial} -Xlog:cds*=off"
    settings = {"spark.driver.extraJavaOptions": options, "spark.sql.shuffle.partitions": "2"}
    spark = session("class archive", master="local[2]", settings=settings)
    with tempfile.TemporaryDirectory() as home:
        _run_jobs(spark, home)
    gateway: Any = spark.sparkContext._gateway
    spark.stop()
    # The JVM ends when its standard input does, and then writes.
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(DUMP_SECONDS_MAX)
    partial.replace(path)


def _run_jobs(spark: SparkSession, home: str) -> None:
    """Read, join, sum up and write files, call Python, and stream."""
    numbers = spark.createDataFrame([(n, str(n % 3)) for n in range(10)], "number int, name string")
    sums = numbers.groupBy("name").agg(f.sum("number").alias("total")).join(numbers, "name").distinct()
    sums.write.parquet(f"{home}/parquet")
    same = spark.read.parquet(f"{home}/parquet").mapInArrow(_same, "name string, total long, number int")
    same.orderBy("name").write.partitionBy("name").json(f"{home}/json")
    stream = spark.readStream.schema("total long, number int, name string").json(f"{home}/json").writeStream
    stream.trigger(availableNow=True).option("checkpointLocation", f"{home}/checkpoint").foreachBatch(
        lambda batch, _: batch.collect()
    ).start().awaitTermination()


def _same(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


if __name__ == "__main__":
    write_archive(Path(sys.argv[1]))
