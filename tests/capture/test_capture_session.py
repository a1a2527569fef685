"""Capture of one session: installed, installed again, with faulty settings, waited for and ended."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from fll_hbase import capture
from fll_hbase.capture.capture_session import install_once
from fll_hbase.spark.session import session
from tests.support.capture.lineage_server import Lineage
from tests.support.capture.slow_server import reserved_port
from tests.support.jvm_options import SPARK_JVM

pytestmark = pytest.mark.java

DROPPING_ROUNDS_MAX = 30
"""Of twenty writes each: mostly the first drops the end of one."""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    settings = {"spark.ui.showConsoleProgress": "false", **SPARK_JVM}
    spark = session("captured", master="local[1]", settings=settings)
    yield spark
    spark.stop()


@pytest.fixture(autouse=True)
def uninstalled() -> Iterator[None]:
    yield
    capture.uninstall()


def write(spark: SparkSession, path: Path) -> None:
    spark.range(3).withColumnRenamed("id", "n").write.parquet(str(path))


def outputs(server: Lineage, folder: Path) -> int:
    """How many datasets of a folder are recorded."""
    return len(server.datasets("file", str(folder)))


def test_only_what_is_written_while_it_is_installed_is_recorded(
    spark: SparkSession, server: Lineage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "fll_hbase.capture")
    write(spark, tmp_path / "before")
    assert capture.install(spark, server.url, spool=tmp_path / "spool")
    assert capture.install(spark, server.url, spool=tmp_path / "spool")
    write(spark, tmp_path / "while")
    assert capture.flush(30)
    assert outputs(server, tmp_path) == 1
    assert capture.uninstall(30)
    write(spark, tmp_path / "after")
    assert capture.flush(30)
    assert outputs(server, tmp_path) == 1
    assert [record.message for record in caplog.records] == [
        f"lineage of this application goes to {server.url}"
    ]
    assert [path.name for path in (tmp_path / "spool").iterdir()] == ["fll-capture"]


def test_other_settings_replace_those_before(spark: SparkSession, server: Lineage, tmp_path: Path) -> None:
    assert capture.install(spark, server.url, spool=tmp_path / "one", namespace="one")
    write(spark, tmp_path / "first")
    assert capture.install(spark, server.url, spool=tmp_path / "two", namespace="two")
    write(spark, tmp_path / "second")
    assert capture.flush(30)
    assert [server.namespaces_of("file", str(tmp_path / name)) for name in ("first", "second")] == [
        {"one"},
        {"two"},
    ]


def test_settings_are_replaced_while_the_server_before_is_away(
    spark: SparkSession, server: Lineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wait for it would be seen: it would have no end."""
    monkeypatch.setattr("fll_hbase.capture.capture_session.EXIT_SECONDS", 1e6)
    with reserved_port() as port:
        assert capture.install(spark, f"http://127.0.0.1:{port}", spool=tmp_path / "one")
        write(spark, tmp_path / "first")
        assert capture.install(spark, server.url, spool=tmp_path / "two")
        write(spark, tmp_path / "second")
        assert not capture.uninstall(2)
    assert outputs(server, tmp_path) == 1
    left = {path.suffix for path in (tmp_path / "one").iterdir()}
    assert left == {"", ".plans", ".head", ".ack"}


def test_every_fault_is_in_one_warning_and_the_job_goes_on(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "photo").write_text("mine")
    assert not capture.install(spark, "lineage:8080", namespace="", spool=tmp_path)
    assert not capture.install(spark, "http://lineage", spool=tmp_path)
    assert not capture.install(spark, "http://lineage", spool=tmp_path / "photo")
    assert not capture.install(spark, "http://lineage", spool=tmp_path / "spool", literals="perhaps")  # type: ignore[arg-type]
    assert not any(record.exc_info for record in caplog.records)
    first, second, third, fourth = (record.message for record in caplog.records)
    assert "literals='perhaps' is not a whole number" in fourth
    assert "'lineage:8080'" in first
    assert "namespace" in first
    assert "is not a spool of capture" in second
    assert "cannot be a spool" in third
    write(spark, tmp_path / "written")
    assert capture.flush(1)


