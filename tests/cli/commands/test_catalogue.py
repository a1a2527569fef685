"""`fll consumers`, `ls` and `run`, formats, pages of runs, and notes of empty answers."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex

import pytest

from tests.support.commands import WINDOW, complaint, fll, printed

UID = ("bank/DailyTransactions.UID", *WINDOW)


@pytest.fixture(params=["store", "server"])
def target(request: pytest.FixtureRequest, sampled: str) -> tuple[str, str]:
    if request.param == "store":
        return ("--store", sampled)
    return ("--server", request.getfixturevalue("server"))


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.slow
def test_consumers_are_programs_that_read(target: tuple[str, str]) -> None:
    lines = printed("consumers", *UID, *target).splitlines()
    assert lines[0] == (
        "Programs that read bank/DailyTransactions.UID, 2025-09-09 08:53:20 to 2025-10-09 08:53:20 UTC"
    )
    assert [line.split()[0] for line in lines[3:-1]] == [
        "bank/FraudWatch/features",
        "bank/Statements/print",
        "bank/Customer360/build_accounts",
    ]
    assert lines[-1] == "1 more program has failed runs alone; --failed lists them"
    listed = printed("consumers", *UID, "--failed", *target)
    assert "VendorExport" in listed
    assert "--failed lists" not in listed
    question = ("--field", "UID", "--direction", "forward", *WINDOW, *target, "--json")
    programs = printed("programs", "bank", "DailyTransactions", *question)
    assert printed("consumers", *UID, *target, "--json") == programs


def test_ls_goes_from_namespaces_to_fields(target: tuple[str, str]) -> None:
    assert printed("ls", *target).splitlines()[2:6] == ["bank", "hospital", "marketing", "myns"]
    assert "bank        RiskScores                  one score" in printed("ls", "bank", *target)
    assert "risk_score     double          yes" in printed("ls", "bank/RiskScores", *target)
    assert json.loads(printed("ls", "--json", *target))["namespaces"][0] == "bank"
    result = fll("ls", "bank", "--limit", "2", *target)
    assert result.stderr == "fll: not complete: a greater limit shows more.\n"


def test_ls_of_an_empty_store(tmp_path: object) -> None:
    assert fll("record", "-", "--store", f"sqlite:///{tmp_path}/empty.db", stdin=b"").exit_code == 0
    assert "Nothing is recorded yet" in printed("ls", "--store", f"sqlite:///{tmp_path}/empty.db")


def test_a_run_has_members_datasets_and_operations(target: tuple[str, str]) -> None:
    runs = json.loads(printed("runs", "bank/RiskScores", *WINDOW, "--limit", "9000", *target, "--json"))
    newest = runs["runs"][0]
    page = printed("run", newest["run"], "--timezone", "Europe/Berlin", *target)
    assert re.search(r"started +2025-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\+02:00\n", page)
    assert re.search(r"reads +bank/RiskScores\n", page)
    assert "WRITE" in page
    assert json.loads(printed("run", newest["run"], "--json", *target))["checksum"] == newest["checksum"]
    assert "run 'nothing' not found" in complaint("run", "nothing", *target, code=1)


def test_runs_are_selected_and_paged(target: tuple[str, str]) -> None:
    options = ("--program", "print", "--state", "COMPLETE", "--format", "csv", *target)
    everything = rows_of(printed("runs", "bank/DailyTransactions", *WINDOW, *options))
    assert {row["program"] for row in everything} == {"print"}
    assert {row["state"] for row in everything} == {"COMPLETE"}
    paged, more = [], list(WINDOW)
    while more:
        result = fll("runs", "bank/DailyTransactions", *more, "--limit", "7", *options)
        assert result.exit_code == 0
        paged += rows_of(result.stdout)
        following = result.stderr.partition("fll: more: the same with ")[2]
        more = shlex.split(following.strip("`\n"))
    assert paged == everything
    assert len(paged) > 14


def test_a_cursor_of_another_list_is_refused(target: tuple[str, str]) -> None:
    for cursor in ("x", "", "WyJhIl0"):
        assert "cursor: invalid cursor" in complaint("runs", "bank", "a", "--cursor", cursor, *target, code=2)


@pytest.mark.parametrize(
    ("command", "columns"),
    [
        (("lineage", "bank/RiskScores", *WINDOW), "level,direction,sourceNamespace"),
        (("field", "myns/mytableds.id", *WINDOW), "from,to,operation,influence"),
        (("programs", "bank/RiskScores", *WINDOW), "namespace,application,program"),
        (("consumers", "bank/RiskScores", *WINDOW), "namespace,application,program"),
        (("find", "uid"), "namespace,name,field"),
        (("ls", "bank"), "namespace,name,description"),
    ],
)
def test_csv_has_the_rows_of_the_answer(
    target: tuple[str, str], command: tuple[str, ...], columns: str
) -> None:
    output = printed(*command, "--format", "csv", *target)
    assert output.startswith(columns)
    assert len(rows_of(output)) > 0
    assert "firstStart" not in output or re.search(r",2025-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z,", output)


def test_mermaid_draws_pairs_and_operations(target: tuple[str, str]) -> None:
    chart = printed("lineage", "myns/mytableds", *WINDOW, "--format", "mermaid", *target).splitlines()
    assert chart[0] == "flowchart LR"
    assert chart[1:3] == ['  n0["myns/user_data.body"]', '  n1["myns/mytableds.age"]']
    assert "  n0 --> n1" in chart
    chart = printed("field", "myns/mytableds.id", *WINDOW, "--format", "mermaid", *target).splitlines()
    assert '  n0 -->|"create"| n1' in chart
    chart = printed("lineage", "bank/RiskScores", *WINDOW, "--format", "mermaid", *target).splitlines()
    assert '  n1["bank/RiskScores.*"]' in chart
    assert any("-.-> n1" in line for line in chart)


def test_mermaid_escapes_names(sampled: str) -> None:
    for name in ("[bold]x[/]", "'\"\\", "two\nlines", "50%|?&#+"):
        options = ("--start", "0", "--format", "mermaid", "--store", sampled)
        chart = printed("lineage", "shop", name, *options).splitlines()
        assert len(chart) == 4
        assert all(re.fullmatch(r'  n[01]\["(?:[^"<>#\n]|#\w+;)+"\]', line) for line in chart[1:3]), chart
        assert chart[3] == "  n0 --> n1"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("runs", "bank/a", "--format", "mermaid"), "'mermaid' is not one of 'table', 'json', 'csv'"),
        (("run", "x", "--format", "csv"), "'csv' is not one of 'table', 'json'"),
        (("find", "x", "--json", "--format", "csv"), "Give --json or --format csv, not both."),
        (("runs", "bank/a", "--state", "DONE"), "'DONE' is not one of"),
    ],
)
def test_formats_that_are_not_possible(command: tuple[str, ...], message: str) -> None:
    assert message in complaint(*command, code=2)


@pytest.mark.parametrize("command", [("lineage",), ("runs",), ("programs",), ("consumers",)])
def test_an_empty_answer_says_when_there_was_something(
    target: tuple[str, str], command: tuple[str, ...]
) -> None:
    output = printed(*command, "bank/DailyTransactions", "--window", "2020-01", *target)
    assert output == (
        "Nothing from 2020-01-01 00:00:00 to 2020-02-01 00:00:00 UTC; the last run of"
        " bank/DailyTransactions started 2025-10-09 08:25:13.036 UTC; use --start and --end for another"
        " window.\n"
    )


def test_an_empty_answer_says_how_many_failed_runs_are_left_out(target: tuple[str, str]) -> None:
    window = ("--window", "2025-10-08", *target)
    output = printed("lineage", "bank/sftp://vendor/export", *window)
    assert "; 1 failed run is left out, --failed includes them; the last run of" in output
    assert "left out" not in printed("lineage", "bank/sftp://vendor/export", "--failed", *window)
    forward = ("--direction", "forward")
    assert "left out" not in printed("lineage", "bank/sftp://vendor/export", *forward, *window)
