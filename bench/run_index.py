"""Bytes that a run takes in the run index: of its cells, and of a SQLite file."""

from __future__ import annotations

import sqlite3
import tempfile
import uuid
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from bench.documents import DAY_MS, FIRST_DAY_MS
from bench.report import print_figure
from fll_hbase.keys import layout
from fll_hbase.keys.ranges import prefix_end
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import InputField, Read, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.runtime.config import Settings
from fll_hbase.store.factory import open_store

NAMESPACE, DAYS, BATCH_RUNS = "bench", 40, 2_000
_OPERATIONS = lineage.build_lineage(
    [
        Read("read", "", Dataset(NAMESPACE, "orders_raw"), "", (Field("id"),)),
        Write("write", "", Dataset(NAMESPACE, "orders"), "", (InputField("read", "id"),)),
    ]
)


def bench(sizes: Sequence[int]) -> None:
    """Record histories of each size but the largest, with UUIDs as run ids; print bytes for each run."""
    for size in sizes[:-1]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "runs.db")
            record_history(f"sqlite:///{path}", size)
            cells, file_bytes, index_bytes = _measure(path)
        print_figure(f"run index of {size:,} runs: cells", cells / size, "bytes")
        print_figure(f"run index of {size:,} runs: SQLite", index_bytes / size, "bytes", target="at most 70")
        print_figure(f"everything of {size:,} runs: SQLite", file_bytes / size, "bytes")


def record_history(url: str, size: int) -> None:
    """Record `size` runs of one content in a new store, evenly over DAYS days."""
    with closing(open_store(Settings(store=url))) as store:
        for begin in range(0, size, BATCH_RUNS):
            numbers = range(begin, min(begin + BATCH_RUNS, size))
            store.record([_run(number, size) for number in numbers])


def _run(number: int, size: int) -> RecordedRun:
    start_ms = FIRST_DAY_MS + number * DAYS * DAY_MS // size
    run = str(uuid.uuid5(uuid.NAMESPACE_OID, str(number)))
    return RecordedRun(ProgramRun(NAMESPACE, "shop", "1.4", "spark", "nightly", run, start_ms), _OPERATIONS)


def _measure(path: Path) -> tuple[int, int, int]:
    """Return the bytes of the cells of the index, of the whole file, and those that the index adds to it."""
    bounds = (layout.RUN_INDEX, prefix_end(layout.RUN_INDEX))
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        query = (
            "SELECT sum(length(row) + length(column) + length(value)) FROM cells WHERE row >= ? AND row < ?"
        )
        (cells,) = database.execute(query, bounds).fetchone()
        sizes = [_compact_size(database)]
        database.execute("DELETE FROM cells WHERE row >= ? AND row < ?", bounds)
        sizes.append(_compact_size(database))
    return int(cells), sizes[0], sizes[0] - sizes[1]


def _compact_size(database: sqlite3.Connection) -> int:
    database.execute("VACUUM")
    (pages,) = database.execute("PRAGMA page_count").fetchone()
    (page_bytes,) = database.execute("PRAGMA page_size").fetchone()
    return int(pages) * int(page_bytes)
