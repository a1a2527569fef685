"""Options of all jobs: configuration file, Spark settings, summary file; the store is read before Spark."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from fll_hbase.cli.commands import spark
from fll_hbase.cli.commands.spark import common
from fll_hbase.cli.groups import CommandGroup
from fll_hbase.cli.summary_file import write_summary
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.session import _merge_settings, session
from fll_hbase.tables import open_table
from tests.support.commands import complaint

CHECK = ("spark", "check")
NOWHERE = "sqlite:///nowhere.db"


@click.group(cls=CommandGroup)
def jobs() -> None:
    """A group with a job that prints what it gets."""


@jobs.command()
@click.option("--rejects", required=True)
@click.option("--before", "cutoff")
@click.option("--files-max", type=click.IntRange(min=1))
@click.option("--dry-run", is_flag=True)
@click.option("--option", "options", multiple=True, callback=common.split_pairs)
@common.job_options
def load(*, settings: Settings, launch: common.LaunchOptions, **others: Any) -> None:
    members = {"store": settings.store, "grace_ms": settings.grace_ms, "spark": dict(launch.spark_settings)}
    click.echo(json.dumps({**members, "master": launch.master, **others}))


@jobs.command()
@common.job_options
def check(**_: Any) -> None:
    """Another job."""


def options_of(*arguments: str, config: str = "") -> Any:
    """The values that the job gets, of a file and a command line."""
    Path("jobs.toml").write_text(config, encoding="utf-8")
    result = CliRunner().invoke(jobs, ["load", "--config", "jobs.toml", *arguments])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def error_of(config: str | bytes, *arguments: str) -> str:
    """The error of a file, on one line."""
    raw = config if isinstance(config, bytes) else config.encode()
    Path("jobs.toml").write_bytes(raw)
    return complaint(*CHECK, "--store", NOWHERE, "--config", "jobs.toml", *arguments, code=2)


FILE = """
store = "sqlite:///file.db"
grace-ms = 1
master = "local[1]"

[conf]
spark.executor.memory = "2g"
"spark.speculation" = true

[load]
rejects = "r"
before = 2026-03-01
files-max = 3
dry-run = true
option = ["kafka.a=b=c", "d=e"]
conf = { "spark.executor.cores" = 4 }

