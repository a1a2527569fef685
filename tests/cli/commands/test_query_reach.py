"""Commands show apart what is not in the order of the runs; a server prints what its store prints."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.commands import fll, printed, serving
from tests.support.late_runs import LATE_BACKWARD, late

EVER = ("--start", "0")
UPSTREAM = "Not in the order of the runs: an upstream run started after the run that read its output"
DOWNSTREAM = "Not in the order of the runs: a downstream run started before the run that wrote its input"


@pytest.fixture
def store(tmp_path: Path) -> tuple[str, str]:
    """The option of a store that has the history."""
    target = ("--store", f"sqlite:///{tmp_path}/store.db")
    lines = [json.dumps({"namespace": "shop", **document}) for document in late()]
    assert fll("record", "-", *target, stdin="\n".join(lines).encode()).exit_code == 0
    return target


def links(lines: Sequence[str]) -> list[tuple[str, str]]:
    """The ends of the edges in lines of a table."""
    rows = [line.split() for line in lines if line[:1].isdigit()]
    return [(row[1].split("/")[1].split(".")[0], row[2].split("/")[1].split(".")[0]) for row in rows]


def test_edges_that_are_not_in_order_stand_below_one_line(store: tuple[str, str]) -> None:
    lines = printed("reach", "shop/bills.UID", *EVER, *store).splitlines()
    line = lines.index(UPSTREAM)
    assert links(lines[:line]) == [("orders", "bills"), ("names", "orders")]
    assert set(links(lines[line:])) == LATE_BACKWARD
    forward = printed("reach", "shop/raw.UID", "--direction", "forward", *EVER, *store).splitlines()
    assert links(forward[forward.index(DOWNSTREAM) :]) == [("orders", "bills")]


def test_each_direction_has_its_line(store: tuple[str, str]) -> None:
    text = printed("reach", "shop/orders.UID", "--direction", "both", *EVER, *store)
    assert (text.count(UPSTREAM), text.count(DOWNSTREAM)) == (1, 0)
    text = printed("reach", "shop/raw.UID", "--direction", "both", *EVER, *store)
    assert (text.count(UPSTREAM), text.count(DOWNSTREAM)) == (0, 1)


def test_where_all_are_in_order_there_is_no_such_line(store: tuple[str, str]) -> None:
    for options in (("shop/bills.UID", "--causal"), ("shop/names.UID", "--direction", "forward")):
        assert "Not in the order" not in printed("reach", *options, *EVER, *store)


def test_csv_has_the_column(store: tuple[str, str]) -> None:
    text = printed("reach", "shop/bills.UID", "--format", "csv", *EVER, *store)
    rows = {(row["fromName"], row["toName"]): row["inOrder"] for row in csv.DictReader(io.StringIO(text))}
    assert {pair for pair, in_order in rows.items() if in_order == "false"} == LATE_BACKWARD
    assert rows["orders", "bills"] == "true"


def test_reports_have_a_column_where_order_was_not_asked(store: tuple[str, str]) -> None:
    question = ("report", "provenance", "shop/bills.UID", *EVER, *store)
    words = "(not in the order of the runs)"
    for form, mark in (
        *(((), words), (("--format", "html"), words)),
        *((("--format", "csv"), "inOrder"), (("--json",), "inOrder")),
    ):
        assert mark not in printed(*question, *form)
        assert mark in printed(*question, "--no-causal", *form)
    listed = [line.split() for line in printed(*question, "--no-causal").splitlines() if words in line]
    assert {line[0] for line in listed} == {"shop/landing.UID", "shop/raw.UID"}
    text = printed(*question, "--no-causal", "--part", "upstream", "--format", "csv")
    rows = csv.DictReader(io.StringIO(text))
    assert {row["name"]: row["inOrder"] for row in rows} == {"orders": "", "raw": "false"}


def test_the_csv_of_a_consumption_report_is_that_of_programs(store: tuple[str, str]) -> None:
    question = ("report", "consumption", "shop/orders.UID", *EVER, *store, "--format", "csv")
    assert printed(*question) == printed(*question, "--part", "programs")
    assert printed(*question) != printed(*question, "--part", "derived")


@pytest.mark.slow
def test_a_server_prints_what_its_store_prints(store: tuple[str, str], tmp_path: Path) -> None:
    forms = [(), *(("--format", form) for form in ("json", "csv"))]
    questions = [
        ("reach", "shop/orders.UID", "--direction", "both", "--failed", "--format", "mermaid"),
        *(("reach", "shop/orders.UID", "--direction", "both", "--failed", *form) for form in forms),
        *(("report", "consumption", "shop/raw.UID", "--no-causal", *form) for form in forms),
    ]
    with serving(store[1], tmp_path) as url:
        for question in questions:
            remote = printed(*question, "--start", "0", "--end", "2000000000", "--server", url)
            assert remote == printed(*question, "--start", "0", "--end", "2000000000", *store)
