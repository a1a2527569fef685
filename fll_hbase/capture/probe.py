"""A small job with a captured write: `python -m fll_hbase.capture.probe DIR`.

Prints JSON: the version of Spark, whether capture is on, and whether the server recorded the writes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from fll_hbase import capture
from fll_hbase.spark.session import session

FLUSH_SECONDS = 60.0
NAME = "capture check"


def main(directory: Path) -> None:
    """Write `source` and `target`, which must not exist, in a directory, and print the JSON."""
    spark = session(NAME, master="local[1]")
    is_captured = capture.install(spark)
    spark.range(3).withColumnRenamed("id", "number").write.parquet(str(directory / "source"))
    doubled = spark.read.parquet(str(directory / "source")).selectExpr("number * 2 AS doubled")
    doubled.write.parquet(str(directory / "target"))
    is_recorded = is_captured and capture.flush(FLUSH_SECONDS)
    print(json.dumps({"spark": spark.version, "captured": is_captured, "recorded": is_recorded}))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
