"""Jobs of the matrix of Spark releases, and the lineage that they have: `matrix_job.py DIR`.

Prints JSON with the version and, by output, the edges: last part of the source, both fields, direct or
indirect.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from fll_hbase import capture

Edge = tuple[str, str, str, str]

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.showConsoleProgress": "false",
}


def main(home: Path) -> None:
    builder = SparkSession.builder.appName("matrix").master("local[2]")
    for name, value in {**SETTINGS, "spark.sql.warehouse.dir": str(home / "warehouse")}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    assert capture.install(spark, namespace="matrix"), "capture is off"
    rows = [(1, 10, "paid", 20.0), (2, 10, "open", 30.0)]
    orders = spark.createDataFrame(rows, "id int, customer int, status string, amount double")
    orders.write.parquet(str(home / "orders"))
    customers = spark.createDataFrame([(10, "Ada", "de")], "customer int, name string, country string")
    customers.write.parquet(str(home / "customers"))
    expected: dict[str, list[Edge]] = {}
    for name, (job, edges) in JOBS.items():
        job(spark, home, home / name)
        expected[name] = edges
    assert capture.flush(60), "not recorded in time"
    print(json.dumps({"version": spark.version, "expected": expected}))
    spark.stop()


def read(spark: SparkSession, home: Path, name: str) -> DataFrame:
    return spark.read.parquet(str(home / name))


def join_and_aggregate(spark: SparkSession, home: Path, target: Path) -> None:
    joined = (
        read(spark, home, "orders").where("status = 'paid'").join(read(spark, home, "customers"), "customer")
    )
    joined.groupBy("country").agg(f.sum("amount").alias("revenue")).write.parquet(str(target))


def sql_view(spark: SparkSession, home: Path, target: Path) -> None:
    read(spark, home, "orders").createOrReplaceTempView("orders")
    query = "SELECT id, row_number() OVER (PARTITION BY customer ORDER BY amount) AS place FROM orders"
    spark.sql(query).write.parquet(str(target))


def table(spark: SparkSession, home: Path, _: Path) -> None:
    read(spark, home, "orders").select("id", f.upper("status").alias("state")).write.saveAsTable("states")
    spark.sql("INSERT INTO states SELECT customer, name FROM parquet.`%s`" % (home / "customers"))


def python_function(spark: SparkSession, home: Path, target: Path) -> None:
    double = f.udf(lambda amount: amount * 2, "double")
    read(spark, home, "orders").select(double("amount").alias("doubled")).write.parquet(str(target))


def batches(spark: SparkSession, home: Path, target: Path) -> None:
    schema = read(spark, home, "orders").schema
    stream = spark.readStream.schema(schema).parquet(str(home / "orders"))
    query = (
        stream.select("id", "amount")
        .writeStream.foreachBatch(lambda batch, _: batch.write.mode("append").parquet(str(target)))
        .option("checkpointLocation", str(target) + ".checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


Job = Callable[[SparkSession, Path, Path], None]

JOBS: dict[str, tuple[Job, list[Edge]]] = {
    "joined": (
        join_and_aggregate,
        [
            ("customers", "country", "country", "direct"),
            ("orders", "amount", "revenue", "direct"),
            ("customers", "country", "*", "indirect"),
            ("customers", "customer", "*", "indirect"),
            ("orders", "customer", "*", "indirect"),
            ("orders", "status", "*", "indirect"),
        ],
    ),
    "viewed": (
        sql_view,
        [
            ("orders", "id", "id", "direct"),
            ("orders", "customer", "place", "indirect"),
            ("orders", "amount", "place", "indirect"),
        ],
    ),
    "warehouse/states": (
        table,
        [
            ("orders", "id", "id", "direct"),
            ("orders", "status", "state", "direct"),
            ("customers", "customer", "id", "direct"),
            ("customers", "name", "state", "direct"),
        ],
    ),
    "doubled": (python_function, [("orders", "amount", "doubled", "direct")]),
    "batched": (batches, [("orders", "id", "id", "direct"), ("orders", "amount", "amount", "direct")]),
}


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
