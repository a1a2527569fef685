"""The site of docs/ that `make docs` builds: read from a folder, without a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

SITE = Path(__file__).resolve().parents[2] / "build" / "site"


@pytest.fixture
def outside_urls() -> list[str]:
    """The addresses that pages ask for outside of the folder."""
    return []


@pytest.fixture
def page(chromium: Browser, outside_urls: list[str]) -> Page:
    assert (SITE / "index.html").exists(), "run `make docs` first"
    context = chromium.new_context(offline=True, color_scheme="dark")
    page = context.new_page()
    page.on(
        "request",
        lambda request: None if request.url.startswith("file:") else outside_urls.append(request.url),
    )
    page.goto((SITE / "index.html").as_uri())
    yield page
    context.close()


def test_a_search_leads_to_the_page_on_windows(page: Page, outside_urls: list[str]) -> None:
    page.keyboard.press("Control+k")
    dialog = page.get_by_role("dialog", name="Search")
    dialog.get_by_role("combobox", name="Search").fill("windows and times")
    dialog.get_by_role("option").filter(has_text="Windows and times").first.click()
    expect(page).to_have_title("Windows and times - fll_hbase")
    assert [url for url in outside_urls if not url.startswith("blob:")] == []


def test_a_reader_may_choose_light_or_dark(page: Page) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.get_by_title("Light").click()
    page.wait_for_function(f"{background} !== '{dark}'")


@pytest.mark.parametrize(
    ("path", "heading", "text"),
    [
        ("reference/python-api.html", "Programs", "client.programs("),
        ("reference/commands.html", "fll tag set", "The reason."),
        ("reference/routes.html", "GET /v3/search", "dataset"),
    ],
)
def test_generated_references_are_there(page: Page, path: str, heading: str, text: str) -> None:
    page.goto((SITE / path).as_uri())
    expect(page.get_by_role("heading", name=heading).first).to_be_visible()
    expect(page.get_by_role("article")).to_contain_text(text)
