"""docs/record/airflow.md and flink.md show lineage that events of these clients have."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from tests.support.commands import fll, printed

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "record"
CLIENTS = ROOT / "tests" / "clients"
DAY = ("--start", "2026-11-01", "--end", "2026-11-02")
"""The day of the recorded events."""


def rows(table: str) -> list[list[str]]:
    """Return the cells below the header of a printed table; the lengths of names decide its spaces."""
    return [line.split() for line in table.partition("─\n")[2].splitlines() if " " in line.strip()]


@pytest.mark.parametrize("client", ["airflow", "flink"])
def test_the_lineage_shown_is_that_of_the_events(client: str, tmp_path: Path) -> None:
    page = (PAGES / f"{client}.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```sh\nfll (lineage .*)\n```\n\n```text\n(.*?)```", page, re.DOTALL)
    store = ("--store", f"sqlite:///{tmp_path}/store.db")
    events = gzip.decompress((CLIENTS / client / "events.ndjson.gz").read_bytes())
    assert fll("record", "-", *store, stdin=events).exit_code == 0
    answer = printed(*shown[0].split(), *DAY, *store)
    assert rows(shown[1])
    assert rows(answer)[: len(rows(shown[1]))] == rows(shown[1])


def test_the_task_shown_is_one_that_ran() -> None:
    page = (PAGES / "airflow.md").read_text(encoding="utf-8")
    ran = (CLIENTS / "airflow" / "shop.py").read_text(encoding="utf-8")
    for text in (page, ran):
        assert "SELECT day, count(*), sum(amount) FROM orders WHERE status = 'paid' GROUP BY day" in text