def test_a_flush_without_a_limit_waits_for_spark(
    spark: SparkSession, server: Lineage, tmp_path: Path
) -> None:
    assert capture.install(spark, server.url, spool=tmp_path / "spool")
    for number, timeout in enumerate((float("inf"), 1e12, None)):
        write(spark, tmp_path / f"out{number}")
        assert capture.flush(timeout)
        assert outputs(server, tmp_path) == number + 1
    assert not capture.flush(0)
    assert not capture.flush(-1)


def test_a_session_without_a_jvm_is_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    class RemoteSession:
        """As a session of Spark Connect: no context."""

    assert not capture.install(RemoteSession())  # no URL: nothing to warn about
    assert caplog.records == []
    assert not capture.install(RemoteSession(), "http://lineage")
    (record,) = caplog.records
    assert "Spark Connect" in record.message


def test_a_stopped_context_is_one_warning(
    spark: SparkSession, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # A context of its own would need another JVM; one that is stopped has none.
    monkeypatch.setattr(spark.sparkContext, "_jsc", None)
    assert not capture.install(spark, "http://lineage", spool=tmp_path / "spool")
    (record,) = caplog.records
    assert record.message == "capture is off: the SparkContext is stopped"


def test_a_context_is_tried_once_by_the_hook(
    spark: SparkSession, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLL_CAPTURE_URL", "nothing")
    install_once(spark)
    install_once(spark.newSession())
    assert len(caplog.records) == 1


def test_an_error_of_a_query_is_as_without_capture(
    spark: SparkSession, server: Lineage, tmp_path: Path
) -> None:
    """Spark puts who asks for a plan into the exception of its analysis: the program, not capture."""
    assert capture.install(spark, server.url, spool=tmp_path / "spool")
    with pytest.raises(AnalysisException) as raised:
        spark.sql("CREATE TABLE t USING parquet AS SELECT nothing FROM range(1)")
    assert capture.flush(30)
    error = raised.value._origin
    errors = [error, *error.getSuppressed()]
    frames = [frame.toString() for item in errors for frame in item.getStackTrace()]
    assert [frame for frame in frames if "fll.capture" in frame] == []


def test_threads_install_and_flush_at_once(spark: SparkSession, server: Lineage, tmp_path: Path) -> None:
    results: list[bool] = []

    def use(number: int) -> None:
        results.append(capture.install(spark, server.url, spool=tmp_path / "spool"))
        write(spark, tmp_path / f"out{number}")
        results.append(capture.flush(60))

    threads = [threading.Thread(target=use, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 10
    assert outputs(server, tmp_path) == 5


def test_executions_that_spark_drops_are_counted(
    spark: SparkSession, server: Lineage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The queue of the listener has room for one event, so that those of some writes do not fit."""
    missed = 0
    for number in range(DROPPING_ROUNDS_MAX):
        folder = tmp_path / str(number)
        caplog.clear()
        install_with_a_short_queue(spark, server, tmp_path / "spool")
        for write_number in range(20):
            write(spark, folder / f"out{write_number}")
        assert capture.uninstall(30)
        missed = sum(int(count) for count in re.findall(r"up to (\d+) executions", caplog.text))
        assert outputs(server, folder) + missed == 20
        # A listener that is quick may see the end of every write.
        if missed:
            break
    assert missed


def install_with_a_short_queue(spark: SparkSession, server: Lineage, spool: Path) -> None:
    setting = "spark.scheduler.listenerbus.eventqueue.fll.capacity"
    conf = spark.sparkContext._jsc.sc().conf()
    conf.set(setting, "1")
    try:
        assert capture.install(spark, server.url, spool=spool)
    finally:
        conf.remove(setting)
