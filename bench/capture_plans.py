"""Plans of capture: written by the listener inside Spark, and resolved into an event by Python."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.report import print_figure
from fll_hbase.capture.compiler import start_listener
from fll_hbase.capture.resolver import Resolver
from fll_hbase.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS, JOINS, STEPS, LEVELS = 500, 50, 200, 60
REPEATS = 5


def bench(sizes: Sequence[int]) -> None:
    """Measure each plan; `sizes` has no effect. The first dump is apart: later ones run compiled code."""
    with tempfile.TemporaryDirectory() as folder:
        spark = session("bench capture plans", master="local[2]")
        started = time.perf_counter()
        listener = start_listener(spark.sparkContext, f"{folder}/plans.ndjson", 1 << 28, literals=False)
        print_figure("listener compiled and registered", time.perf_counter() - started, "s")
        for label, frame, target in _plans(spark, Path(folder)):
            _measure(label, target, listener, frame)
        listener.stop()
        spark.stop()


def _measure(label: str, target: str, listener: Any, frame: DataFrame) -> None:
    query = frame._jdf.queryExecution()
    query.analyzed()
    dumps, lines = zip(*(_timed(lambda: listener.dump(query)) for _ in range(REPEATS)), strict=True)
    line = _as_write(lines[0])
    resolved = [_timed(lambda: Resolver("bench").events(line))[0] for _ in range(REPEATS)]
    print_figure(f"{label}: first dump", dumps[0], "s")
    print_figure(f"{label}: dump", median(dumps[1:]), "s")
    print_figure(f"{label}: event", median(resolved), "s")
    print_figure(f"{label}: dump and event", median(dumps[1:]) + median(resolved), "s", target=target)
    print_figure(f"{label}: size of the dump", len(line) / 1_000, "kB")


def _timed(action: Any) -> tuple[float, Any]:
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result


def _as_write(text: str) -> bytes:
    """Return the line of a query, changed to a write to a path."""
    line = json.loads(text)
    nodes, datasets = line["plan"]["nodes"], line["datasets"]
    members = {"target": len(datasets), "query": {"node": len(nodes) - 1}}
    nodes.append(["InsertIntoHadoopFsRelationCommand", [len(nodes) - 1], members])
    datasets.append({"kind": "files", "paths": ["file:/data/out"]})
    return json.dumps(line, separators=(",", ":")).encode()


def _plans(spark: SparkSession, folder: Path) -> Iterator[tuple[str, DataFrame, str]]:
    from pyspark.sql import functions

    source = _source(spark, folder, 0)
    yield f"{COLUMNS} columns", source, ""
    sums = [(functions.col(name) + functions.col("k")).alias(name) for name in source.columns]
    yield f"{COLUMNS} expressions", source.select(*sums), ""
    joined = source
    for number in range(1, JOINS + 1):
        joined = joined.join(_source(spark, folder, number), "k")
    yield f"{JOINS} joins of {COLUMNS} columns", joined, "below 1"
    changed = source
    for _ in range(STEPS):
        changed = changed.withColumn("c0_7", functions.col("c0_7") + 1)
    yield f"{STEPS} times withColumn of {COLUMNS} columns", changed, ""
    case = functions.lit(1)
    for level in range(LEVELS):
        case = functions.when(functions.col("k") == level, functions.col(f"c0_{level}")).otherwise(case)
    yield f"CASE nested {LEVELS} times", source.select(case.alias("x")), ""


def _source(spark: SparkSession, folder: Path, number: int) -> DataFrame:
    """Return an empty table of 500 columns."""
    names = ["k", *(f"c{number}_{column}" for column in range(COLUMNS - 1))]
    path = str(folder / f"source_{number}")
    spark.createDataFrame([], ", ".join(f"{name} LONG" for name in names)).write.parquet(path)
    return spark.read.parquet(path)
