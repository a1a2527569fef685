"""`hbase-local` starts, reports, changes and stops a real HBase, and explains errors."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import happybase
import pytest

from fll_hbase.tables import hbase_schema
from tests.support.clusters import LAUNCHER, TABLE, Cluster
from tests.support.waiting import eventually

pytestmark = pytest.mark.java

LOOPBACK = "0100007F"
LISTENS = "0A"
START_SECONDS = 120

WRONG = {
    "create 't', {NAME => 'd', SIZE => '1'}": "no attribute is called SIZE",
    "create 't', {NAME => 'd', VERSIONS => 1}": "not understood: 1}",
    "create 't', {NAME => 'd', BLOOMFILTER => 'SOME'}": "BloomType.SOME",
    "create 't', {NAME => 'd'}; drop 't'": "not understood: ; drop 't'",
    "create 't'": "no column family in: create 't'",
    "drop 'good'": "not understood: drop 'good'",
}
"""Statements, and what is said of them."""


@pytest.fixture(scope="module")
def hbase(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("launched")) as cluster:
        yield cluster.start("standalone", 2)


@pytest.fixture
def table(hbase: Cluster) -> Iterator[happybase.Table]:
    """A table of one region, and one row."""
    with closing(happybase.Connection("127.0.0.1", hbase.gateways[0])) as connection:
        if b"rows" not in connection.tables():
            connection.create_table("rows", {"d": {}})
        table = connection.table("rows")
        table.put(b"k", {b"d:v": b"1"})
        yield table


def launched(command: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([LAUNCHER, command], env=environment, capture_output=True, text=True, check=False)


def processes(data: Path) -> list[int]:
    """Those that were started with a folder in their command line."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if f"{data}/" in path.read_text():
                pids.append(int(path.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return pids


def listening(pid: int) -> dict[int, str]:
    """Ports at which a process listens, and the addresses, as the kernel has them."""
    inodes = {os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir() if path.is_symlink()}
    addresses = {}
    for family in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{family}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == LISTENS and f"socket:[{words[9]}]" in inodes:
                address, port = words[1].split(":")
                addresses[int(port, 16)] = address
    return addresses


def families(description: str) -> dict[str, dict[str, str]]:
    """The attributes of each family, as the shell writes them."""
    parsed = [
        dict(re.findall(r"(\w+) => '([^']*)'", family)) for family in re.findall(r"\{NAME.*?\}", description)
    ]
    return {attributes.pop("NAME"): attributes for attributes in parsed}


def test_all_of_it_is_up_and_its_url_names_every_gateway(hbase: Cluster) -> None:
    assert hbase.status() == {"standalone": "up", "thrift": "up", "thrift1": "up"}
    first = hbase.ports.thrift
    assert hbase.url == f"hbase://127.0.0.1:{first},127.0.0.1:{first + 1}/{TABLE}"


def test_it_listens_to_this_machine_only(hbase: Cluster) -> None:
    pids = processes(hbase.data)
    assert len(pids) == 3
    addresses = {port: address for pid in pids for port, address in listening(pid).items()}
    ports = hbase.ports
    expected = {ports.zookeeper, ports.master, ports.region_servers, ports.thrift, ports.thrift + 1}
    assert addresses == dict.fromkeys(expected, LOOPBACK)


def test_to_start_what_runs_changes_nothing(hbase: Cluster) -> None:
    pids = processes(hbase.data)
    hbase.start("standalone", 2)
    assert processes(hbase.data) == pids
    with pytest.raises(AssertionError, match=r"runs standalone.*stop it first"):
        hbase.start("cluster", 2, 1)


def test_no_other_daemon_is_known(hbase: Cluster) -> None:
    with pytest.raises(
        AssertionError, match="no daemon is called 'rs1': there are standalone thrift thrift1"
    ):
        hbase.kill("rs1")


class TestDdl:
    """The statements that `fll table ddl` and `fll table describe` print."""

    def test_a_statement_creates_a_table_once(self, hbase: Cluster) -> None:
        statement = hbase_schema.create_statement(TABLE)
        assert hbase.ddl(statement) == f"{TABLE} is made\n"
        described = families(hbase.tool("describe", TABLE))
        for name, attributes in families(statement).items():
            assert attributes.items() <= described[name].items()
        regions = [line.split("\t")[0] for line in hbase.tool("regions", TABLE).splitlines()]
        assert regions == ["", *hbase_schema.SPLITS]
        assert hbase.ddl(statement, "--if-missing") == f"{TABLE} is there already\n"
        with pytest.raises(AssertionError, match=f"table {TABLE} is there already"):
            hbase.ddl(statement)
        hbase.tool("drop", TABLE)

    def test_attributes_change_and_the_others_stay(self, hbase: Cluster) -> None:
        hbase.ddl("create 'changed', {NAME => 'd', VERSIONS => '3', BLOOMFILTER => 'ROW', TTL => '86400'}")
        changes = {"d": {"VERSIONS": "1", "TTL": "FOREVER"}, "o": {"BLOCKCACHE": "false"}}
        hbase.ddl(hbase_schema.alter_statement("changed", changes))
        described = families(hbase.tool("describe", "changed"))
        assert {"VERSIONS": "1", "TTL": "FOREVER", "BLOOMFILTER": "ROW"}.items() <= described["d"].items()
        assert described["o"]["BLOCKCACHE"] == "false"

    def test_nothing_is_done_where_anything_is_not_understood(self, hbase: Cluster) -> None:
        for wrong, message in WRONG.items():
            with pytest.raises(AssertionError, match=re.escape(message)):
                hbase.ddl(f"create 'good', {{NAME => 'd'}}\n{wrong}\n")
        with pytest.raises(AssertionError, match="TableNotFoundException"):
            hbase.tool("describe", "good")


@pytest.mark.long
def test_snapshots_bring_a_table_back_here_and_from_elsewhere(
    hbase: Cluster, table: happybase.Table, tmp_path: Path
) -> None:
    hbase.tool("snapshot", "rows", "before")
    table.put(b"k", {b"d:v": b"2"})
    hbase.tool("restore", "before")
    assert table.row(b"k") == {b"d:v": b"1"}
    hbase.tool("export", "before", f"file://{tmp_path}/backup")
    hbase.tool("delete-snapshot", "before")
    hbase.tool("drop", "rows")
    hbase.tool("import", "before", f"file://{tmp_path}/backup")
    hbase.tool("clone", "before", "rows")
    assert table.row(b"k") == {b"d:v": b"1"}


def test_it_goes_on_after_a_pause(hbase: Cluster, table: happybase.Table) -> None:
    hbase.pause("standalone")
    assert hbase.status()["standalone"] == "paused"
    hbase.resume("standalone")
    assert table.row(b"k") == {b"d:v": b"1"}


def test_what_was_put_outlives_a_kill(hbase: Cluster, table: happybase.Table) -> None:
    table.put(b"k", {b"d:w": b"late"})
    hbase.kill("standalone")
    assert hbase.status()["standalone"] == "down"
    hbase.restart("standalone")
    hbase.wait()
    with closing(happybase.Connection("127.0.0.1", hbase.gateways[1])) as connection:
        assert connection.table("rows").row(b"k")[b"d:w"] == b"late"


def test_a_port_in_use_is_reported(hbase: Cluster, tmp_path: Path) -> None:
    other = Cluster(tmp_path, hbase.ports)
    with pytest.raises(AssertionError, match=f"port {hbase.ports.zookeeper} is in use"):
        other.start()
    assert not processes(tmp_path)


def test_a_daemon_that_ends_is_reported_and_nothing_keeps_running(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster:
        done = launched("start", {**cluster.environment, "HBASE_OPTS": "-XX:NoSuchFlag"})
    assert done.returncode == 1
    assert f"standalone has ended: see {tmp_path}/logs/standalone.log" in done.stderr
    assert "NoSuchFlag" in (tmp_path / "logs" / "standalone.log").read_text()
    assert not processes(tmp_path)


@pytest.mark.parametrize("command", ["status", "url", "wait"])
def test_where_nothing_was_started_that_is_reported(tmp_path: Path, command: str) -> None:
    done = launched(command, {**os.environ, "HBASE_DATA": str(tmp_path)})
    assert done.returncode == 1
    assert f"nothing was started in {tmp_path}" in done.stderr


def test_a_process_that_got_the_id_of_a_daemon_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "run" / "standalone.pid"
    file.parent.mkdir()
    file.write_text(f"{os.getpid()}\n")
    assert launched("stop", {**os.environ, "HBASE_DATA": str(tmp_path)}).returncode == 0
    assert not file.exists()


def test_what_the_image_runs_is_found_healthy_and_stops_in_order(tmp_path: Path) -> None:
    dockerfile = (LAUNCHER.parents[1] / "Dockerfile").read_text()
    (entry, *options), command, (check, shell_command) = (
        json.loads(re.search(rf"^{name} (\[.*\])$", dockerfile, re.MULTILINE)[1])
        for name in ("ENTRYPOINT", "CMD", "HEALTHCHECK.* CMD")
    )
    assert entry == check == LAUNCHER.name
    output_file = tmp_path / "said"
    with Cluster(tmp_path) as cluster, output_file.open("w") as output:
        running = subprocess.Popen(
            [LAUNCHER, *options, *command], env=cluster.environment, stdout=output, stderr=output
        )

        def is_healthy() -> bool:
            assert running.poll() is None, output_file.read_text()
            return launched(shell_command, cluster.environment).returncode == 0

        eventually(is_healthy, f"it is healthy, see {output_file}", seconds=START_SECONDS)
        running.send_signal(signal.SIGTERM)
        assert running.wait(START_SECONDS) == 0
        assert not processes(tmp_path)
        assert launched(shell_command, cluster.environment).returncode == 1
    assert "Cluster shutdown requested" in (tmp_path / "logs" / "standalone.log").read_text()


def test_two_that_build_at_once_build_once(tmp_path: Path) -> None:
    shutil.copytree(LAUNCHER.parents[1], tmp_path / "hbase", ignore=shutil.ignore_patterns("target"))
    build = [tmp_path / "hbase" / "bin" / LAUNCHER.name, "build"]
    both = [subprocess.Popen(build, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate()[1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted("building the jars" in line for line in outputs) == [False, True]
    again = subprocess.run(build, check=True, capture_output=True, text=True)
    assert not again.stderr
