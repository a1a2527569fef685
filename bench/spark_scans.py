"""CPU of the Spark jobs that read a whole store, per row: check, a dry run of retention, export."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import closing

from bench import documents, recording
from bench.report import print_figure
from bench.spark import session_usages
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.exports.export_files import Format
from fll_hbase.spark.jobs import check, retention
from fll_hbase.spark.jobs.export import ExportSpec, export
from fll_hbase.spark.session import session
from fll_hbase.store.factory import open_store

CALL_RUNS = 5_000
WATCH_SECONDS = 0.5
ROUNDS = 2
"""The first round also compiles the code of Spark; the figures are those of the last."""


def bench(sizes: Sequence[int]) -> None:
    """Measure the jobs on a store of the largest size."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(store=f"sqlite:///{folder}/scans.db")
        with closing(open_store(settings)) as store:
            recording.record_lines(store, documents.generate(sizes[-1]), call_runs=CALL_RUNS)
        spark = session("bench", master="local[2]", settings={"spark.ui.showConsoleProgress": "false"})
        rows = 0
        try:
            for number in range(ROUNDS):

                def audit() -> None:
                    nonlocal rows
                    rows = sum(check.check(spark, settings, repair=False).first_audit.rows.values())

                def collect() -> None:
                    retention.apply_retention(spark, settings, RetentionPolicy(), dry_run=True)

                def write(out: str = f"{folder}/export{number}") -> None:
                    export(spark, ExportSpec(settings), out, form=Format.PARQUET)

                for name, job in (("check", audit), ("retention, dry run", collect), ("export", write)):
                    used = _cpu_seconds(job)
                    if number == ROUNDS - 1:
                        for process, seconds in used.items():
                            label = f"{name} of {rows:,} rows: CPU, {process}"
                            print_figure(label, 1e6 * seconds / rows, "us/row")
        finally:
            spark.stop()


def _cpu_seconds(job: Callable[[], None]) -> dict[str, float]:
    """Return the CPU seconds that the JVM and the Python workers of this session use for a job."""
    earlier = dict(session_usages(os.getsid(0)))
    usages = dict(earlier)
    ended = threading.Event()

    def watch() -> None:
        # Often, since the CPU time of a worker that has ended is known no longer.
        while not ended.wait(WATCH_SECONDS):
            usages.update(session_usages(os.getsid(0)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        job()
    finally:
        ended.set()
        watcher.join()
    usages.update(session_usages(os.getsid(0)))
    used = {"JVM": 0.0, "Python workers": 0.0}
    for process, usage in usages.items():
        seconds = usage.cpu_seconds - (earlier[process].cpu_seconds if process in earlier else 0.0)
        if "java" in usage.command.partition(" ")[0]:
            used["JVM"] += seconds
        elif "pyspark.daemon" in usage.command:
            used["Python workers"] += seconds
    return used
