"""Jobs with what is hard to see: databases, streams, RDDs, wide tables, threads and failures."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pyspark.sql import SparkSession, functions

from tests.support.capture.warehouse.landing import SOURCES


def feat_failing(spark: SparkSession, root: str) -> None:
    """Fail inside a Python function."""

    def fail(_: Any) -> float:
        raise ValueError("boom")

    items = spark.read.parquet(f"{root}/source/order_items")
    failing = items.select("order_id", functions.udf(fail, "double")("qty").alias("boom"))
    with pytest.raises(Exception, match="boom"):
        failing.write.mode("overwrite").parquet(f"{root}/feat/failing_out")


def feat_failing_analysis(spark: SparkSession, root: str) -> None:
    """Ask for a column that does not exist: nothing is written."""
    with pytest.raises(Exception, match="no_such_column"):
        spark.read.parquet(f"{root}/source/order_items").select("no_such_column")


def feat_jdbc(spark: SparkSession, root: str) -> None:
    """Write a table of a database, read it, and read the result of a query."""
    options = {
        "url": f"jdbc:derby:{root}/shop_db;create=true",
        "driver": "org.apache.derby.jdbc.EmbeddedDriver",
    }
    stock = spark.read.parquet(f"{root}/source/inventory").select("product_id", "store_id", "on_hand")
    stock.write.format("jdbc").options(**options, dbtable="STOCK").mode("overwrite").save()
    table = spark.read.format("jdbc").options(**options, dbtable="STOCK").load()
    reorder = table.where("on_hand < 20").select("product_id", (20 - functions.col("on_hand")).alias("need"))
    reorder.write.mode("overwrite").parquet(f"{root}/feat/jdbc_reorder")
    query = 'SELECT "product_id" AS "pid", SUM("on_hand") AS "total" FROM STOCK GROUP BY "product_id"'
    totals = spark.read.format("jdbc").options(**options, query=query).load()
    totals.write.mode("overwrite").parquet(f"{root}/feat/jdbc_query")
    query = """SELECT "product_id", "on_hand" AS "n", 'a--b' AS "it's" -- a comment's end
        FROM STOCK WHERE "store_id" <> 4711 AND 'sesame' <> 'x' ORDER BY 2 DESC, 1"""
    largest = spark.read.format("jdbc").options(**options, query=query).load()
    largest.select("product_id").write.mode("overwrite").parquet(f"{root}/feat/jdbc_sorted")


def feat_stream_file(spark: SparkSession, root: str) -> None:
    """Write a stream of files as files."""
    payments = spark.readStream.schema(SOURCES["payments"][0]).json(f"{root}/source/payments")
    doubled = payments.where("method = 'card'").select(
        "order_id", (functions.col("paid_amount") * 2).alias("dbl")
    )
    writer = doubled.writeStream.option("checkpointLocation", f"{root}/feat/stream_state")
    query = writer.format("parquet").start(f"{root}/feat/stream_sink")
    query.processAllAvailable()
    query.stop()


def feat_formats_names(spark: SparkSession, root: str) -> None:
    """Write other formats, and names with blanks and letters beyond ASCII."""
    stores = spark.read.parquet(f"{root}/source/stores")
    stores.write.mode("overwrite").orc(f"{root}/feat/stores_orc")
    cities = spark.read.orc(f"{root}/feat/stores_orc").select(functions.col("city").alias("value"))
    cities.write.mode("overwrite").text(f"{root}/feat/stores_text")
    words = spark.read.text(f"{root}/feat/stores_text").select(functions.upper("value").alias("city"))
    words.write.mode("overwrite").json(f"{root}/feat/stores_json")
    both = spark.read.parquet(f"{root}/source/orders", f"{root}/source/order_items").select("order_id")
    both.write.mode("overwrite").parquet(f"{root}/feat/two_paths")
    inventory = spark.read.parquet(f"{root}/source/inventory").repartition(1)
    inventory.write.mode("overwrite").parquet(f"{root}/feat/inventory copy ümlaut")


def feat_rdds(spark: SparkSession, root: str) -> None:
    """Leave the plans of Spark: through Python, and by a checkpoint."""
    orders = spark.read.parquet(f"{root}/source/orders")
    mapped = orders.rdd.map(lambda row: (row["order_id"], row["status"])).toDF("a LONG, b STRING")
    mapped.write.mode("overwrite").parquet(f"{root}/feat/rdd_roundtrip")
    created = spark.createDataFrame([(1, "x")], "id INT, nm STRING")
    created.write.mode("overwrite").parquet(f"{root}/feat/created_df")
    doubled = orders.select((functions.col("order_id") * 2).alias("o2")).localCheckpoint()
    doubled.select((functions.col("o2") + 1).alias("o3")).write.mode("overwrite").parquet(
        f"{root}/feat/checkpointed"
    )
    lines = spark.sparkContext.textFile(f"{root}/feat/stores_text").map(str.upper)
    lines.saveAsTextFile(f"{root}/feat/rdd_text")


def feat_wide(spark: SparkSession, root: str) -> None:
    """Read and write 120 columns."""
    numbers = [functions.col("id").alias(f"c{number:03}") for number in range(120)]
    spark.range(3).select(*numbers).write.mode("overwrite").parquet(f"{root}/feat/wide_src")
    source = spark.read.parquet(f"{root}/feat/wide_src").where("c001 >= 0 AND c002 >= 0 AND c003 >= 0")
    added = [(functions.col(f"c{number:03}") + 1).alias(f"d{number:03}") for number in range(120)]
    source.orderBy("c004").select(*added).write.mode("overwrite").parquet(f"{root}/feat/wide_out")


def feat_legacy_layout(spark: SparkSession, root: str) -> None:
    """Join, filter, group and sort, which the old layout of the agent repeats for every field."""
    orders = spark.read.parquet(f"{root}/source/orders").where("status = 'paid'")
    joined = orders.join(spark.read.parquet(f"{root}/source/order_items"), "order_id")
    summed = joined.groupBy("cust_id").agg(
        functions.sum("qty").alias("q"), functions.max("unit_price").alias("mp")
    )
    summed.orderBy("cust_id").write.mode("overwrite").parquet(f"{root}/feat/legacy_out")


def feat_logical_plan(spark: SparkSession, root: str) -> None:
    """Filter and convert one column."""
    orders = spark.read.parquet(f"{root}/source/orders").where("status = 'paid'")
    orders.select("order_id", functions.upper("status").alias("st")).write.mode("overwrite").parquet(
        f"{root}/feat/plan_out"
    )


def feat_parallel(spark: SparkSession, root: str) -> None:
    """Write from four threads at once."""
    orders = spark.read.parquet(f"{root}/source/orders").select("order_id", "store_id")

    def write(number: int) -> None:
        part = orders.where(functions.col("order_id") % 4 == number)
        part.write.mode("overwrite").parquet(f"{root}/feat/par_{number}")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
