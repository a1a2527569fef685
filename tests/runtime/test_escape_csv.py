"""CSV is safe in spreadsheets, and every text comes back."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.runtime.escape import to_csv, to_line

texts = st.text(st.sampled_from("'=+-@\t\r\n\",a1 "), max_size=6) | st.text(max_size=6)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''-"])
def test_no_cell_is_a_formula(text: str) -> None:
    assert read(to_csv(["name"], [[text]])) == [["name"], [f"'{text}"]]


@pytest.mark.parametrize("text", ["", "a=1", "'quoted'", "1", " =1", "s3://a", "*"])
def test_other_texts_are_as_they_are(text: str) -> None:
    assert read(to_csv(["name", "other"], [[text, "x"]])) == [["name", "other"], [text, "x"]]


def test_numbers_are_as_they_are() -> None:
    assert to_line([-1, -1.5, 7, True, "-1"]) == "-1,-1.5,7,True,'-1"


@given(st.lists(st.lists(texts, min_size=2, max_size=2), max_size=4))
def test_every_text_comes_back_and_none_begins_a_formula(rows: list[list[str]]) -> None:
    cells = read(to_csv(["a", "b"], rows))[1:]
    assert [[without_apostrophe(cell) for cell in row] for row in cells] == rows
    assert not [cell for row in cells for cell in row if cell[:1] in tuple("=+-@\t\r")]


def without_apostrophe(cell: str) -> str:
    is_marked = cell.startswith("'") and cell.lstrip("'")[:1] in tuple("=+-@\t\r")
    return cell[1:] if is_marked else cell


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))
