"""Distributed retention deletes what one process would, as a dry run reports, beside running writers."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from fll_hbase.keys import calendars
from fll_hbase.keys.retention import REQUESTS_ROW
from fll_hbase.model.datasets import Dataset, DatasetMetadata, Field
from fll_hbase.model.lineage import build_lineage
from fll_hbase.model.operations import InputField, Read, Write
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.runtime.config import Settings
from fll_hbase.spark.jobs import retention
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.retention_requests import put_purge
from fll_hbase.tables import Table, open_table
from tests.support.engines import Hbase
from tests.support.retained_histories import ALWAYS, cells, listed
from tests.support.small_world import CONTENTS, DATASETS, RUNS, STARTS_MS

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


def fill_store(url: str) -> None:
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


def test_workers_delete_what_one_process_deletes(spark: SparkSession, url: str, tmp_path: Path) -> None:
    fill_store(url)
    local_url = f"sqlite:///{tmp_path / 'alone.db'}"
    fill_store(local_url)
    time.sleep(0.01)
    dry = retention.apply_retention(spark, settings(url), HORIZONS, dry_run=True)
    report = retention.apply_retention(spark, settings(url), HORIZONS, dry_run=False)
    with table(local_url) as local_table:
        until_ms = time.time_ns() // 1_000_000
        purged = garbage_collection.purge(local_table, HORIZONS, until_ms=until_ms, grace_ms=0)
        until_ms = time.time_ns() // 1_000_000
        garbage = garbage_collection.find_garbage(local_table, HORIZONS, until_ms=until_ms)
        garbage_collection.remove(local_table, garbage, HORIZONS, until_ms=until_ms)
        put_purge(local_table, HORIZONS)
        expected = set(cells(local_table))
    with table(url) as opened:
        assert set(cells(opened)) == expected
    assert report.counts == {
        "runs": purged.rows,
        "references": sum(cell.row.startswith((b"b|", b"f|")) for cell in garbage.cells),
        "ways": sum(cell.row.startswith(b"w|") for cell in garbage.cells),
        "calendar cells": sum(cell.row.startswith(b"u|") for cell in garbage.cells),
        "run index rows": sum(cell.row.startswith(b"n|") for cell in garbage.cells),
        "contents": len(garbage.contents),
        "parts": 0,
        "end points": len(garbage.catalogue_rows),
        "index rows of earlier releases": 0,
    }
    assert all(
        report.counts[kind] for kind in ("runs", "references", "ways", "calendar cells", "run index rows")
    )
    assert (dry.counts, dry.dry_run) == (report.counts, True)
    assert not any(dry.waiting.values())


def test_a_dry_run_deletes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    fill_store(url)
    shutil.copy(tmp_path / "a.db", tmp_path / "unchanged.db")
    report = retention.apply_retention(spark, settings(url), RetentionPolicy(STARTS_MS[-1] + 1), dry_run=True)
    assert report.counts["runs"] == len({run.run.run for run in history()})
    assert report.counts["contents"] == len(CONTENTS)
    with table(url) as opened, table(f"sqlite:///{tmp_path / 'unchanged.db'}") as unchanged:
        assert list(cells(opened)) == list(cells(unchanged))


def test_a_dry_run_states_what_only_waits_for_the_grace_period(spark: SparkSession, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    fill_store(url)
    policy = RetentionPolicy(STARTS_MS[-1] + 1)
    young = retention.apply_retention(spark, Settings(store=url), policy, dry_run=True)
    assert not any(young.counts.values())
    assert "nothing; about 0.0 MiB" in str(young)
    assert f"in the grace period: {young.waiting['runs']} runs" in str(young)
    report = retention.apply_retention(spark, settings(url), policy, dry_run=False)
    assert (report.counts, report.waiting) == (young.waiting, {})


def test_workers_write_horizons_and_delete_datasets_with_their_aliases(
    spark: SparkSession, tmp_path: Path
) -> None:
    url, local_url = (f"sqlite:///{tmp_path / name}.db" for name in ("a", "alone"))
    fill_store(url)
    with table(url) as opened:
        aliases = (Dataset("n", "another"), Dataset("n", "b"))
        LineageStore(opened).put_metadata([DatasetMetadata(Dataset("n", "a"), aliases=aliases)])
        # A source without a catalogue row loses references, too.
        waiting = build_lineage(
            [
                Read("read", "", Dataset("others", "x"), "", (Field("f"),), is_unconfirmed=True),
                Write("write", "", Dataset("n", "b"), "", (InputField("read", "f"),)),
            ]
        )
        run = ProgramRun("n", "app", "1", "t", "p", "reads x", STARTS_MS[0])
        LineageStore(opened).record([RecordedRun(run, waiting)])
    shutil.copy(tmp_path / "a.db", tmp_path / "alone.db")
    later_ms = STARTS_MS[-1] + 1
    for policy in (RetentionPolicy(later_ms, {}, {Dataset("n", "b"): 1}), RetentionPolicy(later_ms)):
        time.sleep(0.01)
        report = retention.apply_retention(spark, settings(url), policy, dry_run=False)
        with table(local_url) as alone:
            until_ms = time.time_ns() // 1_000_000
            garbage_collection.purge(alone, policy, until_ms=until_ms, grace_ms=0)
            until_ms = time.time_ns() // 1_000_000
            garbage = garbage_collection.find_garbage(alone, policy, until_ms=until_ms)
            garbage_collection.remove(alone, garbage, policy, until_ms=until_ms)
            expected = set(cells(alone))
        assert report.counts["end points"] == len(garbage.catalogue_rows)
        with table(url) as opened:
            assert {cell for cell in cells(opened) if cell[0] != REQUESTS_ROW} == expected
    # The mark that the calendars are complete, which holds for an empty table, too.
    assert {row for row, _, _ in expected} == {calendars.MARK_ROW}


def test_runs_that_are_being_written_are_not_lost(spark: SparkSession, tmp_path: Path) -> None:
    """Writers replace runs all the time; nothing of the grace period, two seconds here, is deleted."""
    url = f"sqlite:///{tmp_path / 'a.db'}"
    settings = Settings(grace_ms=2_000)
    newest: dict[str, RecordedRun] = {}
    stop = threading.Event()

    def write(number: int) -> None:
        with table(url) as opened:
            store = LineageStore(opened, settings)
            for turn in range(1_000_000):
                if stop.is_set():
                    return
                runs = [
                    replace(run, run=replace(run.run, run=f"{number}-{run.run.run}")) for run in history(9)
                ]
                runs = [RecordedRun(run.run, CONTENTS[(turn + n) % 8]) for n, run in enumerate(runs)]
                store.record(runs)
                newest.update({run.run.run: run for run in runs})

    fill_store(url)
    writers = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for writer in writers:
        writer.start()
    deleted = 0
    for _ in range(3):
        time.sleep(2.5)
        job_settings = replace(Settings(store=url), grace_ms=2_000)
        report = retention.apply_retention(spark, job_settings, RetentionPolicy(), dry_run=False)
        deleted += sum(report.counts.values())
    stop.set()
    for writer in writers:
        writer.join()
    assert deleted
    with table(url) as opened:
        store = LineageStore(opened)
        checksums = {}
        for dataset in DATASETS:
            runs = listed(store, dataset, ALWAYS)
            checksums |= {run.run.run: run.checksum for run in runs}  # type: ignore[attr-defined]
        expected = {name: run.info.checksum for name, run in newest.items()}
        assert {name: checksums[name] for name in newest} == expected
        for checksum in set(checksums.values()):
            store._contents.content(checksum)
