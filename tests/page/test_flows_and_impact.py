"""Home, the flow policies and the impact of a change: on a shop whose personal data goes to marketing."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from playwright.sync_api import Locator, Page, expect

from fll_hbase.model.access import Grant, Role
from fll_hbase.store.access import AccessStore
from fll_hbase.tables import open_table
from tests.page.conftest import MakeSite, MakeVisit
from tests.support.page.axe import assert_accessible
from tests.support.page.site import Site, path
from tests.support.page.visit import Visit, drawn_field

RAW = {"ns": "shop", "name": "orders_raw", "field": "email"}
FLOWS = {"view": "report", "report": "flows", "policy": "no-pii"}
HOME_REQUESTS_MAX = 16
"""Namespaces, first datasets, five lists of runs, two of documents, policies, two reports, three of tags."""


def _run(program: str, minutes: int, operations: list[dict[str, Any]], **facts: str) -> dict[str, Any]:
    start_ms = int(time.time() * 1000) - minutes * 60_000
    run = {"application": "etl", "type": "spark", "program": program, "run": program, "startTime": start_ms}
    return {"run": {**run, **facts}, "operations": operations}


def _copy(source: str, target: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "type": "READ",
            "name": "read",
            "source": {"namespace": "shop", "name": source},
            "outputs": ["email"],
        },
        {
            "type": "WRITE",
            "name": "write",
            "destination": target,
            "inputs": [{"origin": "read", "name": "email"}],
        },
    ]


def _export() -> list[dict[str, Any]]:
    """Write `email` as it is, its hash, and `city`, which is only joined by it."""
    read = _copy("orders", {})[0]
    email = {"origin": "read", "name": "email"}
    hashed = {"type": "TRANSFORM", "name": "hash", "description": "sha256 of email", "inputs": [email]}
    joined = {
        "type": "TRANSFORM",
        "name": "join",
        "inputs": [{**email, "influence": "indirect", "kind": "join"}],
    }
    inputs = [email, {"origin": "hash", "name": "email_hash"}, {"origin": "join", "name": "city"}]
    write = {"type": "WRITE", "name": "write", "destination": {"namespace": "marketing", "name": "audience"}}
    return [
        read,
        {**hashed, "outputs": ["email_hash"]},
        {**joined, "outputs": ["city"]},
        {**write, "inputs": inputs},
    ]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A tag, a violated and a kept policy, a failed run, a document with warnings, and a refused one."""
    with Site(tmp_path_factory.mktemp("shop")) as site:
        route = f"{path(ns='shop')}/lineage"
        earlier = _run("copy", 3 * 24 * 60, _copy("orders_raw", {"name": "orders"}), run="earlier")
        site.send("POST", route, earlier)
        site.send("POST", route, _run("copy", 90, _copy("orders_raw", {"name": "orders"}), state="COMPLETE"))
        site.send("POST", route, _run("export", 60, _export(), state="COMPLETE"))
        failed = _run("nightly", 30, _copy("orders", {"name": "archive"}), state="FAIL")
        site.send("POST", route, failed)
        query = {"run": _run("adhoc", 10, [])["run"], "sql": "insert into t select * from unknown_table"}
        site.send("POST", f"{path(ns='shop')}/sql", query)
        refused = requests.post(f"{site.url}/v3/{path(ns='shop')}/sql", json={"sql": "select 1"}, timeout=120)
        assert refused.status_code == 400
        site.send("PUT", f"{path(**RAW)}/tags/PII", {})
        site.send("PUT", "policies/no-pii", {"tag": "PII", "into": "marketing/*"})
        site.send("PUT", "policies/vault", {"tag": "PII", "into": "vault/*"})
        site.send("PUT", "policies/gdpr", {"tag": "PII", "maxAge": "30d"})
        yield site


def test_home_says_what_is_new_and_what_is_wrong(shop: Site, visit: Visit) -> None:
    page = visit.open(shop.link())
    assert len([url for url in visit.requests if "/v3/" in url]) <= HOME_REQUESTS_MAX
    main = page.get_by_role("main")
    failed = page.get_by_role("region", name="Failed and aborted runs")
    expect(failed.get_by_role("row").filter(has_text="nightly")).to_contain_text("Failed")
    documents = page.get_by_role("region", name="Documents that were refused or have warnings")
    expect(documents.get_by_role("row").filter(has_text="unknown_table")).to_contain_text("warning")
    expect(documents.get_by_role("row").filter(has_text="refused")).to_contain_text("run: missing")
    expect(main.get_by_role("listitem").filter(has_text="vault")).to_contain_text("kept")
    assert "gdpr" not in visit.text()
    expect(main.get_by_role("listitem").filter(has_text="no-pii")).to_contain_text(
        "2 forbidden flows, 2 still so"
    )
    main.get_by_role("link", name="no-pii").click()
    visit.settle()
    expect(page.get_by_role("heading", name="Flows under no-pii")).to_be_visible()
    page.go_back()
    visit.settle()
    failed.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("nightly")


