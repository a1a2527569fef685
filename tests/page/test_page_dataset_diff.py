"""The fields of a dataset that differ between two windows, and the way from them to each diff."""

from __future__ import annotations

import re
from typing import Any

import pytest
import requests
from playwright.sync_api import Locator, expect

from fll_hbase.runtime.json_types import Json
from tests.page.conftest import MakeSite, MakeVisit
from tests.support.lineage_documents import copying, run
from tests.support.page.screens import EARLY, LATE
from tests.support.page.site import Site, path
from tests.support.page.visit import Visit

ACCOUNTS = {"ns": "bank", "name": "CustomerAccounts"}
BASE = dict(zip(("baseStart", "baseEnd"), EARLY.split(","), strict=True))
LINEAGE: dict[str, Any] = {"view": "compare", **ACCOUNTS, **LATE, "base": EARLY}
STATE = {**LINEAGE, "tab": "fields"}


def cards(visit: Visit) -> Locator:
    return visit.page.get_by_role("main").locator(".changed-field")


def diff_of_dataset(site: Site, ns: str, name: str, **params: str) -> Json:
    answer: Json = site.get(f"{path(ns=ns, name=name)}/diff", **params)
    return answer


def test_fields_that_differ_are_listed_with_ways_and_operations(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(**LINEAGE))
    visit.page.get_by_role("link", name="Fields that differ").click()
    visit.settle()
    expect(visit.page).to_have_url(re.compile("tab=fields"))
    fields = diff_of_dataset(sample, **ACCOUNTS, **LATE, **BASE)["fields"]
    assert [field["field"] for field in fields] == ["phone", "phone_number"]
    expect(cards(visit)).to_have_count(2)
    for card, field in zip(cards(visit).all(), fields, strict=True):
        expect(card.get_by_role("heading")).to_have_text(field["field"])
        for change in ("gained", "lost"):
            lines = card.locator(f"li.{change}")
            operations, ways = field[change]["operations"], field[change]["derivations"]
            expect(lines).to_have_count(len(operations) + len(ways))
            for operation in operations:
                expect(lines.filter(has_text=operation["name"])).to_have_count(1)
            for way in ways:
                expect(lines.filter(has_text=f"content {way['checksum'][:8]}")).to_have_count(1)


def test_a_field_leads_to_its_own_diff_of_the_same_windows(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(**STATE))
    card = cards(visit).filter(has_text="rename_phone")
    card.get_by_role("heading").get_by_role("link").click()
    visit.settle()
    for part in ("view=operations", "operations=diff", "field=phone_number", "base=now-90d"):
        expect(visit.page).to_have_url(re.compile(part))
    expect(visit.page.get_by_role("heading", name="Links 2")).to_be_visible()
    visit.page.go_back()
    visit.settle()
    cards(visit).filter(has_text="rename_phone").locator("li.gained").get_by_role("link").first.click()
    visit.settle()
    expect(visit.page).to_have_url(re.compile("operations=ways"))
    expect(visit.page.get_by_role("main")).to_contain_text("runs in all")


def test_the_page_to_print_is_of_both_windows(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(**STATE))
    shown = visit.page.locator(".base-window output").text_content() or ""
    link = visit.page.get_by_role("link", name="Changes as one page")
    url = f"{sample.url}/{link.get_attribute('href')}"
    page = requests.get(url, headers={"Accept": "text/html"}, timeout=120).text
    first, last = re.findall(r"[0-9-]{10} [0-9:]{8}", shown)
    assert f"Compared with those</dt><dd>from {first} until {last} UTC" in page
    assert "2 fields differ: phone, phone_number." in page


def test_the_window_before_is_the_default(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(view="compare", **ACCOUNTS, tab="fields", start="now-5d"))
    expect(visit.page.get_by_role("group", name="Base window")).to_contain_text("The window before")
    expect(visit.page.get_by_role("main")).to_contain_text("Nothing differs")
    assert re.search(
        r"[0-9-]{10} [0-9:]{8} – ", visit.page.locator(".base-window output").text_content() or ""
    )


def test_what_a_limit_cut_is_named_and_no_field_counts_as_the_same(make_site: MakeSite, visit: Visit) -> None:
    site = make_site(list_limit_max=1)
    site.send("POST", "namespaces/ns1/lineage", copying("raw", "orders", "a", "b", run=run("r0")))
    visit.open(site.link(view="compare", ns="ns1", name="orders", tab="fields", start="0", base="0,1"))
    expect(cards(visit)).to_have_count(1)
    expect(visit.page.get_by_role("note")).to_contain_text("list_limit_max=1")


@pytest.mark.parametrize("width", [360, 640])
def test_a_narrow_screen_has_all_of_it(width: int, sample: Site, make_visit: MakeVisit) -> None:
    visit = make_visit(viewport={"width": width, "height": 740})
    visit.open(sample.link(**STATE))
    expect(cards(visit)).to_have_count(2)
    assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for line in cards(visit).locator("li").all():
        box = line.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


def test_a_dataset_that_no_link_can_name_has_both_windows(make_site: MakeSite, visit: Visit) -> None:
    site = make_site()
    site.send("POST", "namespaces/ns1/lineage", copying("raw", "..", "a", run=run("r0")))
    visit.open(site.link(view="compare", ns="ns1", name="..", tab="fields", start="0", base="1,2"))
    expect(cards(visit)).to_have_count(1)
    expect(visit.page.get_by_role("group", name="Base window")).to_contain_text("1970-01-01 00:00:02 UTC")
    expect(visit.page.get_by_role("link", name="Changes as one page")).to_have_count(0)
