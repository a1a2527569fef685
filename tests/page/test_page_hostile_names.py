"""Names and texts are text: any character, 1,000 bytes, markup and scripts, on every screen."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.page import hostile
from tests.support.page.site import Site
from tests.support.page.visit import Visit

NAMES = pytest.mark.parametrize("name", hostile.NAMES.values(), ids=hostile.NAMES.keys())


def assert_harmless(visit: Visit) -> None:
    """Assert that nothing recorded became an element or ran; other faults the fixture reports."""
    assert visit.page.evaluate("() => window.injected === undefined")
    assert visit.page.locator("img, iframe, object, body script, [onerror]").count() == 0
    assert visit.page.locator("a[href^='javascript']").count() == 0


@NAMES
def test_a_name_is_shown_and_followed(name: str, evil: Site, visit: Visit) -> None:
    visit.open(evil.link(view="dataset", ns=hostile.NAMESPACE, name=name))
    expect(visit.page.get_by_role("alert")).to_have_count(0)
    assert name in visit.text()
    assert visit.names(hostile.copy_name(name))
    assert_harmless(visit)
    for state in (
        {"view": "graph", "direction": "forward"},
        {"view": "graph", "direction": "forward", "as": "table"},
        {"view": "operations", "direction": "forward"},
    ):
        visit.open(evil.link(**state, ns=hostile.NAMESPACE, name=name, field=name))
        expect(visit.page.get_by_role("alert")).to_have_count(0)
        assert name in visit.text()
        assert visit.names(hostile.copy_name(name))
        assert_harmless(visit)


@NAMES
def test_a_name_is_found_and_opened(name: str, evil: Site, visit: Visit) -> None:
    visit.open(evil.link())
    visit.page.keyboard.press("/")
    visit.page.keyboard.insert_text(name)
    expect(visit.page.get_by_role("option").first).to_contain_text(name[:100])
    visit.page.keyboard.press("Enter")
    expect(visit.page.get_by_role("heading", level=1)).to_contain_text(name)
    visit.settle()
    assert_harmless(visit)


@pytest.mark.parametrize(
    "state",
    [
        {"view": "run", "run": f"{hostile.RUN} 0"},
        {"view": "tags", "field": hostile.SCRIPT, "name": hostile.SCRIPT},
        {"view": "report", "report": "consumption", "field": hostile.SCRIPT, "name": hostile.SCRIPT},
        {"view": "report", "report": "provenance", "field": hostile.IMAGE, "name": f"{hostile.IMAGE} copy"},
        {"view": "operations", "name": hostile.SQL_TABLE, "field": "markup"},
        {"view": "operations", "name": f"{hostile.IMAGE} copy", "field": hostile.IMAGE},
        {
            "view": "operations",
            "name": f"{hostile.IMAGE} copy",
            "field": hostile.IMAGE,
            "operations": "simple",
        },
        {"view": "operations", "name": f"{hostile.IMAGE} copy", "field": hostile.IMAGE, "operations": "ways"},
        {"view": "compare", "name": hostile.SCRIPT, "base": "now-60d,now-30d"},
        {"view": "compare", "name": hostile.SCRIPT, "base": "now-60d,now-30d", "tab": "fields"},
        {"view": "dataset", "name": hostile.SCRIPT, "tab": "programs"},
        {"view": "dataset", "name": hostile.SCRIPT, "tab": "runs"},
        {"view": "graph", "name": hostile.SCRIPT, "start": f"now-{hostile.IMAGE}"},
        {"view": "dataset", "name": f"never {hostile.IMAGE}"},
    ],
    ids=lambda state: "-".join(
        [state["view"], *filter(None, map(state.get, ("tab", "operations", "report")))]
    ),
)
def test_recorded_markup_stays_text(state: dict[str, str], evil: Site, visit: Visit) -> None:
    visit.open(evil.link(ns=hostile.NAMESPACE, **state))
    assert hostile.IMAGE in visit.text() or hostile.SCRIPT in visit.text()
    assert_harmless(visit)


def test_markup_in_the_url_stays_text(evil: Site, visit: Visit) -> None:
    for parameter in (
        "view",
        "ns",
        "name",
        "field",
        "start",
        "end",
        "base",
        "q",
        "run",
        "tab",
        "on.name",
        "open",
    ):
        visit.open(f"{evil.url}/?view=graph&ns=x&name=y&{parameter}=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
        assert_harmless(visit)
