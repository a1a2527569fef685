"""Every error ends in one line that says what to do, and in the right exit code."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import FLL, complaint, fll
from tests.support.scripted_server import Reply, serving


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("nowhere",), "fll: No such command 'nowhere'. `fll --help` says more."),
        (("lineag",), "No such command 'lineag'. Did you mean 'lineage'? `fll --help` says more."),
        (("tag", "add"), "fll tag: No such command 'add'. Did you mean 'set'? `fll tag --help` says more."),
        (("token", "delete"), "No such command 'delete'. Did you mean 'revoke'?"),
        (("policy", "lst"), "No such command 'lst'. Did you mean 'list'?"),
        (("search", "uid"), "No such command 'search'. Did you mean 'find'?"),
        (("provenance",), "No such command 'provenance'. Did you mean 'report provenance'?"),
        (("version",), "No such command 'version'. Did you mean '--version'?"),
        (("--nothing",), "fll: No such option '--nothing'. `fll --help` says more."),
        (("record", "gone.json"), "'gone.json': No such file or directory. `fll record --help` says more."),
        (("find",), "fll find: Missing argument 'TEXT'. `fll find --help` says more."),
        (("lineage", "ns", ""), "NAME': is 0 bytes long; names have 1 to 4096."),
        (("lineage", "x" * 1025, "n"), "NS': is 1025 bytes long; names have 1 to 1024."),
        (("field", "ns", "n", "x" * 4097), "FIELD': is 4097 bytes long"),
        (("lineage", "ns", "\udcff"), "is not UTF-8"),
        (("lineage", "ns", "n", "--level", "0"), "0 is not in the range"),
        (("lineage", "ns", "n", "--direction", "up"), "'up' is not one of 'both', 'backward', 'forward'"),
        (("field", "ns", "n", "f", "--direction", "both"), "'both' is not one of 'backward', 'forward'"),
        (("field", "ns", "n", "f", "--view", "x"), "'x' is not one of 'detailed', 'simple'"),
        (
            ("runs", "ns", "--state", "failed"),
            "'fail', 'abort'. Did you mean 'fail'? `fll runs",
        ),
        (("runs", "ns", "--state", "SUCCEEDED"), "Did you mean 'complete'?"),
        (("reach", "ns/n.f", "--direction", "upstream"), "Did you mean 'backward'?"),
        (("find", "x", "--kind", "dataset"), "Did you mean 'endpoint'?"),
        (("find", "x", "--format", "tabel"), "Did you mean 'table'?"),
        (("watch", "--outcome", "rejected"), "Did you mean 'refused'?"),
        (("watch", "--since", "7d"), "since: '7d' is not a time: did you mean now-7d?"),
        (("runs", "ns", "n", "--limit", "0"), "0 is not in the range"),
        (("find", "x", "--store", "a", "--server", "b"), "Give --store or --server, not both."),
        (("find", "x", "--store", "nosql:///x"), "names no engine: expected sqlite:///path/to/file.db"),
        (
            ("find", "x", "--store", "sqlite:///gone.db"),
            "there is no store at sqlite:///gone.db: `fll sample`",
        ),
        (
            ("find", "x", "--server", "localhost:80"),
            "is not the URL of a server: expected http://host:port",
        ),
        (
            ("find", "x", "--server", "http://lineage..shop"),
            "is not the URL of a server: expected http://host:port",
        ),
        (("sample", "--end", "soon"), "end: 'soon' is not a time"),
        (("serve", "--port", "0"), "0 is not in the range"),
        (("serve", "--workers", "0"), "0 is not in the range"),
        (("serve", "--store", "nosql:///x"), "names no engine"),
    ],
)
def test_invalid_commands(command: tuple[str, ...], message: str) -> None:
    result = fll(*command)
    assert result.exit_code == 2
    assert message in result.stderr.splitlines()[-1]
    assert result.stdout == ""


def test_a_port_in_use_is_reported_before_serving(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        line = complaint("serve", "--store", f"sqlite:///{tmp_path}/store.db", "--port", port, code=1)
    assert line.startswith(
        f"fll: cannot listen on 127.0.0.1:{port}: Address already in use; choose another port"
    )
    assert "PORT=" in line


@pytest.mark.parametrize(
    ("host", "message"),
    [
        (
            "192.0.2.1",
            "cannot listen on 192.0.2.1:8080: Cannot assign requested address; choose another host",
        ),
        (
            "nowhere.invalid",
            "cannot listen on nowhere.invalid:8080: Name or service not known; choose another",
        ),
    ],
)
def test_a_host_of_another_machine_is_reported_before_serving(
    tmp_path: Path, host: str, message: str
) -> None:
    store = f"sqlite:///{tmp_path}/store.db"
    line = complaint("serve", "--allow-unauthenticated", "--store", store, "--host", host, code=1)
    assert line.startswith(f"fll: {message}")
    assert "--host or FLL_HOST" in line


def test_a_port_of_an_ipv6_address_in_use_is_reported_before_serving(tmp_path: Path) -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
        port = str(listener.getsockname()[1])
        store = f"sqlite:///{tmp_path}/store.db"
        line = complaint("serve", "--store", store, "--host", "::1", "--port", port, code=1)
    assert line.startswith(f"fll: cannot listen on [::1]:{port}: Address already in use; choose another port")


@pytest.mark.parametrize("setting", ["FLL_WORKERS", "FLL_THREADS", "FLL_STORE_CONNECTIONS_MAX"])
def test_no_workers_or_threads_are_reported_before_serving(
    monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.setenv(setting, "0")
    assert complaint("serve", code=2) == f"fll: invalid value {setting}='0': expected 1 or more"


@pytest.mark.parametrize("port", ["0", "65536"])
def test_a_port_out_of_range_is_reported_before_serving(monkeypatch: pytest.MonkeyPatch, port: str) -> None:
    monkeypatch.setenv("FLL_PORT", port)
    assert complaint("serve", code=2) == f"fll: invalid value FLL_PORT='{port}': expected 1 to 65535"


@pytest.mark.slow
def test_each_time_that_cannot_be_read_is_reported(sampled: str) -> None:
    line = complaint("runs", "a", "b", "--start", "x", "--end", "-5", "--store", sampled, code=2)
    assert line.startswith(
        "fll: start: 'x' is not a time: give epoch seconds, ISO 8601 such as `2026-11-01` or"
    )
    assert "; end: '-5' is not a time" in line


def test_a_setting_that_is_no_number_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLL_LEVEL_MAX", "many")
    assert complaint("find", "x", code=2) == "fll: FLL_LEVEL_MAX='many' is not a whole number"


@pytest.mark.parametrize(
    "question", [("lineage", "a", "b"), ("field", "a", "b", "c"), ("runs", "a", "b"), ("find", "a")]
)
@pytest.mark.parametrize("reply", [Reply(200, b"hello"), Reply(404, b"<html>"), Reply(302)])
def test_a_server_of_another_kind_is_reported(question: tuple[str, ...], reply: Reply) -> None:
    with serving(reply) as server:
        line = complaint(*question, "--server", server.url, code=1)
    assert "not an answer of a lineage server; check the server URL" in line


def test_a_question_makes_no_store(tmp_path: Path) -> None:
    complaint("find", "x", "--store", "sqlite:///new.db", code=2)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_store_is_reported(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, whatever its name says" * 100)
    assert "file is not a database" in complaint("find", "x", "--store", "sqlite:///text.db", code=1)


@pytest.mark.slow
def test_a_reader_that_has_enough_is_no_error(sampled: str) -> None:
    command = f"{FLL} runs bank DailyTransactions --start 0 --limit 9000 --store {sampled} | head -1"
    completed = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert completed.stdout.startswith("started (UTC)")
    assert completed.stderr == ""


def test_nothing_asked_is_answered_with_help() -> None:
    result = fll()
    assert result.exit_code == 0
    assert result.stdout == fll("--help").stdout
    assert fll("--version").stdout.startswith("fll ")


def test_a_variable_that_is_nearly_a_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("FLL_SERVR", "FLL_REQUEST_SECOND", "FLL_SERVICE_HOST", "FLL_PORT_8080_TCP"):
        monkeypatch.setenv(variable, "x")
    assert fll("ls", "--limit", "x").stderr.splitlines()[:-1] == [
        "fll: unknown setting FLL_REQUEST_SECOND is ignored; did you mean FLL_REQUEST_SECONDS?",
        "fll: unknown setting FLL_SERVR is ignored; did you mean FLL_SERVER?",
    ]


def test_a_variable_with_a_url_that_is_none_names_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLL_SERVER", "lineage:8080")
    expected = "fll: FLL_SERVER='lineage:8080' is not the URL of a server: expected http://host:port"
    assert complaint("ls", code=2) == expected


def test_name_rules_that_cannot_be_read_stop_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLL_NAME_RULES", "(")
    assert complaint("serve", "--store", "sqlite:///:memory:", code=2) == (
        "fll: FLL_NAME_RULES: name rule '(': write `pattern => name`"
    )


def test_states_in_lower_case() -> None:
    assert "Invalid value" not in fll("runs", "--state", "fail").stderr
