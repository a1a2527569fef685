"""Fixtures: one Chromium per process, a context per test, and the servers that tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from bench.chromium import launch
from tests.support.page import hostile, large
from tests.support.page.site import Site
from tests.support.page.visit import Visit

FOLDER = Path(__file__).parent
WAIT_MS = 60_000
"""Generous for a busy machine: what is expected is there within a second."""

MakeVisit = Callable[..., Visit]
MakeSite = Callable[..., Site]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder: they need Chromium."""
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The Chromium of the system; Playwright's own would be a download of its own."""
    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture
def make_visit(chromium: Browser) -> Iterator[MakeVisit]:
    """Makes visits with options of the context, such as `color_scheme`; none may have caused a fault."""
    visits: list[Visit] = []

    def make(**options: object) -> Visit:
        size = {"width": 1400, "height": 900}
        context = chromium.new_context(**{"viewport": size, "reduced_motion": "reduce", **options})
        context.set_default_timeout(WAIT_MS)
        visit = Visit(context, context.new_page())
        visit.watch()
        visits.append(visit)
        return visit

    yield make
    faults = [fault for visit in visits for fault in visit.faults]
    for visit in visits:
        visit.context.close()
    assert faults == []


@pytest.fixture
def visit(make_visit: MakeVisit) -> Visit:
    """A visit with a window of 1400 by 900."""
    return make_visit()


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The sample, served; tests leave it as it is."""
    site = Site(tmp_path_factory.mktemp("sample"))
    site.load_sample()
    with site:
        yield site


@pytest.fixture(scope="session")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A store of hostile names and texts, recorded over HTTP."""
    with Site(tmp_path_factory.mktemp("evil")) as site:
        hostile.record(site)
        yield site


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A store in which nothing was ever recorded."""
    with Site(tmp_path_factory.mktemp("empty")) as site:
        yield site


@pytest.fixture(scope="session")
def large_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A store of large and odd graphs: see `page.large`."""
    with Site(tmp_path_factory.mktemp("large")) as site:
        large.record(site)
        yield site


@pytest.fixture
def make_site(tmp_path: Path) -> Iterator[MakeSite]:
    """Makes servers for this test alone, over an empty store or that of a URL, with settings."""
    sites: list[Site] = []

    def make(store: str = "", **settings: object) -> Site:
        folder = tmp_path / f"site{len(sites)}"
        folder.mkdir()
        sites.append(Site(folder, store=store, **settings))
        sites[-1].start()
        return sites[-1]

    yield make
    for site in sites:
        site.stop()
