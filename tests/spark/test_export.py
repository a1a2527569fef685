"""Is what an export writes all there is, readable by others, and the same when it is recorded again?"""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession
from strategies import AWKWARD

from fll_hbase import rest_json
from fll_hbase.cli import main
from fll_hbase.config import Settings
from fll_hbase.errors import ConfigurationError
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, DatasetField, DatasetMetadata, Field
from fll_hbase.model.operations import InputField, Read, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import DAY_MS, START_LIMIT_MS, Direction, Window
from fll_hbase.sources import openlineage
from fll_hbase.spark.datasource import schemas
from fll_hbase.spark.jobs.export import ExportReport, ExportSpec, Format, export
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from spark.conftest import SAMPLE_END_MS

ALWAYS = Window(0, START_LIMIT_MS)
MONTH = Window(SAMPLE_END_MS - 30 * DAY_MS, SAMPLE_END_MS)
EVENTS = Path(__file__).parents[1] / "cases/openlineage/events.ndjson.gz"


def opened(url: str) -> LineageStore:
    return LineageStore(open_table(url))


def end_points(store: LineageStore, namespace: str = "") -> list[Dataset]:
    of = [namespace] if namespace else store.catalogue.namespaces()
    return [one.dataset for name in of for one in store.catalogue.datasets(name)]


def runs_of(store: LineageStore, window: Window, namespace: str = "") -> set[str]:
    return {
        one.run.run
        for end in end_points(store, namespace)
        for one in store.runs(end, window, limit=10_000).runs
    }


def exported(spark: SparkSession, url: str, out: Path, form: Format, **said: Any) -> ExportReport:
    return export(spark, ExportSpec(Settings(store=url), **said), str(out), form=form)


