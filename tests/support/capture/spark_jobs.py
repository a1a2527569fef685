"""Jobs for capture: the Spark SQL cases, and jobs with many kinds of sources and targets.

    python -m tests.support.capture.spark_jobs cases FILE [JARS]
    python -m tests.support.capture.spark_jobs jobs|hive|unwritten FILE [JARS]
    python -m tests.support.capture.spark_jobs delta|iceberg|kafka FILE JARS

record the dumps of tests/golden/capture, on the PySpark that is installed. JARS are those of
tests/support/lake, with Iceberg for `cases` and Delta for `jobs`, on Spark 3.5; those of
tests/support/kafka for `kafka`; releases of Delta and Iceberg for Spark 4.1 for `delta` and `iceberg`. Paths
of the machine are replaced by /data.
With the jar of tests/spark_agent, the agent writes its events to FILE.agent.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession, functions

from fll_hbase.capture.compiler import Listener, start_listener
from tests.support.capture.hive_jobs import HIVE_JOBS
from tests.support.capture.kafka_jobs import KAFKA_JOBS
from tests.support.capture.table_jobs import DELTA_TABLE_JOBS, ICEBERG_JOBS, TABLE_JOBS
from tests.support.capture.unwritten_jobs import UNWRITTEN_JOBS

_LOOPBACK = re.compile(r"127\.0\.0\.1:\d+")
CASES = Path(__file__).parents[2] / "cases" / "spark_sql.json"

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
}
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.system.home="
_ICEBERG = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type": "hadoop",
}
_AGENT = {
    "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
    "spark.openlineage.namespace": "shop",
    "spark.openlineage.transport.type": "file",
}
_DELTA = {
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def open_session(home: Path, jars: str = "", **settings: str) -> SparkSession:
    """A local session whose tables are below `home`."""
    builder = SparkSession.builder.master("local[2]").appName("jobs")
    options = _SETTINGS | {"spark.sql.warehouse.dir": f"{home}/warehouse"} | settings
    options["spark.driver.extraJavaOptions"] = f"{_JAVA_OPTIONS}{home}"
    options |= _settings_of(jars, home)
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def _settings_of(jars: str, home: Path) -> dict[str, str]:
    if not jars:
        return {}
    settings = {"spark.jars": jars}
    if "iceberg" in jars:
        return settings | _ICEBERG | {"spark.sql.catalog.ice.warehouse": f"{home}/ice"}
    if "openlineage" in jars:
        return settings | _AGENT | {"spark.openlineage.transport.location": f"{home}/agent.ndjson"}
    if "kafka" in jars:
        return settings
    return settings | _DELTA


def _hive_settings(home: Path) -> dict[str, str]:
    """A metastore in an embedded Derby."""
    url = f"jdbc:derby:;databaseName={home}/metastore_db;create=true"
    return {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": url,
    }


class Recorder:
    """Runs steps, and yields the lines of each."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self.spark, self.home = spark, home
        self.file = home / "plans.ndjson"
        self.listener: Listener = start_listener(spark.sparkContext, str(self.file), 1 << 28, literals=False)
        self._position = 0

    def lines(self) -> list[bytes]:
        """The lines that were written since the last call."""
        assert self.listener.wait_until_empty(60)
        with self.file.open("rb") as file:
            file.seek(self._position)
            content = file.read()
        self._position += len(content)
        return content.splitlines()


def run_cases(recorder: Recorder, *, iceberg: bool) -> Iterator[tuple[dict[str, Any], list[bytes]]]:
    """Run every case that this Spark can run; a query is written below `home` as `<case>_out`."""
    spark, home = recorder.spark, recorder.home
    names: dict[str, Any] = {
        "spark": spark,
        "F": functions,
        "PATH": f"{home}/PATH",
        "OUTPATH": f"{home}/OUTPATH",
    }
    spark.range(10).write.parquet(names["PATH"])
    recorder.lines()
    for case in json.loads(CASES.read_text(encoding="utf-8")):
        uses_iceberg = any("iceberg" in statement for statement in case["setup_sql"])
        if (uses_iceberg and not iceberg) or case["min_spark"] > spark.version:
            continue
        spark.sql(f"CREATE DATABASE {case['id']}")
        spark.sql(f"USE {case['id']}")
        for statement in case["setup_sql"]:
            spark.sql(statement)
        recorder.lines()
        frame = spark.sql(case["query_sql"]) if "query_sql" in case else eval(case["pyspark"], names)
        if case["kind"] == "query":
            frame.write.parquet(f"{home}/{case['id']}_out")
        yield case, recorder.lines()
        if uses_iceberg:
            spark.sql("DROP TABLE ice.db.t")
            spark.sql("DROP TABLE ice.db.s")


