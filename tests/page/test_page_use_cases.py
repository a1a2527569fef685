"""The questions that this store was designed for, asked by a person with a mouse: FLL-1, FLL-2, seed 000."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, expect

from tests.support.page.screens import EARLY, LATE, SCORE, SEED, UID
from tests.support.page.site import Site, path
from tests.support.page.visit import Visit, drawn_field


def search_for(visit: Visit, text: str, hit: str) -> None:
    """Type into the search, and click the hit that has a text."""
    visit.page.get_by_role("combobox", name="Search datasets and fields").fill(text)
    visit.page.get_by_role("option").filter(has_text=hit).first.click()
    visit.settle()


def panel(visit: Visit) -> Locator:
    """The panel about the selected field of the graph."""
    return visit.page.get_by_role("complementary", name="Selection")


def report(site: Site, name: str, field: dict[str, str]) -> Any:
    """A report about a field, over all runs of the window as the graph has them."""
    return site.get(
        f"reports/{name}",
        namespace=field["ns"],
        endpoint=field["name"],
        field=field["field"],
        causal="false",
    )


def test_who_consumed_uid_and_what_was_made_of_it(sample: Site, visit: Visit) -> None:
    visit.open(sample.link())
    search_for(visit, "uid", "DailyTransactions")
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("UID")
    visit.page.get_by_role("link", name="Forward").click()
    visit.page.get_by_role("combobox", name="Hops").select_option("5")
    visit.settle()
    derived = report(sample, "consumption", UID)["derived"]
    values = [item for item in derived if item["influence"] == "direct"]
    expect(panel(visit)).to_contain_text(f"{len(values)} hold its value")
    expect(panel(visit)).to_contain_text(f"{len(derived) - len(values)} only shaped")
    valued, shaped = panel(visit).get_by_role("list").all()
    expect(valued.get_by_role("listitem")).to_have_count(len(values))
    for item in derived:
        name = "every row" if item["field"] == "*" else item["field"]
        group = valued if item["influence"] == "direct" else shaped
        row = group.get_by_role("listitem").filter(has_text=item["name"])
        expect(row.filter(has=visit.page.get_by_text(name, exact=True))).to_have_count(1)


def test_when_a_field_was_made_in_another_way(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(view="operations", **SCORE, **LATE, base=EARLY, operations="diff"))
    base = dict(zip(("baseStart", "baseEnd"), EARLY.split(","), strict=True))
    diff = sample.get(f"{path(**SCORE)}/diff", **LATE, **base)
    (gained,), (lost,) = diff["gained"]["derivations"], diff["lost"]["derivations"]
    for change, way in (("gained", gained), ("lost", lost)):
        line = visit.page.get_by_role("listitem").filter(has_text=f"content {way['checksum'][:8]}")
        expect(line).to_have_count(1)
        expect(line).to_contain_text(change)
        expect(line.get_by_role("link")).to_contain_text(f"{way['runs']} runs")
    line.get_by_role("link").click()
    visit.settle()
    expect(visit.page.get_by_role("main")).to_contain_text(f"{lost['runs']} runs in all")


def test_which_programs_read_uid(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(view="graph", **UID))
    visit.page.get_by_role("navigation", name="Views").get_by_role("link", name="Reports").click()
    visit.settle()
    for program in report(sample, "consumption", UID)["programs"]:
        expect(visit.page.get_by_role("main")).to_contain_text(program["program"])
        expect(visit.page.get_by_role("main")).to_contain_text(program["application"])


def test_what_only_failed_runs_made_is_marked(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(view="graph", **UID, direction="forward"))
    vendor = visit.page.get_by_role("main").get_by_text("sftp://vendor/export")
    expect(vendor).to_have_count(0)
    visit.page.get_by_role("checkbox", name="Failed runs").check()
    visit.settle()
    expect(vendor.first).to_be_attached()
    expect(drawn_field(visit.page, "UID", "sftp://vendor/export")).to_have_accessible_name(
        re.compile("failed runs only")
    )
    expect(panel(visit).locator("li").filter(has_text="sftp://vendor/export")).to_contain_text(
        "failed runs only"
    )


def test_a_field_that_was_derived_is_followed_to_its_operations_and_its_run(
    sample: Site, visit: Visit
) -> None:
    visit.open(sample.link(view="graph", **UID, direction="forward", level=5))
    drawn_field(visit.page, "customers", "RegulatoryReport").click()
    expect(visit.page).to_have_url(re.compile(r"on=bank&on\.name=RegulatoryReport&on\.field=customers"))
    expect(panel(visit).get_by_role("heading", name="customers")).to_be_visible()
    panel(visit).get_by_role("link", name="Operations").click()
    visit.settle()
    main = visit.page.get_by_role("main")
    expect(main).to_contain_text("customers by segment and band")
    for name in ("customer_key", "risk_band", "segment", "RiskScores"):
        expect(main).to_contain_text(name)


def test_where_a_score_comes_from(sample: Site, visit: Visit) -> None:
    visit.open(sample.link())
    search_for(visit, "patient_medical", "PatientRecords")
    visit.page.get_by_role("link", name="Backward").click()
    visit.page.get_by_role("combobox", name="Hops").select_option("8")
    visit.settle()
    answer = report(sample, "provenance", SCORE)
    sources = answer["sources"] + answer["upstream"]
    for item in sources:
        label = "every row" if item["field"] == "*" else item["field"]
        expect(panel(visit)).to_contain_text(item["name"])
        expect(panel(visit)).to_contain_text(label)
    values = len([item for item in sources if item["influence"] == "direct"])
    expect(panel(visit)).to_contain_text(f"{values} by value")
    # In the report, ways over other fields begin where the words of the others do; no rules divide them.
    visit.open(sample.link(view="report", **SCORE, report="provenance"))
    lefts = visit.page.locator("td :is(.path li:first-child, span.quiet:text('directly'))").evaluate_all(
        "all => all.map(one => Math.round(one.getBoundingClientRect().left - one.closest('td').offsetLeft))"
    )
    assert len(lefts) > 5
    assert len(set(lefts)) == 1
    borders = visit.page.locator(".path li").evaluate_all(
        "all => all.map(one => getComputedStyle(one).borderTopWidth)"
    )
    assert set(borders) == {"0px"}


def test_how_the_id_of_the_seed_was_made(sample: Site, visit: Visit) -> None:
    visit.open(sample.link())
    search_for(visit, "mytableds", "mytableds")
    main = visit.page.get_by_role("main")
    expect(visit.page.get_by_role("heading", level=1)).to_have_text("mytableds")
    # The row of a field shows what can be asked about it when the mouse is there.
    main.get_by_role("link", name="id string", exact=True).hover()
    main.get_by_role("link", name="Operations of id", exact=True).click()
    visit.settle()
    operations = sample.get(f"{path(**SEED)}/lineage")["operations"]
    text = main.text_content() or ""
    for operation in operations:
        assert operation["name"] in text
        assert operation["description"] in text
    steps = [
        text.index(name) for name in ("Reading the data", "parsing the input", "concatenating", "creating")
    ]
    assert steps == sorted(steps)
    assert "user_data" in text
    assert "deleting the first name" not in text


def test_the_ways_and_their_runs(sample: Site, visit: Visit) -> None:
    visit.open(sample.link(view="operations", **SEED, operations="ways"))
    (way, *_) = sample.get(f"{path(**SEED).replace('endpoints', 'datasets')}/lineage")["paths"]
    main = visit.page.get_by_role("main")
    expect(main).to_contain_text(re.compile(rf"{len(way['runs']):,} runs?"))
    main.get_by_text("Operations and runs").first.click()
    main.get_by_role("link", name=way["runs"][0]).first.click()
    visit.settle()
    expect(main).to_contain_text(way["runs"][0])
    expect(main).to_contain_text("Complete")
