"""A diff as a document: both windows, what limits it, and each change with its sign, in words."""

from __future__ import annotations

import time
from dataclasses import replace

from fll_hbase.model.window import Window
from fll_hbase.queries.reports.diff_document import (
    Comparison,
    dataset_diff_document,
    field_diff_document,
)
from fll_hbase.queries.reports.html_report import to_html
from fll_hbase.queries.reports.report_document import Document, Stamp
from tests.support.diff_bodies import diff_body, link, operation, way
from tests.support.lineage_documents import Json

DAY_MS = 86_400_000
STAMP = Stamp(1_700_000_000_000)
COMPARED = Comparison(
    name="ns1/orders.total",
    window=Window(20_000 * DAY_MS, 20_010 * DAY_MS),
    base=Window(19_900 * DAY_MS, 19_910 * DAY_MS),
    indirect=True,
)
HIDDEN_PARTS = {
    "sources": [{"hidden": 1}],
    "edges": [link("hidden-1", "add.total", influence="indirect")],
    "derivations": [way("b", runs=0)],
}


def field_document(body: Json, comparison: Comparison = COMPARED) -> Document:
    return field_diff_document(body, STAMP, comparison)


def rows(document: Document) -> dict[str, list[list[str]]]:
    """The rows of each section by its title."""
    return {section.title: [list(row) for row in section.rows] for section in document.sections}


def test_both_windows_and_what_counts_are_facts() -> None:
    facts = field_document(diff_body()).facts
    assert facts == {
        "Runs that started": "from 2024-10-04 00:00:00 until 2024-10-14 00:00:00 UTC, the end not included",
        "Compared with those": "from 2024-06-26 00:00:00 until 2024-07-06 00:00:00 UTC, the end not included",
    }
    filtered = Comparison(
        name="x", window=replace(COMPARED.window, failed=True), base=COMPARED.base, indirect=False
    ).facts(STAMP)
    assert list(filtered)[2:] == ["Failed and aborted runs", "What only shapes it"]


def test_every_change_has_its_sign_and_words() -> None:
    read = operation("read", "all", "READ", endPoint={"namespace": "ns1", "name": "raw"})
    gained = {
        "derivations": [way("a")],
        "sources": [{"namespace": "ns1", "name": "raw", "field": "tax"}],
        "operations": [read],
        "edges": [link("read.t%2Ea%25x", "add.total")],
    }
    document = field_document(diff_body(gained, HIDDEN_PARTS, common=5))
    assert rows(document) == {
        "Ways: 1 gained, 1 lost": [
            ["+ gained", "aaaaaaaa", "2", "2023-11-14 22:13:20", "2023-11-14 23:13:20"],
            ["− lost", "bbbbbbbb", "not counted", "", ""],
        ],
        "Sources: 1 gained, 1 lost": [["+ gained", "ns1/raw.tax"], ["− lost", "hidden 1"]],
        "Operations: 1 gained": [["+ gained", "read", "reads ns1/raw: all"]],
        "Links: 1 gained, 1 lost": [
            ["+ gained", "t.a%x of read", "total of add", "add"],
            ["− lost", "hidden 1 (shapes it)", "total of add", "add"],
        ],
    }
    (annex,) = document.annex
    assert [row[:2] for row in annex.rows] == [["+ gained", "a" * 32], ["− lost", "b" * 32]]


def test_a_kind_without_changes_says_so_and_no_change_has_no_tables() -> None:
    titles = rows(field_document(diff_body({"derivations": [way("a")]}, common=3)))
    assert list(titles)[1:] == ["Sources: none listed", "Operations: none listed", "Links: none listed"]
    same = field_document(diff_body(common=3))
    assert (same.sections, same.annex) == ([], [])


def test_limits_say_what_they_mean() -> None:
    body = diff_body({"derivations": [way("a")]}, truncatedBy=["hidden", "x_max=1"], omitted=["gained"])
    limits, hidden, omitted = field_document(body).warnings
    assert "x_max=1" in limits
    assert "may not see" in hidden
    assert omitted == (
        "Operations, links and sources that were gained are not listed: a limit cut the base window, and they"
        " may be in what was cut."
    )


def test_deletions_are_explained_of_the_windows_that_they_touch() -> None:
    for days, changes in ((19_890, []), (19_905, ["gained"]), (20_005, ["gained", "lost"])):
        warnings = field_document(diff_body(retainedFrom=days * DAY_MS)).warnings
        assert [word for word in ("gained", "lost") if f"listed as {word}" in " ".join(warnings)] == changes


def test_fields_of_a_dataset_have_an_overview_and_a_table_each() -> None:
    changed = {
        "field": "total",
        **diff_body(
            {"derivations": [way("a")], "operations": [operation("hash", "sha256")]},
            {**HIDDEN_PARTS, "operations": [operation("hash", "md5")]},
            common=3,
            omitted=["lost"],
        ),
    }
    new = {"field": "new", **diff_body({"derivations": [way("c")]})}
    document = dataset_diff_document({"fields": [changed, new], "truncated": False}, STAMP, COMPARED)
    listed = rows(document)
    assert listed["Fields that differ: 2"] == [
        ["total", "1", "1", "Operations that are changed: hash (“sha256”, before “md5”)"],
        ["new", "1", "0", "No run of the base window made it."],
    ]
    assert listed["total"] == [
        ["+ gained", "way", "aaaaaaaa", "2 runs, from 2023-11-14 22:13:20 to 2023-11-14 23:13:20"],
        ["− lost", "way", "bbbbbbbb", "runs that were not counted"],
        ["− lost", "source", "hidden 1", ""],
        ["+ gained", "operation", "hash", "sha256"],
        ["− lost", "operation", "hash", "md5"],
        ["− lost", "link", "hidden 1 (shapes it) → total of add", "by add"],
    ]
    notes = {section.title: section.note for section in document.sections}
    assert notes["total"].startswith("3 operations and links are in both windows. Operations, links and")
    assert [row[0] for row in document.annex[0].rows] == ["total", "total", "new"]


def test_markup_in_names_is_text() -> None:
    name = "<script>&\"'"
    body = diff_body({"operations": [operation(name, name)], "edges": [link(f"{name}.a", f"{name}.b")]})
    page = to_html(field_document(body))
    assert "<script" not in page
    assert page.count("&lt;script&gt;&amp;&quot;&#x27;") >= 4


def test_work_grows_with_the_answer_and_not_with_its_square() -> None:
    def seconds(count: int) -> float:
        operations = [operation(f"o{number}", "x" * 50) for number in range(count)]
        edges = [link(f"o{number}.a", f"p{number}.b") for number in range(count)]
        others = [operation(f"o{number}", "y" * 50) for number in range(count)]
        body = diff_body({"operations": operations, "edges": edges}, {"operations": others})
        start = time.process_time()
        to_html(field_document(body))
        return time.process_time() - start

    seconds(1_000)
    small, large = (min(seconds(count) for _ in range(3)) for count in (2_000, 32_000))
    # Sixteen times for sixteen times the answer; its square were 256.
    assert large < 64 * small
