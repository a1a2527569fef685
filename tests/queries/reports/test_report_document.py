"""Tags in reports for people: a column where a field has any, the head, the legend."""

from __future__ import annotations

from typing import Any

import pytest

from fll_hbase.model.window import Window
from fll_hbase.queries.reports.consumption_document import consumption_document
from fll_hbase.queries.reports.html_report import to_html
from fll_hbase.queries.reports.provenance_document import provenance_document
from fll_hbase.queries.reports.report_document import (
    DESCRIPTION_MAX,
    TAGS,
    Document,
    Section,
    Stamp,
    filled,
    subject_facts,
)
from fll_hbase.queries.reports.retention_document import retention_document

STAMP = Stamp(0)
WINDOW = Window(0, 1)
FIELD = {"namespace": "ns", "name": "people", "field": "email"}
SPAN = {"runs": 1, "oldestRun": "r", "oldestStart": 0, "newestRun": "r", "newestStart": 0}


def reached(*tags: str) -> dict[str, Any]:
    """A field within reach, with tags."""
    more = {"tags": list(tags)} if tags else {}
    return {**FIELD, **more, "hops": 1, "influence": "direct", "path": [FIELD, FIELD]}


def documents(*tags: str) -> list[Document]:
    """All three reports; their fields have these tags."""
    fields = [reached(*tags), reached()]
    consumption = {"field": FIELD, "derived": fields}
    provenance = {
        "field": FIELD,
        "verdict": "",
        "programs": [],
        "sources": fields,
        "upstream": [],
        "derivations": [],
        "detailed": {"nodes": [], "operations": [], "connections": []},
        "stretches": [],
    }
    retention = {
        "policy": {"name": "gdpr", "maxAge": "1d", "tag": "PII"},
        "window": {"start": 0, "end": 1},
        "verdict": "",
        "fields": [{**field, **SPAN, "programs": []} for field in fields],
        "complying": fields,
    }
    return [
        consumption_document(consumption, WINDOW, STAMP),
        provenance_document(provenance, WINDOW, STAMP),
        retention_document(retention, STAMP),
    ]


def columns_of_fields(document: Document) -> list[tuple[str, ...]]:
    return [
        section.columns for section in document.sections if section.columns[0] == "Field" and section.rows
    ]


@pytest.mark.parametrize("number", range(3), ids=["consumption", "provenance", "retention"])
def test_a_column_of_tags_only_where_a_field_has_any(number: int) -> None:
    tagged, plain = documents("PII", "secret")[number], documents()[number]
    listed = [section for section in tagged.sections if section.columns[0] == "Field" and section.rows]
    assert listed
    for section in listed:
        assert section.columns[1] == TAGS
        assert [row[1] for row in section.rows] == ["PII, secret", ""]
        assert not section.brief or TAGS in section.brief
    assert all(TAGS not in columns for columns in columns_of_fields(plain))
    assert [len(columns) + 1 for columns in columns_of_fields(plain)] == [
        len(columns) for columns in columns_of_fields(tagged)
    ]
    assert (TAGS in tagged.legend, TAGS in plain.legend) == (True, False)


def test_the_cells_of_other_columns_stay_where_they_were() -> None:
    section = Section("title", ("Field", TAGS, "Runs"), [["a", "", "1"], ["b", "", "2"]], brief=("Runs",))
    shorter = filled(section)
    assert shorter == Section("title", ("Field", "Runs"), [["a", "1"], ["b", "2"]], brief=("Runs",))
    assert filled(section._replace(rows=[["a", "PII", "1"]])).columns == section.columns


def test_the_head_has_the_tags_and_a_description_in_one_line() -> None:
    field = {**FIELD, "tags": ["PII", "a;b"], "datasetDescription": "all\n people  "}
    assert subject_facts(field) == {TAGS: "PII, a;b", "Dataset description": "all people"}
    assert subject_facts(FIELD) == {}
    long = subject_facts({**FIELD, "datasetDescription": "x" * (DESCRIPTION_MAX + 1)})
    assert long == {"Dataset description": "x" * (DESCRIPTION_MAX - 1) + "…"}
    just = subject_facts({**FIELD, "datasetDescription": "x" * DESCRIPTION_MAX})
    assert just == {"Dataset description": "x" * DESCRIPTION_MAX}


def test_the_legend_explains_tags_of_the_head_alone() -> None:
    body = {"field": {**FIELD, "tags": ["PII"]}, "derived": []}
    assert TAGS in consumption_document(body, Window(0, 1, failed=True), STAMP).legend


def test_tags_are_escaped_in_html() -> None:
    pages = [to_html(document) for document in documents("<b>&")]
    assert all('<td class="tags">&lt;b&gt;&amp;</td>' in page and "<b>" not in page for page in pages)


def test_a_window_after_the_cut_off_is_no_period() -> None:
    body = {
        "policy": {"name": "gdpr", "maxAge": "1d", "tag": "PII"},
        "window": {"start": 60_000, "end": 60_000},
        "verdict": "",
        "fields": [],
        "complying": [],
    }
    facts = retention_document(body, STAMP).facts
    assert facts["Cut-off"] == "1970-01-01 00:01:00 UTC, before the window begins"
    assert "until, not included" not in facts
    facts = retention_document({**body, "window": {"start": 0, "end": 60_000}}, STAMP).facts
    assert facts["until, not included"] == "1970-01-01 00:01:00 UTC"
