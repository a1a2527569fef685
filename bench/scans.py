"""CPU per row of a bare scan, of the check and of retention, in one process, on SQLite and on HBase.

These are the functions that `fll spark check` and `fll spark retention` run on the workers. Without Spark
around them their cost stays visible.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from bench import documents, hbase, recording
from bench.report import print_figure
from fll_hbase.keys import layout
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.jobs import check, retention
from fll_hbase.spark.jobs.retention import Collection
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit.check import WHOLE_TABLE
from fll_hbase.tables import Table, open_table

ROUNDS = 3
RUNS_MAX = 100_000
"""The cost of a row does not follow their number."""

CALL_RUNS = 5_000
CHECK = "check, the first of its scans"


def bench(sizes: Sequence[int]) -> None:
    """Measure one history on both engines."""
    size = min(sizes[-1], RUNS_MAX)
    with tempfile.TemporaryDirectory() as folder:
        _measure("SQLite", f"sqlite:///{folder}/scans.db", size)
        with hbase.running(Path(folder, "hbase")) as running:
            _measure("HBase", running.create_table("scans"), size)


def _measure(engine: str, url: str, size: int) -> None:
    """Print the lowest CPU of the rounds of each scan, which take turns."""
    with closing(open_table(url)) as table:
        recording.record_lines(LineageStore(table), documents.generate(size), call_runs=CALL_RUNS)
        rows = sum(1 for _ in table.scan(*WHOLE_TABLE))
        scans: dict[str, Callable[[], Iterable[Any]]] = {
            "bare scan": partial(table.scan, *WHOLE_TABLE),
            CHECK: partial(check.hash_rows, table, *WHOLE_TABLE),
            "retention without garbage": partial(_retention, table, url),
        }
        seconds = {title: [_cpu_seconds(scan) for _ in range(ROUNDS)] for title, scan in scans.items()}
    for title, measured in seconds.items():
        target = "at most 25" if (engine, title) == ("HBase", CHECK) else ""
        print_figure(f"{engine}, {rows:,} rows: {title}", 1e6 * min(measured) / rows, "us/row", target=target)


def _retention(table: Table, url: str) -> Iterable[Any]:
    """Yield hashes of what runs need and of all that could be deleted."""
    collection = Collection(Settings(store=url), retention.ANY_AGE_MS, RetentionPolicy(), dry_run=False)
    for start, stop in retention.key_ranges([layout.RUNS, *retention.OLD]):
        yield from retention.hash_range(table, start, stop, collection=collection)


def _cpu_seconds(scan: Callable[[], Iterable[Any]]) -> float:
    """CPU seconds of this process for a whole scan."""
    gc.collect()
    started = time.process_time()
    for _ in scan():
        pass
    return time.process_time() - started
