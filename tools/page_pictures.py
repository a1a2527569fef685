"""Take the pictures of the web page and of a report that the docs show: `make pictures`.

The sample ends at a fixed time, so that a picture differs only where the page does.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import closing
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from bench import chromium
from bench.server import Server
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.tags import TagNote
from fll_hbase.runtime.config import Settings
from fll_hbase.sample.load import load
from fll_hbase.store.factory import open_store_table
from fll_hbase.store.lineage_store import LineageStore

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
END_MS = 1_793_491_200_000
"""2026-11-01 00:00:00 UTC."""
WINDOW = "start=2026-10-02&end=2026-11-01"
UID = "ns=bank&name=DailyTransactions&field=UID"
SCORE = "ns=hospital&name=PatientRecords&field=patient_medical_score"
QUARTER = "start=2026-08-03&end=2026-11-01"
MONTHS = "start=2026-10-02&end=2026-11-01&base=2026-08-03,2026-09-02"
"""A window, and one before the score of the hospital is made in another way."""
PICTURES = {
    "home": f"?{WINDOW}",
    "dataset": f"?view=dataset&ns=bank&name=DailyTransactions&{WINDOW}",
    "runs": f"?view=dataset&ns=bank&name=DailyTransactions&tab=runs&failed=true&{WINDOW}",
    "graph": f"?view=graph&{UID}&direction=forward&level=5&{WINDOW}",
    "operations": f"?view=operations&ns=bank&name=FraudFeatures&field=eur_per_hour&{WINDOW}",
    "ways": f"?view=operations&{SCORE}&operations=ways&{QUARTER}",
    "diff": f"?view=operations&{SCORE}&operations=diff&{MONTHS}",
    "compare": f"?view=compare&ns=hospital&name=PatientRecords&tab=fields&{MONTHS}",
    "reports": f"?view=report&report=consumption&{UID}&{WINDOW}",
    "report": f"v3/reports/consumption?namespace=bank&endpoint=DailyTransactions&field=UID&{WINDOW}",
    "run": f"?view=run&ns=hospital&run={{run}}&{WINDOW}",
    "impact": f"?view=impact&{UID}&{WINDOW}",
    "tags": f"?view=tags&{UID}&{WINDOW}",
}
"""The address of each picture; `{run}` is the id of a run of the hospital."""
SEARCHED = "uid"
"""Typed into the search of the page, for the picture `search`."""
PERSONAL = [
    DatasetField(Dataset("bank", "DailyTransactions"), "UID"),
    DatasetField(Dataset("bank", "CustomerAccounts"), "UID"),
]
"""Fields that have the tag PII."""
WAIT_MS = 30_000
SIZE = {"width": 1280, "height": 760}


def main() -> None:
    """Load the sample into a store of its own, tag personal data in it, serve it, and write each picture."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        store = f"sqlite:///{folder}/sample.db"
        opened = LineageStore(open_store_table(Settings(store=store)), clock=lambda: END_MS)
        load(opened, END_MS)
        for field in PERSONAL:
            opened.tags.put(field, "PII", TagNote("ana@example.org", "Identifies a customer"))
        browser = chromium.launch(playwright)
        server = Server(store, workers=1)
        expect.set_options(timeout=WAIT_MS)
        try:
            page = browser.new_page(viewport=SIZE, reduced_motion="reduce", color_scheme="light")  # type: ignore[arg-type]
            FOLDER.mkdir(exist_ok=True)
            run = _newest_run(server)
            for name, query in PICTURES.items():
                url = f"http://127.0.0.1:{server.port}/{query.format(run=run)}"
                _open(page, url)
                page.screenshot(path=FOLDER / f"{name}.png")
            _search(page, f"http://127.0.0.1:{server.port}/?{WINDOW}", FOLDER / "search.png")
        finally:
            browser.close()
            server.stop()


def _newest_run(server: Server) -> str:
    """Return the id of the newest run of the program that scores the hospital's patients."""
    with closing(server.connect()) as connection:
        path = f"/v3/namespaces/hospital/runs?program=score_patients&state=COMPLETE&limit=1&{WINDOW}"
        connection.request("GET", path)
        (run,) = json.loads(connection.getresponse().read())["runs"]
    return str(run["run"])


def _open(page: Page, url: str) -> None:
    page.goto(url, wait_until="networkidle")
    # The bars of the runs come after the answer.
    expect(page.locator("[aria-busy=true], .skeleton, .run-strip:empty")).to_have_count(0)


def _search(page: Page, url: str, path: Path) -> None:
    _open(page, url)
    page.get_by_role("combobox").fill(SEARCHED)
    expect(page.get_by_role("option").first).to_be_visible()
    page.screenshot(path=path)


if __name__ == "__main__":
    main()
