"""CPU of the Spark jobs that read a whole store, per row: check, a dry run of retention, export."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from bench import documents, recording
from bench.report import print_figure
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.exports.export_files import Format
from fll_hbase.spark.jobs import check, retention
from fll_hbase.spark.jobs.export import ExportSpec, export
from fll_hbase.spark.session import session
from fll_hbase.store.factory import open_store

CALL_RUNS = 5_000
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
    """Return the CPU seconds that the JVM and the Python workers of this process use for a job."""
    earlier = _used()
    job()
    return {process: seconds - earlier[process] for process, seconds in _used().items()}


def _used() -> dict[str, float]:
    """Return the CPU seconds so far of the JVM and of the Python workers, with those that have ended."""
    used = {"JVM": 0.0, "Python workers": 0.0}
    own_session = os.getsid(0)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
            command = (stat.parent / "cmdline").read_bytes()
        except OSError:
            continue  # the process has just ended
        fields = rest.split()
        if int(fields[3]) != own_session:
            continue
        own, ended = (sum(map(int, fields[begin : begin + 2])) for begin in (11, 13))
        if name == "java":
            used["JVM"] += own / os.sysconf("SC_CLK_TCK")
        elif b"pyspark.daemon" in command:
            used["Python workers"] += (own + ended) / os.sysconf("SC_CLK_TCK")
    return used
