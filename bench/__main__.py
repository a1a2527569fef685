"""All benchmarks, over HTTP, in process and on Spark; `--runs` sets the size of the largest history."""

from __future__ import annotations

import argparse

from bench import embedded, hbase, openlineage, pipeline, sources
from bench.awake import awake

ENGINES = {
    "embedded": embedded.bench,
    "hbase": hbase.bench,
    "openlineage": openlineage.bench,
    "sources": sources.bench,
    "pipeline": pipeline.bench,
}


def main() -> None:
    """Print every figure with its bar."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000, help="runs of the largest history")
    parser.add_argument("--engine", choices=ENGINES, action="append", help="only this one")
    asked = parser.parse_args()
    sizes = [asked.runs // 100, asked.runs // 10, asked.runs]
    for engine in asked.engine or ENGINES:
        print(f"# {engine}", flush=True)
        with awake():
            ENGINES[engine](sizes)


if __name__ == "__main__":
    main()
