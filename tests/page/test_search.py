"""The search: `/` focuses it, Enter opens the best hit of the very text that stands there, Back returns."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from tests.support.page.site import Site
from tests.support.page.visit import Visit


def box(visit: Visit) -> Locator:
    """The search box."""
    return visit.page.get_by_role("combobox", name="Search datasets and fields")


def test_a_slash_focuses_enter_opens_and_back_returns(sample: Site, visit: Visit) -> None:
    visit.open(sample.link())
    visit.page.keyboard.press("/")
    expect(box(visit)).to_be_focused()
    visit.page.keyboard.type("uid_hash")
    visit.page.keyboard.press("Enter")
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("uid_hash")
    assert "view=graph" in visit.page.url
    visit.page.go_back()
    expect(visit.page).to_have_url(sample.link())
    expect(visit.page.get_by_role("main")).to_contain_text("hospital")


def test_enter_right_after_typing_opens_the_hit_of_the_whole_text(sample: Site, visit: Visit) -> None:
    visit.open(sample.link())
    visit.page.keyboard.press("/")
    visit.page.keyboard.type("u")
    expect(visit.page.get_by_role("option").first).to_be_visible()
    # Faster than the answer: what stands in the list belongs to the text `u`.
    visit.page.keyboard.insert_text("id_hash")
    visit.page.keyboard.press("Enter")
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("uid_hash")


def test_hits_are_those_of_the_api_in_its_order(sample: Site, visit: Visit) -> None:
    hits = sample.get("search", q="uid", limit=20)["results"]
    visit.open(sample.link())
    visit.page.keyboard.press("/")
    visit.page.keyboard.type("uid")
    options = visit.page.get_by_role("option")
    expect(options).to_have_count(len(hits))
    for option, hit in zip(options.all(), hits, strict=True):
        expect(option).to_contain_text(hit.get("field", hit["name"]))
        expect(option).to_contain_text(hit["namespace"])


def test_arrows_choose_another_hit(sample: Site, visit: Visit) -> None:
    visit.open(sample.link())
    visit.page.keyboard.press("/")
    visit.page.keyboard.type("uid")
    second = visit.page.get_by_role("option").nth(1)
    text = second.text_content() or ""
    visit.page.keyboard.press("ArrowDown")
    expect(second).to_have_attribute("aria-selected", "true")
    visit.page.keyboard.press("Enter")
    expect(visit.page.get_by_role("navigation", name="Breadcrumb")).to_contain_text("bank")
    assert "Customers" in text
    expect(visit.page.get_by_role("navigation", name="Breadcrumb")).to_contain_text("Customers")


def test_a_click_opens_a_hit(sample: Site, visit: Visit) -> None:
    visit.open(sample.link())
    box(visit).fill("PatientRecords")
    visit.page.get_by_role("option").first.click()
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("PatientRecords")
    assert "view=dataset" in visit.page.url


def test_escape_closes_the_list_and_a_text_without_hits_says_so(sample: Site, visit: Visit) -> None:
    visit.open(sample.link())
    box(visit).fill("no such name at all")
    expect(visit.page.get_by_role("search")).to_contain_text("No dataset or field has this in its name")
    visit.page.keyboard.press("Enter")
    box(visit).fill("uid")
    expect(visit.page.get_by_role("listbox")).to_be_visible()
    visit.page.keyboard.press("Escape")
    expect(visit.page.get_by_role("listbox")).to_have_count(0)
    expect(visit.page).to_have_url(sample.link())


def test_a_slash_is_a_character_where_one_types(sample: Site, visit: Visit) -> None:
    visit.open(sample.link())
    box(visit).focus()
    visit.page.keyboard.type("s3://l")
    expect(box(visit)).to_have_value("s3://l")
    expect(visit.page.get_by_role("option").first).to_contain_text("s3://landing")
