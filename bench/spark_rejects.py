"""Loads whose lines are all rejected, with one core and with two, without the start of Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import documents
from bench.report import print_figure
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.jobs.load import load
from fll_hbase.spark.lines.worker_ingest import Target
from fll_hbase.spark.session import session
from fll_hbase.spark.stats import LoadReport

CORES = 2
FILES = 8
WARM_UP_LINES = 1_000
"""Lines of a load that starts the workers and compiles the code of Spark."""


def bench(sizes: Sequence[int]) -> None:
    """Load as many lines as the largest size has, without the namespace that they need."""
    size = sizes[-1]
    with tempfile.TemporaryDirectory() as folder:
        small, large = (_write_files(Path(folder), count) for count in (WARM_UP_LINES, size))
        rates = []
        for cores in (1, CORES):
            report = _load_rejected(Path(folder, f"cores{cores}"), small, large, cores=cores)
            if report.counts.rejected != size:
                raise RuntimeError(f"not all lines were rejected: {report}")
            rates.append(size / report.seconds)
            print_figure(f"{size:,} rejected lines, cores: {cores}", rates[-1], "lines/s")
        print_figure(
            f"rejected with {CORES} cores / one core", rates[1] / rates[0], "x", target="at least 1.6"
        )


def _write_files(folder: Path, count: int) -> Path:
    """Write documents without a namespace to files of equal size; returns their directory."""
    source = folder / f"lines{count}"
    source.mkdir()
    files = [(source / f"{number}.ndjson").open("wb") for number in range(FILES)]
    for number, line in enumerate(documents.generate(count)):
        files[number % FILES].write(line + b"\n")
    for file in files:
        file.close()
    return source


def _load_rejected(out: Path, small: Path, large: Path, *, cores: int) -> LoadReport:
    """Load both directories with the same Spark; returns the report of the second."""
    out.mkdir()
    target = Target(Settings(store=f"sqlite:///{out}/store.db"))
    spark = session("bench", master=f"local[{cores}]", settings={"spark.ui.showConsoleProgress": "false"})
    try:
        for source in (small, large):
            report = load(spark, [str(source)], target, rejects=str(out / f"rejects-{source.name}"))
        return report
    finally:
        spark.stop()
