"""Does a stream record what arrives, once and no less, however it ends?"""

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
from spark.stream_process import Following, documents, online, put, rejected, rows


class Here:
    """A folder, a store and what a stream keeps, all of one test."""

    def __init__(self, home: Path, spark: SparkSession) -> None:
        self.home = home
        self.spark = spark
        self.folder = home / "incoming"
        self.url = f"sqlite:///{home}/store.db"
        self.other_url = f"sqlite:///{home}/online.db"
        self.rejects = home / "rejects"
        self.stop = StopFlag()

    def drain(self, *, files_max: int = 1, url: str = "", namespace: str = "") -> list[BatchReport]:
        """Take all that is there."""
        told: list[BatchReport] = []
        stream.stream(
            self.spark,
            FolderSource(str(self.folder), files_max),
            Target(Settings(store=url or self.url), namespace),
            paths=StreamPaths(str(self.home / "checkpoint"), str(self.rejects)),
            trigger=Trigger(once=True),
            report=told.append,
            stop=self.stop,
        )
        return told

    def forget_commit(self, number: int) -> None:
        """As if it had died after all of a batch was recorded, and before the checkpoint said so."""
        for name in (f"{number}", f".{number}.crc"):
            (self.home / "checkpoint" / "commits" / name).unlink()


@pytest.fixture
def here(tmp_path: Path, spark: SparkSession) -> Here:
    return Here(tmp_path, spark)


def test_what_arrives_makes_the_rows_of_the_online_path_and_rejects_know_their_line(here: Here) -> None:
    other = document("run 3")
    other["run"]["startTime"] += 1
    files = [
        put(here.folder, "z.ndjson", documents(0, 8), time_s=1),
        put(here.folder, "y.ndjson.gz", [*documents(6, 4), b'{"broken', b" ", b"\xff"], time_s=2),
        put(here.folder, "x.ndjson", [b"", json.dumps(other).encode(), b"[]"], time_s=1_700_000_000),
    ]
    told = here.drain()
    assert [(batch.number, batch.counts) for batch in told] == [
        (0, LineCounts(recorded=8)),
        (1, LineCounts(recorded=2, repeated=2, rejected=2)),
        (2, LineCounts(recorded=1, replaced=1, rejected=1)),
    ]
    assert rows(here.url) == online(here.other_url, files)
    where = [(Path(one["file"]).name, one["line"], one["value"]) for one in rejected(here.rejects)]
    assert where == [("x.ndjson", 3, "[]"), ("y.ndjson.gz", 5, '{"broken'), ("y.ndjson.gz", 7, "\ufffd")]
    assert all(one["faults"] for one in rejected(here.rejects))

    files.append(put(here.folder, "a.ndjson", documents(20, 2), time_s=4))
    assert [(batch.number, batch.counts) for batch in here.drain()] == [(3, LineCounts(recorded=2))]
    assert rows(here.url) == online(here.other_url, files[-1:])


def test_a_batch_that_is_done_again_doubles_nothing(here: Here) -> None:
    nameless = {name: value for name, value in document("nameless").items() if name != "namespace"}
    lines = [b"{}", json.dumps(nameless).encode(), *documents(0, 3)]
    put(here.folder, "one.ndjson", lines, time_s=1)
    assert here.drain()[0].counts == LineCounts(recorded=3, rejected=2)
    before, kept = rows(here.url), rejected(here.rejects)

    here.forget_commit(0)
    assert here.drain()[0].counts == LineCounts(repeated=3, rejected=2)
    assert rows(here.url) == before
    assert rejected(here.rejects) == kept

    here.forget_commit(0)
    assert here.drain(namespace="shop")[0].counts == LineCounts(recorded=1, repeated=3, rejected=1)
    assert [one["value"] for one in rejected(here.rejects)] == ["{}"]


def test_rejects_of_an_earlier_go_are_gone_when_there_are_none(here: Here) -> None:
    nameless = {name: value for name, value in document("nameless").items() if name != "namespace"}
    put(here.folder, "one.ndjson", [json.dumps(nameless).encode()], time_s=1)
    here.drain()
    assert len(rejected(here.rejects)) == 1
    here.forget_commit(0)
    assert here.drain(namespace="shop")[0].counts == LineCounts(recorded=1)
    assert rejected(here.rejects) == []


