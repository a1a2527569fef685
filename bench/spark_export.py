"""Exports of one day with one core and with two, without the start of Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

from bench import documents, recording
from bench.report import print_figure
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.exports.export_files import Format
from fll_hbase.spark.jobs.export import ExportReport, ExportSpec, export
from fll_hbase.spark.session import session
from fll_hbase.store.factory import open_store

CORES = 2
CALL_RUNS = 5_000
WARM_UP_RUNS = 1_000
"""Runs of an export that starts the workers and compiles the code of Spark."""


def bench(sizes: Sequence[int]) -> None:
    """Compare the exports of one day of the largest size."""
    with tempfile.TemporaryDirectory() as folder:
        small, large = (_record_day(Path(folder), size) for size in (WARM_UP_RUNS, sizes[-1]))
        rates = []
        for cores in (1, CORES):
            report = _export_day(Path(folder, f"cores{cores}"), small, large, cores=cores)
            rates.append(sizes[-1] / report.seconds)
            print_figure(f"export of one day, cores: {cores}, {sizes[-1]:,} runs", rates[-1], "runs/s")
            print_figure(f"edges of them, cores: {cores}", report.rows["edges"] / report.seconds, "rows/s")
        label = f"export with {CORES} cores / one core, without start-up"
        print_figure(label, rates[1] / rates[0], "x", target="at least 1.6")


def _record_day(folder: Path, count: int) -> str:
    """Record runs that start on one day; returns the URL of their store."""
    url = f"sqlite:///{folder}/day{count}.db"
    # The first of DAYS days of as many times the documents.
    lines = islice(documents.generate(count * documents.DAYS), count)
    with closing(open_store(Settings(store=url))) as store:
        recording.record_lines(store, lines, call_runs=CALL_RUNS)
    return url


def _export_day(out: Path, small: str, large: str, *, cores: int) -> ExportReport:
    """Export both stores with the same Spark; returns the report of the second."""
    spark = session("bench", master=f"local[{cores}]", settings={"spark.ui.showConsoleProgress": "false"})
    try:
        for name, url in (("small", small), ("large", large)):
            spec = ExportSpec(Settings(store=url))
            report = export(spark, spec, str(out / name), form=Format.PARQUET)
        return report
    finally:
        spark.stop()
