"""Jobs with tables of Hive, in a metastore of their own."""

from __future__ import annotations

from pyspark.sql import SparkSession, functions

from tests.support.capture.table_jobs import run

_FUNCTIONS = "org.apache.hadoop.hive.ql.udf.generic"


def _hive_source(spark: SparkSession, home: str) -> None:
    run(
        spark,
        "CREATE TABLE h_src (id BIGINT, v STRING, n INT) STORED AS TEXTFILE",
        "INSERT INTO h_src VALUES (1, 'a', 2), (2, 'b', 3)",
        "SET hive.exec.dynamic.partition.mode = nonstrict",
    )


def _hive_created(spark: SparkSession, home: str) -> None:
    run(
        spark,
        "CREATE TABLE h_orc STORED AS ORC AS SELECT id, UPPER(v) AS u FROM h_src WHERE n > 1",
        "CREATE TABLE h_text ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' STORED AS TEXTFILE"
        f" LOCATION '{home}/h_text_files' AS SELECT n, COUNT(*) AS c FROM h_src GROUP BY n",
        "CREATE TABLE h_like LIKE h_orc STORED AS PARQUET",
        f"CREATE EXTERNAL TABLE h_out (id BIGINT) STORED AS AVRO LOCATION '{home}/h_out_files'",
    )


def _hive_insert(spark: SparkSession, home: str) -> None:
    run(
        spark,
        "INSERT INTO h_orc SELECT id, v FROM h_src WHERE n > 2",
        "INSERT OVERWRITE TABLE h_text SELECT n, id FROM h_src SORT BY v",
        "INSERT INTO h_orc (u) SELECT v FROM h_src",
        "INSERT INTO h_out SELECT id FROM h_orc",
        "FROM h_src INSERT INTO h_orc SELECT id, v WHERE n > 1 INSERT OVERWRITE TABLE h_like SELECT n, v",
    )


def _hive_partitions(spark: SparkSession, home: str) -> None:
    run(
        spark,
        "CREATE TABLE h_part (id BIGINT, v STRING) PARTITIONED BY (d STRING, n INT) STORED AS PARQUET",
        "CREATE TABLE h_text_part (id BIGINT) PARTITIONED BY (d STRING) STORED AS TEXTFILE",
        "INSERT OVERWRITE TABLE h_part PARTITION (d = 'x', n) SELECT id, v, n FROM h_src",
        "INSERT OVERWRITE TABLE h_part PARTITION (d, n) SELECT id, CONCAT(v, '!'), v, n FROM h_src",
        "INSERT INTO TABLE h_text_part PARTITION (d = '1') SELECT id FROM h_part WHERE d = 'x'",
        "INSERT OVERWRITE TABLE h_text_part PARTITION (d) SELECT id, d FROM h_part",
        "ALTER TABLE h_text_part ADD PARTITION (d = 'z')",
    )
    spark.sql("SELECT id, d FROM h_text_part WHERE d = '1'").write.parquet(f"{home}/hive_read")


def _hive_view(spark: SparkSession, home: str) -> None:
    run(
        spark,
        "CREATE VIEW h_view AS SELECT id AS k, COUNT(*) AS c FROM h_src WHERE n > 0 GROUP BY id",
        "INSERT INTO h_orc SELECT c, k FROM h_view",
    )


def _hive_frames(spark: SparkSession, home: str) -> None:
    frame = spark.table("h_src")
    frame.select("id", functions.col("n").alias("m")).write.saveAsTable("h_managed")
    frame.select("id").write.format("hive").saveAsTable("h_native")
    frame.select(functions.col("n").alias("u"), "v").write.insertInto("h_orc")
    frame.select("id", "v", functions.lit("x").alias("d"), "n").write.insertInto("h_part", overwrite=True)


def _hive_directory(spark: SparkSession, home: str) -> None:
    run(spark, f"INSERT OVERWRITE LOCAL DIRECTORY '{home}/hive_directory' STORED AS ORC SELECT id FROM h_src")


def _hive_functions(spark: SparkSession, home: str) -> None:
    run(
        spark,
        f"CREATE TEMPORARY FUNCTION lowered AS '{_FUNCTIONS}.GenericUDFLower'",
        f"CREATE TEMPORARY FUNCTION summed AS '{_FUNCTIONS}.GenericUDAFSum'",
        f"CREATE TEMPORARY FUNCTION exploded AS '{_FUNCTIONS}.GenericUDTFExplode'",
        "INSERT INTO h_orc SELECT summed(n), lowered(v) FROM h_src GROUP BY lowered(v)",
        "INSERT INTO h_orc SELECT id, e FROM h_src LATERAL VIEW exploded(ARRAY(v, 'x')) t AS e",
        "INSERT INTO h_orc SELECT TRANSFORM (id, v) USING 'cat' AS (a BIGINT, b STRING) FROM h_src",
    )


def _hive_changes(spark: SparkSession, home: str) -> None:
    run(
        spark,
        "ALTER TABLE h_like ADD COLUMNS (z INT)",
        "ALTER TABLE h_like RENAME TO h_named",
        "TRUNCATE TABLE h_named",
        "DROP TABLE h_named",
    )


HIVE_JOBS = [
    _hive_source,
    _hive_created,
    _hive_insert,
    _hive_partitions,
    _hive_view,
    _hive_frames,
    _hive_directory,
    _hive_functions,
    _hive_changes,
]
