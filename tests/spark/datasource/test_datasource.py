"""Spark reads and writes `fll` as the store itself does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from fll_hbase.keys import layout
from fll_hbase.model.dataset_lineage import DatasetLineage
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import DAY_MS, START_LIMIT_MS, Direction, Window
from fll_hbase.sample import documents
from fll_hbase.spark import datasource
from fll_hbase.spark.datasource import schemas
from fll_hbase.spark.datasource.reader_options import TableName
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Put, open_table
from tests.spark.conftest import SAMPLE_END_MS

RECORDS = Dataset("hospital", "PatientRecords")
WEEK = Window(SAMPLE_END_MS - 7 * DAY_MS, SAMPLE_END_MS)
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
INTO_RECORDS = "destination_namespace = 'hospital' and destination_name = 'PatientRecords'"
IN_WEEK = f"start >= timestamp_millis({WEEK.start_ms}) and start < timestamp_millis({WEEK.stop_ms})"


@pytest.fixture
def fll(spark: SparkSession) -> Iterator[SparkSession]:
    """A session with `fll` and filter pushdown."""
    spark.conf.set(PUSHDOWN, "true")
    datasource.register(spark)
    yield spark
    spark.conf.set(PUSHDOWN, "true")


def table(spark: SparkSession, url: str, name: str, /, **options: str) -> DataFrame:
    read = spark.read.format("fll").option("store", url).option("table", name).option("partitions", "3")
    return read.options(**options).load()


@pytest.fixture
def sample(sample_url: str) -> Iterator[LineageStore]:
    store = LineageStore(open_table(sample_url))
    yield store
    store.close()


def pairs(relations: list[DatasetLineage]) -> set[tuple[Any, ...]]:
    """Backward relations as source, source field, destination field and dependency type."""
    rows: set[tuple[Any, ...]] = set()
    for relation in relations:
        source = (relation.source.namespace, relation.source.name) if relation.source else (None, None)
        rows |= {(*source, start, end, "direct") for start, end in relation.direct}
        rows |= {(*source, start, end, "indirect") for start, end in relation.indirect}
        rows |= {(*source, start, None, "indirect") for start in relation.dataset_wide}
    return rows


def backward(store: LineageStore, end_point: Dataset, window: Window) -> set[tuple[Any, ...]]:
    answer = store.lineage(end_point, replace(window, failed=True), directions=[Direction.BACKWARD])
    return pairs([entry.relation for entry in answer.entries])


ENDS = ["source_namespace", "source_name", "source_field", "destination_field", "influence"]


def test_every_table_has_its_columns(fll: SparkSession, sample_url: str) -> None:
    for name in TableName:
        frame = table(fll, sample_url, name.value)
        assert frame.schema == fll.createDataFrame([], schemas.SCHEMAS[name]).schema
        assert frame.count() > 0


def test_runs_are_those_of_the_store(fll: SparkSession, sample: LineageStore, sample_url: str) -> None:
    rows = {row["run"]: row for row in table(fll, sample_url, "runs").collect()}
    assert len(rows) == len(list(documents(SAMPLE_END_MS))[::10])
    for run, row in list(rows.items())[:50]:
        committed = sample.run(run).committed
        assert (row["program"], row["state"]) == (committed.run.program, committed.run.state.value)
        assert (row["start_ms"], row["checksum"]) == (committed.run.start_ms, committed.checksum)
        assert row["start"].timestamp() * 1000 == committed.run.start_ms


@pytest.mark.parametrize("pushed", [True, False])
def test_edges_of_a_window_are_its_lineage(
    fll: SparkSession, sample: LineageStore, sample_url: str, pushed: bool
) -> None:
    fll.conf.set(PUSHDOWN, str(pushed).lower())
    datasource.register(fll)
    edges = table(fll, sample_url, "edges").where(INTO_RECORDS).where(IN_WEEK).select(ENDS).distinct()
    expected = backward(sample, RECORDS, WEEK)
    assert {tuple(row) for row in edges.collect()} == expected
    assert len(expected) > 10


def test_options_bound_as_filters_do(fll: SparkSession, sample: LineageStore, sample_url: str) -> None:
    window = {"start": f"{WEEK.start_ms / 1000:.3f}", "end": f"{WEEK.stop_ms / 1000:.3f}"}
    options = {"namespace": RECORDS.namespace, "name": RECORDS.name, **window}
    runs = table(fll, sample_url, "runs", **options)
    listed = sample.runs(RECORDS, WEEK, limit=1_000).runs
    assert {row["run"] for row in runs.collect()} == {run.run.run for run in listed}
    edges = table(fll, sample_url, "edges", **options).where("destination_name = 'PatientRecords'")
    assert {tuple(row) for row in edges.select(ENDS).collect()} == backward(sample, RECORDS, WEEK)
    fields = table(fll, sample_url, "fields", namespace=RECORDS.namespace, name=RECORDS.name)
    catalogued = sample.catalogue.fields(RECORDS)
    assert catalogued is not None
    assert {row["field"] for row in fields.where("field is not null").collect()} == {
        f.name for f in catalogued
    }


def test_filters_that_are_not_pushed_still_hold(fll: SparkSession, sample_url: str) -> None:
    edges = table(fll, sample_url, "edges").where(INTO_RECORDS)
    rows = edges.collect()
    for condition in (
        "source_field like 'c%'",
        "influence = 'indirect' or source_field is null",
        "hour(start) = 5",
        "destination_namespace = 'hospital' and destination_namespace = 'bank'",
        "namespace = 'hospital' and run is not null",
        f"start_ms between {WEEK.start_ms} and {WEEK.start_ms + DAY_MS}",
    ):
        expected = fll.createDataFrame(rows, edges.schema).where(condition)
        assert sorted(edges.where(condition).collect(), key=repr) == sorted(expected.collect(), key=repr)


def test_rows_outside_the_bounds_are_not_read(fll: SparkSession, tmp_path: Path, sample_url: str) -> None:
    """An unreadable row fails every query that reads it, and no other."""
    url = f"sqlite:///{tmp_path}/lineage.db"
    copied = open_table(url)
    with_all = open_table(sample_url)
    for key, row in with_all.scan(b"", b"\x7f"):
        copied.write([[Put(key, column, cell.value) for column, cell in row.items()]])
    store = LineageStore(copied)
    broken = store.runs(Dataset("hospital", "Vitals"), Window(0, START_LIMIT_MS), limit=1).runs[0].run.run
    copied.write([[Put(layout.run_row(broken), layout.commit_column(99, "0" * 32), b"nonsense")]])
    copied.close()
    inside = table(fll, url, "edges").where(INTO_RECORDS).where(IN_WEEK)
    assert inside.count() > 0
    assert table(fll, url, "runs").where(f"run in ('{broken}x', 'a')").count() == 0
    fll.conf.set(PUSHDOWN, "false")
    datasource.register(fll)
    with pytest.raises(PySparkException, match=broken):
        table(fll, url, "edges").where(INTO_RECORDS).where(IN_WEEK).count()
    bounded = {"namespace": RECORDS.namespace, "name": RECORDS.name}
    assert table(fll, url, "edges", **bounded).where(IN_WEEK).count() > 0


def test_partitions_follow_the_bounds(fll: SparkSession, sample_url: str) -> None:
    runs = table(fll, sample_url, "runs")
    assert runs.rdd.getNumPartitions() == 3
    assert runs.where("run = 'a'").rdd.getNumPartitions() == 1


def test_operations_join_by_checksum(fll: SparkSession, sample: LineageStore, sample_url: str) -> None:
    run = sample.runs(RECORDS, WEEK, limit=1).runs[0]
    rows = table(fll, sample_url, "operations").where(f"checksum = '{run.checksum}'").collect()
    operation = json.loads(next(row["json"] for row in rows if row["type"] == "WRITE"))
    assert (operation["destination"]["name"], operation["name"]) == ("PatientRecords", "store_records")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"table": "nodes"}, "is not a table"),
        ({"name": "a"}, "needs the namespace"),
        ({"store": "sqlite:////nowhere/lineage.db"}, "there is no store"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_unreadable_options_say_why(
    fll: SparkSession, sample_url: str, options: dict[str, str], reason: str
) -> None:
    with pytest.raises(PySparkException, match=reason):
        fll.read.format("fll").options(**{"store": sample_url, **options}).load().count()


def test_another_schema_is_refused(fll: SparkSession, sample_url: str) -> None:
    with pytest.raises(PySparkException, match="leave out the schema"):
        fll.read.schema("run string").format("fll").option("store", sample_url).load().count()


def lines(count: int) -> list[str]:
    return [json.dumps(document) for document in documents(SAMPLE_END_MS)][-count:]


def runs_of(url: str) -> dict[str, str]:
    """Checksums by run."""
    store = LineageStore(open_table(url))
    namespaces = list(store.catalogue.namespaces())
    ends = [entry.dataset for namespace in namespaces for entry in store.catalogue.datasets(namespace)]
    checksums = {
        entry.run.run: entry.checksum
        for end in ends
        for entry in store.runs(end, Window(0, START_LIMIT_MS), limit=1_000).runs
    }
    store.close()
    return checksums


@pytest.mark.parametrize("type_", ["string", "binary"])
def test_written_rows_are_recorded(fll: SparkSession, tmp_path: Path, type_: str) -> None:
    url = f"sqlite:///{tmp_path}/lineage.db"
    rows = fll.createDataFrame([(line, "other") for line in lines(40)], "value string, other string")
    rows = rows.withColumn("value", rows["value"].cast(type_)).repartition(2)
    for _ in range(2):
        rows.write.format("fll").option("store", url).mode("append").save()
    expected = {json.loads(line)["run"]["run"] for line in lines(40)}
    assert runs_of(url).keys() == expected
    assert {row["run"] for row in table(fll, url, "runs").collect()} == expected


def test_a_rejected_row_fails_the_write_with_every_error(fll: SparkSession, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lineage.db"
    good, bad = lines(1)[0], json.loads(lines(1)[0])
    del bad["run"]["program"]
    bad["operations"][0]["type"] = "GUESS"
    rows = fll.createDataFrame([(good,), (json.dumps(bad),), (None,)], "value string").coalesce(1)
    with pytest.raises(PySparkException) as caught:
        rows.write.format("fll").option("store", url).mode("append").save()
    message = str(caught.value)
    assert "row 2 of partition 0" in message
    assert "row 3 of partition 0" in message
    assert "run.program" in message
    assert "operations.0.type" in message


def test_nothing_is_overwritten(fll: SparkSession, tmp_path: Path) -> None:
    rows = fll.createDataFrame([(line,) for line in lines(1)], "value string")
    writer = rows.write.format("fll").option("store", f"sqlite:///{tmp_path}/lineage.db")
    with pytest.raises(PySparkException, match="append-only"):
        writer.mode("overwrite").save()
    with pytest.raises(PySparkException, match="column `value`"):
        rows.selectExpr("value as line").write.format("fll").option("store", "sqlite:////tmp/x.db").mode(
            "append"
        ).save()


def test_the_argument_of_save_and_load_is_the_store(
    fll: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLL_STORE", f"sqlite:///{tmp_path}/default.db")
    url, source = f"sqlite:///{tmp_path}/a b.db", tmp_path / "in"
    rows = fll.createDataFrame([(line,) for line in lines(3)], "VALUE string")
    rows.write.format("fll").mode("append").save(url)
    expected = {json.loads(line)["run"]["run"] for line in lines(3)}
    assert runs_of(url).keys() == expected
    assert {row["run"] for row in fll.read.format("fll").load(url).collect()} == expected
    source.mkdir()
    (source / "a.txt").write_text(lines(4)[0])
    query = (
        fll.readStream.format("text")
        .load(str(source))
        .writeStream.format("fll")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(url)
    )
    query.awaitTermination()
    assert len(runs_of(url)) == 4
    with pytest.raises(PySparkException, match="several paths"):
        fll.read.format("fll").load([url, url]).count()
    with pytest.raises(PySparkException, match="two stores"):
        rows.write.format("fll").option("store", "sqlite:///b.db").mode("append").save(url)
    with pytest.raises(PySparkException, match="is not the URL of a store"):
        fll.read.format("fll").load(f"{tmp_path}/a b.db").count()
    assert sorted(path.name for path in tmp_path.glob("*.db")) == ["a b.db"]


def test_spark_refuses_a_write_without_a_mode(fll: SparkSession, tmp_path: Path) -> None:
    """Before it calls the data source, so that only Spark could change it; the page says what to do."""
    rows = fll.createDataFrame([(line,) for line in lines(1)], "value string")
    with pytest.raises(PySparkException, match=r'"ErrorIfExists" mode.*"Append"'):
        rows.write.format("fll").save(f"sqlite:///{tmp_path}/lineage.db")


def test_a_stream_with_repeated_lines_is_written_once(fll: SparkSession, tmp_path: Path) -> None:
    url, source = f"sqlite:///{tmp_path}/lineage.db", tmp_path / "in"
    source.mkdir()
    documents = lines(30)
    (source / "a.txt").write_text("\n".join(documents[:20]))
    for checkpoint in ("first", "again"):
        stream = fll.readStream.format("text").load(str(source))
        query = (
            stream.writeStream.format("fll")
            .option("store", url)
            .option("checkpointLocation", str(tmp_path / checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        (source / "b.txt").write_text("\n".join(documents[10:]))
    assert runs_of(url).keys() == {json.loads(line)["run"]["run"] for line in documents}