def parquet(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(folder).to_pylist()
    return rows


def table(folder: Path) -> list[dict[str, str]]:
    rows = []
    for file in sorted(folder.glob("*.csv")):
        with file.open(newline="") as lines:
            rows += list(csv.DictReader(lines))
    return rows


def test_parquet_holds_every_run_by_its_day(spark: SparkSession, sample_url: str, tmp_path: Path) -> None:
    done = exported(spark, sample_url, tmp_path / "out", Format.PARQUET, window=MONTH)
    store, runs = opened(sample_url), parquet(tmp_path / "out/runs")
    assert {row["run"] for row in runs} == runs_of(store, MONTH)
    assert done.rows["runs"] == len(runs) > 100
    for row in runs:
        assert row["start"] == datetime.fromtimestamp(row["start_ms"] / 1000, UTC)
        assert str(row["day"]) == row["start"].date().isoformat()
    days = {folder.name for folder in (tmp_path / "out/runs").glob("day=*")}
    assert days == {f"day={row['day']}" for row in runs}
    edges = parquet(tmp_path / "out/edges")
    assert {row["run"] for row in edges} <= {row["run"] for row in runs}
    assert done.rows["edges"] == len(edges)
    catalogue = parquet(tmp_path / "out/catalogue")
    assert done.rows["catalogue"] == len(catalogue)
    assert {(row["namespace"], row["name"]) for row in catalogue} == {
        (end.namespace, end.name) for end in end_points(store)
    }


def test_distinct_edges_are_the_lineage_of_the_window(
    spark: SparkSession, sample_url: str, tmp_path: Path
) -> None:
    exported(spark, sample_url, tmp_path / "each", Format.PARQUET, window=MONTH, namespace="bank")
    exported(
        spark, sample_url, tmp_path / "once", Format.PARQUET, window=MONTH, namespace="bank", distinct=True
    )
    summed: dict[tuple[Any, ...], list[int]] = {}
    ends = schemas.SCHEMAS[schemas.TableName.EDGES].replace(" string", "").split(", ")[4:]
    for row in parquet(tmp_path / "each/edges"):
        summed.setdefault(tuple(row[name] for name in ends), []).append(row["start_ms"])
    assert {
        tuple(row[name] for name in ends): (row["runs"], row["first_start_ms"], row["last_start_ms"])
        for row in parquet(tmp_path / "once/edges")
    } == {edge: (len(starts), min(starts), max(starts)) for edge, starts in summed.items()}
    assert len(summed) > 20
    runs = {row["run"] for row in parquet(tmp_path / "once/runs")}
    assert runs == runs_of(opened(sample_url), MONTH, "bank")


def awkward(url: str) -> LineageStore:
    """A store whose every name is one that a file could trip over."""
    store = opened(url)
    for number, name in enumerate(AWKWARD):
        source, destination = Dataset(name, f"{name}1"), Dataset(name, f"{name}2")
        operations = [
            Read("r", name, source, name, (Field(name, name),)),
            Write("w", "", destination, "", (InputField("r", name),)),
        ]
        run = ProgramRun(name, name, name, name, name, f"{name}{number}", number * DAY_MS)
        store.record([RecordedRun(run, lineage.build_lineage(operations))])
    return store


def test_csv_holds_every_name_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lineage.db"
    store = awkward(url)
    done = exported(spark, url, tmp_path / "out", Format.CSV)
    runs = table(tmp_path / "out/runs")
    runs.sort(key=lambda row: int(row["start_ms"]))
    assert [(row["program"], row["run"]) for row in runs] == [
        (name, f"{name}{number}") for number, name in enumerate(AWKWARD)
    ]
    edges = table(tmp_path / "out/edges")
    edges.sort(key=lambda row: int(row["start_ms"]))
    assert [(row["source_name"], row["destination_field"]) for row in edges] == [
        (f"{name}1", name) for name in AWKWARD
    ]
    assert {(row["namespace"], row["name"]) for row in table(tmp_path / "out/catalogue")} == {
        (end.namespace, end.name) for end in end_points(store)
    }
    assert done.rows == {"runs": len(runs), "edges": len(edges), "catalogue": 4 * len(AWKWARD)}


def entered(folder: Path) -> LineageStore:
    """An empty store that was sent the lines of an export."""
    store = LineageStore(open_table("sqlite:///:memory:"))
    lines = [line for file in folder.glob("*.txt") for line in file.read_bytes().split(b"\n") if line]
    readings = [openlineage.read(openlineage.parse(line)) for line in lines]
    store.record([reading.event for reading in readings if reading.event is not None])
    store.put_metadata(schema for reading in readings if reading.event is None for schema in reading.schemas)
    return store


def all_answers(store: LineageStore) -> Iterator[Any]:
    """Every answer about every end point, of one hop."""
    for end_point in end_points(store):
        yield str(end_point), store.catalogue.fields(end_point)
        yield rest_json.dataset_lineage(store.lineage(end_point, ALWAYS, failed=True))
        for field in store.catalogue.field_names(end_point) or ():
            for direction in Direction:
                found = store.field_lineage(
                    DatasetField(end_point, field), ALWAYS, direction=direction, failed=True
                )
                yield rest_json.field_lineage(found)
        for run in store.runs(end_point, ALWAYS, limit=10_000).runs:
            told = rest_json.run(run, now_ms=0)
            yield {name: said for name, said in told.items() if name != "lastEventTime"}
    described = (one for name in store.catalogue.namespaces() for one in store.catalogue.datasets(name))
    yield [(one.dataset, one.description) for one in described]


@pytest.mark.parametrize("kind", ["sample", "awkward", "described"])
def test_events_recorded_again_give_the_same_answers(
    spark: SparkSession, sample_url: str, tmp_path: Path, kind: str
) -> None:
    url = f"sqlite:///{tmp_path}/lineage.db"
    if kind == "sample":
        url = sample_url
    elif kind == "awkward":
        awkward(url)
    else:
        end_point = Dataset("ns", "seen by nobody")
        fields = (Field("a", "int"), Field("b/c"))
        opened(url).put_metadata([DatasetMetadata(end_point, fields, "a table", (Dataset("hive", "x.y"),))])
    done = exported(spark, url, tmp_path / "out", Format.OPENLINEAGE)
    store, again = opened(url), entered(tmp_path / "out/events")
    assert list(all_answers(again)) == list(all_answers(store))
    assert done.rows == {"events": len(runs_of(store, ALWAYS)) + len(end_points(store))}


def test_what_an_agent_sent_comes_back(spark: SparkSession, tmp_path: Path) -> None:
    """Events of real runs, also of some that touched nothing."""
    url = f"sqlite:///{tmp_path}/lineage.db"
    store = opened(url)
    with gzip.open(EVENTS) as lines:
        read = [openlineage.read(openlineage.parse(line)) for line in lines][:400]
    store.record([reading.event for reading in read if reading.event is not None])
    exported(spark, url, tmp_path / "out", Format.OPENLINEAGE)
    again = entered(tmp_path / "out/events")
    assert list(all_answers(again)) == list(all_answers(store))
    for run in {reading.event.run for reading in read if reading.event is not None}:
        told, same = store.run(run).committed, again.run(run).committed
        assert (told.checksum, told.run.start_ms) == (same.checksum, same.run.start_ms)


def test_an_empty_store_is_an_export_of_nothing(spark: SparkSession, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lineage.db"
    opened(url).close()
    done = exported(spark, url, tmp_path / "out", Format.PARQUET)
    assert done.rows == {"runs": 0, "edges": 0, "catalogue": 0}


def test_nothing_is_replaced_unless_it_is_said(spark: SparkSession, sample_url: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("kept")
    wanted = ExportSpec(Settings(store=sample_url), Window(0, 1))
    with pytest.raises(ConfigurationError, match="--overwrite"):
        export(spark, wanted, str(out), form=Format.CSV)
    export(spark, wanted, str(out), form=Format.CSV, overwrite=True)
    export(spark, wanted, str(out), form=Format.OPENLINEAGE, overwrite=True)
    assert sorted(path.name for path in out.iterdir()) == ["events", "mine.txt"]


def test_the_command_tells_what_it_wrote(sample_url: str, tmp_path: Path) -> None:
    fll, out = Path(sys.executable).with_name("fll"), tmp_path / "out"
    asked = ["spark", "export", str(out), "--store", sample_url, "--master", "local[2]"]
    bounds = ["--format", "csv", "--namespace", "bank", "--start", "1759500000", "--distinct"]
    done = subprocess.run([fll, *asked, *bounds], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    told = json.loads(line)
    assert (told["job"], told["format"], told["out"]) == ("export", "csv", str(out))
    rows = table(out / "runs")
    assert told["runs"] == len(rows) > 10
    wanted = Window(1_759_500_000_000, START_LIMIT_MS)
    assert {row["run"] for row in rows} == runs_of(opened(sample_url), wanted, "bank")
    assert told["edges"] == len(table(out / "edges"))
    again = subprocess.run([fll, *asked, *bounds], capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "--overwrite" in again.stderr.splitlines()[-1]


def test_distinct_is_of_edges() -> None:
    asked = CliRunner().invoke(main, ["spark", "export", "out", "--format", "openlineage", "--distinct"])
    assert asked.exit_code == 2
    assert "--distinct" in asked.output
