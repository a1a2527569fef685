"""Costs of the page in counts: bytes, requests and elements; a clock would measure the machine."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
import requests
from playwright.sync_api import expect

from bench.layers import LARGE, NAMESPACE, ROOT
from tests.support.page.screens import NAMES, UID, screen_of
from tests.support.page.site import Site, path
from tests.support.page.visit import Visit

COMPRESSED_BYTES_MAX = 46_500
ELEMENTS_MAX = 6_000
REQUESTS_MAX = 4
"""The document, the script, the style and one question."""

NOTE_FIRST_PICTURE = """
new MutationObserver((_, observer) => {
    if (!document.querySelector('[data-box]')) return;
    observer.disconnect();
    window.firstPicture = performance.now();
}).observe(document, {childList: true, subtree: true});
"""


def test_scripts_and_styles_of_a_visit_are_small(sample: Site) -> None:
    """`details.js` comes with the first screen that needs it."""
    sizes = {}
    for file in ("page.js", "page.css"):
        response = requests.get(f"{sample.url}/{file}", timeout=120)
        assert response.headers["Content-Encoding"] == "gzip"
        sizes[file] = len(gzip.compress(response.content, mtime=0))
    assert sum(sizes.values()) <= COMPRESSED_BYTES_MAX, sizes


def test_a_graph_is_drawn_after_one_question(sample: Site, visit: Visit) -> None:
    visit.page.add_init_script(NOTE_FIRST_PICTURE)
    visit.open(sample.link(view="graph", **UID, direction="forward", level=5))
    early = visit.page.evaluate(
        "() => performance.getEntriesByType('resource')"
        ".filter(({startTime}) => startTime < window.firstPicture).map(({name}) => name)"
    )
    assert 1 + len(early) <= REQUESTS_MAX, early
    assert len([url for url in early if "/v3/" in url]) <= 1, early


@pytest.mark.parametrize("name", NAMES)
def test_an_idle_screen_asks_nothing(name: str, sample: Site, visit: Visit) -> None:
    visit.page.clock.install()
    visit.open(sample.link(**screen_of(name, sample).state))
    visit.page.wait_for_load_state("networkidle")
    # The bars are asked for last; on a busy machine later than the network is idle.
    strips = visit.page.locator(".run-strip")
    expect(strips.locator("svg")).to_have_count(strips.count())
    count = len(visit.requests)
    visit.page.clock.fast_forward(3_600_000)
    # A round trip to the page, in which it would have begun a request.
    visit.page.evaluate("() => new Promise(requestAnimationFrame)")
    assert visit.requests[count:] == []


def test_a_large_graph_has_few_elements(large_site: Site, visit: Visit) -> None:
    pairs = large_site.get(f"{path(ns=NAMESPACE, name=ROOT)}/fields/lineage", direction="forward", level=32)
    assert sum(len(entry["fieldmap"]) for entry in pairs) == LARGE.pairs
    visit.open(large_site.link(view="graph", ns=NAMESPACE, name=ROOT, direction="forward", level=32))
    expect(visit.page.locator("[data-box]")).to_have_count(LARGE.datasets)
    assert _elements(visit) <= ELEMENTS_MAX


@pytest.mark.parametrize(
    "state",
    [
        {"view": "dataset"},
        {"view": "graph", "direction": "both", "level": 2},
        {"view": "graph", "direction": "both", "level": 2, "field": "parent_03/column_0003"},
        {"view": "compare", "base": "now-60d,now-30d"},
        {"view": "compare", "base": "now-60d,now-30d", "tab": "fields"},
        {"view": "tags"},
    ],
    ids=["dataset", "graph", "graph-field", "compare", "compare-fields", "tags"],
)
def test_a_thousand_fields_have_few_elements(state: dict[str, Any], large_site: Site, visit: Visit) -> None:
    visit.open(large_site.link(ns=NAMESPACE, name="wide2", **state))
    expect(visit.page.get_by_role("alert")).to_have_count(0)
    expect(visit.page.get_by_role("main")).to_contain_text("wide2")
    assert _elements(visit) <= ELEMENTS_MAX


def _elements(visit: Visit) -> int:
    count: int = visit.page.evaluate("() => document.querySelectorAll('*').length")
    return count
