"""axe finds nothing on any screen: light and dark, as wide as a desk, at 200 % zoom, and as a phone."""

from __future__ import annotations

import pytest

from tests.page.conftest import MakeVisit
from tests.support.page import hostile
from tests.support.page.axe import assert_accessible, violations
from tests.support.page.screens import NAMES, SCREENS, screen_of
from tests.support.page.site import Site
from tests.support.page.visit import Visit


@pytest.mark.parametrize("name", NAMES)
def test_a_screen_has_no_violations(name: str, sample: Site, visit: Visit) -> None:
    visit.open(sample.link(**screen_of(name, sample).state))
    assert_accessible(visit)


@pytest.mark.parametrize(
    "state",
    [
        {"view": "dataset", "ns": "bank", "name": "Nowhere"},
        {"view": "dataset", "ns": "bank", "name": "Customers", "start": "2020-01-01", "end": "2020-01-02"},
        {"view": "graph", "ns": "bank", "name": "Customers", "start": "2026-13-01"},
    ],
    ids=["never-seen", "nothing-in-the-window", "refused"],
)
def test_a_problem_has_no_violations(state: dict[str, str], sample: Site, visit: Visit) -> None:
    visit.open(sample.link(**state))
    assert_accessible(visit)


def test_open_parts_have_no_violations(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(**SCREENS["dataset"].state))
    visit.page.keyboard.press("/")
    visit.page.keyboard.type("uid")
    visit.page.get_by_role("option").first.wait_for()
    assert violations(visit) == []
    visit.page.keyboard.press("Escape")
    visit.page.get_by_role("group", name="Window").get_by_role("button", expanded=False).first.click()
    assert violations(visit) == []
    visit.page.keyboard.press("Escape")
    visit.page.get_by_role("button", name="Keys").click()
    visit.page.get_by_role("dialog").wait_for()
    assert violations(visit) == []


@pytest.mark.parametrize("name", ["long", "image"])
def test_long_and_strange_names_have_no_violations(name: str, evil: Site, visit: Visit) -> None:
    text = hostile.NAMES[name]
    for view in ("dataset", "graph", "operations", "report", "tags"):
        visit.open(evil.link(view=view, ns=hostile.NAMESPACE, name=text, field=text, direction="forward"))
        assert_accessible(visit)


def test_a_theme_that_was_chosen_stays(sample: Site, make_visit: MakeVisit) -> None:
    visit = make_visit(color_scheme="light")
    visit.open(sample.link())
    light = _background(visit)
    visit.page.get_by_role("button", name="Dark theme").click()
    dark = _background(visit)
    assert dark != light
    visit.page.reload()
    assert _background(visit) == dark


def _background(visit: Visit) -> str:
    return str(visit.page.evaluate("() => getComputedStyle(document.body).backgroundColor"))


CHOSEN_RATIOS = """
() => {
  const luminance = (text) => {
    const parts = text.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255);
    const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = parts.map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  const all = document.querySelectorAll('.choice :is([aria-current], [aria-pressed="true"])');
  return [...all].map((chosen) => {
    const style = getComputedStyle(chosen);
    const ring = style.boxShadow.match(/rgb[^)]*[)]/)[0];
    const ground = getComputedStyle(chosen.parentElement).backgroundColor;
    return [ratio(ring, ground), ratio(style.color, style.backgroundColor)];
  });
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_chosen_stands_out(scheme: str, sample: Site, visit: Visit) -> None:
    # WCAG 1.4.11 for the mark of the state, which axe does not measure, and 1.4.3 for its text.
    visit.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for name in ("graph", "operations"):
        visit.open(sample.link(**screen_of(name, sample).state))
        visit.settle()
        ratios = visit.page.evaluate(CHOSEN_RATIOS)
        assert ratios
        assert all(ring >= 3 and text >= 4.5 for ring, text in ratios), (name, ratios)
