"""Lineage that capture reads from the analysed plan of a query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from fll_hbase.capture.compiler import start_listener
from fll_hbase.capture.resolver import Resolver
from fll_hbase.model.operations import Influence, InputField
from tests.engines.random_queries import LIST, SPARK


class Capture:
    """Capture of a session of its own, whose tables are below a directory; no job runs."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self._spark, self._home = spark.newSession(), home
        for table, columns in SPARK.tables().items():
            typed = ", ".join(
                f"{name} {'ARRAY<INT>' if kind == LIST else 'INT'}" for name, kind in columns.items()
            )
            self._spark.sql(f"CREATE TABLE {table} ({typed}) USING parquet LOCATION '{home}/{table}'")
        self._listener = start_listener(self._spark.sparkContext, f"{home}/plans", 1 << 28, literals=False)
        self._resolver = Resolver("shop")

    def edges(self, query: str) -> tuple[frozenset[InputField], ...]:
        """Return the inputs of each column and, at the end, of all rows.

        Raises AnalysisException if Spark does not take the query.
        """
        self._spark.sql(query)
        text = f"INSERT OVERWRITE DIRECTORY '{self._home}/out' USING parquet {query}"
        (event,) = self._resolver.events(self._listener.dump(self._planned(text)).encode())
        (output,) = event["outputs"]
        lineage = output["facets"]["columnLineage"]
        columns = [field["name"] for field in output["facets"]["schema"]["fields"]]
        inputs = [lineage["fields"][name]["inputFields"] for name in columns]
        return tuple(_edges(items) for items in (*inputs, lineage["dataset"]))

    def close(self) -> None:
        """Drop the tables and remove the listener from Spark."""
        self._listener.stop()
        for table in SPARK.tables():
            self._spark.sql(f"DROP TABLE {table}")

    def _planned(self, text: str) -> Any:
        """Return the execution of a statement, which is analysed only."""
        state, modes = (
            self._spark._jsparkSession.sessionState(),
            self._spark._jvm.org.apache.spark.sql.execution,
        )
        return state.executePlan(state.sqlParser().parsePlan(text), modes.CommandExecutionMode.SKIP())


def _edges(items: list[Any]) -> frozenset[InputField]:
    return frozenset(
        InputField(f"read {Path(item['name']).name}", item["field"])
        if kind["type"] == "DIRECT"
        else InputField(
            f"read {Path(item['name']).name}", item["field"], Influence.INDIRECT, kind["subtype"].lower()
        )
        for item in items
        for kind in item["transformations"]
    )
