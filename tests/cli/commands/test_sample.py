"""`fll sample` loads the sample once and names the next commands."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from fll_hbase.sample import documents
from tests.support.commands import END_MS, fll, printed
from tests.support.sampled_store import shorten_sample
from tests.support.small_documents import document


@pytest.fixture(autouse=True)
def few_days(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_sample(monkeypatch, days=5)


@pytest.mark.slow
def test_it_loads_and_names_next_commands() -> None:
    lines = printed("sample").splitlines()
    count = sum(1 for _ in documents(END_MS))
    assert lines[0].startswith(
        f"{count} runs in sqlite:///data/field_level_lineage.db, 0 of them there already."
    )
    for line in lines[1:-1]:
        assert len(printed(*shlex.split(line)[1:]).splitlines()) > 3
    assert lines[-1] == "  fll serve"
    assert printed("sample").startswith(f"{count} runs in sqlite:///data/field_level_lineage.db, {count} of")


@pytest.mark.slow
def test_its_documents_can_be_recorded_elsewhere() -> None:
    printed_documents = printed("sample", "--json", "--end", "1700000000")
    payloads = [json.loads(line) for line in printed_documents.splitlines()]
    assert payloads == list(documents(1_700_000_000_000))
    result = fll("record", "-", "--store", "sqlite:///own.db", stdin=printed_documents.encode())
    assert result.stdout == f"{len(payloads)} recorded, 0 replaced, 0 repeated, 0 refused\n"
    assert printed("sample", "--end", "1700000000", "--store", "sqlite:///own.db").startswith(
        f"{len(payloads)} runs in sqlite:///own.db, {len(payloads)} of them there already."
    )


@pytest.mark.slow
def test_a_sample_that_has_aged_is_renewed_beside_the_runs_of_others() -> None:
    payload = document(run="ours")
    for operation in payload["operations"]:
        for member in {"source", "destination"} & operation.keys():
            operation[member] = {"namespace": "bank", "name": "DailyTransactions"}
    assert (
        fll("record", "-", "--store", "sqlite:///own.db", stdin=json.dumps(payload).encode()).exit_code == 0
    )
    store = ("--store", "sqlite:///own.db")
    ours = ("export", "bank/DailyTransactions", "--start", "2025-10-09 08:36:40", *store, "--end")
    exported = exported_runs(*ours, "2025-10-09 08:36:41")
    assert len(exported) == 1
    assert printed("sample", "--if-empty", *store) == ""
    assert printed("sample", "--end", "now-3d", *store) != ""
    assert printed("sample", "--if-empty", "--end", "now-3d+1h", *store) == ""
    assert printed("sample", "--if-empty", *store).endswith("fll serve --store sqlite:///own.db\n")
    assert printed("sample", "--if-empty", *store) == ""
    assert "FraudWatch" in printed("runs", "bank/DailyTransactions", "--start", "now-1h", *store)
    assert exported_runs(*ours, "2025-10-09 08:36:41") == exported


def exported_runs(*command: str) -> list[Any]:
    """The runs of exported events with their operations; their datasets have the fields of all runs."""
    return [json.loads(line)["run"] for line in printed(*command).splitlines()]
