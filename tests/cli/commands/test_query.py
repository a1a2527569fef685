"""Query commands print the lineage of the store, with the defaults of the REST contract."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import complaint, fll, printed
from tests.support.plain_events import plain_event
from tests.support.small_documents import NAMES, document

LAST_DAYS = "2025-09-09 08:53:20 to 2025-10-09 08:53:20 UTC"
LINEAGE_OF_BOTH = ("lineage", "bank", "CustomerAccounts")


def test_lineage_is_a_table_of_pairs_for_each_direction(sampled: str) -> None:
    lines = printed(*LINEAGE_OF_BOTH, "--store", sampled).splitlines()
    assert lines[0] == f"Where bank/CustomerAccounts comes from, {LAST_DAYS}"
    assert f"What is made of bank/CustomerAccounts, {LAST_DAYS}" in lines
    assert lines[1].split() == ["level", "source", "field", "destination", "field", "influence"]
    rows = [line.split() for line in lines]
    assert ["phone", "phone_number"] in rows
    assert any(row[-5:] == ["*", "indirect,", "on", "every", "row"] for row in rows)
    assert ["1", "bank/CustomerAccounts", "UID", "(dropped)"] in rows


@pytest.mark.slow
def test_generated_fields_come_from_nothing(sampled: str) -> None:
    table = printed("lineage", "bank", "DailyTransactions", "--store", sampled)
    assert ["1", "(generated)", "bank/DailyTransactions", "ingestion_id"] in [
        line.split() for line in table.splitlines()
    ]


def test_fields_that_are_not_known_are_reported_as_such(tmp_path: Any) -> None:
    payload = document()
    payload["operations"] = [
        {"type": "READ", "name": "r", "source": {"name": "a"}, "outputs": []},
        {"type": "WRITE", "name": "w", "destination": {"name": "b"}, "inputs": []},
    ]
    url = f"sqlite:///{tmp_path}/store.db"
    assert fll("record", "-", "--store", url, stdin=json.dumps(payload).encode()).exit_code == 0
    assert "fields unknown" in printed("lineage", "shop", "a", "--store", url)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("programs", ["columns", "unknown", "columns unknown: its runs used the dataset"]),
        ("consumers", ["peek (columns unknown)"]),
        ("runs", ["1 more run used the dataset without reporting whether they used the field"]),
    ],
)
def test_runs_that_do_not_report_whether_they_used_a_field(
    tmp_path: Any, command: str, words: list[str]
) -> None:
    copied, peeked = document("r1"), document("r2")
    peeked["run"]["program"] = "peek"
    peeked["operations"] = [
        {"type": "READ", "name": "r", "source": {"name": "orders"}, "outputs": []},
        {"type": "WRITE", "name": "w", "destination": {"name": "b"}, "inputs": []},
    ]
    url = f"sqlite:///{tmp_path}/store.db"
    for payload in (copied, peeked):
        assert fll("record", "-", "--store", url, stdin=json.dumps(payload).encode()).exit_code == 0
    about = ("shop/orders.net",) if command == "consumers" else ("shop", "orders", "--field", "net")
    table = printed(command, *about, "--store", url)
    for text in words:
        assert text in table


@pytest.mark.parametrize(
    ("options", "levels", "directions"),
    [
        ((), {1}, {"backward", "forward"}),
        (("--level", "2"), {1, 2}, {"backward", "forward"}),
        (("--level", "9"), {1, 2}, {"backward", "forward"}),
        (("--direction", "backward"), {1}, {"backward"}),
        (("--direction", "forward", "--level", "2"), {1, 2}, {"forward"}),
    ],
)
def test_levels_and_directions(
    sampled: str, options: tuple[str, ...], levels: set[int], directions: set[str]
) -> None:
    entries = json.loads(
        printed("lineage", "bank", "CustomerAccounts", *options, "--store", sampled, "--json")
    )
    assert {entry["level"] for entry in entries} == levels
    assert {entry["direction"] for entry in entries} == directions


def test_without_indirect_there_is_none(sampled: str) -> None:
    both = printed(*LINEAGE_OF_BOTH, "--store", sampled)
    direct = printed(*LINEAGE_OF_BOTH, "--store", sampled, "--no-indirect")
    assert "indirect" in both
    assert "indirect" not in direct
    assert "influence" not in direct


def test_failed_runs_are_left_out_unless_asked_for(sampled: str) -> None:
    vendor = ("field", "bank", "DailyTransactions", "UID", "--direction", "forward", "--store", sampled)
    assert "vendor" not in printed(*vendor)
    assert "vendor" in printed(*vendor, "--failed")


def test_the_detailed_view_is_a_tree_of_operations(sampled: str) -> None:
    tree = printed("field", "myns", "mytableds", "id", "--store", sampled)
    output = [line.strip("│├└─ ") for line in tree.splitlines()]
    assert output[1:-1] == [
        "myns/mytableds.id",
        "write (writes myns/mytableds)",
        "id: string",
        "create: creating unique id from the name field",
        "name: string",
        "concat: concatenating the first name and last name",
        "first_name: string",
        "parse: parsing the input body field",
        "body: string",
        "read (reads myns/user_data): Reading the data from the file",
        "last_name: string",
        "parse, as above",
    ]


def test_the_simple_view_has_sources_and_the_field_alone(sampled: str) -> None:
    view = printed("field", "myns", "mytableds", "id", "--view", "simple", "--store", sampled).splitlines()
    assert view[1:-1] == ["myns/mytableds.id", "└── myns/user_data.body: string, by parse, concat, create"]


def test_a_field_that_was_passed_on_as_it_is(sampled: str) -> None:
    options = ("--view", "simple", "--store", sampled)
    backward = printed("field", "bank", "CustomerAccounts", "name", *options)
    assert "└── bank/Customers.name: string, as it is" in backward
    forward = printed("field", "bank", "Customers", "name", "--direction", "forward", *options)
    assert "└── bank/CustomerAccounts.name: string, as it is" in forward


def test_a_generated_field(sampled: str) -> None:
    options = ("field", "bank", "DailyTransactions", "ingestion_id", "--store", sampled)
    assert "└── stamp: generating an id for this load" in printed(*options)
    assert "└── ingestion_id: string, generated" in printed(*options, "--view", "simple")


@pytest.mark.parametrize("view", ["simple", "detailed"])
def test_operations_that_only_drop_or_filter_by_a_field_are_listed(sampled: str, view: str) -> None:
    options = ("--direction", "forward", "--view", view, "--store", sampled)
    dropped = printed("field", "bank", "CustomerAccounts", "UID", *options)
    assert "drop_uid: personal data must not reach the regulator (dropped)" in dropped
    joined = printed("field", "bank", "Merchants", "merchant_id", *options)
    assert (
        "store_features (writes bank/FraudFeatures): joined on the merchant, amounts above zero (indirect)"
        in (joined)
    )


def test_older_operations_of_the_same_name_are_distinguished(sampled: str) -> None:
    options = ("field", "hospital", "PatientRecords", "patient_medical_score", "--store", sampled)
    assert "@" not in printed(*options)
    assert "score@" in printed(*options, "--start", "now-90d")


def test_runs_newest_first(sampled: str) -> None:
    lines = printed("runs", "bank", "DailyTransactions", "--start", "now-1h", "--store", sampled).splitlines()
    assert [line.split()[:6] for line in lines[2:]] == [
        ["2025-10-09", "08:25:13.036", "COMPLETE", "forward", "bank", "FraudWatch"],
        ["2025-10-09", "08:05:10.879", "COMPLETE", "backward", "bank", "CoreBanking"],
    ]


def test_find_is_for_names_in_any_case(sampled: str) -> None:
    rows = [line.split() for line in printed("find", "RISKscore", "--store", sampled).splitlines()[2:]]
    assert rows == [["bank", "RiskScores"]]
    assert (
        printed("find", "nowhere", "--store", sampled) == "No dataset or field has 'nowhere' in its name.\n"
    )


@pytest.mark.parametrize(
    "question",
    [
        ("lineage", "bank", "DailyTransactions"),
        ("field", "bank", "DailyTransactions", "UID"),
        ("runs", "bank", "DailyTransactions"),
    ],
)
def test_an_empty_window_is_reported_with_what_to_do(sampled: str, question: tuple[str, ...]) -> None:
    output = printed(*question, "--start", "5", "--end", "5", "--store", sampled)
    second = "1970-01-01 00:00:05"
    last = "the last run of bank/DailyTransactions started 2025-10-09 08:25:13.036 UTC"
    expected = f"Nothing from {second} to {second} UTC; {last}; use --start and --end for another window.\n"
    assert output == expected


@pytest.mark.parametrize("command", ["field", "reach"])
def test_a_column_that_a_run_of_the_window_left_out_needs_no_other_window(
    tmp_path: Path, command: str
) -> None:
    url, schema = f"sqlite:///{tmp_path}/store.db", {"fields": [{"name": "left_out", "type": "int"}]}
    event = plain_event("fill", 1, day="2025-10-08")
    event["outputs"] = [{"namespace": "ns1", "name": "table", "facets": {"schema": schema}}]
    (tmp_path / "event.ndjson").write_text(json.dumps(event))
    assert fll("record", f"{tmp_path}/event.ndjson", "--store", url).exit_code == 0
    output = printed(command, "ns1", "table", "left_out", "--store", url)
    assert output == (
        f"Nothing from {LAST_DAYS}; the last run of ns1/table started 2025-10-08 01:00:00 UTC, but no run of"
        " this window reported what you ask for.\n"
    )


def test_a_limit_that_left_some_out_is_reported(sampled: str) -> None:
    result = fll("runs", "bank", "DailyTransactions", "--limit", "2", "--store", sampled)
    assert len(result.stdout.splitlines()) == 4
    assert result.stderr.startswith(
        "fll: not complete: a greater limit shows more.\nfll: more: the same with"
    )
    assert result.exit_code == 0


def test_a_bound_that_left_some_out_is_reported(sampled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLL_PAIRS_MAX", "3")
    result = fll("lineage", "bank", "DailyTransactions", "--store", sampled)
    assert "truncated by pairs_max=3" in result.stderr


def test_the_store_of_the_environment_is_asked(sampled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLL_STORE", sampled)
    assert "bank" in printed("find", "uid")


@pytest.mark.parametrize("name", NAMES)
def test_awkward_names_are_found_shown_in_full_and_move_nothing(sampled: str, name: str) -> None:
    for question in (
        ("lineage", "shop", name),
        ("field", "shop", name, name),
        ("field", "shop", name, name, "--view", "simple"),
        ("runs", "shop", name),
        ("find", name),
    ):
        window = () if question[0] == "find" else ("--start", "0")
        output = printed(*question, *window, "--store", sampled)
        assert all(character.isprintable() or character == "\n" for character in output)
        escaped = name.replace("\x1b", "\\x1b").replace("\n", "\\n")
        assert escaped in output or question[0] == "runs"


def test_names_of_any_length_are_not_cut(tmp_path: Any) -> None:
    payload = document()
    long = "x" * 4000
    payload["operations"][0]["source"]["name"] = long
    url = f"sqlite:///{tmp_path}/store.db"
    assert fll("record", "-", "--store", url, stdin=json.dumps(payload).encode()).exit_code == 0
    assert f"shop/{long} " in printed("lineage", "shop", "invoices", "--store", url)
    assert f"shop/{long})" in printed("field", "shop", "invoices", "total", "--store", url)


@pytest.mark.parametrize(
    ("question", "output"),
    [
        (
            ("lineage", "bank", "nowhere"),
            "dataset bank/nowhere not found: no recorded run read or wrote it; `fll find` or GET"
            " /v3/search finds names",
        ),
        (("field", "bank", "DailyTransactions", "no"), "field 'no' of bank/DailyTransactions not found"),
        (("runs", "nowhere", "DailyTransactions"), "dataset nowhere/DailyTransactions not found"),
    ],
)
def test_what_was_never_seen_is_a_failure(sampled: str, question: tuple[str, ...], output: str) -> None:
    assert output in complaint(*question, "--store", sampled, code=1)


def test_runs_without_a_dataset_are_those_of_programs(sampled: str) -> None:
    lines = printed("runs", "bank", "--state", "FAIL", "--store", sampled).splitlines()
    assert lines[0].split()[2:] == ["state", "namespace", "application", "program", "run"]
    assert all(line.split()[2:4] == ["FAIL", "bank"] for line in lines[2:])
    assert "Nothing from" in printed("runs", "--program", "nothing", "--store", sampled)


@pytest.mark.parametrize("option", ["--field", "--cursor"])
def test_a_field_and_a_cursor_are_those_of_a_dataset(sampled: str, option: str) -> None:
    assert "need NAME" in complaint("runs", "bank", option, "x", "--store", sampled, code=2)
