"""Jobs that create and change tables: of the session catalog, of Iceberg, and of Delta."""

from __future__ import annotations

from pyspark.sql import SparkSession


def run(spark: SparkSession, *statements: str) -> None:
    for statement in statements:
        spark.sql(statement)


def _create(spark: SparkSession, home: str) -> None:
    run(
        spark,
        "CREATE TABLE c1 (id INT, v STRING, s STRUCT<x: INT>) USING parquet",
        f"CREATE TABLE c2 (id LONG) USING parquet LOCATION '{home}/c2_files'",
        "CREATE TABLE c3 LIKE c1",
        "CREATE TABLE IF NOT EXISTS c1 (z INT) USING parquet",
    )


def _alter(spark: SparkSession, home: str) -> None:
    run(
        spark,
        "ALTER TABLE c3 ADD COLUMNS (c DOUBLE, d DATE)",
        "ALTER TABLE c3 ALTER COLUMN v COMMENT 'the value'",
        "ALTER TABLE c3 SET TBLPROPERTIES ('team' = 'shop')",
    )


def _modes(spark: SparkSession, home: str) -> None:
    """Tables and folders that are created, appended to and overwritten."""
    frame = spark.table("c1").select("id")
    frame.write.saveAsTable("m1")
    frame.write.mode("append").saveAsTable("m1")
    frame.write.mode("overwrite").saveAsTable("m1")
    frame.write.mode("overwrite").parquet(f"{home}/modes")
    frame.write.mode("append").parquet(f"{home}/modes")
    run(spark, "INSERT OVERWRITE m1 SELECT id FROM c1")


def _removed(spark: SparkSession, home: str) -> None:
    run(spark, "TRUNCATE TABLE c3", "DROP TABLE c3")


TABLE_JOBS = [_create, _alter, _modes, _removed]

_ON_READ = ", ".join(f"'write.{command}.mode' = 'merge-on-read'" for command in ("merge", "update", "delete"))
_CHANGES = {
    "merge": "MERGE INTO {0} t USING ice.db.s s ON t.id = s.id WHEN MATCHED AND s.m > 1 THEN UPDATE SET"
    " v = UPPER(s.w) WHEN NOT MATCHED THEN INSERT (id, v, n) VALUES (s.id, s.w, s.m + 1)",
    "merge_with_delete": "MERGE INTO {0} t USING (SELECT id, w AS v, m AS n FROM ice.db.s WHERE m > 3) s"
    " ON t.id = s.id WHEN MATCHED AND t.n = 4 THEN DELETE WHEN MATCHED THEN UPDATE SET *"
    " WHEN NOT MATCHED THEN INSERT *",
    "merge_of_some": "MERGE INTO {0} t USING ice.db.s s ON t.id = s.id WHEN MATCHED AND s.m > 1 THEN UPDATE"
    " SET n = s.m WHEN NOT MATCHED AND s.w > 'a' THEN INSERT (id, v) VALUES (s.id, 'new')"
    " WHEN NOT MATCHED BY SOURCE AND t.n > 5 THEN UPDATE SET v = NULL",
    "update": "UPDATE {0} SET v = CONCAT(v, 'x') WHERE n > 1",
    "update_all": "UPDATE {0} SET n = 1",
    "update_by_subquery": "UPDATE {0} SET v = 'z' WHERE id IN (SELECT id FROM ice.db.s WHERE m = 2)",
    "delete": "DELETE FROM {0} WHERE n > 100",
    "delete_by_subquery": "DELETE FROM {0} WHERE id IN (SELECT id FROM ice.db.s)",
    "delete_all": "DELETE FROM {0}",
}


def _iceberg_tables(spark: SparkSession, home: str) -> None:
    run(
        spark,
        "CREATE TABLE ice.db.s (id BIGINT, w STRING, m INT) USING iceberg",
        "CREATE TABLE ice.db.copied (id BIGINT, v STRING, n INT) USING iceberg",
        f"CREATE TABLE ice.db.merged (id BIGINT, v STRING, n INT) USING iceberg TBLPROPERTIES ({_ON_READ})",
    )


def _on_write(spark: SparkSession, home: str) -> None:
    run(spark, *(change.format("ice.db.copied") for change in _CHANGES.values()))


def _on_read(spark: SparkSession, home: str) -> None:
    run(spark, *(change.format("ice.db.merged") for change in _CHANGES.values()))


