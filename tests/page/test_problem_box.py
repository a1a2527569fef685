"""The page says so when a real server refuses, is away, slow or empty, or cuts an answer."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset
from fll_hbase.runtime.clock import now_ms
from fll_hbase.tables import Put, open_table
from tests.page.conftest import MakeSite
from tests.support.gateway import PROGRAM
from tests.support.lineage_documents import input_fields, reading, run, writing
from tests.support.page.screens import UID
from tests.support.page.site import Site
from tests.support.page.visit import Visit
from tests.support.ports import free_port
from tests.support.waiting import eventually

DATASET = {"view": "dataset", "ns": "bank", "name": "DailyTransactions"}
GRAPH = {"view": "graph", **UID, "direction": "forward", "level": 5}


@pytest.mark.parametrize("view", ["dataset", "graph", "operations", "report"])
def test_a_refused_window_is_explained(view: str, sample: Site, visit: Visit) -> None:
    visit.open(sample.link(view=view, **UID, start="2026-13-01"))
    alert = visit.page.get_by_role("alert").first
    expect(alert).to_contain_text("From")
    expect(alert).to_contain_text("2026-13-01")


def test_a_window_that_ends_before_its_start_is_explained(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(**DATASET, start="now", end="now-1d"))
    expect(visit.page.get_by_role("alert").first).to_contain_text("after")


@pytest.mark.parametrize("view", ["dataset", "graph", "operations", "compare", "report", "tags"])
def test_a_name_never_seen_is_reported_and_the_search_is_near(view: str, sample: Site, visit: Visit) -> None:
    visit.open(sample.link(view=view, ns="bank", name="Nowhere", field="x", base="now-60d,now-30d"))
    expect(visit.page.get_by_role("alert").first).to_contain_text("Nowhere")
    visit.page.keyboard.press("/")
    expect(visit.page.get_by_role("combobox", name="Search datasets and fields")).to_be_focused()


def test_a_run_never_seen_is_reported(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(view="run", run="no such run"))
    expect(visit.page.get_by_role("alert")).to_contain_text("no such run")


def test_an_empty_window_names_itself_and_leads_to_the_last_run(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(**DATASET, start="2020-01-01", end="2020-01-02"))
    main = visit.page.get_by_role("main")
    expect(main).to_contain_text("2020-01-01 00:00:00")
    main.get_by_role("link", name="Show the last week with runs").first.click()
    visit.settle()
    expect(main).to_contain_text("CustomerAccounts")


@pytest.mark.parametrize("view", ["graph", "operations", "report"])
def test_a_field_without_runs_in_the_window_says_so(view: str, sample: Site, visit: Visit) -> None:
    visit.open(sample.link(view=view, **UID, start="2020-01-01", end="2020-01-02"))
    expect(visit.page.get_by_role("alert")).to_have_count(0)
    expect(visit.page.get_by_role("main")).to_contain_text("2020-01-01")
    expect(visit.page.get_by_role("main")).to_contain_text("in this window")


def test_a_store_that_never_recorded_anything_says_how_to_begin(empty: Site, visit: Visit) -> None:
    visit.open(empty.link())
    expect(visit.page.get_by_role("alert")).to_have_count(0)
    expect(visit.page.get_by_role("main")).to_contain_text("fll")


def test_a_cut_answer_names_the_limit(make_site: MakeSite, sample: Site, visit: Visit) -> None:
    site = make_site(sample.store, pairs_max=3, connections_max=2)
    visit.open(site.link(view="graph", ns="bank", name="DailyTransactions"))
    expect(visit.page.get_by_role("note").filter(has_text="pairs_max=3")).to_be_visible()
    visit.open(site.link(**GRAPH))
    expect(visit.page.get_by_role("note").filter(has_text="connections_max=2")).to_be_visible()


def test_a_capped_number_of_hops_is_reported(make_site: MakeSite, sample: Site, visit: Visit) -> None:
    site = make_site(sample.store, level_max=2)
    visit.open(site.link(**GRAPH))
    expect(visit.page.get_by_role("note").filter(has_text="level_max=2").first).to_be_visible()


def test_a_later_page_of_a_list_that_is_cut_says_so(
    make_site: MakeSite, tmp_path: Path, visit: Visit
) -> None:
    site = make_site(f"sqlite:///{tmp_path}/damaged.db")
    writes = [writing(f"write{number}", f"d{number:03}", *input_fields("read", "x")) for number in range(120)]
    operations = [reading("read", "a", "x"), *writes]
    site.send("POST", "namespaces/n/lineage", {"run": run(start_ms=now_ms()), "operations": operations})
    with closing(open_table(site.store)) as table:
        row = layout.dataset_row(Dataset("n", "d119"))
        table.write([[Put(row, layout.DESCRIPTION + b"0" * 32, b"\xff")]])
    visit.open(site.link())
    more = visit.page.get_by_role("button", name="More datasets")
    expect(more).to_be_visible()
    expect(visit.page.get_by_role("note")).to_have_count(0)
    more.click()
    expect(visit.page.get_by_role("note").filter(has_text="damaged")).to_be_visible()


def test_a_server_that_went_away_is_reported_and_retried(
    make_site: MakeSite, sample: Site, visit: Visit
) -> None:
    site = make_site(sample.store)
    visit.open(site.link(**DATASET))
    main = visit.page.get_by_role("main")
    expect(main).to_contain_text("UID is personal data")
    site.stop()
    # The last answer stays only while it is about the dataset of the heading.
    main.get_by_role("link", name="CustomerAccounts").click()
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("CustomerAccounts")
    expect(main).not_to_contain_text("UID is personal data")
    visit.page.go_back()
    visit.page.get_by_role("navigation", name="Views").get_by_role("link", name="Graph").click()
    alert = visit.page.get_by_role("alert").first
    expect(alert).to_contain_text("does not answer")
    site.start()
    alert.get_by_role("button", name="Try again").click()
    expect(visit.page.get_by_role("alert")).to_have_count(0)
    expect(main).to_contain_text("CustomerAccounts")


def test_a_search_without_a_server_says_so(make_site: MakeSite, sample: Site, visit: Visit) -> None:
    site = make_site(sample.store)
    visit.open(site.link())
    site.stop()
    visit.page.keyboard.press("/")
    visit.page.keyboard.type("uid")
    expect(visit.page.get_by_role("search")).to_contain_text("does not answer")


def test_while_an_answer_is_slow_the_last_one_stays(make_site: MakeSite, sample: Site, visit: Visit) -> None:
    site = make_site(sample.store)
    visit.open(site.link(**DATASET))
    main = visit.page.get_by_role("main")
    site.pause()
    visit.page.get_by_role("checkbox", name="Indirect").uncheck()
    expect(visit.page.locator("[aria-busy=true]").first).to_be_visible()
    expect(main).to_contain_text("CustomerAccounts")
    site.resume()
    visit.settle()
    expect(main).to_contain_text("CustomerAccounts")


def test_an_older_answer_never_replaces_a_newer_one(make_site: MakeSite, sample: Site, visit: Visit) -> None:
    site = make_site(sample.store)
    visit.open(site.link(**DATASET))
    site.pause()
    visit.page.keyboard.press("/")
    visit.page.keyboard.type("patient_med")
    visit.page.keyboard.press("Enter")
    site.resume()
    expect(visit.page.get_by_role("heading", level=1)).to_contain_text("patient_medical_score")
    visit.settle()
    expect(visit.page.get_by_role("heading", level=1)).to_contain_text("patient_medical_score")


def test_a_store_that_is_away_is_counted_down_and_asked_again(
    make_site: MakeSite, tmp_path: Path, visit: Visit
) -> None:
    port = free_port()
    with _gateway(port) as gateway:
        site = make_site(f"hbase://127.0.0.1:{port}/lineage", store_timeout_ms=20_000, request_seconds=2)
        gateway.send_signal(signal.SIGSTOP)
        visit.start(site.link())
        alert = visit.page.get_by_role("alert")
        expect(alert).to_contain_text("The store does not answer")
        expect(alert).to_contain_text("again in")
        gateway.send_signal(signal.SIGCONT)
        expect(alert).to_have_count(0)
        expect(visit.page.get_by_role("main")).to_contain_text("fll")


@contextmanager
def _gateway(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A stand-in for HBase with an empty table."""
    process = subprocess.Popen([sys.executable, str(PROGRAM), str(port)])
    try:
        eventually(lambda: _listens(port), "the gateway listens")
        yield process
    finally:
        process.kill()
        process.wait(120)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