def test_a_store_that_is_away_ends_it_and_the_next_start_goes_on_there(here: Here) -> None:
    files = [put(here.folder, f"{number}", documents(number, 1), time_s=number) for number in (1, 2)]
    with pytest.raises(PySparkException, match="StoreUnavailable"):
        here.drain(url="hbase://127.0.0.1:1/nowhere")
    assert [batch.number for batch in here.drain()] == [0, 1]
    assert rows(here.url) == online(here.other_url, files)


def test_asked_to_stop_before_a_batch_it_begins_none(here: Here) -> None:
    put(here.folder, "one", documents(0, 1), time_s=1)
    here.stop.set()
    assert here.drain() == []
    here.stop = StopFlag()
    assert [batch.counts for batch in here.drain()] == [LineCounts(recorded=1)]


def test_folders_that_will_not_do_are_refused_before_anything_is_recorded(here: Here) -> None:
    put(here.folder, "one", documents(0, 1), time_s=1)
    for rejects in (here.folder, here.folder / "rejects"):
        here.rejects = rejects
        with pytest.raises(ConfigurationError, match="folder that is read"):
            here.drain()
    here.rejects = here.home / "taken"
    here.rejects.mkdir()
    (here.rejects / "notes").touch()
    with pytest.raises(ConfigurationError, match="'notes'"):
        here.drain()
    assert not Path(here.home / "store.db").exists()


def test_sources_are_told_apart(here: Here) -> None:
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
        KafkaSource("a:1", "c").load(here.spark)
    with pytest.raises(ConfigurationError, match="incoming"):
        here.drain()


def test_sigterm_lets_the_batch_under_way_end_and_no_other_begin(tmp_path: Path) -> None:
    folder, url = tmp_path / "incoming", f"sqlite:///{tmp_path}/store.db"
    files = [put(folder, f"{number}", documents(number, 2), time_s=number) for number in range(30)]
    with Following(tmp_path, str(folder), url, "--files-max", "1", "--interval", "0") as following:
        assert following.told()["batch"] == 0
        following.signal(signal.SIGTERM)
        code, told = following.ended()
    *batches, last = told
    assert code == 0
    assert last["batches"] == 1 + len(batches) < 30
    assert last["read"] == last["recorded"] + last["repeated"] + last["rejected"]
    assert _committed(tmp_path) == list(range(last["batches"]))
    log = (tmp_path / "stream.log").read_text(encoding="utf-8")
    assert "ERROR" not in log
    assert "Traceback" not in log

    with Following(tmp_path, str(folder), url, "--once") as following:
        code, told = following.ended()
    assert (code, told[0]["batch"]) == (0, last["batches"])
    assert rows(url) == online(f"sqlite:///{tmp_path}/online.db", files)


def test_killed_in_mid_batch_it_comes_to_the_same_rows(tmp_path: Path) -> None:
    folder, url = tmp_path / "incoming", f"sqlite:///{tmp_path}/store.db"
    files = [put(folder, "many", [*documents(0, 3_000), b"{}"], time_s=1)]
    with Following(tmp_path, str(folder), url, "--once") as following:
        while not _has_runs(url):
            pass
        following.kill()
    assert _committed(tmp_path) == []

    with Following(tmp_path, str(folder), url) as following:
        assert following.told()["read"] == 3_001
        files.append(put(folder, "more", documents(3_000, 5), time_s=2))
        assert following.told()["recorded"] == 5
        following.signal(signal.SIGINT)
        code, told = following.ended()
    assert (code, told[-1]["batches"]) == (0, 2)
    assert rows(url) == online(f"sqlite:///{tmp_path}/online.db", files)
    assert [one["line"] for one in rejected(tmp_path / "rejects")] == [3_001]


def _committed(home: Path) -> list[int]:
    commits = home / "checkpoint" / "commits"
    return sorted(int(path.name) for path in commits.glob("[0-9]*")) if commits.exists() else []


def _has_runs(url: str) -> bool:
    with closing(open_table(url)) as table:
        return any(table.scan(b"r|", b"r}", limit=1))
