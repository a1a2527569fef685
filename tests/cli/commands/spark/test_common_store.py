"""A job learns before Spark starts whether its store exists and answers."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fll_hbase.cli.commands.spark.common import reach_store
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError, StoreUnavailable
from fll_hbase.store.factory import check_grace
from fll_hbase.tables import open_table


def test_a_store_that_exists_is_left_as_it_is(tmp_path: Path) -> None:
    settings = Settings(store=f"sqlite:///{tmp_path}/a.db")
    with pytest.raises(ConfigurationError, match="there is no store at"):
        reach_store(settings, create=False)
    reach_store(settings, create=True)
    assert list(tmp_path.iterdir()) == []
    open_table(settings.store).close()
    content = (tmp_path / "a.db").read_bytes()
    reach_store(settings, create=False)
    assert (tmp_path / "a.db").read_bytes() == content


def test_a_file_that_cannot_be_created_is_refused_before_the_job(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(ConfigurationError, match=r"notes\.txt is not a directory that can be written"):
        reach_store(Settings(store=f"sqlite:///{tmp_path}/notes.txt/new/a.db"), create=True)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_file_that_is_no_database_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x" * 5_000)
    with pytest.raises(StoreUnavailable, match="not a database"):
        reach_store(Settings(store=f"sqlite:///{tmp_path}/notes.txt"), create=True)
    assert (tmp_path / "notes.txt").read_text() == "x" * 5_000
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.slow
def test_a_gateway_that_never_answers_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"hbase://127.0.0.1:{silent.getsockname()[1]}/lineage"
        with pytest.raises(StoreUnavailable):
            reach_store(Settings(store=url), create=False)


@pytest.mark.slow
def test_a_gateway_that_is_not_there_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"hbase://127.0.0.1:{listening.getsockname()[1]}/lineage"
    with pytest.raises(StoreUnavailable):
        reach_store(Settings(store=url), create=False)


def test_a_short_grace_period_is_for_a_file_that_no_other_process_has_open(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    short = Settings(store=url, grace_ms=3_599_999)
    open_table(url).close()
    check_grace(short)
    with other_process(url) as process:
        with pytest.raises(ConfigurationError, match="FLL_GRACE_MS=3599999 is below an hour"):
            check_grace(short)
        check_grace(Settings(store=url))
        process.kill()
        process.wait()
        # The log of a killed process stays, but no process has it open.
        assert (tmp_path / "a.db-wal").exists()
        check_grace(short)


def test_a_short_grace_period_is_refused_on_hbase() -> None:
    with pytest.raises(ConfigurationError, match="below an hour"):
        check_grace(Settings(store="hbase://127.0.0.1:9090/lineage", grace_ms=0))


@contextmanager
def other_process(url: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has written to the store and has it open."""
    code = (
        "import sys; from fll_hbase.tables import Put, open_table;"
        "table = open_table(sys.argv[1]); table.write([[Put(b'a', b'd:x', b'1')]]);"
        "print('open', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()
