"""Small source data of the jobs: files below `warehouse/landing` and `warehouse/source`."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from pyspark.sql import SparkSession

MOMENT = datetime(2026, 1, 2, 10, 30)
DAY = date(2026, 1, 2)

# Rows by data set, with the types of its columns.
SOURCES: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "crm_customers": (
        "cust_id LONG, first_name STRING, last_name STRING, email STRING, country STRING, birth_date DATE,"
        " opt_in BOOLEAN",
        [(1, "Ada", "Byron", "ada@example.org", "UK", date(1985, 12, 10), True)],
    ),
    "products": (
        "product_id LONG, title STRING, category STRING, price DOUBLE,"
        " attrs STRUCT<color: STRING, weight: DOUBLE>, tags ARRAY<STRING>",
        [(7, "Lamp", "home", 20.0, ("red", 1.5), ["new"])],
    ),
    "orders": (
        "order_id LONG, cust_id LONG, store_id LONG, order_ts STRING, status STRING, currency STRING",
        [(100, 1, 3, "2026-01-02 10:30:00", "paid", "USD")],
    ),
    "order_items": (
        "order_id LONG, line_no LONG, product_id LONG, qty LONG, unit_price DOUBLE, discount_pct DOUBLE",
        [(100, 1, 7, 2, 20.0, 0.1)],
    ),
    "web_events": (
        "event_id LONG, session_id LONG, user STRUCT<id: LONG, ua: STRING>, ts TIMESTAMP, page STRING,"
        " items ARRAY<STRUCT<product_id: LONG, pos: INT>>, kind STRING",
        [(900, 50, (1, "browser"), MOMENT, "/", [(7, 0)], "click")],
    ),
    "stores": (
        "store_id LONG, store_name STRING, city STRING, country STRING",
        [(3, "Centre", "Bonn", "DE")],
    ),
    "payments": (
        "payment_id LONG, order_id LONG, method STRING, paid_amount DOUBLE, paid_at TIMESTAMP",
        [(500, 100, "card", 36.0, MOMENT)],
    ),
    "returns": (
        "return_id LONG, order_id LONG, line_no INT, reason STRING, qty INT",
        [(600, 100, 1, "broken", 1)],
    ),
    "inventory": (
        "product_id LONG, store_id LONG, on_hand LONG, snapshot_day STRING",
        [(7, 3, 11, "2026-01-01"), (7, 3, 9, "2026-01-02")],
    ),
    "promotions": (
        "promo_id LONG, product_id LONG, pct_off DOUBLE, valid_from DATE, valid_to DATE",
        [(800, 7, 0.2, DAY, DAY)],
    ),
    "fx_rates": (
        "currency STRING, rate_day STRING, to_eur DOUBLE",
        [("USD", "2026-01-02", 0.9)],
    ),
    "reviews": (
        "review_id LONG, product_id LONG, stars INT, text STRING",
        [(700, 7, 5, "  Bright  ")],
    ),
}

ORDERS = {
    0: "order_id LONG, customer_id LONG, product_id LONG, qty INT, amount DOUBLE, status STRING,"
    " order_ts TIMESTAMP",
    17: "order_id LONG, customer_id LONG, product_id LONG, qty INT, amount DOUBLE, status STRING,"
    " order_ts TIMESTAMP, channel STRING",
    34: "order_id LONG, customer_id LONG, product_id LONG, qty INT, amount_gross DOUBLE, tax DOUBLE,"
    " status STRING, order_ts TIMESTAMP, channel STRING",
}
"""Columns of the daily feed of orders, by the first day that has them."""

_ORDERS: dict[int, tuple[Any, ...]] = {
    0: (1, 10, 7, 2, 20.0, "OK", MOMENT),
    17: (2, 10, 7, 2, 20.0, "OK", MOMENT, "Web"),
    34: (3, 10, 7, 2, 20.0, 3.0, "OK", MOMENT, "Web"),
}
CUSTOMERS = "customer_id LONG, name STRING, country STRING, email STRING"


def write_sources(spark: SparkSession, root: str) -> None:
    """Write the sources of the medallion, most of them as Parquet."""
    for name, (columns, rows) in SOURCES.items():
        writer = spark.createDataFrame(rows, columns).coalesce(1).write
        if name in ("crm_customers", "web_events", "payments"):
            writer.json(f"{root}/source/{name}")
        else:
            writer.parquet(f"{root}/source/{name}")


def write_landing(spark: SparkSession, root: str, number: int) -> None:
    """Write the feeds of one day, each into a folder of its own."""
    orders = spark.createDataFrame([_ORDERS[number]], ORDERS[number])
    orders.write.json(f"{root}/landing/orders/date={day_of(number)}")
    customers = spark.createDataFrame([(10, "Ada", "UK", "ada@example.org")], CUSTOMERS)
    customers.write.json(f"{root}/landing/customers/date={day_of(number)}")


def day_of(number: int) -> str:
    """Return the date of a business day."""
    return str(date.fromordinal(date(2026, 1, 1).toordinal() + number))