def _iceberg_columns(spark: SparkSession, home: str) -> None:
    run(
        spark,
        "ALTER TABLE ice.db.copied ADD COLUMN extra STRUCT<a: INT>",
        "ALTER TABLE ice.db.copied ADD COLUMN extra.b INT",
        "ALTER TABLE ice.db.copied RENAME COLUMN v TO vv",
        "ALTER TABLE ice.db.copied ALTER COLUMN n TYPE BIGINT",
        "ALTER TABLE ice.db.copied DROP COLUMN extra",
    )


def _iceberg_created(spark: SparkSession, home: str) -> None:
    run(
        spark,
        "CREATE TABLE ice.db.made USING iceberg AS SELECT id, w FROM ice.db.s",
        "CREATE OR REPLACE TABLE ice.db.made USING iceberg AS SELECT id, m FROM ice.db.s",
        "INSERT OVERWRITE ice.db.made SELECT m, id FROM ice.db.s",
        "CREATE OR REPLACE TABLE ice.db.made (q INT) USING iceberg",
        "CREATE TABLE IF NOT EXISTS ice.db.made (z INT) USING iceberg",
    )
    spark.table("ice.db.s").select("id").writeTo("ice.db.streamed").create()


def _iceberg_metadata(spark: SparkSession, home: str) -> None:
    """Read metadata, a branch and changes of a table, by its name and by its path."""
    run(
        spark,
        "CREATE TABLE ice.db.audit USING iceberg AS SELECT file_path, record_count FROM ice.db.s.files",
        "INSERT INTO ice.db.audit SELECT parent_id, snapshot_id FROM ice.db.s.snapshots",
        "ALTER TABLE ice.db.s CREATE BRANCH later",
        "INSERT INTO ice.db.s.branch_later SELECT id, vv, n FROM ice.db.copied",
        "CREATE TABLE ice.db.late USING iceberg AS SELECT w FROM ice.db.s.branch_later",
        "CREATE TABLE ice.db.changed USING iceberg AS SELECT id FROM ice.db.s.changes",
    )
    for path in (f"{home}/ice/db/s", f"{home}/ice/db/s#history"):
        spark.read.format("iceberg").load(path).write.mode("append").parquet(f"{home}/from_path")


def _iceberg_stream(spark: SparkSession, home: str) -> None:
    spark.table("ice.db.s").write.parquet(f"{home}/stream_source")
    frame = (
        spark.readStream.schema("id BIGINT, w STRING, m INT").parquet(f"{home}/stream_source").select("id")
    )
    writer = frame.writeStream.option("checkpointLocation", f"{home}/stream_state")
    writer.trigger(availableNow=True).toTable("ice.db.streamed").awaitTermination()


def _iceberg_dropped(spark: SparkSession, home: str) -> None:
    run(spark, "TRUNCATE TABLE ice.db.made", "DROP TABLE ice.db.made")


ICEBERG_JOBS = [
    _iceberg_tables,
    _on_write,
    _on_read,
    _iceberg_columns,
    _iceberg_created,
    _iceberg_metadata,
    _iceberg_stream,
    _iceberg_dropped,
]


def _delta_created(spark: SparkSession, home: str) -> None:
    run(
        spark,
        "CREATE TABLE e1 (a INT, b STRING) USING delta",
        f"CREATE TABLE e2 (a INT) USING delta LOCATION '{home}/e2_files'",
        "CREATE TABLE e3 LIKE e1",
        f"CREATE TABLE e4 USING delta LOCATION '{home}/e4_files' AS SELECT id FROM d1",
        "CREATE OR REPLACE TABLE e4 USING delta AS SELECT id, v FROM d1",
    )


def _delta_modes(spark: SparkSession, home: str) -> None:
    spark.table("t1").write.format("delta").mode("append").saveAsTable("d1")
    spark.table("t1").write.format("delta").mode("overwrite").save(f"{home}/delta")
    run(spark, "INSERT OVERWRITE d1 SELECT id, v FROM t1")


def _delta_deleted(spark: SparkSession, home: str) -> None:
    run(
        spark,
        "MERGE INTO d1 t USING d2 s ON t.id = s.id WHEN MATCHED AND s.v > 30 THEN DELETE"
        " WHEN NOT MATCHED BY SOURCE AND t.v > 5 THEN UPDATE SET v = 0",
        f"DELETE FROM delta.`{home}/delta` WHERE id = 2",
        "DELETE FROM d1",
    )


def _delta_stream(spark: SparkSession, home: str) -> None:
    frame = spark.readStream.format("delta").load(f"{home}/e4_files").select("id")
    writer = frame.writeStream.format("delta").option("checkpointLocation", f"{home}/delta_state")
    writer.trigger(availableNow=True).start(f"{home}/delta_sink").awaitTermination()


DELTA_TABLE_JOBS = [_delta_created, _delta_modes, _delta_deleted, _delta_stream]
