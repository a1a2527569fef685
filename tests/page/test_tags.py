"""Tags are set and removed by a person, kept by the server, and inherited; a refusal is shown."""

from __future__ import annotations

import re
import time

from playwright.sync_api import expect

from tests.page.conftest import MakeSite
from tests.support.page.site import Site, path
from tests.support.page.visit import Visit

SOURCE = {"ns": "shop", "name": "orders_raw", "field": "email"}
COPY = {"ns": "shop", "name": "orders", "field": "email"}


def record(site: Site) -> None:
    """Record a run that copies `email` from `orders_raw` to `orders`."""
    run = {
        "application": "shop",
        "type": "spark",
        "program": "copy",
        "run": "r1",
        "startTime": int(time.time() * 1000) - 60_000,
    }
    operations = [
        {"type": "READ", "name": "read", "source": {"name": SOURCE["name"]}, "outputs": ["email"]},
        {
            "type": "WRITE",
            "name": "write",
            "destination": {"name": COPY["name"]},
            "inputs": [{"origin": "read", "name": "email"}],
        },
    ]
    site.send("POST", f"{path(ns='shop')}/lineage", {"run": run, "operations": operations})


def test_a_tag_is_set_inherited_and_removed(make_site: MakeSite, visit: Visit) -> None:
    site = make_site()
    record(site)
    page = visit.open(site.link(view="tags", **SOURCE))
    page.get_by_label("Tag", exact=True).fill("PII / личное")
    page.get_by_label(re.compile("By whom")).fill("ana@example.org")
    page.get_by_label(re.compile("Why")).fill("Identifies <a> customer")
    page.get_by_role("button", name="Set", exact=True).click()
    row = page.get_by_role("row").filter(has_text="PII / личное")
    expect(row).to_contain_text("ana@example.org")
    expect(row).to_contain_text("Identifies <a> customer")
    (tag,) = site.get(f"{path(**SOURCE)}/tags")["tags"]
    assert (tag["tag"], tag["by"]) == ("PII / личное", "ana@example.org")
    visit.open(site.link(view="tags", **COPY))
    expect(page.get_by_role("main")).to_contain_text("PII / личное")
    visit.open(site.link(view="tags", **SOURCE))
    page.get_by_role("button", name="Remove PII / личное").click()
    page.get_by_role("group", name="Remove PII / личное").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("row").filter(has_text="PII / личное")).to_have_count(0)
    assert site.get(f"{path(**SOURCE)}/tags")["tags"] == []


def test_fields_of_a_tag_are_listed(make_site: MakeSite, visit: Visit) -> None:
    site = make_site()
    record(site)
    site.send("PUT", f"{path(**SOURCE)}/tags/PII", {"by": "ana"})
    page = visit.open(site.link(view="tags"))
    page.get_by_role("main").get_by_role("link", name=re.compile("PII")).first.click()
    visit.settle()
    expect(page.get_by_role("main")).to_contain_text("orders_raw")
    expect(page.get_by_role("main")).to_contain_text("email")


def test_a_name_that_is_too_long_is_refused_in_words(make_site: MakeSite, visit: Visit) -> None:
    site = make_site()
    record(site)
    page = visit.open(site.link(view="tags", **SOURCE))
    page.get_by_label("Tag", exact=True).fill("t" * 1025)
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_role("alert").first).to_contain_text("1024")
