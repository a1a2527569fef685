"""Incremental exports append each change, wherever an earlier one was killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from fll_hbase.cli import main
from fll_hbase.model import lineage
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import DAY_MS
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.exports.export_log import ExportLog
from fll_hbase.spark.exports.lake_tables import LakeFormat, ParquetTables
from fll_hbase.spark.jobs.export_changes import ChangesReport, ChangesSpec, export_changes
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.raw_sql import run_sql
from tests.support.strategies import chain

START_MS = 1_760_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LineageStore]:
    store = LineageStore(open_table(f"sqlite:///{tmp_path}/lineage.db"))
    yield store
    store.close()


@pytest.fixture
def spec(tmp_path: Path) -> ChangesSpec:
    return ChangesSpec(
        Settings(store=f"sqlite:///{tmp_path}/lineage.db"), f"{tmp_path}/out", f"{tmp_path}/state"
    )


def record(store: LineageStore, *runs: str, length: int = 2) -> None:
    """Record runs, or replace them by others with `length` transforms."""
    info = lineage.build_lineage(chain(length))
    store.record(
        [
            RecordedRun(ProgramRun("ns", "app", "1", "spark", "p", run, START_MS + number * DAY_MS), info)
            for number, run in enumerate(runs)
        ]
    )


def read(spec: ChangesSpec, table: str) -> list[dict[str, Any]]:
    folder = Path(spec.out, table)
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(folder).to_pylist() if folder.exists() else []
    return rows


def current_runs(spec: ChangesSpec) -> dict[str, str]:
    """The checksum of each run in its last batch, as the page says how to read it."""
    rows = sorted(read(spec, "runs"), key=lambda row: int(row["batch"]))
    return {row["run"]: row["checksum"] for row in rows}


def stored_runs(store: LineageStore, *runs: str) -> dict[str, str]:
    return {run: store.run(run).committed.checksum for run in runs}


def snapshot(folder: str) -> dict[str, bytes]:
    paths = sorted(Path(folder).rglob("*"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.is_file()}


def test_each_change_is_appended_once(spark: SparkSession, store: LineageStore, spec: ChangesSpec) -> None:
    record(store, "a", "b")
    assert export_changes(spark, spec).batch.rows == {"runs": 2, "edges": 2, "catalogue": 4}
    record(store, "b", "c", length=3)
    # Late: visible now, but put before the last scan by the clock of the store.
    record(store, "late")
    late = "UPDATE cells SET stamp = ? WHERE CAST(row AS TEXT) LIKE '%|late+ns'"
    assert run_sql(spec.settings.store, late, now_ms() - 600_000)
    second = export_changes(spark, spec)
    assert second.batch.rows == {"runs": 3, "edges": 3, "catalogue": 0}
    assert {row["run"] for row in read(spec, "runs") if row["batch"] == 2} == {"b", "c", "late"}
    assert current_runs(spec) == stored_runs(store, "a", "b", "c", "late")
    edges = [(row["run"], row["checksum"]) for row in read(spec, "edges")]
    assert sorted(edges) == sorted((row["run"], row["checksum"]) for row in read(spec, "runs"))
    assert export_changes(spark, spec).batch.rows == {"runs": 0, "edges": 0, "catalogue": 0}
    assert sorted(path.name for path in Path(spec.out, "runs").iterdir()) == ["batch=1", "batch=2"]
    manifest = json.loads(Path(spec.log, "batch-00000002.json").read_text())
    assert (manifest["rows"], manifest["target"]["store"]) == (dict(second.batch.rows), spec.settings.store)
    assert manifest["files"]["runs"] == len(list(Path(spec.out, "runs/batch=2").rglob("part-*.parquet")))


def fail_at(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Raise as a killed process ends: before the commit, or after it and the first of three tables."""
    append = ParquetTables.append

    def commit(*_: Any) -> None:
        raise KeyboardInterrupt

    def append_first(tables: ParquetTables, staged: Any, table: str, *others: Any, **options: Any) -> None:
        if table != "runs":
            raise KeyboardInterrupt
        append(tables, staged, table, *others, **options)

    if where == "commit":
        monkeypatch.setattr(ExportLog, "commit", commit)
    else:
        monkeypatch.setattr(ParquetTables, "append", append_first)


