"""Large and odd graphs stay usable: folds that count, a filter, cycles."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from bench.layers import NAMESPACE, ROOT
from tests.support.page.large import CYCLE, WIDE_FIELDS
from tests.support.page.site import Site
from tests.support.page.visit import Visit, drawn_field

WIDE = {"ns": NAMESPACE, "name": "wide2"}


def test_one_field_of_a_thousand_is_filtered_and_opened(large_site: Site, visit: Visit) -> None:
    page = visit.open(large_site.link(view="dataset", **WIDE))
    fields = page.get_by_role("region", name=re.compile("^Fields"))
    expect(fields.get_by_role("button", name=re.compile("parent_00 *25 nested"))).to_be_visible()
    page.get_by_role("searchbox", name="Filter fields").fill("column_0777")
    expect(fields).to_contain_text(f"1 of {len(WIDE_FIELDS):,}")
    fields.get_by_role("link", name=re.compile("column_0777")).hover()
    page.get_by_role("link", name="Graph of parent_17/column_0777", exact=True).click()
    visit.settle()
    expect(page.get_by_role("heading", level=1)).to_have_text("parent_17/column_0777")
    for dataset in ("wide1", "wide2", "wide3"):
        expect(drawn_field(page, "parent_17/column_0777", dataset)).to_be_attached()


def test_a_nested_field_is_unfolded_by_its_first_part(large_site: Site, visit: Visit) -> None:
    page = visit.open(large_site.link(view="dataset", **WIDE))
    page.get_by_role("button", name=re.compile("parent_00 *25 nested")).click()
    fields = page.get_by_role("region", name=re.compile("^Fields"))
    expect(fields.get_by_role("link", name=re.compile("column_0040"))).to_be_visible()
    expect(page).to_have_url(re.compile("open=parent_00"))


def test_a_folded_box_counts_what_it_hides(large_site: Site, visit: Visit) -> None:
    page = visit.open(large_site.link(view="graph", **WIDE))
    more = page.get_by_role("button", name=re.compile(f"^{len(WIDE_FIELDS):,}|^{len(WIDE_FIELDS)} "))
    expect(more).to_have_count(3)
    page.keyboard.press("f")
    page.keyboard.type("column_0777")
    page.keyboard.press("Enter")
    expect(drawn_field(page, "parent_17/column_0777", "wide1")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("svg.drawing")).to_contain_text(re.compile("1 of 1,?000"))


def test_a_box_of_a_large_graph_unfolds_by_a_click(large_site: Site, visit: Visit) -> None:
    page = visit.open(large_site.link(view="graph", ns=NAMESPACE, name=ROOT, direction="forward", level=32))
    rows = page.locator("[data-row]").count()
    page.get_by_role("button", name=re.compile("show them")).first.click()
    expect(page).to_have_url(re.compile("open="))
    expect(page.locator("[data-row]")).not_to_have_count(rows)
    page.reload()
    visit.settle()
    expect(page.locator("[data-row]")).not_to_have_count(rows)


def test_a_cycle_and_a_loop_are_drawn(large_site: Site, visit: Visit) -> None:
    page = visit.open(large_site.link(view="graph", ns=NAMESPACE, name="circle1", field="turning", level=8))
    for dataset in CYCLE:
        if dataset != "loop":
            expect(drawn_field(page, "turning", dataset)).to_have_accessible_name(re.compile("from 1, to 1"))
    expect(page.locator("path.wire")).not_to_have_count(0)
    page = visit.open(large_site.link(view="graph", ns=NAMESPACE, name="loop", level=8))
    expect(drawn_field(page, "turning", "loop")).to_have_accessible_name(re.compile("from 1, to 1"))
    expect(page.locator("path.wire")).not_to_have_count(0)
