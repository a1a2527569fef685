"""Is `fll` read and written by Spark as by the store itself?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.field_relations import DatasetLineage
from fll_hbase.model.window import DAY_MS, START_LIMIT_MS, Direction, Window
from fll_hbase.sample import documents
from fll_hbase.spark import datasource
from fll_hbase.spark.datasource import schemas
from fll_hbase.spark.datasource.options import TableName
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Put, open_table
from spark.conftest import SAMPLE_END_MS

RECORDS = Dataset("hospital", "PatientRecords")
WEEK = Window(SAMPLE_END_MS - 7 * DAY_MS, SAMPLE_END_MS)
PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
OF_RECORDS = "destination_namespace = 'hospital' and destination_name = 'PatientRecords'"
OF_WEEK = f"start >= timestamp_millis({WEEK.start_ms}) and start < timestamp_millis({WEEK.stop_ms})"


@pytest.fixture
def fll(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that knows `fll`, and pushes filters."""
    spark.conf.set(PUSHDOWN, "true")
    datasource.register(spark)
    yield spark
    spark.conf.set(PUSHDOWN, "true")


def table(spark: SparkSession, url: str, of: str, /, **options: str) -> DataFrame:
    read = spark.read.format("fll").option("store", url).option("table", of).option("partitions", "3")
    return read.options(**options).load()


@pytest.fixture
def sample(sample_url: str) -> Iterator[LineageStore]:
    store = LineageStore(open_table(sample_url))
    yield store
    store.close()


def pairs(relations: list[DatasetLineage]) -> set[tuple[Any, ...]]:
    """Backward relations as source, source field, destination field and influence."""
    found: set[tuple[Any, ...]] = set()
    for one in relations:
        source = (one.source.namespace, one.source.name) if one.source else (None, None)
        found |= {(*source, start, end, "direct") for start, end in one.direct}
        found |= {(*source, start, end, "indirect") for start, end in one.indirect}
        found |= {(*source, start, None, "indirect") for start in one.dataset_wide}
    return found


def backward(store: LineageStore, end_point: Dataset, window: Window) -> set[tuple[Any, ...]]:
    answer = store.lineage(end_point, window, directions=[Direction.BACKWARD], failed=True)
    return pairs([entry.relation for entry in answer.entries])


ENDS = ["source_namespace", "source_name", "source_field", "destination_field", "influence"]


def test_every_table_has_its_columns(fll: SparkSession, sample_url: str) -> None:
    for name in TableName:
        frame = table(fll, sample_url, name.value)
        assert frame.schema == fll.createDataFrame([], schemas.SCHEMAS[name]).schema
        assert frame.count() > 0


def test_runs_are_those_of_the_store(fll: SparkSession, sample: LineageStore, sample_url: str) -> None:
    found = {row["run"]: row for row in table(fll, sample_url, "runs").collect()}
    assert len(found) == len(list(documents(SAMPLE_END_MS))[::10])
    for run, row in list(found.items())[:50]:
        truth = sample.run(run).committed
        assert (row["program"], row["state"]) == (truth.run.program, truth.run.state.value)
        assert (row["start_ms"], row["checksum"]) == (truth.run.start_ms, truth.checksum)
        assert row["start"].timestamp() * 1000 == truth.run.start_ms


@pytest.mark.parametrize("pushed", [True, False])
def test_edges_of_a_window_are_its_lineage(
    fll: SparkSession, sample: LineageStore, sample_url: str, pushed: bool
) -> None:
    fll.conf.set(PUSHDOWN, str(pushed).lower())
    datasource.register(fll)
    found = table(fll, sample_url, "edges").where(OF_RECORDS).where(OF_WEEK).select(ENDS).distinct()
    wanted = backward(sample, RECORDS, WEEK)
    assert {tuple(row) for row in found.collect()} == wanted
    assert len(wanted) > 10


def test_options_bound_as_filters_do(fll: SparkSession, sample: LineageStore, sample_url: str) -> None:
    window = {"start": f"{WEEK.start_ms / 1000:.3f}", "end": f"{WEEK.stop_ms / 1000:.3f}"}
    of_one = {"namespace": RECORDS.namespace, "name": RECORDS.name, **window}
    runs = table(fll, sample_url, "runs", **of_one)
    listed = sample.runs(RECORDS, WEEK, limit=1_000).runs
    assert {row["run"] for row in runs.collect()} == {one.run.run for one in listed}
    edges = table(fll, sample_url, "edges", **of_one).where("destination_name = 'PatientRecords'")
    assert {tuple(row) for row in edges.select(ENDS).collect()} == backward(sample, RECORDS, WEEK)
    fields = table(fll, sample_url, "fields", namespace=RECORDS.namespace, name=RECORDS.name)
    known = sample.catalogue.fields(RECORDS)
    assert known is not None
    assert {row["field"] for row in fields.where("field is not null").collect()} == {f.name for f in known}


def test_filters_that_are_not_pushed_still_hold(fll: SparkSession, sample_url: str) -> None:
    edges = table(fll, sample_url, "edges").where(OF_RECORDS)
    every = edges.collect()
    for condition in (
        "source_field like 'c%'",
        "influence = 'indirect' or source_field is null",
        "hour(start) = 5",
        "destination_namespace = 'hospital' and destination_namespace = 'bank'",
        f"start_ms between {WEEK.start_ms} and {WEEK.start_ms + DAY_MS}",
    ):
        of_frame = fll.createDataFrame(every, edges.schema).where(condition)
        assert sorted(edges.where(condition).collect(), key=repr) == sorted(of_frame.collect(), key=repr)


