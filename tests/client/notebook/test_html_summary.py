"""Answers as HTML: the first rows of tables, the members of others, and nothing that executes."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

from fll_hbase.client.connection import Connection
from fll_hbase.client.notebook.html_summary import ROWS_MAX
from fll_hbase.client.opening import open_client
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import InvalidQuery
from tests.support.commands import END_MS, WINDOW
from tests.support.drawn_answers import HOSTILE_NAMES, reach_answer

WINDOWED: dict[str, Any] = {"start": WINDOW[1], "end": WINDOW[3]}
DAILY = ("bank", "DailyTransactions")
SCORE = ("hospital", "PatientRecords", "patient_medical_score")


class Elements(HTMLParser):
    """The elements of a page, their attributes, and the texts between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts += [data.strip()] if data.strip() else []


@pytest.fixture(scope="module")
def local(sampled: str) -> Iterator[Connection]:
    with open_client(sampled, settings=Settings(store=sampled), clock=lambda: END_MS) as client:
        yield client


def test_a_table_has_the_first_rows_and_says_so(local: Connection) -> None:
    answer = local.runs(*DAILY, **WINDOWED, limit=ROWS_MAX + 1)
    page = Elements(answer._repr_html_())
    assert page.names.count("tr") == ROWS_MAX + 1
    assert page.names.count("th") == len(answer.columns)
    assert page.texts[0] == "Runs of bank/DailyTransactions"
    assert page.texts[1] == (
        "runs started 2025-09-09 08:53:20 to 2025-10-09 08:53:20 UTC · the first 60 of 61 rows"
    )
    assert "Not complete: a greater limit shows more." in page.texts
    assert str(answer) == (
        "<TableAnswer: Runs of bank/DailyTransactions, 61 rows, not complete: a greater limit shows more>"
    )


def test_parameters_and_times_are_in_a_table(local: Connection) -> None:
    answer = local.programs(*DAILY, **WINDOWED, field="UID", direction="forward")
    page = Elements(answer._repr_html_())
    assert page.texts[1].endswith(f"field=UID · direction=forward · {len(answer)} rows")
    assert sum(text.startswith("2025-") and len(text) == 19 for text in page.texts) == 2 * len(answer)


def test_a_report_is_its_verdict_and_a_table_of_fields(local: Connection) -> None:
    for answer in (local.consumption(*DAILY, "UID", **WINDOWED), local.provenance(*SCORE, **WINDOWED)):
        page = Elements(answer._repr_html_())
        assert answer.body.verdict in page.texts
        assert page.names.count("tr") == len(answer) + 1 > 5


def test_other_answers_show_their_members(local: Connection) -> None:
    run = local.runs(*DAILY, **WINDOWED, limit=1).body.runs[0]
    answer = local.run(run.run)
    texts = Elements(answer._repr_html_()).texts
    members = dict(zip(texts[1::2], texts[2::2], strict=False))
    assert members["program"] == run.program
    assert members["operations"] == f"{len(answer.body.operations)} items"
    assert members["startTime"].startswith("2025-10-0")


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=map(str, range(len(HOSTILE_NAMES))))
def test_hostile_names_stay_text(name: str) -> None:
    answer = reach_answer([((name, name), ("b", name))], start=(name, name), incomplete=name)
    html = answer._repr_html_()
    page = Elements(html)
    assert {*page.names} <= {"div", "p", "strong", "br", "em", "table", "thead", "tbody", "tr", "th", "td"}
    assert page.attributes <= {"title"}
    assert html.encode()


def test_reports_and_diffs_are_data_frames(local: Connection) -> None:
    base = {"base_start": 0, "base_end": 1_755_000_000}
    for answer, name in (
        (local.consumption(*DAILY, "UID", **WINDOWED), "customer_no"),
        (local.provenance(*SCORE, **WINDOWED), "admitted_at"),
    ):
        frame = answer.to_pandas()
        assert name in frame["field"].tolist()
        assert str(frame["lastStart"].dtype) == "datetime64[ms, UTC]"
    changes = local.diff(*SCORE, **WINDOWED, **base).to_pandas()
    assert ("gained", "operation", "inflammation") in [
        *changes.iloc[:, :3].itertuples(index=False, name=None)
    ]
    fields = local.dataset_diff(*SCORE[:2], **WINDOWED, **base).to_pandas()
    assert "patient_medical_score" in fields["field"].tolist()
    assert len(fields) >= len(changes)


def test_an_answer_without_a_table_is_no_data_frame(local: Connection) -> None:
    with pytest.raises(InvalidQuery, match="DatasetDetails has no table: use the body"):
        local.dataset(*DAILY).to_pandas()
