"""The window of all questions: presets, exact times, steps by its length, pin, UTC and local time."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Locator, expect

from tests.page.conftest import MakeVisit
from tests.support.page.site import Site
from tests.support.page.visit import Visit

DATASET = {"view": "dataset", "ns": "bank", "name": "DailyTransactions"}
DAY = {"start": "1792800000", "end": "1792886400"}
"""24 hours from 2026-10-24 00:00:00 UTC, as the address has them."""


def bar(visit: Visit) -> Locator:
    """The control of the window."""
    return visit.page.get_by_role("group", name="Window")


def window(visit: Visit) -> tuple[str, str]:
    """The start and the end in the address."""
    query = parse_qs(urlsplit(visit.page.url).query)
    return query.get("start", ["now-30d"])[0], query.get("end", ["now"])[0]


def open_picker(visit: Visit) -> None:
    """Open the panel of presets and exact times."""
    bar(visit).get_by_role("button", expanded=False).click()


def test_the_window_that_was_answered_stands_in_full(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(**DATASET, **DAY))
    expect(bar(visit)).to_contain_text("2026-10-24 00:00:00")
    expect(bar(visit)).to_contain_text("2026-10-25 00:00:00")
    expect(bar(visit)).to_contain_text("UTC")


def test_steps_go_by_the_length_of_the_window(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(**DATASET, **DAY))
    bar(visit).get_by_role("button", name="The window before").click()
    expect(bar(visit)).to_contain_text("2026-10-23 00:00:00")
    assert window(visit) == ("1792713600", "1792800000")
    visit.settle()
    bar(visit).get_by_role("button", name="The window after").click()
    expect(bar(visit)).to_contain_text("2026-10-25 00:00:00")
    assert window(visit) == (DAY["start"], DAY["end"])
    visit.page.go_back()
    expect(bar(visit)).to_contain_text("2026-10-23 00:00:00")


def test_a_preset_stays_relative_and_is_the_window_of_the_next_screen(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(**DATASET))
    open_picker(visit)
    visit.page.get_by_role("button", name="Last 7 days").click()
    assert window(visit) == ("now-7d", "now")
    visit.page.get_by_role("navigation", name="Views").get_by_role("link", name="Graph").click()
    assert window(visit) == ("now-7d", "now")


def test_pin_writes_the_seconds_that_were_answered(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(**DATASET, start="now-1d"))
    visit.page.get_by_role("button", name=re.compile("Pin")).click()
    start, end = map(float, window(visit))
    assert end - start == 86_400
    visit.settle()
    expect(visit.page.get_by_role("button", name=re.compile("Pin"))).to_have_count(0)


def test_exact_times_are_typed_and_what_is_no_time_is_refused(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(**DATASET))
    open_picker(visit)
    start, end = visit.page.get_by_label("From (included)"), visit.page.get_by_label("To (excluded)")
    start.fill("soon")
    end.fill("2026-10-25 00:00:00")
    visit.page.get_by_role("button", name="Show this window").click()
    expect(bar(visit).get_by_role("alert")).to_contain_text("no time")
    start.fill("2026-10-24 18:00:00")
    visit.page.get_by_role("button", name="Show this window").click()
    expect(bar(visit)).to_contain_text("2026-10-24 18:00:00")
    hours = {**DAY, "start": "1792864800"}
    shown = sample.get("namespaces/bank/endpoints/DailyTransactions/runs", **hours)["runs"]
    visit.page.get_by_role("navigation", name="Views").get_by_role("link", name="Runs").click()
    visit.settle()
    expect(visit.page.get_by_role("table").get_by_role("row")).to_have_count(1 + len(shown))


def test_local_time_shifts_what_is_shown_and_not_what_is_asked(sample: Site, make_visit: MakeVisit) -> None:
    visit = make_visit(timezone_id="Asia/Tokyo")
    visit.open(sample.link(**DATASET, **DAY))
    open_picker(visit)
    visit.page.get_by_label("Local time").check()
    visit.page.keyboard.press("Escape")
    expect(bar(visit)).to_contain_text("2026-10-24 09:00:00")
    expect(bar(visit)).to_contain_text("UTC+09:00")
    assert window(visit) == (DAY["start"], DAY["end"])


def test_a_plus_in_a_time_reaches_the_server(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(**DATASET, start="now-2d+12h"))
    expect(visit.page.get_by_role("alert")).to_have_count(0)
    expect(visit.page.get_by_role("main")).to_contain_text("CustomerAccounts")
    queries = [url for url in visit.requests if "fields/lineage" in url]
    assert queries
    assert all("start=now-2d%2B12h" in url for url in queries)


def test_the_strip_of_runs_has_the_counts_of_the_window(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(**DATASET, **DAY))
    runs = sample.get("namespaces/bank/endpoints/DailyTransactions/runs", **DAY)["runs"]
    failed = [run for run in runs if run["state"] in ("FAIL", "ABORT")]
    expect(bar(visit).get_by_role("img")).to_have_accessible_name(
        re.compile(rf"^{len(runs)} runs, {len(failed)} of them failed")
    )
