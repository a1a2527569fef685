"""Streams record all that arrives exactly once, however they end."""

from __future__ import annotations

import json
import re
import signal
from contextlib import closing
from pathlib import Path

import pytest
from cli.documents import document
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from fll_hbase.config import Settings
from fll_hbase.errors import ConfigurationError
from fll_hbase.spark import stream_sources
from fll_hbase.spark.jobs import stream
from fll_hbase.spark.jobs.stream import StreamPaths, Trigger
from fll_hbase.spark.shutdown import StopFlag
from fll_hbase.spark.stats import BatchReport, LineCounts
from fll_hbase.spark.stream_sources import FolderSource, KafkaSource
from fll_hbase.spark.worker_ingest import Target
from fll_hbase.tables import open_table
from spark.stream_process import StreamProcess, documents, move_file, record_online, rejected_lines, rows


class StreamSetup:
    """The folder, store, checkpoint and rejects of one test."""

    def __init__(self, home: Path, spark: SparkSession) -> None:
        self.home = home
        self.spark = spark
        self.folder = home / "incoming"
        self.url = f"sqlite:///{home}/store.db"
        self.other_url = f"sqlite:///{home}/online.db"
        self.rejects = home / "rejects"
        self.stop = StopFlag()

    def drain(self, *, files_max: int = 1, url: str = "", namespace: str = "") -> list[BatchReport]:
        """Record all files of the folder."""
        reports: list[BatchReport] = []
        stream.stream(
            self.spark,
            FolderSource(str(self.folder), files_max),
            Target(Settings(store=url or self.url), namespace),
            paths=StreamPaths(str(self.home / "checkpoint"), str(self.rejects)),
            trigger=Trigger(once=True),
            report=reports.append,
            stop=self.stop,
        )
        return reports

    def forget_commit(self, number: int) -> None:
        """Leave the checkpoint as if the stream had died after a batch was recorded, but not committed."""
        for name in (f"{number}", f".{number}.crc"):
            (self.home / "checkpoint" / "commits" / name).unlink()


@pytest.fixture
def setup(tmp_path: Path, spark: SparkSession) -> StreamSetup:
    return StreamSetup(tmp_path, spark)


def test_files_make_the_rows_of_the_online_path_and_rejects_have_their_line(
    setup: StreamSetup,
) -> None:
    other = document("run 3")
    other["run"]["startTime"] += 1
    files = [
        move_file(setup.folder, "z.ndjson", documents(0, 8), time_s=1),
        move_file(setup.folder, "y.ndjson.gz", [*documents(6, 4), b'{"broken', b" ", b"\xff"], time_s=2),
        move_file(setup.folder, "x.ndjson", [b"", json.dumps(other).encode(), b"[]"], time_s=1_700_000_000),
    ]
    reports = setup.drain()
    assert [(batch.number, batch.counts) for batch in reports] == [
        (0, LineCounts(recorded=8)),
        (1, LineCounts(recorded=2, repeated=2, rejected=2)),
        (2, LineCounts(recorded=1, replaced=1, rejected=1)),
    ]
    assert rows(setup.url) == record_online(setup.other_url, files)
    rejects = [
        (Path(line["file"]).name, line["line"], line["value"]) for line in rejected_lines(setup.rejects)
    ]
    assert rejects == [("x.ndjson", 3, "[]"), ("y.ndjson.gz", 5, '{"broken'), ("y.ndjson.gz", 7, "\ufffd")]
    assert all(line["faults"] for line in rejected_lines(setup.rejects))

    files.append(move_file(setup.folder, "a.ndjson", documents(20, 2), time_s=4))
    assert [(batch.number, batch.counts) for batch in setup.drain()] == [(3, LineCounts(recorded=2))]
    assert rows(setup.url) == record_online(setup.other_url, files[-1:])


def test_a_batch_that_is_done_again_doubles_nothing(setup: StreamSetup) -> None:
    nameless = {name: value for name, value in document("nameless").items() if name != "namespace"}
    lines = [b"{}", json.dumps(nameless).encode(), *documents(0, 3)]
    move_file(setup.folder, "one.ndjson", lines, time_s=1)
    assert setup.drain()[0].counts == LineCounts(recorded=3, rejected=2)
    first_rows, first_rejects = rows(setup.url), rejected_lines(setup.rejects)

    setup.forget_commit(0)
    assert setup.drain()[0].counts == LineCounts(repeated=3, rejected=2)
    assert rows(setup.url) == first_rows
    assert rejected_lines(setup.rejects) == first_rejects

    setup.forget_commit(0)
    assert setup.drain(namespace="shop")[0].counts == LineCounts(recorded=1, repeated=3, rejected=1)
    assert [line["value"] for line in rejected_lines(setup.rejects)] == ["{}"]


def test_rejects_of_an_earlier_attempt_are_removed_if_there_are_none(setup: StreamSetup) -> None:
    nameless = {name: value for name, value in document("nameless").items() if name != "namespace"}
    move_file(setup.folder, "one.ndjson", [json.dumps(nameless).encode()], time_s=1)
    setup.drain()
    assert len(rejected_lines(setup.rejects)) == 1
    setup.forget_commit(0)
    assert setup.drain(namespace="shop")[0].counts == LineCounts(recorded=1)
    assert rejected_lines(setup.rejects) == []