[check]
store = "sqlite:///other.db"
"""


def test_a_file_has_the_options_and_settings_of_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLL_STORE", "sqlite:///environment.db")
    monkeypatch.setenv("FLL_GRACE_MS", "5")
    assert options_of(config=FILE) == {
        "store": "sqlite:///file.db",
        "grace_ms": 1,
        "spark": {
            "spark.executor.memory": "2g",
            "spark.speculation": "true",
            "spark.executor.cores": "4",
        },
        "master": "local[1]",
        "rejects": "r",
        "cutoff": "2026-03-01",
        "files_max": 3,
        "dry_run": True,
        "options": {"kafka.a": "b=c", "d": "e"},
    }


def test_an_option_has_priority_over_the_file_and_the_file_over_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FLL_STORE", "sqlite:///environment.db")
    arguments = ["--store", "sqlite:///option.db", "--master", "yarn", "--rejects", "s"]
    arguments += ["--conf", "spark.executor.memory=4g", "--driver-memory", "3g"]
    job = options_of(*arguments, config=FILE)
    assert (job["store"], job["master"], job["rejects"]) == ("sqlite:///option.db", "yarn", "s")
    assert job["spark"]["spark.executor.memory"] == "4g"
    assert job["spark"]["spark.driver.memory"] == "3g"
    assert job["spark"]["spark.executor.cores"] == "4"
    assert options_of("--rejects", "s")["store"] == "sqlite:///environment.db"
    assert options_of(config='[load]\nrejects = "r"\ngrace_ms = 7')["grace_ms"] == 7


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("grace_m = 1", "`grace-m` is not a setting or option of every job; did you mean `grace-ms`?"),
        ('rejects = "r"', "write it in [load] or [stream]"),
        (
            '[load]\nreject = "r"',
            "`reject` in [load] is not a setting or option of load; did you mean `rejects`?",
        ),
        ('config = "x"', "`config` is not"),
        ("[nonsense]\na = 1", "`nonsense` is not"),
        ("check = 1", "write a table [check]"),
        ("store = 1.5.", "jobs.toml"),
        (b"store = '\xff'", "jobs.toml"),
        ("store = [1]", "`store` is a text or a number"),
        ("repair = true\n", "write it in [check]"),
        ("[check]\nrepair = 'yes'", "`repair` is true or false, not 'yes'"),
        ("grace_ms = true", "`grace-ms` is a text or a whole number"),
        ("grace_ms = 1.5", "`grace-ms` is a text or a whole number"),
        ("port = 70000", "FLL_PORT"),
        ('[conf]\n"executor.memory" = "2g"', "'executor.memory' is not a setting of Spark"),
        ('conf = ["spark.a=b"]', "`conf` is a table"),
        ("a = " + "{a = " * 50_000, "nested too deeply"),
        ("a" * 2**20 + " = 1", "is longer than 1048576 bytes"),
    ],
    ids=range(18),
)
def test_what_is_wrong_with_a_file_is_reported(config: str | bytes, message: str) -> None:
    assert message in error_of(config)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ('rejects = "r"', "`rejects` is not a setting or option of every job; write it in [load]"),
        ("[retention]\nbefor = 1", "`befor` in [retention] is not a setting or option of retention"),
    ],
)
def test_jobs_that_are_not_imported_yet_are_known(config: str, message: str) -> None:
    modules = {"load": f"{spark.__name__}.load", "retention": f"{spark.__name__}.maintenance"}
    Path("jobs.toml").write_text(config, encoding="utf-8")
    group = CommandGroup(name="spark", modules=modules)
    result = CliRunner().invoke(group, ["load", "x", "--rejects", "r", "--config", "jobs.toml"])
    assert (result.exit_code, message in result.output.replace("\n", " ")) == (2, True)


def test_a_file_that_cannot_be_read_is_reported() -> None:
    assert "No such file" in complaint(*CHECK, "--config", "no.toml", code=2)
    assert "Is a directory" in complaint(*CHECK, "--config", "/", code=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--conf", "spark.executor.memory"), "is not NAME=VALUE"),
        (("--conf", "executor.memory=1g"), "is not a setting of Spark"),
        (("--conf", "spark.master=local"), "give it as --master"),
        (("--conf", "spark.sql.session.timeZone=Asia/Tokyo"), "jobs need UTC"),
        (("--driver-memory", "much"), "is not a size"),
        (("--driver-memory", "4"), "is not a size"),
        (("--summary", "/dev/null"), "is not a file"),
        (("--summary", "."), "is not a file"),
        (("--summary", "nowhere/summary.json"), "No such file"),
        (("--summary", "/proc/summary.json"), "cannot be written"),
    ],
    ids=str,
)
def test_options_are_checked_before_anything_starts(options: tuple[str, str], message: str) -> None:
    assert message in complaint(*CHECK, "--store", NOWHERE, *options, code=2)


def test_a_summary_is_replaced_at_once(tmp_path: Path) -> None:
    target, link = tmp_path / "summary.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    complaint(*CHECK, "--store", NOWHERE, "--summary", str(link), code=2)
    summary = json.loads(target.read_text())
    assert summary["job"] == "check"
    assert "there is no store" in summary["error"]
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "summary.json"]
    tmp_path.joinpath("gone").mkdir()
    with pytest.raises(click.ClickException, match="cannot be written to"):
        write_summary(tmp_path / "nowhere" / "x", {})


@pytest.mark.parametrize("job", ["check", "retention", "export"])
def test_only_recording_creates_a_store(job: str, tmp_path: Path) -> None:
    arguments = [str(tmp_path / "out")] if job == "export" else []
    message = complaint("spark", job, *arguments, "--store", NOWHERE, code=2)
    assert "there is no store at sqlite:///nowhere.db" in message
    assert list(tmp_path.iterdir()) == []


def test_loads_may_create_a_store() -> None:
    common.reach_store(Settings(store=NOWHERE), create=True)
    with pytest.raises(ConfigurationError, match="there is no store"):
        common.reach_store(Settings(store=NOWHERE), create=False)


class Listener:
    """A port that accepts connections; it answers `reply`, or nothing. Counts the connections."""

    def __init__(self, reply: bytes) -> None:
        self._reply = reply
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.connections: list[socket.socket] = []
        self.url = f"hbase://127.0.0.1:{self._socket.getsockname()[1]}/lineage"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        for opened in (self._socket, *self.connections):
            opened.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections.append(connection)
            if self._reply:
                connection.sendall(self._reply)


@pytest.fixture
def hanging() -> Iterator[Listener]:
    """A gateway that hangs."""
    listener = Listener(b"")
    yield listener
    listener.close()


@pytest.fixture
def web_server() -> Iterator[Listener]:
    """A server at a mistyped port."""
    listener = Listener(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    yield listener
    listener.close()


@pytest.mark.slow
def test_a_store_that_does_not_answer_is_reported_before_spark_starts(
    hanging: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(common, "STORE_CHECK_MS", 200)
    message = complaint(*CHECK, "--store", hanging.url, code=1)
    assert "did not answer in time" in message
    assert len(hanging.connections) == 2
    monkeypatch.setattr(common, "STORE_CHECK_SECONDS", 0.1)
    assert "does not answer within 0.1 s; nothing was started" in complaint(
        *CHECK, "--store", hanging.url, code=1
    )


@pytest.mark.slow
def test_a_store_that_is_none_is_reported_before_spark_starts(web_server: Listener, tmp_path: Path) -> None:
    assert "is not the port of a Thrift gateway" in complaint(*CHECK, "--store", web_server.url, code=2)
    assert "no HBase gateway can be reached" in complaint(*CHECK, "--store", "hbase://127.0.0.1:1/t", code=1)
    (tmp_path / "text.db").write_text("text" * 100)
    assert "not a database" in complaint(*CHECK, "--store", f"sqlite:///{tmp_path}/text.db", code=1)


@pytest.mark.slow
def test_another_gateway_is_tried_when_one_hangs(hanging: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one refuses, so that it is named."""
    monkeypatch.setattr(common, "STORE_CHECK_MS", 200)
    url = hanging.url.replace("/lineage", ",127.0.0.1:1/lineage")
    assert complaint(*CHECK, "--store", url, code=1)
    assert hanging.connections


