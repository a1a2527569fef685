"""The printed reports and diffs of the sample fit on few sheets, with the question and number on each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.commands import WINDOW, printed

SCORE = "hospital/PatientRecords.patient_medical_score"
WINDOWS = ("--start", "2025-09-09", "--base-start", "2025-07-11", "--base-end", "2025-08-10")


@pytest.mark.parametrize(
    ("question", "sheets_max"),
    [
        (("report", "consumption", "bank/DailyTransactions.UID", *WINDOW), 5),
        (("report", "provenance", SCORE, "--start", "0"), 3),
        (("report", "retention", "gdpr", "--start", "0"), 4),
        (("diff", SCORE, *WINDOWS), 2),
        (("diff", "bank/CustomerAccounts", *WINDOWS), 2),
    ],
    ids=["consumption", "provenance", "retention", "diff", "dataset-diff"],
)
def test_sheets(
    question: tuple[str, ...], sheets_max: int, governed: str, chromium: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text(printed(*question, "--store", governed, "--format", "html"))
    page = chromium.new_page()
    page.goto(path.as_uri())
    pdf = page.pdf(prefer_css_page_size=True)
    # Wider than the sheet would be cut: A4 landscape without its margins, in CSS pixels.
    page.set_viewport_size({"width": 1009, "height": 700})
    page.emulate_media(media="print")
    width = page.evaluate("document.documentElement.scrollWidth")
    page.close()
    assert 1 <= len(re.findall(rb"/Type\s*/Page[^s]", pdf)) <= sheets_max
    assert width <= 1009


@pytest.fixture
def governed(tmp_path: Path) -> str:
    """The URL of a store with the sample, tags, and a policy that it does not keep."""
    url = f"sqlite:///{tmp_path}/governed.db"
    printed("sample", "--store", url, "--end", "2025-10-09")
    printed("tag", "set", "bank/DailyTransactions.UID", "PII", "--store", url)
    # Names that are wider than the column of tags.
    for field in ("bank/FraudFeatures.uid_hash", "hospital/Patients.birth_date"):
        printed("tag", "set", field, "w" * 40, "--store", url)
    printed("policy", "set", "gdpr", "--max-age", "60d", "--tag", "PII", "--store", url)
    return url
