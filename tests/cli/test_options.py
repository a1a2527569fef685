"""Options that several commands share mean the same everywhere: formats, times, failed runs, --replace."""

from __future__ import annotations

import csv
import io
import json
import socket
from pathlib import Path

import click
import pytest

from api.command import main
from fll_hbase.cli.options import Target
from fll_hbase.recorder.spool import SpoolLimits, open_spool
from tests.support.commands import WINDOW, complaint, fll, printed
from tests.support.small_documents import document

SCORE = ("hospital", "PatientRecords", "patient_medical_score", "--start", "2025-07")


def commands(group: click.Group, *names: str) -> dict[str, click.Command]:
    """All commands below a group by their words."""
    listed: dict[str, click.Command] = {}
    for name, command in group.all_commands().items():
        words = (*names, name)
        listed |= (
            commands(command, *words) if isinstance(command, click.Group) else {" ".join(words): command}
        )
    return listed


ALL_COMMANDS = commands(main)


def test_an_option_has_the_same_help_in_every_command() -> None:
    shared: dict[str, set[str | None]] = {}
    for command in ALL_COMMANDS.values():
        for option in command.params:
            if isinstance(option, click.Option) and option.name in ("failed", "timezone", "take_over"):
                shared.setdefault(option.name, set()).add(option.help)
    assert {name: len(texts) for name, texts in shared.items()} == {
        "failed": 1,
        "timezone": 1,
        "take_over": 1,
    }


def test_every_question_has_its_formats() -> None:
    questions = {name: command for name, command in ALL_COMMANDS.items() if _options(command) & {"as_json"}}
    # A sample is printed as documents, and what is watched goes on: neither is an answer.
    formats = {name for name, command in questions.items() if "output_format" not in _options(command)}
    assert formats == {"sample", "watch"}
    assert len(questions) >= 20


def _options(command: click.Command) -> set[str | None]:
    return {option.name for option in command.params}


def test_history_has_csv_and_words_for_times(sampled: str) -> None:
    text = printed("history", *SCORE, "--format", "csv", "--store", sampled)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["runs"] for row in rows] == ["45", "42"]
    assert rows[0]["lastStart"].startswith("2025-10-09T")


def test_a_base_window_of_words(sampled: str) -> None:
    base = ("--base-start", "2025-07", "--base-end", "2025-08")
    typed = printed("diff", *SCORE, *base, "--json", "--store", sampled)
    times = ("--base-start", "2025-07-01T00:00:00Z", "--base-end", "2025-08-01T00:00:00Z")
    assert typed == printed("diff", *SCORE, *times, "--json", "--store", sampled)
    assert json.loads(typed)["gained"]["operations"]
    wrong = complaint("diff", *SCORE, "--base-start", "2025-13", "--store", sampled, code=2)
    assert wrong.startswith("fll: base-start: '2025-13' is not a time")


def test_find_of_one_kind(sampled: str) -> None:
    for kind, has_field in (("endpoint", False), ("field", True)):
        hits = json.loads(printed("find", "a", "--kind", kind, "--store", sampled, "--json"))["results"]
        assert hits
        assert {"field" in hit for hit in hits} == {has_field}


def test_one_dataset(sampled: str, server: str) -> None:
    local = printed("dataset", "bank/DailyTransactions", "--store", sampled)
    assert local == printed("dataset", "bank", "DailyTransactions", "--server", server)
    assert "card and account transactions" in local
    zoned = printed("dataset", "bank/DailyTransactions", "--timezone", "Asia/Tokyo", "--store", sampled)
    assert "+09:00" in zoned
    body = json.loads(printed("dataset", "bank/DailyTransactions", "--json", "--store", sampled))
    assert body["fields"] == 8
    assert "did you mean bank/DailyTransactions" in complaint(
        "dataset", "bank/DailyTransaction", "--store", sampled, code=1
    )