def test_home_says_what_is_new_from_tagged_fields(shop: Site, visit: Visit) -> None:
    page = visit.open(shop.link())
    rows = page.get_by_role("region", name="made from tagged fields for the first time").get_by_role("row")
    # The copy into `orders` ran three days ago, too, and a failed run made nothing.
    expect(rows).to_have_count(1 + 3)
    for field in ("email", "email_hash", "city"):
        row = rows.filter(has=page.get_by_role("link", name=re.compile(f"audience · {field}$")))
        expect(row).to_contain_text("only shaped" if field == "city" else "value")
        expect(row).to_contain_text("PII")
        expect(row).to_contain_text("orders_raw · email")
    main = page.get_by_role("main")
    visit.open(shop.link(start="now-5h"))
    expect(main).to_contain_text("In a window of more than a day")
    visit.open(shop.link(start="2026-01-01", end="2026-01-08"))
    expect(main).to_contain_text("No field was made from them for the first time.")


def test_news_of_tagged_fields_that_are_cut_say_so(shop: Site, make_site: MakeSite, visit: Visit) -> None:
    cut = make_site(shop.store, level_max=1)
    page = visit.open(cut.link())
    news = page.locator("section").filter(has=page.get_by_role("heading", name="New from tagged fields"))
    expect(news.get_by_role("note")).to_contain_text("level_max=1")


def test_the_window_of_home_is_that_of_its_parts(shop: Site, visit: Visit) -> None:
    page = visit.open(shop.link(start="2026-01-01", end="2026-01-08"))
    main = page.get_by_role("main")
    expect(main).to_contain_text("No run failed or was aborted.")
    expect(main.get_by_role("listitem").filter(has_text="no-pii")).to_contain_text("kept")
    expect(main.get_by_role("link", name="no-pii")).to_have_attribute("href", re.compile("start=2026-01-01"))


def test_a_refused_window_leaves_the_datasets(shop: Site, visit: Visit) -> None:
    page = visit.open(shop.link(start="2026-13-01"))
    # Runs, documents and each of the two policies on their own.
    expect(page.get_by_role("main").get_by_role("alert")).to_have_count(4)
    expect(page.get_by_role("link", name="audience")).to_be_visible()


def test_an_empty_store_says_how_to_record(empty: Site, visit: Visit) -> None:
    page = visit.open(empty.link())
    expect(page.get_by_role("heading", name="Nothing is recorded yet")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("fll record")
    expect(page.get_by_role("main")).to_contain_text("No document was refused or has warnings.")


def test_a_flow_shows_its_path_and_operations(shop: Site, visit: Visit) -> None:
    page = visit.open(shop.link(view="report", report="flows"))
    assert "gdpr" not in visit.text()
    page.get_by_role("link", name="no-pii").click()
    visit.settle()
    expect(page.get_by_role("main")).to_contain_text("Violated: data of 1 of 1 field with the tag PII")
    copied, masked = _flow(page, "copied"), _flow(page, "masked")
    for flow in (copied, masked):
        expect(flow.get_by_role("heading")).to_contain_text("shop/orders_raw · email")
        expect(flow).to_contain_text("2 hops")
        expect(flow.get_by_role("row").filter(has_text="export")).to_contain_text("yes")
    expect(masked).to_contain_text("sha256 of email")
    expect(masked.get_by_role("link", name="email_hash").last).to_have_attribute(
        "href", re.compile("view=operations")
    )
    for name, dataset in (("email", "orders_raw"), ("email", "orders"), ("email_hash", "audience")):
        expect(drawn_field(page, name, dataset)).to_have_count(1)
    masked.get_by_role("button", name="Highlight").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("on.field=email_hash"))
    page.reload()
    visit.settle()
    expect(masked.get_by_role("button", name="Highlight")).to_have_attribute("aria-pressed", "true")


def _flow(page: Page, kind: str) -> Locator:
    return page.locator("li.flow").filter(has=page.locator(".note-word", has_text=kind))


def test_home_and_flows_are_readable_by_all(shop: Site, visit: Visit) -> None:
    for state in ({}, FLOWS):
        visit.open(shop.link(**state))
        assert_accessible(visit)


