"""The page asks once for a token where the server takes one, and keeps it for the tab alone."""

from __future__ import annotations

import pytest
import requests
from playwright.sync_api import Page, expect

from fll_hbase.model.access import Grant, Role
from fll_hbase.store.access import AccessStore
from fll_hbase.tables import open_table
from tests.page.conftest import MakeSite
from tests.support.page.site import Site
from tests.support.page.visit import Visit

NAME = "nightly|a b"
DATASET = {"view": "dataset", "ns": "ns1", "name": "."}
DOCUMENT = {
    "run": {"application": "a", "type": "t", "program": "p", "run": "r", "startTime": 1_793_000_000_000},
    "operations": [
        {"type": "READ", "name": "r", "source": {"name": "."}, "outputs": ["x"]},
        {"type": "READ", "name": "s", "source": {"namespace": "ns2", "name": "salaries"}, "outputs": ["x"]},
        {
            "type": "WRITE",
            "name": "w",
            "destination": {"name": "b"},
            "inputs": [{"origin": "r", "name": "x"}, {"origin": "s", "name": "x"}],
        },
    ],
}


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    """A server that takes tokens; `Site` waits for /healthz, which is open."""
    return make_site(auth="tokens")


@pytest.fixture
def token(site: Site) -> str:
    """A token with all rights, with which a run was recorded."""
    table = open_table(site.store)
    text = AccessStore(table).create_token(NAME, [Grant(Role.ADMIN, "*")])[1].text()
    table.close()
    response = requests.post(
        f"{site.url}/v3/namespaces/ns1/lineage",
        json=DOCUMENT,
        headers={"Authorization": f"Bearer {text}"},
        timeout=120,
    )
    assert response.status_code == 201, response.text
    return text


def give(page: Page, token: str) -> None:
    page.locator("input[type=password]").fill(token)
    page.get_by_role("button", name="Continue").click()


def test_it_asks_once_and_keeps_it_for_the_tab(site: Site, token: str, visit: Visit) -> None:
    page = visit.open(site.link(view="home"))
    expect(page.get_by_role("heading", name="This server asks who you are")).to_be_visible()
    assert "ns1" not in visit.text()
    give(page, token)
    expect(page.get_by_role("main")).to_contain_text("ns1")
    page.reload()
    expect(page.get_by_role("main")).to_contain_text("ns1")
    visit.open(site.link(view="tags"))
    assert page.locator("input[type=password]").count() == 0
    # In no address and no lasting storage.
    assert not [url for url in visit.requests if token in url]
    assert token not in page.evaluate("JSON.stringify(localStorage) + document.cookie")
    other = visit.context.new_page()
    other.goto(site.link(view="home"))
    expect(other.get_by_role("heading", name="This server asks who you are")).to_be_visible()


def test_a_wrong_one_is_refused_with_a_reason(site: Site, token: str, visit: Visit) -> None:
    page = visit.open(site.link(view="home"))
    give(page, token[:-1] + ("0" if token[-1] != "0" else "1"))
    expect(page.get_by_role("alert")).to_contain_text("does not take the token")
    give(page, "not a token")
    expect(page.get_by_text("No token has these characters.")).to_be_visible()
    give(page, token)
    expect(page.get_by_role("main")).to_contain_text("ns1")


def test_names_that_are_asked_in_a_batch(site: Site, token: str, visit: Visit) -> None:
    page = visit.open(site.link(**DATASET, start="2026-01-01", end="2027-01-01"))
    give(page, token)
    visit.settle()
    expect(page.get_by_role("main")).to_contain_text("x")


def test_a_report_is_saved_with_it(site: Site, token: str, visit: Visit) -> None:
    window = {"start": "2026-01-01", "end": "2027-01-01"}
    page = visit.open(site.link(view="report", ns="ns1", name="b", field="x", report="provenance", **window))
    give(page, token)
    visit.settle()
    with page.expect_download() as started:
        page.get_by_role("button", name="Report as one page").click()
    assert "<html" in started.value.path().read_text()


def test_who_may_not_tag_gets_no_form(site: Site, token: str, visit: Visit) -> None:
    table = open_table(site.store)
    reader = AccessStore(table).create_token("reader", [Grant(Role.READER, "*")])[1].text()
    table.close()
    tags = f"{site.url}/v3/namespaces/ns1/endpoints/b/fields/x/tags"
    given = requests.put(f"{tags}/PII", json={}, headers={"Authorization": f"Bearer {token}"}, timeout=120)
    assert given.status_code == 201
    page = visit.open(site.link(view="tags", ns="ns1", name="b", field="x"))
    give(page, reader)
    visit.settle()
    expect(page.get_by_role("main")).to_contain_text("PII")
    expect(page.get_by_role("main")).to_contain_text("role steward")
    expect(page.get_by_role("form", name="Set a tag")).to_have_count(0)
    expect(page.get_by_role("button", name="Remove PII")).to_have_count(0)


def test_what_a_reader_may_not_see_is_no_limit(site: Site, token: str, visit: Visit) -> None:
    table = open_table(site.store)
    reader = AccessStore(table).create_token("reader", [Grant(Role.READER, "ns1")])[1].text()
    table.close()
    graph = {"view": "graph", "ns": "ns1", "name": "b", "field": "x", "direction": "backward"}
    page = visit.open(site.link(**graph, start="2026-01-01", end="2027-01-01"))
    give(page, reader)
    visit.settle()
    expect(page.get_by_role("note")).to_contain_text("datasets that you may not read")
    expect(page.get_by_role("main")).to_contain_text("hidden 1")
    assert "shorter window" not in visit.text()
    assert "salaries" not in page.content()
    # The note above the drawing pushes nothing of it below the window.
    box = page.locator(".explorer").bounding_box()
    assert box
    assert box["y"] + box["height"] <= page.viewport_size["height"]
    # The number is all that there is of it: no link, no namespace, and no field, not even "every row".
    window = {"start": "2026-01-01", "end": "2027-01-01"}
    dataset = {"ns": "ns1", "name": "b", **window}
    for screen in (
        {"view": "dataset", **dataset},
        {"view": "graph", "as": "table", **dataset, "field": "x"},
        {"view": "report", **dataset, "field": "x", "report": "provenance"},
        {"view": "run", "run": "r"},
    ):
        page = visit.open(site.link(**screen))
        expect(page.get_by_role("main")).to_contain_text("hidden 1")
        assert page.get_by_role("link", name="hidden").all() == []
        text = page.get_by_role("main").inner_text()
        assert [part for part in ("› hidden", "/hidden", "every row", "origin") if part in text] == []
