"""The drawing: geometry by property, selection that stays, folds, keys, one tab stop."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from playwright.sync_api import Page, expect

from tests.support.page.screens import UID
from tests.support.page.site import Site
from tests.support.page.visit import Visit, drawn_field

FORWARD = {"view": "graph", **UID, "direction": "forward", "level": 5}
GRAPHS = {
    "field": FORWARD,
    "both": {"view": "graph", "ns": "bank", "name": "CustomerAccounts", "level": 5},
    "failed": {**FORWARD, "failed": "true"},
    "hospital": {"view": "graph", "ns": "hospital", "name": "PatientRecords", "level": 8},
}
Box = dict[str, float]


def boxes(page: Page) -> list[Box]:
    """The frames of the drawn boxes, in CSS pixels."""
    frames = [box.bounding_box() for box in page.locator("[data-box] rect.frame").all()]
    return [dict(frame) for frame in frames if frame]


def overlap(first: Box, second: Box) -> bool:
    """Whether two boxes share more than an edge."""
    apart = any(
        first[axis] + first[size] <= second[axis] or second[axis] + second[size] <= first[axis]
        for axis, size in (("x", "width"), ("y", "height"))
    )
    return not apart


@pytest.mark.parametrize("state", GRAPHS.values(), ids=GRAPHS.keys())
def test_boxes_do_not_overlap_and_all_links_end_at_fields(
    state: dict[str, object], sample: Site, visit: Visit
) -> None:
    page = visit.open(sample.link(**state))
    frames = boxes(page)
    assert len(frames) > 3
    assert not [pair for pair in combinations(frames, 2) if overlap(*pair)]
    loose = page.evaluate(LOOSE_ENDS)
    assert loose == []


LOOSE_ENDS = """
() => {
    const svg = document.querySelector('svg.drawing');
    const place = element => {
        const {width, height} = element.getBBox();
        const {e, f} = element.closest('g[transform]').transform.baseVal.consolidate().matrix;
        return {left: e, right: e + width, top: f, bottom: f + height};
    };
    const frames = [...svg.querySelectorAll('rect.frame')].map(place);
    const touches = ({x, y}) => frames.some(({left, right, top, bottom}) =>
        y >= top && y <= bottom && (Math.abs(x - left) <= 6 || Math.abs(x - right) <= 6));
    const ends = path => path.getAttribute('d').split('M').filter(Boolean).flatMap(part => {
        const numbers = part.match(/-?[\\d.]+/g).map(Number);
        return [{x: numbers[0], y: numbers[1]}, {x: numbers.at(-2), y: numbers.at(-1)}];
    });
    return [...svg.querySelectorAll('path.wire')].flatMap(ends).filter(end => !touches(end));
}
"""


def test_the_same_question_is_the_same_drawing(sample: Site, visit: Visit) -> None:
    page = visit.open(sample.link(**FORWARD))
    first = page.locator("svg.drawing").inner_html()
    page.reload()
    visit.settle()
    assert page.locator("svg.drawing").inner_html() == first


def test_a_selection_is_locked_in_the_url_and_freed_by_escape(sample: Site, visit: Visit) -> None:
    page = visit.open(sample.link(**FORWARD))
    history = page.evaluate("() => history.length")
    drawn_field(page, "customer_key", "RiskScores").click()
    expect(drawn_field(page, "customer_key", "RiskScores")).to_have_attribute("aria-pressed", "true")
    page.mouse.move(5, 5)
    expect(drawn_field(page, "customer_key", "RiskScores")).to_have_attribute("aria-pressed", "true")
    # Both ways: UID, of which it was made, and the count that was made of it.
    for field, dataset in (("UID", "DailyTransactions"), ("customers", "RegulatoryReport")):
        expect(drawn_field(page, field, dataset)).to_have_accessible_name(re.compile("holds its value"))
    expect(page).to_have_url(re.compile(r"on\.field=customer_key"))
    assert page.evaluate("() => history.length") == history
    page.reload()
    visit.settle()
    expect(drawn_field(page, "customer_key", "RiskScores")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("on.field"))


def test_indirect_links_are_dashed_and_named(sample: Site, visit: Visit) -> None:
    page = visit.open(sample.link(**FORWARD))
    dashes = page.locator("path.wire.indirect").evaluate_all(
        "paths => paths.map(path => getComputedStyle(path).strokeDasharray)"
    )
    assert dashes
    assert "none" not in dashes
    expect(drawn_field(page, "turnover_30d", "CustomerAccounts")).to_have_accessible_name(
        re.compile("only shaped")
    )
    page.get_by_role("checkbox", name="Indirect").uncheck()
    visit.settle()
    expect(page.locator("path.wire.indirect")).to_have_count(0)
    expect(drawn_field(page, "turnover_30d", "CustomerAccounts")).to_have_count(0)


def test_the_selected_box_stays_where_it_is_when_more_is_shown(sample: Site, visit: Visit) -> None:
    page = visit.open(sample.link(**{**FORWARD, "level": 2}))
    drawn_field(page, "UID", "CustomerAccounts").click()
    old = drawn_field(page, "UID", "CustomerAccounts").bounding_box()
    page.get_by_role("combobox", name="Hops").select_option("5")
    visit.settle()
    expect(drawn_field(page, "customers", "RegulatoryReport")).to_be_attached()
    new = drawn_field(page, "UID", "CustomerAccounts").bounding_box()
    assert old
    assert new
    assert abs(old["x"] - new["x"]) <= 1
    assert abs(old["y"] - new["y"]) <= 1


def test_a_double_click_opens_and_back_returns(sample: Site, visit: Visit) -> None:
    page = visit.open(sample.link(**FORWARD))
    drawn_field(page, "customer_key", "RiskScores").dblclick()
    expect(page.get_by_role("heading", level=1)).to_have_text("customer_key")
    page.go_back()
    visit.settle()
    expect(page.get_by_role("heading", level=1)).to_have_text("UID")


def test_the_drawing_has_one_tab_stop_and_arrows_follow_links(sample: Site, visit: Visit) -> None:
    page = visit.open(sample.link(**FORWARD))
    stops = page.locator("svg.drawing [tabindex='0']")
    expect(stops).to_have_count(1)
    stops.focus()
    expect(drawn_field(page, "UID", "DailyTransactions")).to_be_focused()
    page.keyboard.press("ArrowRight")
    first = drawn_field(page, "every row", "CustomerAccounts")
    expect(first).to_be_focused()
    page.keyboard.press("n")
    expect(first).not_to_be_focused()
    expect(page.locator("svg.drawing :focus")).to_have_count(1)
    page.keyboard.press("ArrowLeft")
    expect(drawn_field(page, "UID", "DailyTransactions")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(drawn_field(page, "UID", "DailyTransactions")).not_to_be_focused()
    expect(stops).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("svg.drawing :focus")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("o")
    visit.settle()
    expect(page).not_to_have_url(re.compile("field=UID"))


def test_f_finds_a_field_in_the_graph(sample: Site, visit: Visit) -> None:
    page = visit.open(sample.link(**FORWARD))
    page.keyboard.press("f")
    page.keyboard.type("customers")
    page.keyboard.press("Enter")
    expect(drawn_field(page, "customers", "RegulatoryReport")).to_have_attribute("aria-pressed", "true")
    expect(drawn_field(page, "customers", "RegulatoryReport")).to_be_in_viewport()


PRESS_F_AT_ONCE = """
new MutationObserver((_, observer) => {
  if (!document.querySelector("[data-box]")) return;
  observer.disconnect();
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "f", bubbles: true }));
}).observe(document, { childList: true, subtree: true });
"""


def test_a_key_is_heard_as_soon_as_the_graph_stands(sample: Site, visit: Visit) -> None:
    visit.page.add_init_script(PRESS_F_AT_ONCE)
    page = visit.open(sample.link(**FORWARD))
    expect(page.get_by_role("combobox", name="Find in the graph")).to_be_focused()


def test_the_table_is_the_same_answer(sample: Site, visit: Visit) -> None:
    page = visit.open(sample.link(**FORWARD))
    edges = sample.get(
        f"namespaces/bank/endpoints/{UID['name']}/fields/UID/reach", direction="forward", level=5
    )["edges"]
    page.get_by_role("button", name="Table").click()
    expect(page).to_have_url(re.compile("as=table"))
    rows = page.get_by_role("table").get_by_role("row")
    drops = 1
    expect(rows).to_have_count(1 + len(edges) + drops)
    for edge in edges:
        text = re.compile(f"{edge['from']['name']}.*{edge['to']['name']}.*{edge['influence']}", re.DOTALL)
        assert rows.filter(has_text=text).count() >= 1, edge


def test_a_phone_shows_the_table(sample: Site, visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 360, "height": 740})
    page = visit.open(sample.link(**FORWARD))
    expect(page.get_by_role("table")).to_be_visible()
    expect(page.get_by_role("button", name="Table")).to_have_attribute("aria-pressed", "true")


def test_a_step_of_hops_can_be_taken_back(sample: Site, visit: Visit) -> None:
    page = visit.open(sample.link(**FORWARD))
    page.get_by_role("combobox", name="Hops").select_option("1")
    visit.settle()
    expect(drawn_field(page, "customers", "RegulatoryReport")).to_have_count(0)
    page.go_back()
    visit.settle()
    expect(drawn_field(page, "customers", "RegulatoryReport")).to_be_attached()
