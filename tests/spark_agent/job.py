"""A Spark job as anyone writes it: shop data is read, joined, filtered, summed up and written as a table.

Run by a process of its own, with the agent's settings from outside: this file knows nothing of lineage.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f


def main(home: Path) -> None:
    spark = SparkSession.builder.appName("shop_daily").getOrCreate()
    spark.createDataFrame(
        [(1, 10, "paid", 20.0), (2, 10, "paid", 30.0), (3, 11, "open", 5.0)],
        "order_id int, customer_id int, status string, amount double",
    ).write.parquet(str(home / "orders"))
    spark.createDataFrame(
        [(10, "Ada", "de"), (11, "Bo", "fr")], "customer_id int, name string, country string"
    ).write.parquet(str(home / "customers"))
    orders = spark.read.parquet(str(home / "orders"))
    customers = spark.read.parquet(str(home / "customers"))
    (
        orders.where(f.col("status") == "paid")
        .join(customers, "customer_id")
        .groupBy("country")
        .agg(f.sum("amount").alias("revenue"), f.max(f.upper("name")).alias("last_name"))
        .write.saveAsTable("revenue")
    )
    spark.table("revenue").select("country", (f.col("revenue") / 2).alias("half")).write.parquet(
        str(home / "halves")
    )
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
