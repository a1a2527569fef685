"""`fll policy set --flow` and `fll report flows`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.support.commands import WINDOW, complaint, fll, printed

NAMES = ("bank/DailyTransactions.UID", "PII")
FLOWS = ("report", "flows", "no-pii", *WINDOW)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('flows')}/store.db"
    printed("sample", "--store", url, "--end", "2025-10-09")
    printed("tag", "set", *NAMES, "--store", url)
    return url


def set_policy(store: str, *options: str) -> None:
    printed("policy", "set", "no-pii", "--flow", "--tag", "PII", *options, "--store", store)


def test_a_violation_is_printed_and_gives_an_exit_code(store: str, tmp_path: Path) -> None:
    set_policy(store, "--into", "marketing/*")
    result = fll(*FLOWS, "--store", store)
    assert result.exit_code == 1
    assert "Violated: data of 1 of 1 field with the tag PII" in result.stdout
    assert "marketing/CampaignAudience.customer_id" in result.stdout
    path = tmp_path / "flows.csv"
    assert fll(*FLOWS, "--store", store, "--output", str(path)).exit_code == 1
    (row,) = csv.DictReader(path.read_text().splitlines())
    assert (row["field"], row["hops"], row["kinds"]) == ("customer_id", "2", "copied, copied")
    body = json.loads(fll(*FLOWS, "--store", store, "--format", "json").stdout)
    assert len(body["violations"]) == 1


def test_a_policy_that_is_kept_gives_none(store: str) -> None:
    set_policy(store, "--into", "bank/RiskScores", "--unless-masked")
    assert "Kept: no data of 1 field with the tag PII" in printed(*FLOWS, "--store", store)
    set_policy(store, "--into", "bank/RiskScores")
    assert "copied → masked" in fll(*FLOWS, "--store", store).stdout


def test_a_listed_flow_policy_says_its_rule(store: str) -> None:
    set_policy(store, "--only-into", "bank/*", "--influence", "any")
    listed = " ".join(printed("policy", "list", "--store", store).split())
    assert "only into bank/*, also by filters and joins" in listed


@pytest.mark.parametrize(
    ("options", "faults"),
    [
        (("--flow",), ["--flow needs --tag", "--flow needs --into, --only-into or both"]),
        (
            ("--flow", "--tag", "T", "--into", "a/*", "--max-age", "1d", "--field", "a/b.c"),
            ["--flow takes no --max-age", "--flow takes no --field"],
        ),
        (("--tag", "T"), ["Give either --max-age or --flow"]),
        (("--tag", "T", "--max-age", "1d", "--unless-masked"), ["--unless-masked: only with --flow"]),
    ],
)
def test_every_fault_of_the_options_at_once(store: str, options: tuple[str, ...], faults: list[str]) -> None:
    text = complaint("policy", "set", "p", *options, "--store", store, code=2)
    assert all(fault in text for fault in faults)


def test_a_wrong_pattern_or_policy_is_refused(store: str) -> None:
    flow = ("policy", "set", "p", "--flow", "--tag", "PII", "--store", store)
    assert "must be a pattern" in complaint(*flow, "--into", "marketing", code=2)
    assert "needs --into" in complaint(*flow, "--into", "", code=2)
    assert "There is no policy" in printed("report", "retention", "--all", "--store", store)
    assert "not found" in complaint("report", "flows", "none", *WINDOW, "--store", store, code=1)
