"""Print the reports that the docs link to as PDF: `make pictures`.

The sample ends at a fixed time, so that a report differs only where the answers or their layout do.
"""

from __future__ import annotations

import tempfile

from playwright.sync_api import sync_playwright

from bench import chromium
from bench.server import Server
from fll_hbase.model.tags import AgePolicy, TagNote, parse_max_age
from fll_hbase.runtime.config import Settings
from fll_hbase.sample.load import load
from fll_hbase.store.factory import open_store
from tools.page_pictures import END_MS, FOLDER, PERSONAL

OCTOBER = "start=2026-10-01&end=2026-11-01"
REPORTS = {
    "consumption": f"consumption?namespace=bank&endpoint=DailyTransactions&field=UID&{OCTOBER}",
    "provenance": "provenance?namespace=hospital&endpoint=PatientRecords"
    f"&field=patient_medical_score&{OCTOBER}",
    "retention": "retention?policy=gdpr",
}
"""The address of each report below `/v3/reports/`."""


def main() -> None:
    """Load the sample into a store of its own, tag personal data in it, and print each report."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        store = f"sqlite:///{folder}/sample.db"
        opened = open_store(Settings(store=store))
        load(opened, END_MS)
        for field in PERSONAL:
            opened.tags.put(field, "PII", TagNote("ana@example.org", "Identifies a customer"))
        opened.policies.put(AgePolicy("gdpr", parse_max_age("30d"), "PII", None, "", 0))
        browser = chromium.launch(playwright)
        server = Server(store, workers=1)
        try:
            page = browser.new_page(extra_http_headers={"Accept": "text/html"})
            for name, query in REPORTS.items():
                page.goto(f"http://127.0.0.1:{server.port}/v3/reports/{query}", wait_until="networkidle")
                page.pdf(path=FOLDER / f"{name}.pdf", prefer_css_page_size=True)
        finally:
            browser.close()
            server.stop()


if __name__ == "__main__":
    main()
