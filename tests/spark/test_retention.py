"""Do all workers together take what one process would, told before, with writers at work?"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from engines import Hbase
from pyspark.sql import SparkSession
from simulation.world import CONTENTS, END_POINTS, RUNS, STARTS_MS
from store.test_sweep import ALWAYS, cells, listed

from fll_hbase.config import Settings
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.spark.jobs import retention
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.tables import Table, open_table

HORIZONS = RetentionPolicy(STARTS_MS[3], {"n|a": STARTS_MS[5]}, {Dataset("n", "b"): STARTS_MS[6]})


def history(count: int = 300) -> list[RecordedRun]:
    """Runs of all contents and starts, many of them replaced."""
    return [
        RecordedRun(
            ProgramRun("n", "app", "1", "t", "p", f"{RUNS[n % 5]}-{n % 7}", STARTS_MS[n % 10]),
            CONTENTS[n % 8],
        )
        for n in range(count)
    ]


def settings(url: str) -> Settings:
    return replace(Settings(store=url), grace_ms=0)


@contextmanager
def table(url: str) -> Iterator[Table]:
    with closing(open_table(url)) as opened:
        yield opened


def filled(url: str) -> None:
    with table(url) as opened:
        LineageStore(opened).record(history())
    time.sleep(0.01)


@pytest.fixture(params=["sqlite", "hbase"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store of each engine."""
    if request.param == "hbase":
        hbase: Hbase = request.getfixturevalue("hbase")
        return hbase.fresh()
    return f"sqlite:///{tmp_path / 'a.db'}"


def test_it_takes_what_one_process_takes(spark: SparkSession, url: str, tmp_path: Path) -> None:
    filled(url)
    alone = f"sqlite:///{tmp_path / 'alone.db'}"
    filled(alone)
    time.sleep(0.01)
    dry = retention.apply_retention(spark, settings(url), HORIZONS, dry_run=True)
    retained = retention.apply_retention(spark, settings(url), HORIZONS, dry_run=False)
    with table(alone) as one:
        until_ms = time.time_ns() // 1_000_000
        purged = garbage_collection.purge(one, HORIZONS, until_ms=until_ms)
        found = garbage_collection.find_garbage(one, HORIZONS, until_ms=until_ms)
        garbage_collection.remove(one, found, HORIZONS, until_ms=until_ms)
        wanted = set(cells(one))
    with table(url) as opened:
        assert set(cells(opened)) == wanted
    assert retained.counts == {
        "runs": purged.rows,
        "references": sum(not cell.row.startswith(b"i|") for cell in found.cells),
        "index rows": sum(cell.row.startswith(b"i|") for cell in found.cells),
        "contents": len(found.contents),
        "parts": 0,
        "end points": len(found.catalogue_rows),
    }
    assert all(retained.counts[kind] for kind in ("runs", "references", "index rows"))
    assert (dry.counts, dry.dry_run) == (retained.counts, True)


def test_a_dry_run_takes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    filled(url)
    shutil.copy(tmp_path / "a.db", tmp_path / "before.db")
    retained = retention.apply_retention(
        spark, settings(url), RetentionPolicy(STARTS_MS[-1] + 1), dry_run=True
    )
    assert retained.counts["runs"] == len({run.run.run for run in history()})
    assert retained.counts["contents"] == len(CONTENTS)
    with table(url) as opened, table(f"sqlite:///{tmp_path / 'before.db'}") as before:
        assert list(cells(opened)) == list(cells(before))


def test_nothing_that_is_being_written_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    """Writers replace runs all the time; of the grace period, two seconds here, nothing goes."""
    url = f"sqlite:///{tmp_path / 'a.db'}"
    settings = Settings(grace_ms=2_000)
    true: dict[str, RecordedRun] = {}
    stop = threading.Event()

    def write(number: int) -> None:
        with table(url) as opened:
            store = LineageStore(opened, settings)
            for turn in range(1_000_000):
                if stop.is_set():
                    return
                some = [
                    replace(one, run=replace(one.run, run=f"{number}-{one.run.run}")) for one in history(9)
                ]
                some = [RecordedRun(one.run, CONTENTS[(turn + n) % 8]) for n, one in enumerate(some)]
                store.record(some)
                true.update({one.run.run: one for one in some})

    filled(url)
    writers = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for writer in writers:
        writer.start()
    gone = 0
    for _ in range(3):
        time.sleep(2.5)
        kept = replace(Settings(store=url), grace_ms=2_000)
        gone += sum(retention.apply_retention(spark, kept, RetentionPolicy(), dry_run=False).counts.values())
    stop.set()
    for writer in writers:
        writer.join()
    assert gone
    with table(url) as opened:
        store = LineageStore(opened)
        told = {}
        for end_point in END_POINTS:
            told |= {one.run.run: one.checksum for one in listed(store, end_point, ALWAYS)}  # type: ignore[attr-defined]
        assert {run: told[run] for run in true} == {run: one.info.checksum for run, one in true.items()}
        for checksum in set(told.values()):
            store._contents.content(checksum)