def test_what_lies_outside_is_not_even_read(fll: SparkSession, tmp_path: Path, sample_url: str) -> None:
    """A row that cannot be read ends every query that comes across it, and no other."""
    url = f"sqlite:///{tmp_path}/lineage.db"
    copied = open_table(url)
    with_all = open_table(sample_url)
    for key, row in with_all.scan(b"", b"\x7f"):
        copied.write([[Put(key, column, cell.value) for column, cell in row.items()]])
    store = LineageStore(copied)
    broken = store.runs(Dataset("hospital", "Vitals"), Window(0, START_LIMIT_MS), limit=1).runs[0].run.run
    copied.write([[Put(layout.run_row(broken), layout.commit_column(99, "0" * 32), b"nonsense")]])
    copied.close()
    inside = table(fll, url, "edges").where(OF_RECORDS).where(OF_WEEK)
    assert inside.count() > 0
    assert table(fll, url, "runs").where(f"run in ('{broken}x', 'a')").count() == 0
    fll.conf.set(PUSHDOWN, "false")
    datasource.register(fll)
    with pytest.raises(PySparkException, match=broken):
        table(fll, url, "edges").where(OF_RECORDS).where(OF_WEEK).count()
    bounded = {"namespace": RECORDS.namespace, "name": RECORDS.name}
    assert table(fll, url, "edges", **bounded).where(OF_WEEK).count() > 0


def test_parts_follow_what_is_asked(fll: SparkSession, sample_url: str) -> None:
    runs = table(fll, sample_url, "runs")
    assert runs.rdd.getNumPartitions() == 3
    assert runs.where("run = 'a'").rdd.getNumPartitions() == 1


def test_operations_join_by_checksum(fll: SparkSession, sample: LineageStore, sample_url: str) -> None:
    run = sample.runs(RECORDS, WEEK, limit=1).runs[0]
    found = table(fll, sample_url, "operations").where(f"checksum = '{run.checksum}'").collect()
    said = json.loads(next(row["json"] for row in found if row["type"] == "WRITE"))
    assert (said["destination"]["name"], said["name"]) == ("PatientRecords", "store_records")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"table": "nodes"}, "names no table"),
        ({"name": "a"}, "needs the namespace"),
        ({"store": "sqlite:////nowhere/lineage.db"}, "there is no store"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_cannot_be_read_says_why(
    fll: SparkSession, sample_url: str, options: dict[str, str], said: str
) -> None:
    with pytest.raises(PySparkException, match=said):
        fll.read.format("fll").options(**{"store": sample_url, **options}).load().count()


def test_a_schema_of_ones_own_is_refused(fll: SparkSession, sample_url: str) -> None:
    with pytest.raises(PySparkException, match="leave out the schema"):
        fll.read.schema("run string").format("fll").option("store", sample_url).load().count()


def lines(count: int) -> list[str]:
    return [json.dumps(said) for said in documents(SAMPLE_END_MS)][-count:]


def runs_of(url: str) -> dict[str, str]:
    """What is stored, by run: its content."""
    store = LineageStore(open_table(url))
    namespaces = list(store.catalogue.namespaces())
    ends = [one.dataset for namespace in namespaces for one in store.catalogue.datasets(namespace)]
    found = {
        one.run.run: one.checksum
        for end in ends
        for one in store.runs(end, Window(0, START_LIMIT_MS), limit=1_000).runs
    }
    store.close()
    return found


@pytest.mark.parametrize("type_", ["string", "binary"])
def test_what_is_written_is_recorded(fll: SparkSession, tmp_path: Path, type_: str) -> None:
    url = f"sqlite:///{tmp_path}/lineage.db"
    rows = fll.createDataFrame([(line, "other") for line in lines(40)], "value string, other string")
    rows = rows.withColumn("value", rows["value"].cast(type_)).repartition(2)
    for _ in range(2):
        rows.write.format("fll").option("store", url).mode("append").save()
    wanted = {json.loads(line)["run"]["run"] for line in lines(40)}
    assert runs_of(url).keys() == wanted
    assert {row["run"] for row in table(fll, url, "runs").collect()} == wanted


def test_a_row_that_is_refused_fails_the_write_with_every_fault(fll: SparkSession, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lineage.db"
    good, bad = lines(1)[0], json.loads(lines(1)[0])
    del bad["run"]["program"]
    bad["operations"][0]["type"] = "GUESS"
    rows = fll.createDataFrame([(good,), (json.dumps(bad),), (None,)], "value string").coalesce(1)
    with pytest.raises(PySparkException) as caught:
        rows.write.format("fll").option("store", url).mode("append").save()
    told = str(caught.value)
    assert "row 2 of partition 0" in told
    assert "row 3 of partition 0" in told
    assert "run.program" in told
    assert "operations.0.type" in told


def test_nothing_is_overwritten(fll: SparkSession, tmp_path: Path) -> None:
    rows = fll.createDataFrame([(line,) for line in lines(1)], "value string")
    writer = rows.write.format("fll").option("store", f"sqlite:///{tmp_path}/lineage.db")
    with pytest.raises(PySparkException, match="append-only"):
        writer.mode("overwrite").save()
    with pytest.raises(PySparkException, match="column `value`"):
        rows.selectExpr("value as line").write.format("fll").option("store", "sqlite:////tmp/x.db").mode(
            "append"
        ).save()


def test_a_stream_is_written_once_whatever_is_repeated(fll: SparkSession, tmp_path: Path) -> None:
    url, source = f"sqlite:///{tmp_path}/lineage.db", tmp_path / "in"
    source.mkdir()
    said = lines(30)
    (source / "a.txt").write_text("\n".join(said[:20]))
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
        (source / "b.txt").write_text("\n".join(said[10:]))
    assert runs_of(url).keys() == {json.loads(line)["run"]["run"] for line in said}
