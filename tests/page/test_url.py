"""Each screen is a URL: opened directly, after a reload, and by Back, in one window and with its names."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.support.page.screens import NAMES, SCREENS, UID, Screen, screen_of
from tests.support.page.site import Site
from tests.support.page.visit import Visit

HOME = re.compile(r"^http://[^/]+/\??$")
"""Without a parameter; a link to it is `?`, which works behind any path prefix."""


def assert_shown(visit: Visit, screen: Screen) -> None:
    """Assert that the screen has its heading and all of its texts."""
    expect(visit.page.get_by_role("heading", level=1)).to_contain_text(screen.heading)
    for text in screen.texts:
        expect(visit.page.get_by_role("main")).to_contain_text(text)


@pytest.mark.parametrize("name", NAMES)
def test_a_screen_opens_by_its_url_reloads_and_returns(name: str, sample: Site, visit: Visit) -> None:
    screen = screen_of(name, sample)
    url = sample.link(**screen.state)
    visit.open(url)
    assert_shown(visit, screen)
    visit.page.reload()
    visit.settle()
    assert_shown(visit, screen)
    assert parse_qs(urlsplit(visit.page.url).query) == parse_qs(urlsplit(url).query)
    visit.page.get_by_role("banner").get_by_role("link", name="Tags").click()
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("Tags")
    visit.page.go_back()
    visit.settle()
    assert_shown(visit, screen)


def test_a_title_names_what_is_shown(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(**SCREENS["graph"].state))
    for name in ("UID", "DailyTransactions"):
        assert name in visit.page.title()


def test_the_window_goes_with_every_link(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(view="dataset", ns="bank", name="DailyTransactions", start="now-7d"))
    for link in visit.page.get_by_role("main").get_by_role("link").all():
        query = parse_qs(urlsplit(link.get_attribute("href") or "").query)
        if query.get("view", ["home"])[0] in ("dataset", "graph", "operations", "run"):
            assert query["start"] == ["now-7d"], link.get_attribute("href")


def test_defaults_are_left_out_of_the_url(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(view="graph", **UID, direction="forward"))
    visit.page.get_by_role("banner").get_by_role("link", name="Field lineage").click()
    expect(visit.page).to_have_url(HOME)


@pytest.mark.parametrize(
    "query",
    [
        "view=nothing",
        "view=graph",
        "view=dataset&ns=bank",
        "view=graph&ns=bank&name=DailyTransactions&level=x",
        "view=graph&ns=bank&name=DailyTransactions&level=-1&direction=sideways",
        "view=compare&ns=bank&name=DailyTransactions&base=x",
        "view=report&report=none",
        "view=run",
        "view=operations&ns=bank&name=DailyTransactions",
        "%FF=%E0%A4%A&view=%",
        "constructor=1&__proto__=2&view=toString",
        "on=bank&on.name=nowhere&view=graph&ns=bank&name=DailyTransactions&open=-1&open=x",
    ],
)
def test_a_broken_link_still_is_a_page(query: str, sample: Site, visit: Visit) -> None:
    visit.open(f"{sample.url}/?{query}")
    expect(visit.page.get_by_role("heading", level=1)).to_be_visible()
    expect(visit.page.get_by_role("banner").get_by_role("link", name="Field lineage")).to_be_visible()