def run_jobs(recorder: Recorder, jobs: Iterable[Job]) -> Iterator[tuple[str, list[bytes]]]:
    """Run every job; each is named by its function."""
    for job in jobs:
        job(recorder.spark, str(recorder.home))
        yield job.__name__, recorder.lines()


def _source(spark: SparkSession, home: str) -> None:
    items = functions.array(functions.struct(functions.col("id").alias("q")))
    frame = spark.range(5).select(
        "id", (functions.col("id") * 2).alias("v"), functions.col("id").cast("string").alias("s")
    )
    frame.withColumn("items", items).write.parquet(f"{home}/src")


def _save_as_table(spark: SparkSession, home: str) -> None:
    spark.read.parquet(f"{home}/src").select("id", "v").write.saveAsTable("t1")


def _create_as_select(spark: SparkSession, home: str) -> None:
    spark.sql("CREATE TABLE t2 USING orc AS SELECT id k, SUM(v) s FROM t1 GROUP BY id")


def _insert(spark: SparkSession, home: str) -> None:
    spark.sql("INSERT INTO t2 SELECT id, v FROM t1 WHERE v > 2")


def _overwrite(spark: SparkSession, home: str) -> None:
    spark.sql("INSERT OVERWRITE t2 SELECT id, v FROM t1")


def _partitions(spark: SparkSession, home: str) -> None:
    spark.read.parquet(f"{home}/src").write.partitionBy("s").parquet(f"{home}/parts")
    spark.read.parquet(f"{home}/parts/s=1").write.parquet(f"{home}/days/day=1")


def _blanks(spark: SparkSession, home: str) -> None:
    spark.read.parquet(f"{home}/src").select("id").write.csv(f"{home}/c s v ü")
    spark.read.csv(f"{home}/c s v ü").write.json(f"{home}/json")


def _two_paths(spark: SparkSession, home: str) -> None:
    spark.read.parquet(f"{home}/src", f"{home}/days/day=1").write.parquet(f"{home}/two")


def _files(spark: SparkSession, home: str) -> None:
    landed = Path(home, "landed")
    landed.mkdir()
    for month in (1, 2):
        (landed / f"2024-{month}.csv").write_text("1,2\n", encoding="utf-8")
    spark.read.csv(f"{home}/landed/2024-*.csv").write.parquet(f"{home}/from_files")
    spark.read.csv(f"{home}/landed/2024-1.csv").write.parquet(f"{home}/from_file")


def _cached(spark: SparkSession, home: str) -> None:
    frame = spark.table("t1").cache()
    frame.count()
    frame.select("v").write.parquet(f"{home}/cached")


def _checkpoint(spark: SparkSession, home: str) -> None:
    spark.sparkContext.setCheckpointDir(f"{home}/checkpoints")
    frame = spark.table("t1").where("id > 1").select((functions.col("v") + 1).alias("w")).checkpoint()
    frame.write.parquet(f"{home}/checkpointed")


def _jdbc(spark: SparkSession, home: str) -> None:
    url = f"jdbc:derby:{home}/derby;create=true;user=joe;password=sesame"
    options = {"url": url, "driver": "org.apache.derby.jdbc.EmbeddedDriver", "dbtable": "STOCK"}
    spark.table("t1").write.format("jdbc").options(**options, password="sesame").save()
    spark.read.format("jdbc").options(**options).load().write.parquet(f"{home}/from_jdbc")
    del options["dbtable"]
    query = "SELECT * FROM STOCK WHERE 4711 = 4711 OR 'sesame' = 'x'"
    frame = spark.read.format("jdbc").options(**options, query=query).load()
    frame.write.parquet(f"{home}/from_query")


