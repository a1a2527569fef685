"""Take the pictures of the web page and of a report that the docs show: `make pictures`.

The sample ends at a fixed time, so that a picture differs only where the page does.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from bench.server import Server
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.tags import TagNote
from fll_hbase.runtime.config import Settings
from fll_hbase.sample.load import load
from fll_hbase.store.factory import open_store

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
END_MS = 1_793_491_200_000
"""2026-11-01 00:00:00 UTC."""
WINDOW = "start=2026-10-02&end=2026-11-01"
UID = "ns=bank&name=DailyTransactions&field=UID"
PICTURES = {
    "graph": f"?view=graph&{UID}&direction=forward&level=5&{WINDOW}",
    "operations": f"?view=operations&ns=bank&name=FraudFeatures&field=eur_per_hour&{WINDOW}",
    "report": f"v3/reports/consumption?namespace=bank&endpoint=DailyTransactions&field=UID&{WINDOW}",
}
PERSONAL = [
    DatasetField(Dataset("bank", "DailyTransactions"), "UID"),
    DatasetField(Dataset("bank", "CustomerAccounts"), "UID"),
]
"""Fields that have the tag PII."""
SIZE = {"width": 1280, "height": 760}


def main() -> None:
    """Load the sample into a store of its own, tag personal data in it, serve it, and write each picture."""
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("Chromium not found: tools/system-packages browser")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        store = f"sqlite:///{folder}/sample.db"
        opened = open_store(Settings(store=store))
        load(opened, END_MS)
        for field in PERSONAL:
            opened.tags.put(field, "PII", TagNote())
        server = Server(store, workers=1)
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        try:
            page = browser.new_page(viewport=SIZE, reduced_motion="reduce", color_scheme="light")  # type: ignore[arg-type]
            for name, query in PICTURES.items():
                _take(page, f"http://127.0.0.1:{server.port}/{query}", FOLDER / f"{name}.png")
        finally:
            browser.close()
            server.stop()


def _take(page: Page, url: str, path: Path) -> None:
    page.goto(url, wait_until="networkidle")
    expect(page.locator("[aria-busy=true], .skeleton")).to_have_count(0)
    path.parent.mkdir(exist_ok=True)
    page.screenshot(path=path)


if __name__ == "__main__":
    main()
