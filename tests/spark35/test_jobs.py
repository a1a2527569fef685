"""Every job runs on Spark 3.5 and stores what the online path stores."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event

import pyarrow.parquet as pq
import pyspark
import pytest
from pyspark.sql import SparkSession

from fll_hbase.ingest.ingest import ingest
from fll_hbase.ingest.registry import DocumentReader, detect
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.sample import documents
from fll_hbase.spark.jobs import stream as stream_job
from fll_hbase.spark.jobs.check import check
from fll_hbase.spark.jobs.export import ExportSpec, Format, export
from fll_hbase.spark.jobs.load import load
from fll_hbase.spark.jobs.retention import apply_retention
from fll_hbase.spark.lines.worker_ingest import Target
from fll_hbase.spark.session import session
from fll_hbase.spark.stats import LineCounts
from fll_hbase.spark.streams.stream_options import FolderOptions
from fll_hbase.spark.streams.stream_sources import open_source
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.jvm_options import SPARK_JVM

END_MS = 1_760_000_000_000
LINES = [json.dumps(document).encode() for document in documents(END_MS)][::60]
NOT_UTF8 = b'{"namespace": "\xff"}'
BAD = [b"{}", NOT_UTF8]

Rows = dict[bytes, dict[bytes, bytes]]


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    parallel = {"spark.default.parallelism": "2", "spark.sql.shuffle.partitions": "2"}
    spark = session("tests", master="local[2]", settings={**parallel, **SPARK_JVM})
    yield spark
    spark.stop()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with input files, which all tests share."""
    home = tmp_path_factory.mktemp("jobs")
    (home / "in").mkdir()
    (home / "in" / "lines.ndjson").write_bytes(b"".join(line + b"\n" for line in [*LINES, *BAD]))
    return home


def stored_rows(url: str) -> Rows:
    """Every cell, without the values of calendars: tokens are random."""
    with closing(open_table(url)) as table:
        cells = {
            key: {name: cell.value for name, cell in row.items()} for key, row in table.scan(b"", b"\xff")
        }
    return {key: dict.fromkeys(row, b"") if key.startswith(b"u|") else row for key, row in cells.items()}


@pytest.fixture(scope="module")
def online_rows(home: Path) -> Rows:
    """The rows of a store that records the lines in one call."""
    reader = DocumentReader(columns=lambda _: None)
    url = f"sqlite:///{home}/online.db"
    with closing(LineageStore(open_table(url))) as store:
        ingest(store, [reader.read(line, detect(line), namespace=None, now_ms=0) for line in LINES])
    return stored_rows(url)


@pytest.fixture(scope="module")
def settings(spark: SparkSession, home: Path) -> Settings:
    """A store that a load filled; the load is checked by its test."""
    settings = Settings(store=f"sqlite:///{home}/loaded.db")
    load(spark, [f"{home}/in"], Target(settings), rejects=f"{home}/rejects")
    return settings


def test_this_is_spark_3_5() -> None:
    assert pyspark.__version__.startswith("3.5.")


def test_a_load_stores_what_the_online_path_stores(
    spark: SparkSession, home: Path, settings: Settings, online_rows: Rows
) -> None:
    assert stored_rows(settings.store) == online_rows
    again = load(spark, [f"{home}/in"], Target(settings), rejects=f"{home}/rejects")
    assert again.counts == LineCounts(repeated=len(LINES), rejected=len(BAD))
    rejected = [
        json.loads(line)
        for file in sorted((home / "rejects").glob("*.json"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    assert [line["line"] for line in rejected] == [len(LINES) + 1, len(LINES) + 2]
    assert "bytes" not in rejected[0]
    assert base64.b64decode(rejected[1]["bytes"]) == NOT_UTF8


def test_a_stream_stores_what_the_online_path_stores(
    spark: SparkSession, home: Path, online_rows: Rows
) -> None:
    settings = Settings(store=f"sqlite:///{home}/streamed.db")
    report = stream_job.stream(
        spark,
        open_source(FolderOptions(f"{home}/in"), bytes_max=settings.document_bytes_max),
        Target(settings),
        paths=stream_job.StreamPaths(f"{home}/checkpoint", f"{home}/stream-rejects"),
        trigger=stream_job.Trigger(once=True),
        report=lambda _: None,
        stop=Event(),
    )
    assert report.counts == LineCounts(recorded=len(LINES), rejected=len(BAD))
    assert stored_rows(settings.store) == online_rows


def test_a_check_finds_no_error(spark: SparkSession, settings: Settings) -> None:
    report = check(spark, settings, repair=False)
    assert report.errors_left == 0
    assert report.first_audit.total == len(stored_rows(settings.store))


def test_exports_have_every_run(spark: SparkSession, home: Path, settings: Settings) -> None:
    spec = ExportSpec(settings)
    runs = sum(key.startswith(b"r|") for key in stored_rows(settings.store))
    parquet = export(spark, spec, f"{home}/parquet", form=Format.PARQUET)
    assert parquet.rows["runs"] == runs == pq.read_table(f"{home}/parquet/runs").num_rows
    events = export(spark, spec, f"{home}/events", form=Format.OPENLINEAGE)
    assert events.rows["events"] > runs


def test_retention_deletes_every_run(spark: SparkSession, settings: Settings) -> None:
    policy = RetentionPolicy(END_MS)
    planned = apply_retention(spark, settings, policy, dry_run=True)
    # Within the grace period nothing is deleted: cells are as old as this test.
    assert planned.counts["runs"] == 0
    deleted = apply_retention(spark, Settings(store=settings.store, grace_ms=0), policy, dry_run=False)
    assert deleted.counts["runs"] > 0
    assert not [key for key in stored_rows(settings.store) if key.startswith(b"r|")]


def test_the_data_source_needs_spark_4() -> None:
    from fll_hbase.spark import datasource

    with pytest.raises(ConfigurationError, match=r"needs Spark 4\.1 or later, and this is 3\.5\."):
        _ = datasource.register