def test_an_unavailable_store_ends_the_stream_and_the_next_start_continues(setup: StreamSetup) -> None:
    files = [move_file(setup.folder, f"{number}", documents(number, 1), time_s=number) for number in (1, 2)]
    with pytest.raises(PySparkException, match="StoreUnavailable"):
        setup.drain(url="hbase://127.0.0.1:1/nowhere")
    assert [batch.number for batch in setup.drain()] == [0, 1]
    assert rows(setup.url) == record_online(setup.other_url, files)


def test_a_stream_that_was_stopped_starts_no_batch(setup: StreamSetup) -> None:
    move_file(setup.folder, "one", documents(0, 1), time_s=1)
    setup.stop.set()
    assert setup.drain() == []
    setup.stop = StopFlag()
    assert [batch.counts for batch in setup.drain()] == [LineCounts(recorded=1)]


def test_unusable_directories_are_refused_before_anything_is_recorded(setup: StreamSetup) -> None:
    move_file(setup.folder, "one", documents(0, 1), time_s=1)
    for rejects in (setup.folder, setup.folder / "rejects"):
        setup.rejects = rejects
        with pytest.raises(ConfigurationError, match="in the folder that the stream reads"):
            setup.drain()
    setup.rejects = setup.home / "used"
    setup.rejects.mkdir()
    (setup.rejects / "notes").touch()
    with pytest.raises(ConfigurationError, match="'notes'"):
        setup.drain()
    assert not Path(setup.home / "store.db").exists()


def test_sources_are_parsed(setup: StreamSetup) -> None:
    bounds = {"files_max": None, "offsets_max": None, "options": {}}
    assert stream_sources.parse_source("/in", **bounds) == FolderSource("/in")
    assert stream_sources.parse_source("kafka://a:1,b:2/c,d", **bounds) == KafkaSource("a:1,b:2", "c,d")
    for source in ("kafka://", "kafka://a:1", "kafka:///topic"):
        with pytest.raises(ConfigurationError, match="should be kafka://"):
            stream_sources.parse_source(source, **bounds)
    with pytest.raises(ConfigurationError, match="no offsets"):
        stream_sources.parse_source("/in", **{**bounds, "offsets_max": 1})
    with pytest.raises(ConfigurationError, match="no files"):
        stream_sources.parse_source("kafka://a:1/c", **{**bounds, "files_max": 1})
    with pytest.raises(ConfigurationError, match=re.escape(stream_sources.CONNECTOR)):
        KafkaSource("a:1", "c").load(setup.spark)
    with pytest.raises(ConfigurationError, match="incoming"):
        setup.drain()


def test_sigterm_ends_the_stream_after_the_current_batch(tmp_path: Path) -> None:
    folder, url = tmp_path / "incoming", f"sqlite:///{tmp_path}/store.db"
    files = [move_file(folder, f"{number}", documents(number, 2), time_s=number) for number in range(30)]
    with StreamProcess(tmp_path, str(folder), url, "--files-max", "1", "--interval", "0") as process:
        assert process.next_report()["batch"] == 0
        process.signal(signal.SIGTERM)
        code, reports = process.wait()
    *batches, last = reports
    assert code == 0
    assert last["batches"] == 1 + len(batches) < 30
    assert last["read"] == last["recorded"] + last["repeated"] + last["rejected"]
    assert _committed(tmp_path) == list(range(last["batches"]))
    log = (tmp_path / "stream.log").read_text(encoding="utf-8")
    assert "ERROR" not in log
    assert "Traceback" not in log

    with StreamProcess(tmp_path, str(folder), url, "--once") as process:
        code, reports = process.wait()
    assert (code, reports[0]["batch"]) == (0, last["batches"])
    assert rows(url) == record_online(f"sqlite:///{tmp_path}/online.db", files)


def test_a_stream_killed_in_a_batch_records_the_same_rows(tmp_path: Path) -> None:
    folder, url = tmp_path / "incoming", f"sqlite:///{tmp_path}/store.db"
    files = [move_file(folder, "many", [*documents(0, 3_000), b"{}"], time_s=1)]
    with StreamProcess(tmp_path, str(folder), url, "--once") as process:
        while not _has_runs(url):
            pass
        process.kill()
    assert _committed(tmp_path) == []

    with StreamProcess(tmp_path, str(folder), url) as process:
        assert process.next_report()["read"] == 3_001
        files.append(move_file(folder, "more", documents(3_000, 5), time_s=2))
        assert process.next_report()["recorded"] == 5
        process.signal(signal.SIGINT)
        code, reports = process.wait()
    assert (code, reports[-1]["batches"]) == (0, 2)
    assert rows(url) == record_online(f"sqlite:///{tmp_path}/online.db", files)
    assert [line["line"] for line in rejected_lines(tmp_path / "rejects")] == [3_001]


def _committed(home: Path) -> list[int]:
    commits = home / "checkpoint" / "commits"
    return sorted(int(path.name) for path in commits.glob("[0-9]*")) if commits.exists() else []


def _has_runs(url: str) -> bool:
    with closing(open_table(url)) as table:
        return any(table.scan(b"r|", b"r}", limit=1))
