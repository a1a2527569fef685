"""A server prints what its store prints, and `--json` the body of the API."""

from __future__ import annotations

import json
from urllib.parse import quote

import msgspec
import pytest
import requests

from cli.commands import WINDOW, complaint, fll, printed
from cli.documents import NAMES

QUESTIONS = [
    ("lineage", "bank", "DailyTransactions", *WINDOW),
    ("lineage", "bank", "DailyTransactions", *WINDOW, "--level", "5", "--direction", "forward"),
    ("lineage", "hospital", "PatientRecords", *WINDOW, "--level", "9", "--no-indirect"),
    ("lineage", "bank", "sftp://vendor/export", *WINDOW, "--failed"),
    ("lineage", "bank", "DailyTransactions", "--start", "1", "--end", "1"),
    ("field", "bank", "DailyTransactions", "UID", *WINDOW, "--direction", "forward", "--failed"),
    ("field", "hospital", "PatientRecords", "patient_medical_score", "--start", "0", "--view", "simple"),
    ("field", "myns", "mytableds", "id", *WINDOW),
    ("field", "bank", "CustomerAccounts", "turnover_30d", *WINDOW, "--no-indirect"),
    ("runs", "myns", "mytableds", *WINDOW),
    ("runs", "bank", "DailyTransactions", "--start", "0", "--limit", "10000"),
    ("find", "uid"),
    ("find", "a", "--limit", "7"),
    *(("lineage", "shop", name, "--start", "0") for name in NAMES),
    *(("field", "shop", name, name, "--start", "0") for name in NAMES),
]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_server_prints_what_its_store_prints(
    sampled: str, server: str, question: tuple[str, ...], form: tuple[str, ...]
) -> None:
    local = fll(*question, *form, "--store", sampled)
    remote = fll(*question, *form, "--server", server)
    assert local.exit_code == 0
    assert (remote.stdout, remote.stderr) == (local.stdout, local.stderr)


@pytest.mark.parametrize(
    ("question", "path", "params"),
    [
        (("lineage", "bank", "RiskScores"), "endpoints/RiskScores/fields/lineage", {}),
        (
            ("lineage", "bank", "RiskScores", "--level", "4", "--direction", "backward", "--failed"),
            "endpoints/RiskScores/fields/lineage",
            {"level": "4", "direction": "backward", "failed": "true"},
        ),
        (("field", "bank", "RiskScores", "risk_band"), "endpoints/RiskScores/fields/risk_band/lineage", {}),
        (
            ("field", "bank", "RiskScores", "risk_band", "--view", "simple", "--no-indirect"),
            "endpoints/RiskScores/fields/risk_band/lineage",
            {"view": "simple", "indirect": "false"},
        ),
        (("runs", "bank", "RiskScores"), "endpoints/RiskScores/runs", {}),
    ],
)
def test_json_is_the_body_of_the_api(
    sampled: str, server: str, question: tuple[str, ...], path: str, params: dict[str, str]
) -> None:
    window = {"start": WINDOW[1], "end": WINDOW[3]}
    answer = requests.get(f"{server}/v3/namespaces/bank/{path}", params={**window, **params}, timeout=20)
    for target in (("--store", sampled), ("--server", server)):
        assert printed(*question, *WINDOW, *target, "--json") == answer.text + "\n"


def test_find_is_the_search_of_the_api(sampled: str, server: str) -> None:
    answer = requests.get(f"{server}/v3/search?q={quote('e', safe='')}", timeout=20)
    assert printed("find", "e", "--store", sampled, "--json") == answer.text + "\n"


def test_pages_of_a_server_are_put_together(sampled: str, server: str) -> None:
    question = ("runs", "bank", "DailyTransactions", "--start", "0", "--limit", "100000", "--json")
    body = json.loads(printed(*question, "--server", server))
    assert body == json.loads(printed(*question, "--store", sampled))
    assert len(body["runs"]) > 4_000
    assert msgspec.json.encode(body)


@pytest.mark.parametrize(
    ("question", "code"),
    [
        (("lineage", "bank", "nowhere"), 1),
        (("field", "bank", "RiskScores", "nothing"), 1),
        (("lineage", "bank", "RiskScores", "--start", "soon", "--end", "-1"), 2),
        (("runs", "bank", "RiskScores", "--start", "9", "--end", "8"), 2),
    ],
)
def test_a_server_complains_as_its_store_does(
    sampled: str, server: str, question: tuple[str, ...], code: int
) -> None:
    lines = [
        complaint(*question, *target, code=code) for target in (("--store", sampled), ("--server", server))
    ]
    ours, theirs = (sorted(line.removeprefix("fll: ").split("; ")) for line in lines)
    assert ours == theirs