def _directory(spark: SparkSession, home: str) -> None:
    spark.sql(f"INSERT OVERWRITE DIRECTORY '{home}/directory' USING parquet SELECT id FROM t1")


_SCHEMA = "id LONG, v LONG, s STRING"


def _stream(spark: SparkSession, home: str) -> None:
    frame = (
        spark.readStream.schema(_SCHEMA)
        .parquet(f"{home}/src")
        .select("id", (functions.col("v") + 1).alias("w"))
    )
    writer = frame.writeStream.option("checkpointLocation", f"{home}/stream_state")
    query = writer.format("parquet").start(f"{home}/streamed")
    query.processAllAvailable()
    query.stop()


def _for_each_batch(spark: SparkSession, home: str) -> None:
    def write(frame: Any, _: int) -> None:
        frame.groupBy("id").agg(functions.sum("w").alias("sw")).write.mode("append").parquet(
            f"{home}/batches"
        )
        frame.select("w").write.mode("append").saveAsTable("batch_table")

    frame = spark.readStream.schema(_SCHEMA).parquet(f"{home}/src").where("v > 0")
    writer = frame.select("id", (functions.col("v") + 1).alias("w")).writeStream.foreachBatch(write)
    query = writer.option("checkpointLocation", f"{home}/batch_state").start()
    query.processAllAvailable()
    query.stop()


def _exploded(spark: SparkSession, home: str) -> None:
    frame = spark.read.parquet(f"{home}/src").select("id", functions.explode("items").alias("i"))
    frame.select("id", "i.q").write.parquet(f"{home}/exploded")


def _rdd(spark: SparkSession, home: str) -> None:
    rows = spark.read.parquet(f"{home}/src").select("id").rdd.map(lambda row: (row[0],))
    rows.toDF(["z"]).write.parquet(f"{home}/rdd")


def _rdd_files(spark: SparkSession, home: str) -> None:
    for number in range(2):
        spark.sparkContext.parallelize(["a"]).saveAsTextFile(f"{home}/text_{number}")


def _view(spark: SparkSession, home: str) -> None:
    spark.sql("CREATE VIEW doubled AS SELECT id, v * 4711 dv FROM t1 WHERE v > 1")
    spark.sql("SELECT SUM(dv) x FROM doubled").write.parquet(f"{home}/from_view")


def _life_cycle(spark: SparkSession, home: str) -> None:
    spark.sql("ALTER TABLE t2 RENAME TO t3")
    spark.sql("TRUNCATE TABLE t3")
    spark.sql("DROP TABLE t3")


def _failing(spark: SparkSession, home: str) -> None:
    divided = functions.expr("CASE WHEN v > 2 THEN RAISE_ERROR('secret text') ELSE v END")
    with pytest.raises(Exception, match="secret text"):
        spark.table("t1").select(divided.alias("x")).write.parquet(f"{home}/failing")


def _external(spark: SparkSession, home: str) -> None:
    spark.sql(f"CREATE TABLE external (id LONG) USING parquet LOCATION '{home}/elsewhere'")
    spark.sql("INSERT INTO external SELECT id FROM t1")


def _delta_tables(spark: SparkSession, home: str) -> None:
    spark.table("t1").write.format("delta").save(f"{home}/delta")
    spark.table("t1").write.format("delta").saveAsTable("d1")
    spark.sql("CREATE TABLE d2 USING delta AS SELECT id, v + 1 v FROM d1")
    spark.sql("INSERT INTO d1 SELECT id, v FROM t1 WHERE id > 2")


def _delta_merge(spark: SparkSession, home: str) -> None:
    spark.sql(
        "MERGE INTO d1 t USING d2 s ON t.id = s.id"
        " WHEN MATCHED AND s.v > 3 THEN UPDATE SET v = s.v * 2 WHEN NOT MATCHED THEN INSERT *"
    )


