"""Streams record all that arrives exactly once, however they end."""

from __future__ import annotations

import json
import signal
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from fll_hbase.runtime.errors import ConfigurationError, TooManyRejects
from fll_hbase.spark.lines.reject_limit import parse_limit
from fll_hbase.spark.stats import LineCounts
from fll_hbase.spark.streams.stream_options import parse_source
from fll_hbase.spark.streams.stream_rejects import Rejection
from fll_hbase.spark.streams.stream_sources import open_source
from fll_hbase.tables import open_table
from tests.support.small_documents import document
from tests.support.stream_process import (
    StreamProcess,
    documents,
    move_file,
    record_online,
    rejected_lines,
    rows,
)
from tests.support.stream_setup import StreamSetup
from tests.support.waiting import eventually

pytestmark = pytest.mark.java


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
    store, away = setup.home / "store.db", setup.home / "away.db"

    def lose_store() -> None:
        store.rename(away)
        store.mkdir()

    with pytest.raises(PySparkException, match="is a directory"):
        setup.drain(in_batch=lose_store)
    store.rmdir()
    away.rename(store)
    assert [batch.number for batch in setup.drain()] == [0, 1]
    assert rows(setup.url) == record_online(setup.other_url, files)


def test_a_stream_that_was_stopped_starts_no_batch(setup: StreamSetup) -> None:
    move_file(setup.folder, "one", documents(0, 1), time_s=1)
    setup.stop.set()
    assert setup.drain() == []
    setup.stop = Event()
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


def test_sources_that_cannot_be_opened_are_reported(setup: StreamSetup) -> None:
    kafka = parse_source("kafka://a:1/c", extra={"kafka.auto.offset.reset": "x"})
    with pytest.raises(ConfigurationError, match=r"auto\.offset\.reset"):
        open_source(kafka, bytes_max=1).load(setup.spark)
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


@pytest.mark.long
def test_a_stream_killed_in_a_batch_records_the_same_rows(tmp_path: Path) -> None:
    folder, url = tmp_path / "incoming", f"sqlite:///{tmp_path}/store.db"
    files = [move_file(folder, "many", [*documents(0, 3_000), b"{}"], time_s=1)]
    with StreamProcess(tmp_path, str(folder), url, "--once") as process:
        eventually(lambda: _has_runs(url), "a part of the batch is recorded")
        process.kill()
    assert _committed(tmp_path) == []

    with StreamProcess(tmp_path, str(folder), url) as process:
        assert process.next_report()["read"] == 3_001
        files.append(move_file(folder, "more", documents(3_000, 5), time_s=2))
        assert process.next_report()["recorded"] == 5
        process.signal(signal.SIGINT)
        code, reports = process.wait()
    # 3, because a line of the first batch was rejected.
    assert (code, reports[-1]["batches"]) == (3, 2)
    assert rows(url) == record_online(f"sqlite:///{tmp_path}/online.db", files)
    assert [line["line"] for line in rejected_lines(tmp_path / "rejects")] == [3_001]


def _committed(home: Path) -> list[int]:
    commits = home / "checkpoint" / "commits"
    return sorted(int(path.name) for path in commits.glob("[0-9]*")) if commits.exists() else []


def _has_runs(url: str) -> bool:
    with closing(open_table(url)) as table:
        return any(table.scan(b"r|", b"r}", limit=1))


def test_a_batch_beyond_the_limit_of_rejected_lines_is_not_committed(setup: StreamSetup) -> None:
    move_file(setup.folder, "one", [*documents(0, 2), b"{}"], time_s=1)
    move_file(setup.folder, "two", [*documents(2, 1), b"{}", b"[", *documents(3, 1)], time_s=2)
    with pytest.raises(TooManyRejects, match=r"2 of the 4 lines .* more than 1: .*two, line 2: .*; .*line 3"):
        setup.drain(rejection=Rejection(parse_limit("1")))
    assert _committed(setup.home) == [0]
    assert len(rejected_lines(setup.rejects)) == 3
    (again,) = setup.drain(rejection=Rejection(parse_limit("0.2%")))
    assert again.counts == LineCounts(repeated=2, rejected=2)
    assert len(rejected_lines(setup.rejects)) == 3
