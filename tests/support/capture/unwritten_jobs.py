"""Jobs whose writes leave what exists as it is, and jobs that write what the program brings itself.

Nothing leads from an input to an output that was not written. What comes back from the program, such as
collected rows, has a source that no plan knows.
"""

from __future__ import annotations

import time

from pyspark.sql import SparkSession, functions

from tests.support.capture.table_jobs import run

_DRIVER = "org.apache.derby.jdbc.EmbeddedDriver"


def _brought(spark: SparkSession, home: str) -> None:
    """Rows of the program, which has not seen any of Spark yet: nothing leads to them."""
    frame = spark.createDataFrame([(1, "a")], "foo BIGINT, bar STRING")
    frame.write.parquet(f"{home}/left")
    spark.sparkContext.parallelize([(2, "b")]).toDF(["foo", "bar"]).write.parquet(f"{home}/right")
    spark.sql("SELECT * FROM VALUES (1, 'x') AS t(foo, bar)").write.parquet(f"{home}/constants")


def _ignored_paths(spark: SparkSession, home: str) -> None:
    left, right = spark.read.parquet(f"{home}/left"), spark.read.parquet(f"{home}/right")
    for target in ("json", "csv"):
        left.write.mode("ignore").format(target).save(f"{home}/{target}")
        right.write.mode("ignore").format(target).save(f"{home}/{target}")


def _ignored_tables(spark: SparkSession, home: str) -> None:
    left, right = spark.read.parquet(f"{home}/left"), spark.read.parquet(f"{home}/right")
    left.write.mode("ignore").saveAsTable("kept")
    right.write.mode("ignore").saveAsTable("kept")
    query = "CREATE TABLE IF NOT EXISTS {0} {1} AS SELECT {2} AS k FROM parquet.`{3}/{4}`"
    for table, storage in (
        ("kept", "USING parquet"),
        ("kept_as", "USING orc"),
        ("kept_hive", "STORED AS ORC"),
    ):
        run(spark, query.format(table, storage, "foo", home, "left"))
        run(spark, query.format(table, storage, "bar", home, "right"))


def _ignored_jdbc(spark: SparkSession, home: str) -> None:
    """Three databases of one name: two directories, one of them below that of Derby, and memory."""
    for url in (
        f"jdbc:derby:{home}/shops/shop;create=true",
        "jdbc:derby:shop;create=true",
        "jdbc:derby:memory:shop;create=true",
    ):
        for source in ("left", "right"):
            frame = spark.read.parquet(f"{home}/{source}")
            frame.write.mode("ignore").jdbc(url, "STOCK", properties={"driver": _DRIVER})
    other = "jdbc:derby:;databaseName=other;create=true"
    frame = spark.read.parquet(f"{home}/left").select("foo")
    frame.write.jdbc(other, "STOCK", properties={"driver": _DRIVER})


def _ignored_joins(spark: SparkSession, home: str) -> None:
    """Without adaptive plans one side is collected before Spark knows that there is nothing to write."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    right = functions.broadcast(spark.read.parquet(f"{home}/right").select("foo"))
    frame = spark.read.parquet(f"{home}/left").join(right, "foo")
    frame.write.mode("ignore").json(f"{home}/json")
    frame.write.mode("ignore").parquet(f"{home}/joined")
    spark.conf.unset("spark.sql.adaptive.enabled")


def _existing_partitions(spark: SparkSession, home: str) -> None:
    insert = (
        "INSERT OVERWRITE TABLE {0} PARTITION (d = '{1}') IF NOT EXISTS SELECT foo FROM parquet.`{2}/{3}`"
    )
    for table, storage in (
        ("days", "USING parquet PARTITIONED BY (d)"),
        ("hive_days", "PARTITIONED BY (d STRING) STORED AS ORC"),
    ):
        columns = "foo BIGINT, d STRING" if "USING" in storage else "foo BIGINT"
        run(spark, f"CREATE TABLE {table} ({columns}) {storage}", insert.format(table, "x", home, "left"))
        # Hive knows the time of a partition in seconds.
        time.sleep(1.1)
        run(spark, insert.format(table, "x", home, "right"), insert.format(table, "y", home, "right"))


def _returned(spark: SparkSession, home: str) -> None:
    """Rows of the program, which may be made of those that it has seen."""
    left = spark.read.parquet(f"{home}/left")
    left.rdd.map(lambda row: (row.foo, row.bar + "!")).toDF(["foo", "bar"]).write.parquet(f"{home}/mapped")
    spark.createDataFrame(left.collect()).write.parquet(f"{home}/collected")
    spark.createDataFrame([(left.count(),)], "n BIGINT").write.parquet(f"{home}/counted")
    spark.createDataFrame(left.select("foo").toPandas()).join(left, "foo").write.parquet(f"{home}/pandas")
    spark.sparkContext.textFile(f"{home}/csv").map(lambda line: (line,)).toDF(["a"]).write.parquet(
        f"{home}/lines"
    )
    if hasattr(left, "transpose"):
        left.select("bar", "foo").transpose("bar").write.parquet(f"{home}/transposed")


def _python_sink(spark: SparkSession, home: str) -> None:
    if not hasattr(spark, "dataSource"):
        return
    from pyspark.sql.datasource import DataSource, DataSourceWriter, WriterCommitMessage

    class Writer(DataSourceWriter):
        def write(self, iterator):  # type: ignore[no-untyped-def]
            for _ in iterator:
                pass
            return WriterCommitMessage()

    class Sink(DataSource):
        @classmethod
        def name(cls) -> str:
            return "sink"

        def writer(self, schema, overwrite):  # type: ignore[no-untyped-def]
            return Writer()

    spark.dataSource.register(Sink)
    spark.read.parquet(f"{home}/left").write.format("sink").mode("append").save()


UNWRITTEN_JOBS = [
    _brought,
    _ignored_paths,
    _ignored_tables,
    _ignored_jdbc,
    _ignored_joins,
    _existing_partitions,
    _returned,
    _python_sink,
]
