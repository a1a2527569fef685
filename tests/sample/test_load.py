"""The sample is loaded whole, once, and answers the two use cases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import DAY_MS, Direction, Window
from fll_hbase.sample import documents, load
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.sampled_store import shorten_sample
from tests.support.tour import END_MS

WINDOW = Window(END_MS - 30 * DAY_MS, END_MS)
EVERYTHING = Window(0, END_MS)


@pytest.fixture(scope="module")
def store(sampled: str) -> Iterator[LineageStore]:
    store = LineageStore(open_table(sampled))
    yield store
    store.close()


def fields(store: LineageStore, *names: str, window: Window = WINDOW, failed: bool = False) -> set[str]:
    """Fields downstream of `names` within ten hops, as `namespace/name.field`."""
    reached = set(names)
    answer = store.lineage(
        Dataset("bank", "DailyTransactions"),
        replace(window, failed=failed),
        directions=[Direction.FORWARD],
        level=10,
    )
    for entry in answer.entries:
        for start, end in entry.relation.direct:
            if f"{entry.relation.source}.{start}" in reached and end is not None:
                reached.add(f"{entry.relation.destination}.{end}")
    return reached - set(names)


@pytest.mark.slow
def test_loading_it_again_adds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_sample(monkeypatch, days=20)
    count = sum(1 for _ in documents(END_MS))
    assert count > 1_000
    with closing(LineageStore(open_table(f"sqlite:///{tmp_path}/store.db"))) as store:
        progress: list[int] = []
        loaded = load(store, END_MS, progress.append)
        assert (loaded.runs, loaded.repeated) == (count, 0)
        assert progress == [*range(500, count, 500), count]
        again = load(store, END_MS)
        assert (again.runs, again.repeated) == (count, count)


def test_uid_reaches_the_report_and_the_campaigns(store: LineageStore) -> None:
    reached = fields(store, "bank/DailyTransactions.UID")
    assert reached == {
        "bank/CustomerAccounts.UID",
        "bank/FraudFeatures.uid_hash",
        "bank/RegulatoryReport.customers",
        "bank/RiskScores.customer_key",
        "bank/Statements.customer_no",
        "marketing/CampaignAudience.customer_id",
    }


def test_only_failed_runs_sent_uid_to_the_vendor(store: LineageStore) -> None:
    vendor = "bank/sftp://vendor/export.UID"
    assert vendor not in fields(store, "bank/DailyTransactions.UID", window=EVERYTHING)
    assert vendor in fields(store, "bank/DailyTransactions.UID", window=EVERYTHING, failed=True)


def test_the_score_comes_from_three_feeds(store: LineageStore) -> None:
    answer = store.lineage(
        Dataset("hospital", "PatientRecords"), WINDOW, directions=[Direction.BACKWARD], level=10
    )
    names = {entry.relation.source.name for entry in answer.entries if entry.relation.source}
    assert names >= {"LabResults", "Vitals", "VitalsSummary", "Admissions", "hl7://monitors"}


@pytest.mark.parametrize(
    ("end_point", "old_fields", "new_fields"),
    [
        (Dataset("bank", "DailyTransactions"), set(), {"channel"}),
        (Dataset("bank", "CustomerAccounts"), {"phone"}, {"phone_number"}),
        (Dataset("hospital", "LabResults"), set(), {"crp"}),
    ],
)
def test_columns_change_at_half_time(
    store: LineageStore, end_point: Dataset, old_fields: set[str], new_fields: set[str]
) -> None:
    def written(window: Window) -> set[str | None]:
        entries = store.lineage(end_point, window, directions=[Direction.BACKWARD]).entries
        return {to for entry in entries for _, to in entry.relation.direct}

    old = written(Window(END_MS - 80 * DAY_MS, END_MS - 50 * DAY_MS))
    new = written(WINDOW)
    assert (old - new, new - old) == (old_fields, new_fields)


def test_there_are_dropped_and_generated_fields(store: LineageStore) -> None:
    def pairs(end_point: Dataset, direction: Direction) -> set[tuple[str | None, str | None]]:
        entries = store.lineage(end_point, WINDOW, directions=[direction]).entries
        return {pair for entry in entries for pair in entry.relation.direct}

    assert ("UID", None) in pairs(Dataset("bank", "CustomerAccounts"), Direction.FORWARD)
    assert (None, "ingestion_id") in pairs(Dataset("bank", "DailyTransactions"), Direction.BACKWARD)