@pytest.mark.parametrize(
    "question",
    [
        ("lineage", "bank", "FraudFeatures"),
        ("field", "bank", "FraudFeatures", "uid_hash"),
        ("reach", "bank", "FraudFeatures", "uid_hash"),
        ("history", "bank", "FraudFeatures", "uid_hash"),
    ],
)
def test_failed_runs_that_are_left_out_are_counted(sampled: str, question: tuple[str, ...]) -> None:
    window = ("--start", "now-7d", "--store", sampled)
    lines = printed(*question, *window).splitlines()
    listed = fll("runs", "bank", "FraudFeatures", "--state", "FAIL", *window, "--json").stdout
    count = len(json.loads(listed)["runs"])
    assert count > 1
    assert lines[-1] == f"{count} failed runs are left out, --failed includes them"
    assert "left out" not in printed(*question, "--failed", *window)
    assert "left out" not in printed(*question, *window, "--json")


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [("yesterday", "UTC", 1_759_881_600_000), ("2025-10", "Europe/Berlin", 1_759_269_600_000)],
)
def test_the_start_of_a_script_is_a_time_as_people_type_it(
    tmp_path: Path, text: str, zone: str, expected: int
) -> None:
    store = ("--store", f"sqlite:///{tmp_path}/store.db")
    run = ("--namespace", "n", "--application", "a", "--program", "p", "--run", "r")
    sql = b"INSERT INTO t SELECT a FROM s"
    recorded = fll("record", "--sql", "-", *run, "--start", text, "--timezone", zone, *store, stdin=sql)
    assert recorded.exit_code == 0, recorded.stderr
    assert json.loads(printed("run", "r", *store, "--json"))["startTime"] == expected


@pytest.mark.slow
def test_the_end_of_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    newest = max(
        json.loads(line)["run"]["startTime"]
        for line in printed("sample", "--json", "--end", "2025-09").splitlines()
    )
    assert 1_756_684_800_000 - 86_400_000 < newest < 1_756_684_800_000
    monkeypatch.setenv("FLL_TIMEZONE", "nowhere")
    assert "is not a time zone" in complaint("sample", "--json", "--end", "2025-09", code=2)


@pytest.mark.parametrize("command", [("retention", "--before"), ("export", "out", "--start")])
def test_times_of_spark_jobs_are_checked_before_spark_starts(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    store = ("--store", f"sqlite:///{tmp_path}/store.db")
    result = fll("spark", *command, "2025-13", *store)
    assert result.exit_code == 2
    assert "2025-13" in result.stderr or "month must be" in result.stderr


def test_replay_replaces_runs_of_another_program_if_it_is_allowed(tmp_path: Path) -> None:
    store = ("--store", f"sqlite:///{tmp_path}/store.db")
    other = document("shared id")
    other["run"]["program"] = "other"
    assert fll("record", "-", *store, stdin=json.dumps(other).encode()).exit_code == 0
    spool = open_spool(tmp_path / "spool", SpoolLimits(10, 10**6))
    spool.write(json.dumps(document("shared id")).encode())
    refused = fll("replay", str(spool.path), *store)
    assert (refused.exit_code, "other" in refused.stderr) == (1, True)
    [path] = spool.path.glob("*.refused")
    path.unlink()
    spool.write(json.dumps(document("shared id")).encode())
    replaced = fll("replay", str(spool.path), "--replace", *store)
    assert (replaced.exit_code, replaced.stdout) == (0, "0 recorded, 1 replaced, 0 repeated, 0 refused\n")
    assert json.loads(printed("run", "shared id", *store, "--json"))["program"] == "p"


def test_both_directions_are_two_tables(sampled: str) -> None:
    question = ("reach", "bank", "RiskScores", "risk_band", "--direction", "both")
    lines = printed(*question, *WINDOW, "--store", sampled)
    assert "What leads to bank/RiskScores.risk_band" in lines
    assert "What bank/RiskScores.risk_band leads to" in lines


@pytest.mark.slow
def test_a_query_waits_for_a_server_as_long_as_that_may_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLL_REQUEST_SECONDS", "1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        line = complaint("ls", "--server", url, code=1)
    assert line == (
        f"fll: {url} accepts connections, but does not answer within 6 s; is it running? Trying again is safe"
    )


def test_the_url_of_a_target_has_no_password() -> None:
    for password in ("p", "p/w", "p@w"):
        assert Target(server=f"http://me:{password}@lineage:8080/x").url == "http://lineage:8080/x"
    assert Target(store="sqlite:///data/a@b.db").url == "sqlite:///data/a@b.db"