def test_settings_of_a_running_jvm_are_for_spark_submit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    with pytest.raises(ConfigurationError, match=r"spark\.driver\.memory has no effect any more"):
        session("test", settings={"spark.driver.memory": "2g"})


def test_settings_of_a_job_are_added_to_those_of_all_jobs() -> None:
    options = "spark.driver.extraJavaOptions"
    merged = _merge_settings({options: "-Xss4m", "spark.ui.enabled": "true"}, is_local=True)
    assert re.fullmatch(r"-Dlog4j2\S+ -Xss4m", merged[options])
    assert (merged["spark.ui.enabled"], merged["spark.sql.session.timeZone"]) == ("true", "UTC")
    assert _merge_settings({options: "-Xss4m"}, is_local=False)[options] == "-Xss4m"


@pytest.mark.parametrize(
    ("start", "end"),
    [("2026-03-01", "2026-03-02"), ("2026-03-01T00:00:00Z", "2026-03-01T12:00:00+01:00"), ("0", "now-1w")],
    ids=str,
)
def test_times_of_jobs_may_be_iso_8601(start: str, end: str, tmp_path: Path) -> None:
    """They are refused for the store, not for the times."""
    open_table(f"sqlite:///{tmp_path}/is.db").close()
    window = ("--start", start, "--end", end)
    assert "there is no store" in complaint("spark", "export", "out", *window, "--store", NOWHERE, code=2)
    assert "there is no store" in complaint("spark", "retention", "--before", end, "--store", NOWHERE, code=2)
    assert "month must be in" in complaint("spark", "retention", "--before", "2026-13-01", code=2)
