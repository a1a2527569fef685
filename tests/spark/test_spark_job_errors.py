"""The cause of an error on a worker is in one line, and its trace in a file or on standard error."""

from __future__ import annotations

import os
import re
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark import cloudpickle
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.commands.spark.common import TRACE_CHARACTERS_MAX, find_cause, jvm_end, report_trace
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.tables import open_table
from tests.support.shared_session import SharedSession

Batches = Iterator[pa.RecordBatch]

# Workers cannot import tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def missing_module(_: Batches) -> Batches:
    import no_such_module  # type: ignore[import-not-found]  # noqa: F401

    yield from ()


def bad_value(_: Batches) -> Batches:
    try:
        int("x")
    except ValueError as error:
        raise RuntimeError("first line\nsecond line") from error
    yield from ()


def no_message(_: Batches) -> Batches:
    raise MemoryError
    yield from ()


def corrupt(_: Batches) -> Batches:
    raise CorruptRow("r|x: no commit record")
    yield from ()


def killed(_: Batches) -> Batches:
    os.kill(os.getpid(), signal.SIGKILL)
    yield from ()


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> Settings:
    """A store, the session of the tests for jobs, and a directory of its own for traces."""
    monkeypatch.setattr(common, "session", SharedSession(spark))
    traces = tmp_path / "traces"
    traces.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(traces))
    open_table(f"sqlite:///{tmp_path}/store.db").close()
    return Settings(store=f"sqlite:///{tmp_path}/store.db")


def failure(settings: Settings, work: Callable[[Batches], Batches], *, verbose: bool = False) -> str:
    """The message of a job whose worker does that work."""
    launch = common.LaunchOptions(verbose=verbose)
    with (
        pytest.raises(click.ClickException) as caught,
        common.spark_job("check", settings, launch) as spark,
    ):
        spark.range(1).mapInArrow(work, "id bigint").collect()
    return caught.value.format_message()


@pytest.mark.parametrize(
    ("work", "cause"),
    [
        (missing_module, "ModuleNotFoundError: No module named 'no_such_module'"),
        (bad_value, "RuntimeError: first line"),
        (no_message, "MemoryError"),
        (corrupt, "CorruptRow: r|x: no commit record"),
        (killed, "Python worker exited unexpectedly (crashed)"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_cause_is_in_one_line_and_the_trace_in_a_file(
    settings: Settings, work: Callable[[Batches], Batches], cause: str
) -> None:
    message = failure(settings, work)
    assert cause in message
    assert "\n" not in message
    trace = Path(re.search(r"the trace is in (\S+)$", message)[1])  # type: ignore[index]
    text = trace.read_text(encoding="utf-8")
    assert cause in text
    assert "at org.apache.spark" in text
    assert stat.S_IMODE(trace.stat().st_mode) == 0o600


def test_the_trace_is_printed_on_demand(
    settings: Settings, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert failure(settings, bad_value, verbose=True).endswith("the trace is above")
    printed = capsys.readouterr().err
    assert "ValueError: invalid literal" in printed
    assert "in bad_value" in printed
    assert list((tmp_path / "traces").iterdir()) == []


def test_a_trace_is_bounded_and_printed_where_no_file_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    report_trace("x" * (TRACE_CHARACTERS_MAX + 1), verbose=False)
    (file,) = tmp_path.iterdir()
    assert file.stat().st_size == TRACE_CHARACTERS_MAX
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    assert report_trace("a\x1b[31mb", verbose=False) == "the trace is above"
    assert "a\\x1b[31mb" in capsys.readouterr().err


def test_an_error_without_a_trace_is_its_first_line() -> None:
    assert find_cause("\n  no reason\nmore") == "no reason"
    assert find_cause("") == "no reason given"


@pytest.mark.java
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (52, "the JVM of Spark has ended: out of memory; raise --driver-memory"),
        (3, "the JVM of Spark has ended with exit code 3"),
    ],
)
def test_a_jvm_that_ended_says_why(code: int, reason: str) -> None:
    gateway = launch_gateway()
    assert jvm_end(gateway) == ""
    # The process ends within the call, which may then try to connect again.
    with pytest.raises((Py4JError, ConnectionError)):
        gateway.jvm.Runtime.getRuntime().halt(code)
    assert jvm_end(gateway) == reason
    gateway.shutdown()


@pytest.mark.java
def test_a_jvm_that_was_killed_says_so() -> None:
    gateway = launch_gateway()
    gateway.proc.kill()
    assert jvm_end(gateway) == "the JVM of Spark has ended: killed by signal 9"
    gateway.shutdown()
