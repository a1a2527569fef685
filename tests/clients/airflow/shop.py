"""A DAG of tasks whose OpenLineage events differ: SQL, Python with assets, mapped and failing ones."""

from __future__ import annotations

from datetime import UTC, datetime

from airflow.providers.common.sql.operators.sql import SQLExecuteQueryOperator
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, Asset, task

ORDERS = Asset("postgres://db.example:5432/shop/public/orders")
REPORT = Asset("file:///srv/shop/report.csv")

with DAG("shop", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC), catchup=False) as dag:
    tables = SQLExecuteQueryOperator(
        task_id="tables",
        conn_id="warehouse",
        sql=[
            "CREATE TABLE IF NOT EXISTS orders "
            "(id int, customer text, status text, amount numeric, day date)",
            "CREATE TABLE IF NOT EXISTS totals (day date, orders bigint, total numeric)",
            "CREATE TABLE IF NOT EXISTS regions (region text, customer text)",
        ],
    )
    totals = SQLExecuteQueryOperator(
        task_id="totals",
        conn_id="warehouse",
        sql="""
            INSERT INTO totals (day, orders, total)
            SELECT day, count(*), sum(amount) FROM orders WHERE status = 'paid' GROUP BY day
        """,
    )
    customers = SQLExecuteQueryOperator(
        task_id="customers",
        conn_id="warehouse",
        sql=[
            "DROP TABLE IF EXISTS customers",
            "CREATE TABLE customers AS SELECT upper(o.customer) AS name, r.region, o.amount * 2 AS doubled "
            "FROM orders o LEFT JOIN regions r ON r.customer = o.customer",
        ],
    )
    positional = SQLExecuteQueryOperator(
        task_id="positional",
        conn_id="warehouse",
        sql="INSERT INTO regions SELECT status, customer FROM orders",
    )
    by_region = SQLExecuteQueryOperator.partial(task_id="by_region", conn_id="warehouse").expand(
        sql=[
            f"CREATE TABLE IF NOT EXISTS orders_{region} AS "
            f"SELECT id, amount FROM orders WHERE customer = '{region}'"
            for region in ("north", "south")
        ]
    )
    local = SQLExecuteQueryOperator(
        task_id="local",
        conn_id="local",
        sql=[
            "CREATE TABLE IF NOT EXISTS raw (id int, price real)",
            "CREATE TABLE IF NOT EXISTS prices AS SELECT id, price * 1.19 AS gross FROM raw",
        ],
    )
    missing = SQLExecuteQueryOperator(
        task_id="missing",
        conn_id="warehouse",
        sql="INSERT INTO totals (day, total) SELECT day, amount FROM no_such_table",
    )
    listing = BashOperator(task_id="listing", bash_command="true")

    @task(inlets=[ORDERS], outlets=[REPORT])
    def report() -> None:
        """Write a report; which columns is known to nobody but this function."""

    @task
    def broken() -> None:
        """Fail, with a message."""
        raise ValueError("the report has no rows")

    tables >> [totals, customers, positional, by_region] >> report()
    tables >> missing
    tables >> [local, listing, broken()]
