"""A Spark job that knows nothing of capture: `job.py NAME DIR WRITES END [OPTION …]`.

Each write is of rows of a folder. Options: `threads`, ten of them write at once; `again`, half of the writes
are those of a second SparkContext; `wide`, each write has 400 columns. END is `stop`, `exit` (with code 7),
`raise`, `kill` or `interrupt`.
"""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession


def main(name: str, home: str, count: str, end: str, *options: str) -> None:
    spark, folder = SparkSession.builder.appName(name).getOrCreate(), Path(home)
    spark.range(500).withColumnRenamed("id", "n").coalesce(1).write.parquet(str(folder / "in"))
    frame = spark.read.parquet(str(folder / "in"))
    if "wide" in options:
        frame = frame.where("n = 7").selectExpr("n", *(f"n + {number} AS c{number}" for number in range(400)))
    numbers = range(int(count))
    if "threads" in options:
        with ThreadPoolExecutor(10) as executor:
            list(executor.map(lambda number: write(frame, folder, number), numbers))
        numbers = range(0)
    for number in numbers:
        if "again" in options and number == len(numbers) // 2:
            spark.stop()
            spark = SparkSession.builder.appName(name).getOrCreate()
            frame = spark.read.parquet(str(folder / "in"))
        write(frame, folder, number)
    print(f"wrote {count} as {__name__} of {Path(sys.argv[0]).name}", flush=True)
    finish(spark, end)


def write(frame: DataFrame, folder: Path, number: int) -> None:
    frame.selectExpr("n * 2 AS d", "*").drop("n").where("d > 3").write.parquet(str(folder / f"out{number}"))


def finish(spark: SparkSession, end: str) -> None:
    if end == "stop":
        spark.stop()
    elif end == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif end == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
    elif end == "raise":
        raise RuntimeError("the job fails")
    else:
        sys.exit(7)


if __name__ == "__main__":
    main(*sys.argv[1:])
