"""Drawing, table, panel, reports and files show apart what is not in the order of the runs."""

from __future__ import annotations

import csv
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.page.conftest import MakeSite
from tests.support.late_runs import HOUR_MS, LATE_BACKWARD, late
from tests.support.page.site import Site
from tests.support.page.visit import Visit, drawn_field

BILLS = {"ns": "shop", "name": "bills", "field": "UID"}
GRAPH = {"view": "graph", **BILLS, "level": 5}


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    """The history, half a day ago."""
    server = make_site()
    for document in late(int(time.time() * 1000) - 12 * HOUR_MS):
        server.send("POST", "namespaces/shop/lineage", document)
    return server


def test_the_drawing_says_it_in_words_and_lines(site: Site, visit: Visit) -> None:
    page = visit.open(site.link(**GRAPH))
    for name, is_late in (("raw", True), ("landing", True), ("names", False), ("orders", False)):
        label = drawn_field(page, "UID", name).get_attribute("aria-label") or ""
        assert ("not in order of the runs" in label) is is_late
    expect(page.locator(".drawing .note", has_text="not in order")).to_have_count(2)
    dashes = page.locator(".wire.unordered").evaluate_all(
        "all => all.map(one => getComputedStyle(one).strokeDasharray)"
    )
    others = page.locator(".drawing .wire:not(.unordered)").evaluate_all(
        "all => all.map(one => getComputedStyle(one).strokeDasharray)"
    )
    assert set(dashes) & set(others) == set()
    expect(page.get_by_role("list", name="Lines")).to_contain_text("not in order of the runs")
    expect(page.get_by_role("group", name="Graph").get_by_role("status")).to_contain_text(
        "4 pairs, 2 of them not in order"
    )


def test_the_panel_lists_it_apart_for_the_field_of_the_graph_alone(site: Site, visit: Visit) -> None:
    page = visit.open(site.link(**GRAPH))
    panel = page.get_by_role("complementary", name="Selection")
    expect(
        panel.get_by_role("heading", name="2 not in order: written only after the run that read")
    ).to_be_visible()
    expect(panel.get_by_role("heading", name="2 by value")).to_be_visible()
    drawn_field(page, "UID", "raw").click()
    expect(panel).to_contain_text("known as seen from UID of bills only")
    expect(panel.get_by_role("heading", name="2 hold its value")).to_be_visible()


def test_causal_has_none_of_it(site: Site, visit: Visit) -> None:
    page = visit.open(site.link(**GRAPH, causal="true"))
    expect(page.locator("svg.drawing")).to_be_visible()
    assert "not in order" not in visit.text()
    assert page.locator(".wire.unordered").count() == 0


def test_the_table_and_its_file_have_it_last_and_marked(site: Site, visit: Visit) -> None:
    page = visit.open(site.link(**GRAPH, **{"as": "table"}))
    marks = [" · not in order" in text for text in page.locator(".pair-table tbody tr").all_text_contents()]
    assert marks == [False, False, True, True]
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV", exact=True).click()
    with Path(download.value.path()).open(encoding="utf-8", newline="") as file:
        rows = {(row["fromName"], row["toName"]): row["inOrder"] for row in csv.DictReader(file)}
    assert {pair for pair, in_order in rows.items() if in_order == "false"} == LATE_BACKWARD
    assert rows["orders", "bills"] == "true"


def test_a_report_that_is_not_causal_has_a_table_of_it(site: Site, visit: Visit) -> None:
    report = {"view": "report", "report": "provenance", **BILLS}
    page = visit.open(site.link(**report, causal="false"))
    expect(page.get_by_role("heading", name="Sources: not in the order of the runs")).to_be_visible()
    expect(page.locator(".report-summary")).to_contain_text("2 more fields are not in the order of the runs.")
    visit.open(site.link(**report))
    assert "not in the order" not in visit.text()
