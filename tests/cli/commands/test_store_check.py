"""`fll store check` reports as `fll spark check` does, without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import complaint, fll, printed
from tests.support.raw_sql import run_sql
from tests.support.small_documents import document


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with one run."""
    (tmp_path / "run.json").write_text(json.dumps(document()))
    store = f"sqlite:///{tmp_path}/lineage.db"
    assert fll("record", f"{tmp_path}/run.json", "--store", store).exit_code == 0
    return tmp_path / "lineage.db"


def test_errors_are_reported_and_repaired(store: Path) -> None:
    url, summary = f"sqlite:///{store}", store.with_name("summary.json")
    assert json.loads(printed("store", "check", "--store", url))["wrong"] == {}
    assert run_sql(store, "DELETE FROM cells WHERE CAST(row AS TEXT) LIKE 'b|%'") == 1
    reported = fll("store", "check", "--store", url)
    assert (reported.exit_code, json.loads(reported.stdout)["wrong"]) == (1, {"missing reference": 1})
    repaired = fll("store", "check", "--repair", "--store", url, "--summary", str(summary))
    assert (repaired.exit_code, json.loads(repaired.stdout)["left"]) == (0, {})
    assert json.loads(summary.read_text())["repaired"] == 1
    assert fll("store", "check", "--store", url).exit_code == 0


def test_a_store_that_cannot_be_checked_is_refused(tmp_path: Path) -> None:
    assert "there is no store" in complaint("store", "check", "--store", f"sqlite:///{tmp_path}/x.db", code=2)
    assert "in memory" in complaint("store", "check", "--store", "sqlite:///:memory:", code=2)
    assert list(tmp_path.iterdir()) == []
