"""The job whose cost with capture is measured, unaware of lineage: `capture_job.py DIR WRITES`."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as f

COLUMNS = 25


def main(home: Path, writes: int) -> None:
    """Write two joins of wide rows, an aggregate and a window, again and again."""
    spark = SparkSession.builder.appName("bench_capture").getOrCreate()
    values = [(f.col("id") * number % 97).alias(f"c{number}") for number in range(1, COLUMNS)]
    orders = spark.range(20_000).select("id", (f.col("id") % 200).alias("customer"), *values)
    orders.write.parquet(str(home / "orders"))
    spark.range(200).select(f.col("id").alias("customer"), (f.col("id") % 7).alias("region")).write.parquet(
        str(home / "customers")
    )
    spark.range(7).select(f.col("id").alias("region"), f.lit("r").alias("title")).write.parquet(
        str(home / "regions")
    )
    for number in range(writes):
        rows, customers, regions = (
            spark.read.parquet(str(home / name)) for name in ("orders", "customers", "regions")
        )
        joined = rows.join(customers, "customer").join(regions, "region").where(f.col("c1") != number)
        sums = [f.sum(f"c{column}").alias(f"s{column}") for column in range(1, COLUMNS)]
        totals = joined.groupBy("customer", "region", "title").agg(*sums)
        ranked = totals.withColumn("place", f.rank().over(Window.partitionBy("region").orderBy("s1")))
        ranked.write.parquet(str(home / f"out{number}"))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
