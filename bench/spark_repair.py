"""Repair of a whole direction of references by `fll spark check --repair`, with one core and with all."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from bench import documents, recording
from bench.report import print_figure
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.jobs import check
from fll_hbase.spark.session import session
from fll_hbase.store.factory import open_store
from fll_hbase.tables.sqlite_connection import connect

CORES = 2
CALL_RUNS = 5_000
_DELETE = "DELETE FROM cells WHERE row >= CAST('b|' AS BLOB) AND row < CAST('b}' AS BLOB)"


def bench(sizes: Sequence[int]) -> None:
    """Delete one reference of each run of the largest size, and repair them with one core and with all."""
    size = sizes[-1]
    with tempfile.TemporaryDirectory() as folder:
        damaged = Path(folder, "damaged.db")
        _record(damaged, size)
        deleted = _delete_references(damaged)
        rates = []
        for cores in (1, CORES):
            path = Path(folder, f"{cores}.db")
            shutil.copy(damaged, path)
            audit_seconds, seconds = _repair(path, cores=cores, rows=deleted)
            rates.append(deleted / seconds)
            print_figure(f"audit of {size:,} runs, cores: {cores}", audit_seconds, "s")
            print_figure(f"repair of {deleted:,} references, cores: {cores}", rates[-1], "/s")
            path.unlink()
        print_figure(f"repair with {CORES} cores / one core", rates[1] / rates[0], "x", target="at least 1.6")


def _record(path: Path, size: int) -> None:
    with closing(open_store(Settings(store=f"sqlite:///{path}"))) as store:
        recording.record_lines(store, documents.generate(size), call_runs=CALL_RUNS)


def _delete_references(path: Path) -> int:
    # Not with the library of Python, which would leave the checksums of pages as they are.
    with closing(connect(str(path), busy_seconds=10.0, cache_kib=8_192)) as connection:
        connection.execute(_DELETE).fetchall()
        deleted = connection.changes()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return deleted


def _repair(path: Path, *, cores: int, rows: int) -> tuple[float, float]:
    """Return the seconds of an audit, and of a job that repairs all: two audits, and the repair."""
    settings = Settings(store=f"sqlite:///{path}")
    spark = session("bench", master=f"local[{cores}]", settings={"spark.ui.showConsoleProgress": "false"})
    try:
        # The audit that is timed apart also starts the workers, so that the repair is without start-up.
        audit_seconds = check.check(spark, settings, repair=False).first_audit.seconds
        started = time.perf_counter()
        report = check.check(spark, settings, repair=True)
        seconds = time.perf_counter() - started
    finally:
        spark.stop()
    if report.errors_left or report.repaired != rows:
        raise RuntimeError(f"not repaired: {report}")
    return audit_seconds, seconds
