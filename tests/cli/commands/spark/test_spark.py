"""Spark commands report in one line what keeps them from running, and what to install."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from api.command import main
from tests.support.commands import FLL, complaint, printed
from tests.support.engines import Hbase
from tests.support.jvm_options import JVM_ENVIRONMENT

LOAD = ("spark", "load")

_NONE = """
import sys
class None_:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "pyarrow", "pandas"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, None_())
from fll_hbase.api.command import main
main(sys.argv[1:])
"""
"""The command line where the extra `spark` was not installed."""


def failed(command: list[str], *, code: int, **environment: str) -> str:
    """The one line that a command in a process of its own ends with; Spark's own words may go before it."""
    inherited = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**inherited, **JVM_ENVIRONMENT, **environment},
        check=False,
        timeout=600,
    )
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert "Traceback" not in done.stderr
    *_, line = done.stderr.splitlines()
    assert line.startswith("fll: ")
    return line


@pytest.fixture
def load_command(tmp_path: Path) -> list[str]:
    """A load that would find nothing to complain of."""
    (tmp_path / "in").write_bytes(b"\n")
    store = f"sqlite:///{tmp_path}/lineage.db"
    return [*LOAD, str(tmp_path / "in"), "--rejects", str(tmp_path / "rejects"), "--store", store]


def test_help_lists_every_job() -> None:
    message = printed("spark", "--help")
    for name in main.all_commands()["spark"].all_commands():  # type: ignore[attr-defined]
        assert f"\n  {name} " in message
        assert printed("spark", name, "--help").startswith(f"Usage: fll spark {name} ")


@pytest.mark.slow
def test_help_needs_no_spark() -> None:
    command = [sys.executable, "-c", _NONE, "spark", "load", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "INPUT" in done.stdout


@pytest.mark.slow
def test_without_pyspark_it_says_what_to_install(load_command: list[str]) -> None:
    line = failed([sys.executable, "-c", _NONE, *load_command], code=2)
    assert "pip install '.[spark]'" in line
    assert "pyspark" in line


@pytest.mark.slow
def test_without_a_jdk_it_says_what_to_install(load_command: list[str], tmp_path: Path) -> None:
    """A PATH with all that Spark's scripts need but `java`."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for directory in map(Path, ("/bin", "/usr/bin")):
        for name in ("bash", "sh", "env", "dirname", "basename", "uname", "ps", "rm", "nice", "cat"):
            if (directory / name).exists() and not (tools / name).exists():
                (tools / name).symlink_to(directory / name)
    line = failed([FLL, *load_command], code=2, PATH=str(tools))
    assert "JDK" in line
    assert "JAVA_HOME" in line


@pytest.mark.java
@pytest.mark.parametrize("master", ["nonsense", "local[x]"])
def test_a_master_that_spark_does_not_know_is_named(load_command: list[str], master: str) -> None:
    assert master in failed([FLL, *load_command, "--master", master], code=2)


@pytest.mark.java
def test_what_is_not_there_is_reported(load_command: list[str], tmp_path: Path) -> None:
    line = failed([FLL, *LOAD, str(tmp_path / "nowhere"), *load_command[3:]], code=1)
    assert "PATH_NOT_FOUND" in line
    assert "nowhere" in line


@pytest.mark.java
@pytest.mark.long
def test_rejects_that_cannot_be_written_are_reported(load_command: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    below = str(tmp_path / "file" / "rejects")
    line = failed([FLL, *LOAD, load_command[2], "--rejects", below, *load_command[5:]], code=2)
    assert "cannot be written" in line
    assert below in line


@pytest.mark.java
@pytest.mark.long
def test_parquet_without_the_column_is_reported(load_command: list[str], tmp_path: Path) -> None:
    pq.write_table(pa.table({"other": ["x"]}), tmp_path / "in")
    line = failed([FLL, *load_command, "--format", "parquet"], code=1)
    assert "`value`" in line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--store", "sqlite:///:memory:"], "a store in memory belongs to one process"),
        (["--store", "mysql://x"], "mysql"),
        (["--namespace", "x" * 2_000], "--namespace"),
        (["--format", "csv"], "--format"),
        (["--max-rejects", "half"], "such as 5%"),
        (["--max-rejects", "-1"], "such as 5%"),
        (["--max-rejects", "101%"], "such as 5%"),
        (["--max-rejects", "nan%"], "such as 5%"),
    ],
    ids=str,
)
def test_invalid_options_are_reported_before_anything_starts(
    load_command: list[str], options: list[str], message: str
) -> None:
    assert message in complaint(*load_command[:5], *options, code=2)


@pytest.mark.parametrize("job", [["check"], ["check", "--repair"], ["retention"], ["export", "out"]], ids=str)
def test_only_a_load_or_a_stream_makes_a_store(job: list[str], tmp_path: Path) -> None:
    line = complaint("spark", *job, "--store", f"sqlite:///{tmp_path}/mistyped.db", code=2)
    assert "there is no store at" in line
    assert "--store names another" in line
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_hbase_that_is_not_there_is_reported_before_spark_starts(
    hbase: Hbase, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without a JDK: Spark could not start.
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    for job in (["check"], ["retention"], ["export", "out"]):
        line = complaint("spark", *job, "--store", hbase.unused(), code=2)
        assert "HBase has no table" in line
        assert "fll table create" in line


def test_an_input_must_be_named() -> None:
    assert "INPUT" in complaint(*LOAD, "--rejects", "x", code=2)
