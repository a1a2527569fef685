"""Exports are complete, readable by other tools, and restore the same lineage when recorded."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from fll_hbase.cli import main
from fll_hbase.client.local.local_client import LocalClient
from fll_hbase.ingest.ingest import ingest
from fll_hbase.ingest.registry import parse_event
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, DatasetField, DatasetMetadata, Field
from fll_hbase.model.operations import InputField, Read, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.tags import TagNote
from fll_hbase.model.window import DAY_MS, START_LIMIT_MS, Direction, Window
from fll_hbase.queries.field_lineage import field_lineage
from fll_hbase.queries.lineage import lineage_entry
from fll_hbase.queries.openlineage_events import OpenLineageEvents
from fll_hbase.queries.runs import listed_run
from fll_hbase.runtime.config import Settings
from fll_hbase.sources import openlineage
from fll_hbase.sources.name_rules import NameRules
from fll_hbase.spark.datasource import schemas
from fll_hbase.spark.exports.export_files import Format
from fll_hbase.spark.jobs.export import ExportReport, ExportSpec, export
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.spark.conftest import SAMPLE_END_MS
from tests.support.shared_session import SharedSession
from tests.support.strategies import AWKWARD

ALWAYS = Window(0, START_LIMIT_MS)
EVERY_RUN = Window(0, START_LIMIT_MS, failed=True)
MONTH = Window(SAMPLE_END_MS - 30 * DAY_MS, SAMPLE_END_MS)
EVENTS = Path(__file__).parents[2] / "cases/openlineage/events.ndjson.gz"


def open_sqlite(url: str) -> LineageStore:
    return LineageStore(open_table(url))


def datasets(store: LineageStore, namespace: str = "") -> list[Dataset]:
    namespaces = [namespace] if namespace else store.catalogue.namespaces()
    return [entry.dataset for name in namespaces for entry in store.catalogue.datasets(name)]


def runs_of(store: LineageStore, window: Window, namespace: str = "") -> set[str]:
    return {
        run.run.run
        for dataset in datasets(store, namespace)
        for run in store.runs(dataset, window, limit=10_000).runs
    }


def run_export(spark: SparkSession, url: str, out: Path, form: Format, **spec: Any) -> ExportReport:
    return export(spark, ExportSpec(Settings(store=url), **spec), str(out), form=form)


def read_parquet(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(folder).to_pylist()
    return rows


def read_csv(folder: Path) -> list[dict[str, str]]:
    rows = []
    for file in sorted(folder.glob("*.csv")):
        with file.open(newline="") as lines:
            rows += list(csv.DictReader(lines))
    return rows


def test_parquet_has_every_run_by_its_day(spark: SparkSession, sample_url: str, tmp_path: Path) -> None:
    done = run_export(spark, sample_url, tmp_path / "out", Format.PARQUET, window=MONTH)
    store, runs = open_sqlite(sample_url), read_parquet(tmp_path / "out/runs")
    assert {row["run"] for row in runs} == runs_of(store, MONTH)
    assert done.rows["runs"] == len(runs) > 100
    for row in runs:
        assert row["start"] == datetime.fromtimestamp(row["start_ms"] / 1000, UTC)
        assert str(row["day"]) == row["start"].date().isoformat()
    days = {folder.name for folder in (tmp_path / "out/runs").glob("day=*")}
    assert days == {f"day={row['day']}" for row in runs}
    edges = read_parquet(tmp_path / "out/edges")
    assert {row["run"] for row in edges} <= {row["run"] for row in runs}
    assert done.rows["edges"] == len(edges)
    catalogue = read_parquet(tmp_path / "out/catalogue")
    assert done.rows["catalogue"] == len(catalogue)
    assert {(row["namespace"], row["name"]) for row in catalogue} == {
        (end.namespace, end.name) for end in datasets(store)
    }


def test_distinct_edges_are_the_lineage_of_the_window(
    spark: SparkSession, sample_url: str, tmp_path: Path
) -> None:
    run_export(spark, sample_url, tmp_path / "each", Format.PARQUET, window=MONTH, namespace="bank")
    run_export(
        spark, sample_url, tmp_path / "once", Format.PARQUET, window=MONTH, namespace="bank", distinct=True
    )
    starts_by_edge: dict[tuple[Any, ...], list[int]] = {}
    ends = schemas.SCHEMAS[schemas.TableName.EDGES].replace(" string", "").split(", ")[5:]
    for row in read_parquet(tmp_path / "each/edges"):
        starts_by_edge.setdefault(tuple(row[name] for name in ends), []).append(row["start_ms"])
    assert {
        tuple(row[name] for name in ends): (row["runs"], row["first_start_ms"], row["last_start_ms"])
        for row in read_parquet(tmp_path / "once/edges")
    } == {edge: (len(starts), min(starts), max(starts)) for edge, starts in starts_by_edge.items()}
    assert len(starts_by_edge) > 20
    runs = {row["run"] for row in read_parquet(tmp_path / "once/runs")}
    assert runs == runs_of(open_sqlite(sample_url), MONTH, "bank")


def record_awkward_names(url: str) -> LineageStore:
    """Record runs whose names contain separators, quotes and other special characters."""
    store = open_sqlite(url)
    for number, name in enumerate(AWKWARD):
        source, destination = Dataset(name, f"{name}1"), Dataset(name, f"{name}2")
        operations = [
            Read("r", name, source, name, (Field(name, name),)),
            Write("w", "", destination, "", (InputField("r", name),)),
        ]
        run = ProgramRun(name, name, name, name, name, f"{name}{number}", number * DAY_MS)
        store.record([RecordedRun(run, lineage.build_lineage(operations))])
    return store


def test_csv_preserves_every_name(spark: SparkSession, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lineage.db"
    store = record_awkward_names(url)
    done = run_export(spark, url, tmp_path / "out", Format.CSV)
    runs = read_csv(tmp_path / "out/runs")
    runs.sort(key=lambda row: int(row["start_ms"]))
    assert [(row["program"], row["run"]) for row in runs] == [
        (name, f"{name}{number}") for number, name in enumerate(AWKWARD)
    ]
    edges = read_csv(tmp_path / "out/edges")
    edges.sort(key=lambda row: int(row["start_ms"]))
    assert [(row["source_name"], row["destination_field"]) for row in edges] == [
        (f"{name}1", name) for name in AWKWARD
    ]
    assert {(row["namespace"], row["name"]) for row in read_csv(tmp_path / "out/catalogue")} == {
        (end.namespace, end.name) for end in datasets(store)
    }
    assert done.rows == {"runs": len(runs), "edges": len(edges), "catalogue": 4 * len(AWKWARD)}


def ingest_events(folder: Path) -> LineageStore:
    """Record the lines of an export in an empty store."""
    store = LineageStore(open_table("sqlite:///:memory:"))
    lines = [line for file in folder.glob("*.txt") for line in file.read_bytes().split(b"\n") if line]
    readings = [openlineage.read(openlineage.parse(line)) for line in lines]
    store.record([reading.event for reading in readings if reading.event is not None])
    store.put_metadata(schema for reading in readings if reading.event is None for schema in reading.schemas)
    return store


def query_all(store: LineageStore) -> Iterator[Any]:
    """Every one-hop result about every dataset."""
    for dataset in datasets(store):
        yield str(dataset), store.catalogue.fields(dataset)
        yield [lineage_entry(entry) for entry in store.lineage(dataset, EVERY_RUN).entries]
        for field in store.catalogue.field_names(dataset) or ():
            for direction in Direction:
                result = store.field_lineage(DatasetField(dataset, field), EVERY_RUN, direction=direction)
                yield field_lineage(result)
        for run in store.runs(dataset, ALWAYS, limit=10_000).runs:
            yield msgspec.structs.replace(listed_run(run, now_ms=0), last_event_time=None)
    entries = (entry for name in store.catalogue.namespaces() for entry in store.catalogue.datasets(name))
    yield [(entry.dataset, entry.description) for entry in entries]


@pytest.mark.parametrize("kind", ["sample", "awkward", "described"])
def test_events_recorded_again_give_the_same_answers(
    spark: SparkSession, sample_url: str, tmp_path: Path, kind: str
) -> None:
    url = f"sqlite:///{tmp_path}/lineage.db"
    if kind == "sample":
        url = sample_url
    elif kind == "awkward":
        record_awkward_names(url)
    else:
        dataset = Dataset("ns", "without runs")
        fields = (Field("a", "int"), Field("b/c"))
        open_sqlite(url).put_metadata(
            [DatasetMetadata(dataset, fields, "a table", (Dataset("hive", "x.y"),))]
        )
    done = run_export(spark, url, tmp_path / "out", Format.OPENLINEAGE)
    store, restored = open_sqlite(url), ingest_events(tmp_path / "out/events")
    assert list(query_all(restored)) == list(query_all(store))
    assert done.rows == {"events": len(runs_of(store, ALWAYS)) + len(datasets(store))}


def test_events_of_an_agent_are_restored(spark: SparkSession, tmp_path: Path) -> None:
    """Events of real runs, some without datasets."""
    url = f"sqlite:///{tmp_path}/lineage.db"
    store = open_sqlite(url)
    with gzip.open(EVENTS) as lines:
        readings = [openlineage.read(openlineage.parse(line)) for line in lines][:400]
    store.record([reading.event for reading in readings if reading.event is not None])
    run_export(spark, url, tmp_path / "out", Format.OPENLINEAGE)
    restored = ingest_events(tmp_path / "out/events")
    assert list(query_all(restored)) == list(query_all(store))
    for run in {reading.event.run for reading in readings if reading.event is not None}:
        committed, restored_commit = store.run(run).committed, restored.run(run).committed
        assert (committed.checksum, committed.run.start_ms) == (
            restored_commit.checksum,
            restored_commit.run.start_ms,
        )


def without_catalogue(event: dict[str, Any]) -> dict[str, Any]:
    """An event without what comes from the catalogue: one job has it in events of datasets."""
    catalogue_facets = ("schema", "documentation", "tags", "fll_catalogue")
    for dataset in (*event["inputs"], *event["outputs"]):
        dataset["facets"] = {
            name: dataset["facets"][name] for name in dataset["facets"] if name not in catalogue_facets
        }
    return event


def test_events_and_catalogue_are_those_of_fll_export(spark: SparkSession, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lineage.db"
    record_awkward_names(url)
    store = open_sqlite(url)
    ends = datasets(store)
    store.put_metadata([DatasetMetadata(ends[0], (Field("unread", "date"),), "a table")])
    for number, end in enumerate(ends):
        field = (store.catalogue.field_names(end) or [])[0]
        store.tags.put(DatasetField(end, field), f"tag {number}", TagNote(by="anna"))
    run_export(spark, url, tmp_path / "out", Format.OPENLINEAGE)
    lines = [
        json.loads(line)
        for file in sorted((tmp_path / "out/events").glob("*.txt"))
        for line in file.read_text().split("\n")
        if line
    ]
    client = LocalClient(store)
    exported = {
        event.run.run_id: json.loads(msgspec.json.encode(event))
        for end in ends
        for event in client.items(OpenLineageEvents(end.namespace, end.name, start=0))
    }
    runs = {line["run"]["runId"]: line for line in lines if "run" in line}
    assert runs.keys() == exported.keys()
    for run, event in exported.items():
        assert without_catalogue(runs[run]) == without_catalogue(event)
    restored = LineageStore(open_table("sqlite:///:memory:"))
    for line in lines:
        ingest(restored, [parse_event(line, name_rules=NameRules())])
    for end in ends:
        assert restored.catalogue.fields(end) == store.catalogue.fields(end)
        tags = [[replace(tag, at_ms=0) for tag in copy.tags.dataset_tags(end)] for copy in (restored, store)]
        assert tags[0] == tags[1] != []
        entries = [list(copy.catalogue.datasets(end.namespace)) for copy in (restored, store)]
        assert entries[0] == entries[1]


def test_an_empty_store_is_an_export_of_nothing(spark: SparkSession, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lineage.db"
    open_sqlite(url).close()
    done = run_export(spark, url, tmp_path / "out", Format.PARQUET)
    assert done.rows == {"runs": 0, "edges": 0, "catalogue": 0}


def test_the_command_reports_what_it_wrote(
    spark: SparkSession, sample_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fll_hbase.cli.commands.spark.common.session", SharedSession(spark))
    out = tmp_path / "out"
    command = ["spark", "export", str(out), "--store", sample_url]
    bounds = ["--format", "csv", "--namespace", "bank", "--start", "1759500000", "--distinct"]
    done, repeated = (CliRunner().invoke(main, [*command, *bounds]) for _ in range(2))
    assert done.exit_code == 0, done.stderr
    (line,) = done.stdout.splitlines()
    report = json.loads(line)
    assert (report["job"], report["format"], report["out"]) == ("export", "csv", str(out))
    rows = read_csv(out / "runs")
    assert report["runs"] == len(rows) > 10
    window = Window(1_759_500_000_000, START_LIMIT_MS)
    assert {row["run"] for row in rows} == runs_of(open_sqlite(sample_url), window, "bank")
    assert report["edges"] == len(read_csv(out / "edges"))
    assert repeated.exit_code == 2
    assert "--overwrite" in repeated.stderr.splitlines()[-1]


@pytest.mark.slow
def test_distinct_is_of_edges() -> None:
    result = CliRunner().invoke(main, ["spark", "export", "out", "--format", "openlineage", "--distinct"])
    assert result.exit_code == 2
    assert "--distinct" in result.output
