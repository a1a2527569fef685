"""All benchmarks, over HTTP, in process and on Spark; `--runs` sets the size of the largest history."""

from __future__ import annotations

import argparse

from bench import (
    capture,
    capture_plans,
    cpu,
    embedded,
    flow_checks,
    hbase,
    long_values,
    monitoring,
    openlineage,
    page,
    race,
    race_hbase,
    reach,
    run_index,
    scans,
    servers,
    sources,
    spark,
    spark_export,
    spark_rejects,
    spark_repair,
    starts,
    views,
    wide,
    year,
)
from bench.core_wakers import cores_awake

ENGINES = {
    "capture": capture.bench,
    "capture-plans": capture_plans.bench,
    "embedded": embedded.bench,
    "cpu": cpu.bench,
    "flow-checks": flow_checks.bench,
    "hbase": hbase.bench,
    "long-values": long_values.bench,
    "monitoring": monitoring.bench,
    "views": views.bench,
    "openlineage": openlineage.bench,
    "race": race.bench,
    "race-hbase": race_hbase.bench,
    "reach": reach.bench,
    "run-index": run_index.bench,
    "scans": scans.bench,
    "servers": servers.bench,
    "sources": sources.bench,
    "wide": wide.bench,
    "year": year.bench,
    "page": page.bench,
    "spark": spark.bench,
    "spark-export": spark_export.bench,
    "spark-rejects": spark_rejects.bench,
    "spark-repair": spark_repair.bench,
    "starts": starts.bench,
}


def main() -> None:
    """Print every figure with its target."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000, help="runs of the largest history")
    parser.add_argument("--engine", choices=ENGINES, action="append", help="only this engine; repeatable")
    options = parser.parse_args()
    sizes = [options.runs // 100, options.runs // 10, options.runs]
    for engine in options.engine or ENGINES:
        print(f"# {engine}", flush=True)
        with cores_awake():
            ENGINES[engine](sizes)


if __name__ == "__main__":
    main()