def test_a_phone_has_the_path_without_a_drawing(shop: Site, make_visit: MakeVisit) -> None:
    visit = make_visit(viewport={"width": 320, "height": 700})
    page = visit.open(shop.link(**FLOWS))
    expect(_flow(page, "masked")).to_contain_text("sha256 of email")
    expect(page.locator("svg.drawing")).to_have_count(0)
    for state in ({}, FLOWS, {"view": "impact", **RAW}):
        visit.open(shop.link(**state))
        assert not page.evaluate("() => document.documentElement.scrollWidth > innerWidth"), state


def test_a_policy_that_is_kept_cut_or_unknown_says_so(shop: Site, make_site: MakeSite, visit: Visit) -> None:
    page = visit.open(shop.link(**{**FLOWS, "policy": "vault"}))
    expect(page.get_by_role("main")).to_contain_text("Kept: no data of 1 field with the tag PII")
    visit.open(shop.link(**{**FLOWS, "policy": "nowhere"}))
    expect(page.get_by_role("main").get_by_role("alert")).to_contain_text("nowhere")
    cut = make_site(shop.store, level_max=1)
    visit.open(cut.link(**FLOWS))
    expect(page.get_by_role("note")).to_contain_text("level_max=1")
    expect(page.get_by_role("main")).to_contain_text("Not known: no violation")
    visit.open(cut.link())
    expect(page.get_by_role("listitem").filter(has_text="no-pii")).to_contain_text("not known")
    visit.open(cut.link(view="impact", **RAW))
    expect(page.get_by_role("note")).to_contain_text("level_max=1")


def test_the_impact_of_a_dropped_field(shop: Site, visit: Visit) -> None:
    page = visit.open(shop.link(view="dataset", **RAW))
    page.get_by_role("main").get_by_role("link", name="Impact").click()
    visit.settle()
    main = page.get_by_role("main")
    expect(main).to_contain_text("Downstream: 4 fields (3 direct, 1 indirect) of 2 datasets, and 2 programs.")
    fields = page.get_by_role("region", name="Fields")
    expect(fields.get_by_role("row").filter(has_text="email_hash")).to_contain_text("direct")
    expect(fields.get_by_role("row").filter(has_text="city")).to_contain_text("indirect")
    programs = page.get_by_role("region", name="Programs")
    expect(programs.get_by_role("row")).to_have_count(3)
    programs.get_by_role("row").filter(has_text="export").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("export")


def test_the_impact_of_another_name_or_type(shop: Site, visit: Visit) -> None:
    page = visit.open(shop.link(view="impact", **RAW, end="2026-01-08", start="2026-01-01"))
    expect(page.get_by_role("main")).to_contain_text("Nothing downstream")
    visit.open(shop.link(view="impact", ns="marketing", name="audience", field="email"))
    page.get_by_role("link", name="Rename").click()
    page.get_by_label("New name").fill("city")
    page.keyboard.press("Enter")
    expect(page.get_by_label("New name")).to_have_accessible_description(re.compile("'city' is a field"))
    page.get_by_label("New name").fill("a / <b> 'name'")
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_contain_text("Nothing downstream")
    page.reload()
    visit.settle()
    expect(page.get_by_label("New name")).to_have_value("a / <b> 'name'")
    expect(page.get_by_role("main")).to_contain_text("Nothing downstream")
    page.get_by_role("link", name="Change type").click()
    page.get_by_label("New type").fill("string")
    page.get_by_role("button", name="Show the impact").click()
    expect(page).to_have_url(re.compile("change=type&to=string"))
    expect(page.get_by_role("main")).to_contain_text("Nothing downstream")


def test_a_reader_of_one_namespace_sees_no_other(shop: Site, make_site: MakeSite, visit: Visit) -> None:
    site = make_site(shop.store, auth="tokens")
    table = open_table(site.store)
    token = AccessStore(table).create_token("ana", [Grant(Role.READER, "shop")])[1].text()
    table.close()
    page = visit.open(site.link())
    page.locator("input[type=password]").fill(token)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("region", name="Failed and aborted runs")).to_contain_text("nightly")
    visit.settle()
    assert not {"marketing", "no-pii"} & set(re.findall("[a-z-]+", visit.text()))
    visit.open(site.link(view="impact", **RAW))
    expect(page.get_by_role("region", name="Programs")).to_contain_text("export")
    expect(page.get_by_role("main")).to_contain_text("hidden 1")
    visit.open(site.link(**FLOWS))
    expect(page.get_by_role("main").get_by_role("alert")).to_contain_text("no-pii")
    assert "email_hash" not in visit.text()