@pytest.mark.parametrize("where", ["commit", "publish"])
def test_a_killed_export_neither_loses_nor_repeats(
    spark: SparkSession, store: LineageStore, spec: ChangesSpec, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    record(store, "a")
    fail_at(monkeypatch, where)
    with pytest.raises(KeyboardInterrupt):
        export_changes(spark, spec)
    monkeypatch.undo()
    record(store, "b")
    export_changes(spark, spec)
    assert sorted(row["run"] for row in read(spec, "runs")) == ["a", "b"]
    assert sorted(row["run"] for row in read(spec, "edges")) == ["a", "b"]
    assert not [name for name in snapshot(spec.out) if "_stage" in name]


def test_of_two_exports_at_once_one_writes(
    spark: SparkSession, store: LineageStore, spec: ChangesSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(store, "a")
    commit = ExportLog.commit
    others: list[ChangesReport] = []

    def commit_second(log: ExportLog, batch: Any) -> None:
        monkeypatch.undo()
        others.append(export_changes(spark, spec))
        commit(log, batch)

    monkeypatch.setattr(ExportLog, "commit", commit_second)
    with pytest.raises(ConfigurationError, match="at the same time"):
        export_changes(spark, spec)
    assert [row["run"] for row in read(spec, "runs")] == ["a"]
    assert others[0].batch.number == 1


def test_what_is_not_of_this_export_stays(
    spark: SparkSession, store: LineageStore, spec: ChangesSpec, tmp_path: Path
) -> None:
    record(store, "a")
    for folder in ("mine", "state-of-mine"):
        (tmp_path / folder / "runs").mkdir(parents=True)
        (tmp_path / folder / "runs/part-0.parquet").write_text("mine")
    with pytest.raises(ConfigurationError, match="use an empty directory"):
        export_changes(spark, replace(spec, out=f"{tmp_path}/mine"))
    for state in (spec.out, f"{spec.out}/state", str(tmp_path)):
        with pytest.raises(ConfigurationError, match="beside the tables"):
            export_changes(spark, replace(spec, log=state))
    assert not Path(spec.out).exists()
    with pytest.raises(ConfigurationError, match="is not of an export"):
        export_changes(spark, replace(spec, log=f"{tmp_path}/state-of-mine"))
    spec = replace(spec, log=f"{tmp_path}/state-2")
    export_changes(spark, spec)
    files = snapshot(spec.out)
    with pytest.raises(ConfigurationError, match="another --since-last directory"):
        export_changes(spark, replace(spec, log=f"{tmp_path}/state-3"))
    with pytest.raises(ConfigurationError, match="use another directory for this one"):
        export_changes(spark, replace(spec, out=f"{tmp_path}/elsewhere"))
    assert snapshot(spec.out) == files
    for folder in ("mine", "state-of-mine"):
        assert snapshot(f"{tmp_path}/{folder}") == {"runs/part-0.parquet": b"mine"}


def test_a_missing_library_is_named(spark: SparkSession, store: LineageStore, spec: ChangesSpec) -> None:
    for form in (LakeFormat.DELTA, LakeFormat.ICEBERG):
        with pytest.raises(ConfigurationError, match=rf"spark\.jars\.packages.*for Spark {spark.version}"):
            export_changes(spark, replace(spec, form=form))
    assert not Path(spec.out).exists()
    assert not Path(spec.log).exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--format", "delta"], "needs --since-last"),
        (["--format", "csv", "--since-last", "state"], "--since-last needs --format parquet, delta, iceberg"),
        (["--since-last", "state", "--namespace", "ns", "--end", "now"], "leave out --end, --namespace"),
        (["--since-last", "state", "--start", "now-1d"], "leave out --start"),
        (["--since-last", "state", "--overwrite"], "leave out --overwrite"),
        (["--file-size", "0"], "--file-size"),
    ],
)
def test_options_that_do_not_go_with_batches(options: list[str], reason: str) -> None:
    result = CliRunner().invoke(main, ["spark", "export", "out", *options])
    assert result.exit_code == 2
    assert reason in result.output
