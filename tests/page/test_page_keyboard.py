"""Everything by keyboard alone: from the search to the operations of a derived field, and back."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.page.screens import NAMES, UID, screen_of
from tests.support.page.site import Site
from tests.support.page.visit import Visit, drawn_field

FOCUS_IS_SEEN = """
() => {
    const style = getComputedStyle(document.activeElement);
    return style.outlineStyle !== 'none' || style.boxShadow !== 'none' || style.stroke !== 'none';
}
"""
STOPS_MAX = 300
"""Presses of Tab on one screen: a report has a link for each run of a page, the drawing is one stop."""


def tab_to(visit: Visit, name: str | re.Pattern[str]) -> None:
    """Press Tab until something of this name has the focus."""
    for _ in range(STOPS_MAX):
        visit.page.keyboard.press("Tab")
        label = visit.page.evaluate(
            "() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
        )
        if re.fullmatch(name, label.strip()):
            return
    raise AssertionError(f"no stop is named {name}")


def test_from_the_search_to_operations_and_back(sample: Site, visit: Visit) -> None:
    page = visit.open(sample.link())
    page.keyboard.press("/")
    page.keyboard.type("DailyTransactions")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Enter")
    visit.settle()
    expect(page.get_by_role("heading", level=1)).to_have_text("DailyTransactions")
    tab_to(visit, "Graph of UID")
    page.keyboard.press("Enter")
    visit.settle()
    tab_to(visit, "Forward")
    page.keyboard.press("Enter")
    visit.settle()
    tab_to(visit, re.compile("UID of DailyTransactions, .*"))
    page.keyboard.press("ArrowRight")
    expect(page.locator("svg.drawing :focus")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("on.field="))
    tab_to(visit, "Operations")
    page.keyboard.press("Enter")
    visit.settle()
    expect(page).to_have_url(re.compile("view=operations"))
    page.go_back()
    expect(page).to_have_url(re.compile("view=graph"))


@pytest.mark.parametrize("name", NAMES)
def test_every_stop_of_tab_is_seen_and_named_and_there_is_an_end(
    name: str, sample: Site, visit: Visit
) -> None:
    page = visit.open(sample.link(**screen_of(name, sample).state))
    for _ in range(STOPS_MAX):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement === document.body"):
            break
        assert page.evaluate(FOCUS_IS_SEEN), page.evaluate("() => document.activeElement.outerHTML")
    else:
        raise AssertionError(f"more than {STOPS_MAX} stops")


def test_question_mark_lists_the_keys_and_escape_closes_the_list(sample: Site, visit: Visit) -> None:
    page = visit.open(sample.link(view="graph", **UID))
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Search datasets and fields")
    for key in ("/", "f", "n", "o", "Esc", "?"):
        expect(dialog.locator("kbd").get_by_text(key, exact=True).first).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_the_content_is_one_stop_away(sample: Site, visit: Visit) -> None:
    page = visit.open(sample.link(view="dataset", ns="bank", name="DailyTransactions"))
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()


def test_keys_of_the_graph_do_nothing_where_one_types(sample: Site, visit: Visit) -> None:
    page = visit.open(sample.link(view="graph", **UID, direction="forward"))
    page.keyboard.press("/")
    page.keyboard.type("fon0+-?")
    expect(page.get_by_role("combobox", name="Search datasets and fields")).to_have_value("fon0+-?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(drawn_field(page, "UID", "DailyTransactions")).to_have_attribute("aria-pressed", "true")