def _delta_update(spark: SparkSession, home: str) -> None:
    spark.sql("UPDATE d1 SET v = v + 1 WHERE id > 1")
    spark.sql("DELETE FROM d1 WHERE id > 3")


def _delta_by_name(spark: SparkSession, home: str) -> None:
    """Delta orders the columns of a frame itself; those of a query are by position."""
    spark.sql("CREATE TABLE d3 (id LONG, v LONG, s STRING) USING delta")
    frame = spark.table("t1").selectExpr("'x' AS s", "v AS id", "id AS V")
    frame.writeTo("d3").append()
    frame.write.format("delta").mode("append").saveAsTable("d3")
    spark.sql("INSERT INTO d3 SELECT v, id, 'x' FROM t1")


def _delta_columns(spark: SparkSession, home: str) -> None:
    """Columns that a statement does not name."""
    spark.sql("CREATE TABLE d4 (id LONG, v LONG, s STRING) USING delta")
    spark.sql("INSERT INTO d4 (v, id) SELECT id, v FROM t1 WHERE id > 1")
    spark.sql("INSERT OVERWRITE d4 (s, id) SELECT 'x', id FROM t1")
    spark.table("t1").select("id").writeTo("d4").append()
    spark.sql("UPDATE d4 SET v = 1")
    spark.sql("UPDATE d4 SET v = id, s = CONCAT(s, 'x') WHERE v > 1")


Job = Callable[[SparkSession, str], None]

JOBS: list[Job] = [
    _source,
    _save_as_table,
    _create_as_select,
    _insert,
    _overwrite,
    _partitions,
    _blanks,
    _two_paths,
    _files,
    _cached,
    _checkpoint,
    _jdbc,
    _directory,
    _stream,
    _for_each_batch,
    _exploded,
    _rdd,
    _rdd_files,
    _view,
    _life_cycle,
    _failing,
    _external,
]
DELTA_JOBS: list[Job] = [_delta_tables, _delta_merge, _delta_update, _delta_by_name, _delta_columns]


def save(recorded: Iterable[tuple[str, list[bytes]]], target: Path, replaced: dict[str, str]) -> None:
    """Write a line for each name with its lines, without ports of brokers and texts such as directories."""
    with target.open("w", encoding="utf-8") as file:
        for name, lines in recorded:
            text = _LOOPBACK.sub("kafka:9092", b",".join(lines).decode())
            for old, new in replaced.items():
                text = text.replace(old, new)
            members = {"name": name, "lines": json.loads(f"[{text}]")}
            json.dump(members, file, separators=(",", ":"), ensure_ascii=False)
            file.write("\n")


def _jobs_of(kind: str, jars: str) -> list[Job]:
    """The jobs of a kind; those of Kafka need a broker that runs."""
    if kind == "hive":
        return HIVE_JOBS
    if kind == "unwritten":
        return UNWRITTEN_JOBS
    if kind == "jobs":
        return [*JOBS, *TABLE_JOBS, *(DELTA_JOBS if "delta" in jars else ())]
    if kind == "delta":
        return [_source, _save_as_table, *DELTA_JOBS, *DELTA_TABLE_JOBS]
    return KAFKA_JOBS if kind == "kafka" else ICEBERG_JOBS


def main(kind: str, target: str, jars: str = "") -> None:
    """Record the dumps of one kind: a line for each case or job, with its name and its lines."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    home = Path(tempfile.mkdtemp())
    settings = _hive_settings(home) if kind in ("hive", "unwritten") else {}
    recorder = Recorder(open_session(home, jars, **settings), home)
    recorded = [("application", recorder.lines())]
    if kind == "cases":
        recorded += [(case["id"], lines) for case, lines in run_cases(recorder, iceberg="iceberg" in jars)]
    else:
        recorded += run_jobs(recorder, _jobs_of(kind, jars))
    save(recorded, Path(target), {str(home): "/data"})
    recorder.spark.stop()
    if "openlineage" in jars:
        events = (home / "agent.ndjson").read_text(encoding="utf-8")
        Path(f"{target}.agent").write_text(events.replace(str(home), "/data"), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
