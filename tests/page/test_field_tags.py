"""Reports on the page show the tags of their fields, and what is recorded of the field they are about."""

from __future__ import annotations

import time
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import MakeSite
from tests.support.page.site import Site, path
from tests.support.page.visit import Visit

RAW = {"ns": "shop", "name": "orders_raw", "field": "email"}
COPY = {"ns": "shop", "name": "orders", "field": "email"}
TAG = "PII / <b>личное</b>"


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    """`email` was copied ten days ago from `orders_raw` to `orders` and `clean`; both orders have tags."""
    site = make_site()
    run = {
        "application": "shop",
        "type": "spark",
        "program": "copy",
        "run": "r1",
        "startTime": int(time.time() * 1000) - 10 * 86_400_000,
    }
    inputs = [{"origin": "read", "name": "email"}]
    source = {"name": RAW["name"], "description": "as the shop sent them"}
    operations: list[dict[str, Any]] = [
        {"type": "READ", "name": "read", "source": source, "outputs": ["email"]},
        {"type": "WRITE", "name": "write", "destination": {"name": COPY["name"]}, "inputs": inputs},
        {"type": "WRITE", "name": "clean", "destination": {"name": "clean"}, "inputs": inputs},
    ]
    site.send("POST", f"{path(ns='shop')}/lineage", {"run": run, "operations": operations})
    for field in (RAW, COPY):
        site.send("PUT", f"{path(**field)}/tags/PII%20%2F%20%3Cb%3Eличное%3C%2Fb%3E", {})
    policy = {"maxAge": "1d", "field": {"namespace": "shop", "name": "orders_raw", "field": "email"}}
    site.send("PUT", "policies/gdpr", policy)
    return site


def table(page: Page, caption: str) -> Locator:
    return page.get_by_role("table", name=caption)


def test_the_head_and_a_column_of_a_consumption_report(site: Site, visit: Visit) -> None:
    page = visit.open(site.link(view="report", report="consumption", **RAW))
    head = page.locator(".report-head")
    expect(head).to_contain_text("as the shop sent them")
    expect(head.get_by_role("link", name=TAG)).to_be_visible()
    derived = table(page, "Fields made of it")
    expect(derived.get_by_role("columnheader", name="Tags")).to_be_visible()
    expect(derived.get_by_role("row").filter(has_text=TAG)).to_have_count(1)
    head.get_by_role("link", name=TAG).click()
    visit.settle()
    expect(page.get_by_role("main")).to_contain_text("orders_raw")


def test_a_provenance_report_without_tags_has_no_column_of_them(site: Site, visit: Visit) -> None:
    page = visit.open(site.link(view="report", report="provenance", **COPY))
    expect(table(page, "Sources")).to_contain_text(TAG)
    site.send("DELETE", f"{path(**RAW)}/tags/PII%20%2F%20%3Cb%3Eличное%3C%2Fb%3E", {})
    visit.open(site.link(view="report", report="provenance", **COPY))
    expect(table(page, "Sources")).to_contain_text("orders_raw")
    expect(table(page, "Sources").get_by_role("columnheader", name="Tags")).to_have_count(0)
    expect(page.locator(".report-head")).to_contain_text(TAG)


def test_a_retention_report(site: Site, visit: Visit) -> None:
    page = visit.open(site.link(view="report", report="retention", policy="gdpr"))
    expect(page.locator(".report-head")).to_contain_text(TAG)
    # What was never written by a known run complies.
    for caption in ("Fields with older data", "Fields without a known older run"):
        expect(table(page, caption)).to_contain_text(TAG)
