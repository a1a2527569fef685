"""Daily tasks of a shop: two feeds, cleaned, joined, summed and ranked."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import SparkSession, Window, functions

from tests.support.capture.warehouse.landing import CUSTOMERS, ORDERS, day_of

Task = Callable[[SparkSession, str, int], None]

BRONZE = {0: "orders_v1", 17: "orders_v2", 34: "orders_v3"}
SILVER = {0: "orders_clean_v1", 17: "orders_clean_v2", 34: "orders_clean_v2"}


def ingest_orders(spark: SparkSession, root: str, number: int) -> None:
    """Append the feed of the day, with the day as a partition."""
    feed = spark.read.schema(ORDERS[number]).json(f"{root}/landing/orders/date={day_of(number)}")
    dated = feed.withColumn("ingest_day", functions.lit(day_of(number)))
    dated.write.mode("append").partitionBy("ingest_day").parquet(f"{root}/bronze/{BRONZE[number]}")


def ingest_customers(spark: SparkSession, root: str, number: int) -> None:
    """Replace the customers by those of the day."""
    feed = spark.read.schema(CUSTOMERS).json(f"{root}/landing/customers/date={day_of(number)}")
    feed.write.mode("overwrite").parquet(f"{root}/bronze/customers")


def clean_orders(spark: SparkSession, root: str, number: int) -> None:
    """Drop cancelled and repeated orders of the day, and compute totals."""
    orders = spark.read.parquet(f"{root}/bronze/{BRONZE[number]}")
    price = functions.col("amount_gross") - functions.col("tax") if number == 34 else functions.col("amount")
    channel = [functions.lower("channel").alias("channel")] if number else []
    cleaned = (
        orders.where(functions.col("ingest_day") == day_of(number))
        .where("status <> 'CANCELLED'")
        .dropDuplicates(["order_id"])
        .select(
            "order_id",
            "customer_id",
            "product_id",
            (functions.col("qty") * price).alias("total"),
            *channel,
            functions.to_date("order_ts").alias("order_date"),
            "ingest_day",
        )
    )
    writer = cleaned.write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
    writer.partitionBy("ingest_day").parquet(f"{root}/silver/{SILVER[number]}")


def enrich_orders(spark: SparkSession, root: str, number: int) -> None:
    """Add names and countries of customers, of whom some are unknown."""
    silver = f"{root}/silver/{SILVER[number]}"
    orders = spark.read.option("basePath", silver).parquet(f"{silver}/ingest_day={day_of(number)}")
    customers = spark.read.parquet(f"{root}/bronze/customers")
    enriched = orders.join(customers, "customer_id", "left").select(
        "order_id",
        "customer_id",
        functions.coalesce("name", functions.lit("unknown")).alias("customer_name"),
        "country",
        "total",
        *(["channel"] if number else []),
        "order_date",
    )
    enriched.write.mode("overwrite").parquet(f"{root}/silver/orders_enriched")


def daily_revenue(spark: SparkSession, root: str, number: int) -> None:
    """Sum totals by day, country and channel."""
    orders = spark.read.parquet(f"{root}/silver/orders_enriched")
    grouped = orders.groupBy("order_date", "country", *(["channel"] if number else []))
    summed = grouped.agg(
        functions.round(functions.sum("total"), 2).alias("revenue"),
        functions.countDistinct("customer_id").alias("customers"),
    )
    summed.write.mode("overwrite").parquet(f"{root}/gold/daily_revenue")


def customer_rank(spark: SparkSession, root: str, number: int) -> None:
    """Rank customers by what they spent in their country."""
    orders = spark.read.parquet(f"{root}/silver/orders_enriched")
    spent = orders.groupBy("customer_id", "customer_name", "country").agg(
        functions.sum("total").alias("spend")
    )
    best_first = Window.partitionBy("country").orderBy(functions.desc("spend"))
    ranked = spent.withColumn("rnk", functions.rank().over(best_first)).drop("country")
    ranked.write.mode("overwrite").parquet(f"{root}/gold/customer_rank")


TASKS: list[Task] = [
    ingest_orders,
    ingest_customers,
    clean_orders,
    enrich_orders,
    daily_revenue,
    customer_rank,
]
