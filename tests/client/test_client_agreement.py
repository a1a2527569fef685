"""A server prints what its store prints, and `--json` the body of the API."""

from __future__ import annotations

import json
from urllib.parse import quote

import msgspec
import pytest
import requests

from tests.support.commands import WINDOW, complaint, fll, printed
from tests.support.small_documents import NAMES

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
    ("history", "hospital", "PatientRecords", "patient_medical_score", "--start", "0", "--failed"),
    ("history", "myns", "mytableds", "id", "--start", "1", "--end", "1"),
    ("diff", "hospital", "PatientRecords", "patient_medical_score", *WINDOW, "--base-start", "0"),
    ("diff", "hospital", "PatientRecords", "patient_medical_score", *WINDOW, "--no-indirect"),
    ("diff", "hospital/PatientRecords", *WINDOW, "--base-start", "0"),
    ("impact", "bank/DailyTransactions.UID", "--drop", *WINDOW),
    ("impact", "hospital/PatientRecords.patient_medical_score", "--type", "text", *WINDOW, "--level", "2"),
    ("runs", "myns", "mytableds", *WINDOW),
    ("runs", "bank", "DailyTransactions", "--start", "0", "--limit", "10000"),
    ("runs", *WINDOW, "--limit", "30"),
    ("runs", "bank", *WINDOW, "--program", "features", "--state", "FAIL"),
    ("runs", "bank", "--start", "1", "--end", "2"),
    ("programs", "bank", "DailyTransactions", *WINDOW, "--field", "UID", "--direction", "forward"),
    ("programs", "bank", "DailyTransactions", "--start", "0", "--failed"),
    ("reach", "bank", "DailyTransactions", "UID", *WINDOW, "--direction", "forward", "--causal"),
    ("reach", "bank", "CustomerAccounts", "UID", *WINDOW, "--direction", "both"),
    ("reach", "myns", "mytableds", "id", *WINDOW, "--direction", "both"),
    (
        "reach",
        "hospital",
        "PatientRecords",
        "patient_medical_score",
        *WINDOW,
        "--no-indirect",
        "--level",
        "2",
    ),
    *(
        ("report", kind, "bank", "RiskScores", "risk_band", *WINDOW, *form)
        for kind in ("consumption", "provenance")
        for form in ((), ("--format", "json"))
    ),
    ("find", "uid"),
    ("find", "a", "--limit", "7"),
    *(("lineage", "shop", name, "--start", "0") for name in NAMES),
    *(("field", "shop", name, name, "--start", "0") for name in NAMES),
]

FORMATTED = [
    ("reach", "bank", "CustomerAccounts", "UID", *WINDOW, "--direction", "both", "--format", "csv"),
    ("reach", "bank", "CustomerAccounts", "UID", *WINDOW, "--direction", "both", "--format", "graphml"),
    ("report", "consumption", "bank", "RiskScores", "risk_band", *WINDOW, "--format", "csv"),
    ("report", "provenance", "bank", "RiskScores", "risk_band", *WINDOW, "--format", "csv"),
    ("history", "hospital", "PatientRecords", "patient_medical_score", "--start", "0", "--format", "csv"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "form"),
    [*((question, form) for form in ((), ("--json",)) for question in QUESTIONS)]
    + [(question, ()) for question in FORMATTED],
    ids=map(str, range(2 * len(QUESTIONS) + len(FORMATTED))),
)
def test_a_server_prints_what_its_store_prints(
    sampled: str, server: str, question: tuple[str, ...], form: tuple[str, ...]
) -> None:
    if "--start" in question and "--end" not in question:
        # Titles have the end of the window, and the two commands run one after the other.
        question = (*question, "--end", WINDOW[3])
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
        (
            ("history", "bank", "RiskScores", "risk_band", "--failed"),
            "endpoints/RiskScores/fields/risk_band/history",
            {"failed": "true"},
        ),
        (
            ("diff", "bank", "RiskScores", "risk_band", "--base-start", "1755000000", "--no-indirect"),
            "endpoints/RiskScores/fields/risk_band/diff",
            {"baseStart": "1755000000", "indirect": "false"},
        ),
        (("runs", "bank", "RiskScores"), "endpoints/RiskScores/runs", {}),
        (("runs", "bank", "--state", "FAIL"), "runs", {"state": "FAIL"}),
        (
            ("programs", "bank", "RiskScores", "--field", "risk_band", "--failed"),
            "endpoints/RiskScores/programs",
            {"field": "risk_band", "failed": "true"},
        ),
    ],
)
def test_json_is_the_body_of_the_api(
    sampled: str, server: str, question: tuple[str, ...], path: str, params: dict[str, str]
) -> None:
    window = {"start": WINDOW[1], "end": WINDOW[3]}
    answer = requests.get(f"{server}/v3/namespaces/bank/{path}", params={**window, **params}, timeout=120)
    for target in (("--store", sampled), ("--server", server)):
        assert printed(*question, *WINDOW, *target, "--json") == answer.text + "\n"


def test_find_is_the_search_of_the_api(sampled: str, server: str) -> None:
    answer = requests.get(f"{server}/v3/search?q={quote('e', safe='')}", timeout=120)
    assert printed("find", "e", "--store", sampled, "--json") == answer.text + "\n"


@pytest.mark.slow
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
        (("runs", "missing"), 1),
        (("field", "bank", "RiskScores", "nothing"), 1),
        (("lineage", "bank", "RiskScores", "--start", "soon", "--end", "-1"), 2),
        (("runs", "bank", "RiskScores", "--start", "9", "--end", "8"), 2),
        (("history", "bank", "RiskScores", "nothing"), 1),
        (("diff", "bank", "nowhere", "x"), 1),
        (("diff", "bank", "nowhere"), 1),
        (("diff", "bank", "RiskScores", "risk_band", "--base-start", "soon", "--base-end", ""), 2),
        (("diff", "bank", "RiskScores", "risk_band", "--base-start", "9", "--base-end", "8"), 2),
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
