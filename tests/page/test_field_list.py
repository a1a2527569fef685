"""Fields of a dataset have one line each: their type, or the last write of a field that was dropped."""

from __future__ import annotations

from typing import Any

import requests
from playwright.sync_api import expect

from tests.page.conftest import MakeSite
from tests.support.page.site import Site
from tests.support.page.visit import Visit

LONG_TYPE = "struct<user:struct<id:long,name:string,address:struct<street:string,city:string>>,score:double>"


def record(site: Site, day: int, **types: str) -> None:
    """Record a run that writes `orders` with these fields."""
    lineage: dict[str, Any] = {
        name: {"inputFields": [{"namespace": "shop", "name": "raw", "field": name}]} for name in types
    }
    schema = [{"name": name, "type": type_} for name, type_ in types.items()]
    event = {
        "eventType": "COMPLETE",
        "eventTime": f"2026-11-0{day}T03:00:00Z",
        "run": {"runId": f"0190{day:04d}-0000-7000-8000-000000000000"},
        "job": {"namespace": "shop", "name": "nightly"},
        "producer": "https://example.org/nightly",
        "outputs": [
            {
                "namespace": "shop",
                "name": "orders",
                "facets": {"schema": {"fields": schema}, "columnLineage": {"fields": lineage}},
            }
        ],
    }
    response = requests.post(f"{site.url}/api/v1/lineage", json=event, timeout=120)
    assert response.status_code == 201, response.text


def test_names_are_whole_beside_long_types_and_dropped_fields(make_site: MakeSite, visit: Visit) -> None:
    site = make_site()
    record(site, 1, amount=LONG_TYPE, note="string")
    record(site, 2, amount=LONG_TYPE)
    page = visit.open(site.link(view="dataset", ns="shop", name="orders"))
    fields = page.get_by_role("region", name="Fields")
    expect(fields).to_contain_text("last written 2026-11-01")
    expect(fields.get_by_title(LONG_TYPE)).to_be_visible()
    for name in ("amount", "note"):
        row = fields.locator(".field-row").filter(has_text=name)
        assert row.locator(".clip").evaluate("item => item.scrollWidth <= item.clientWidth")
        height = row.evaluate("item => item.getBoundingClientRect().height")
        assert row.locator(".type").evaluate("item => item.getBoundingClientRect().height") <= height
