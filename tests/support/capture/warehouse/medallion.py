"""Tables of a Hive catalogue in three layers, and commands that change them."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession, functions

from tests.support.capture.warehouse.landing import SOURCES


def _source(spark: SparkSession, root: str, name: str) -> DataFrame:
    columns, _ = SOURCES[name]
    if name in ("crm_customers", "web_events", "payments"):
        return spark.read.schema(columns).json(f"{root}/source/{name}")
    return spark.read.parquet(f"{root}/source/{name}")


def med_bronze(spark: SparkSession, root: str) -> None:
    """Load every source into a table; a few columns are parsed or added."""
    spark.sql("CREATE DATABASE bronze")
    added = {
        "orders": {"order_ts": functions.to_timestamp("order_ts")},
        "inventory": {"snapshot_day": functions.to_date("snapshot_day")},
        "web_events": {"_file": functions.input_file_name()},
    }
    for name in SOURCES:
        frame = _source(spark, root, name).withColumns(added.get(name, {}))
        table = name.removeprefix("crm_")
        frame.write.mode("overwrite").saveAsTable(f"bronze.{table}")


def med_silver(spark: SparkSession, root: str) -> None:
    """Clean and join: a view, a Python function, a generator, a union and a window."""
    spark.sql("CREATE DATABASE silver")
    spark.table("bronze.customers").createOrReplaceTempView("raw_customers")
    spark.sql(
        """
        CREATE TABLE silver.customers USING parquet AS
        SELECT cust_id, concat_ws(' ', first_name, last_name) AS full_name,
               sha2(lower(email), 256) AS email_hash, country,
               CASE WHEN opt_in THEN 'yes' ELSE 'no' END AS opt_in,
               CAST(floor(months_between(DATE'2026-01-02', birth_date) / 12) AS BIGINT) AS age
        FROM raw_customers WHERE email IS NOT NULL
        """
    )
    _order_lines(spark).write.mode("overwrite").saveAsTable("silver.order_lines")
    clicks = spark.table("bronze.web_events").select(
        "event_id",
        "session_id",
        functions.col("user.id").alias("cust_id"),
        "ts",
        functions.explode("items").alias("i"),
        "kind",
    )
    clicks = clicks.select("event_id", "session_id", "cust_id", "ts", "i.product_id", "kind")
    clicks.write.mode("overwrite").saveAsTable("silver.web_clicks")
    normalise = functions.udf(lambda text: " ".join((text or "").lower().split()), "string")
    reviews = spark.table("bronze.reviews").withColumn("text_norm", normalise("text")).drop("text")
    reviews.write.mode("overwrite").saveAsTable("silver.reviews")
    spark.sql(
        """
        CREATE TABLE silver.cash_movements USING parquet AS
        SELECT order_id, paid_amount AS amount, 'payment' AS kind FROM bronze.payments
        UNION ALL
        SELECT r.order_id, -r.qty * i.unit_price, 'return'
        FROM bronze.returns r JOIN bronze.order_items i ON r.order_id = i.order_id AND r.line_no = i.line_no
        """
    )
    spark.sql(
        """
        CREATE TABLE silver.inventory_latest USING parquet AS
        SELECT product_id, store_id, on_hand, snapshot_day FROM (
          SELECT *, row_number() OVER (PARTITION BY product_id, store_id ORDER BY snapshot_day DESC) AS rn
          FROM bronze.inventory) WHERE rn = 1
        """
    )


def _order_lines(spark: SparkSession) -> DataFrame:
    orders, items = spark.table("bronze.orders"), spark.table("bronze.order_items")
    rates = spark.table("bronze.fx_rates").select("currency", "to_eur")
    joined = orders.join(items, "order_id").join(rates, "currency").where("status IN ('paid', 'shipped')")
    net = (
        functions.col("qty")
        * functions.col("unit_price")
        * (1 - functions.col("discount_pct"))
        * functions.col("to_eur")
    )
    names = ["order_id", "line_no", "cust_id", "store_id", "product_id", "order_ts", "qty"]
    return joined.select(*names, functions.round(net, 2).alias("net_eur"))


def med_gold(spark: SparkSession, root: str) -> None:
    """Aggregate: common table expressions, inserts by position and into partitions, and a cache."""
    spark.sql("CREATE DATABASE gold")
    spark.sql(
        """
        CREATE TABLE gold.customer_360 USING parquet AS
        WITH spent AS (
          SELECT cust_id, SUM(net_eur) AS total_eur, COUNT(DISTINCT order_id) AS orders,
                 MAX(order_ts) AS last_order
          FROM silver.order_lines GROUP BY cust_id),
        clicked AS (SELECT cust_id, COUNT(event_id) AS clicks FROM silver.web_clicks GROUP BY cust_id)
        SELECT c.cust_id, c.full_name, c.country, s.total_eur, s.orders, s.last_order,
               COALESCE(k.clicks, 0) AS clicks,
               CASE WHEN s.total_eur > 1000 THEN 'gold' WHEN s.total_eur > 100 THEN 'silver' ELSE 'base' END
                 AS segment
        FROM silver.customers c LEFT JOIN spent s ON c.cust_id = s.cust_id
        LEFT JOIN clicked k ON c.cust_id = k.cust_id
        """
    )
    lines = spark.table("silver.order_lines")
    stores = spark.table("bronze.stores").select("store_id", "store_name")
    days = lines.join(stores, "store_id").groupBy(
        "store_id", "store_name", functions.to_date("order_ts").alias("day")
    )
    daily = days.agg(functions.sum("net_eur").alias("revenue"), functions.avg("qty").alias("avg_qty"))
    daily.write.mode("overwrite").partitionBy("day").parquet(f"{root}/gold/store_daily")
    _inserts(spark)
    gross = lines.where("qty > 0").withColumn("gross", functions.col("net_eur") * 1.19).cache()
    products = gross.groupBy("product_id").agg(functions.sum("gross").alias("gross_sum"))
    products.write.mode("overwrite").parquet(f"{root}/gold/product_gross")
    countries = gross.join(spark.table("silver.customers"), "cust_id").groupBy("country")
    largest = countries.agg(functions.max("gross").alias("max_gross"))
    largest.write.mode("overwrite").parquet(f"{root}/gold/country_gross")
    gross.unpersist()
    best = spark.table("gold.customer_360").orderBy(functions.desc("total_eur")).limit(10)
    best.select("cust_id", "total_eur").write.mode("overwrite").csv(f"{root}/gold/export_top_customers")


def _inserts(spark: SparkSession) -> None:
    spark.sql(
        "CREATE TABLE gold.product_kpis (product_id BIGINT, title STRING, category STRING, revenue DOUBLE,"
        " avg_stars DOUBLE, category_share DOUBLE) USING parquet"
    )
    spark.sql(
        """
        INSERT INTO gold.product_kpis
        SELECT p.product_id AS id, p.title AS name, p.category AS grp, s.net AS total, r.stars AS rating,
               s.net / SUM(s.net) OVER (PARTITION BY p.category) AS share
        FROM bronze.products p
        LEFT JOIN (SELECT product_id, SUM(net_eur) AS net FROM silver.order_lines GROUP BY product_id) s
          ON p.product_id = s.product_id
        LEFT JOIN (SELECT product_id, AVG(stars) AS stars FROM silver.reviews GROUP BY product_id) r
          ON p.product_id = r.product_id
        """
    )
    spark.sql(
        "CREATE TABLE gold.revenue_monthly (store_id BIGINT, revenue DOUBLE, month STRING) USING parquet"
        " PARTITIONED BY (month)"
    )
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    spark.sql(
        """
        INSERT OVERWRITE gold.revenue_monthly
        SELECT store_id, SUM(net_eur), date_format(order_ts, 'yyyy-MM') AS month
        FROM silver.order_lines GROUP BY store_id, date_format(order_ts, 'yyyy-MM')
        """
    )
    spark.conf.unset("spark.sql.sources.partitionOverwriteMode")


def med_ddl(spark: SparkSession, root: str) -> None:
    """Change, rename, empty and drop a table, and read through a stored view."""
    spark.sql("CREATE TABLE silver.tmp_a (id BIGINT, v STRING) USING parquet")
    spark.sql("INSERT INTO silver.tmp_a SELECT order_id, status FROM bronze.orders")
    spark.sql("ALTER TABLE silver.tmp_a ADD COLUMNS (extra INT)")
    spark.sql("ALTER TABLE silver.tmp_a RENAME TO silver.tmp_b")
    spark.sql("INSERT INTO silver.tmp_b SELECT order_id, status, 1 FROM bronze.orders")
    spark.sql("TRUNCATE TABLE silver.tmp_b")
    spark.sql("CREATE VIEW gold.ok_orders AS SELECT * FROM bronze.orders WHERE status = 'paid'")
    spark.table("gold.ok_orders").groupBy("cust_id").count().write.saveAsTable("gold.ok_counts")
    spark.sql("DROP TABLE silver.tmp_b")
