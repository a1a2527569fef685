"""Tables on a terminal: cells whole, no more than a screen, and a true count of what is left out."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Group
from rich.text import Text

from fll_hbase.cli.render.listings import in_order
from fll_hbase.cli.render.result_tables import TextTable
from fll_hbase.cli.render.screen import Screen, draw, wrap
from fll_hbase.cli.render.table_layout import Column, Prose, lay_out
from fll_hbase.cli.render.time_text import Moment
from tests.support.commands import END_MS

NAMES = st.text(alphabet="abcxyz./-_", min_size=1, max_size=60)
SENTENCES = st.lists(NAMES, max_size=12).map(lambda words: Prose(" ".join(words)))


@st.composite
def tables(draw_value: st.DrawFn) -> TextTable:
    """A table of names, times and sentences, some equal in all rows."""
    count = draw_value(st.integers(1, 40))
    name = draw_value(NAMES)
    columns = (Column("name"), Column("spare", spare=1), Column("at"), Column("about"), Column("kind"))
    rows: list[list[str | Moment]] = [
        [
            draw_value(NAMES),
            f"spare{number}",
            Moment(END_MS - draw_value(st.integers(0, 10**9)), "UTC"),
            draw_value(SENTENCES),
            name,
        ]
        for number in range(count)
    ]
    return TextTable(columns, rows)


@given(tables(), st.integers(20, 200))
def test_every_name_is_shown_unbroken(table: TextTable, width: int) -> None:
    lines = [text.plain for text in draw(table, Screen(width, None, END_MS))]
    words = {word for line in lines for word in re.split(r"[ ,]+", line)}
    for row in table.rows:
        assert {row[0], row[4], *str(row[3]).split()} <= words
    # Of one word, a name is longer than the line.
    assert all(cell_len(line) <= width or len(line.split()) <= 2 for line in lines)


@given(tables(), tables(), st.integers(20, 200), st.integers(6, 60))
def test_a_screen_counts_what_it_leaves_out(
    first: TextTable, second: TextTable, width: int, lines_max: int
) -> None:
    page = Group(Text("first"), first, Text("second"), second)
    lines = [text.plain for text in draw(page, Screen(width, lines_max, END_MS))]
    everything = [text.plain for text in draw(page, Screen(width, None, END_MS))]
    assert len(lines) <= max(lines_max, len(everything))
    assert len(lines) <= lines_max
    last = re.fullmatch(r"… ([0-9,]+) more of ([0-9,]+) rows: --all shows all", lines[-1])
    if last is None:
        assert lines == everything
    else:
        more, total = int(last[1]), int(last[2])
        assert 0 < more <= total <= len(first.rows) + len(second.rows)


def test_of_many_rows_only_those_of_a_screen_are_laid_out() -> None:
    rows = [[f"name{number}", "same", "" if number else "x"] for number in range(250_000)]
    rows[-1][1] = "other"
    block = lay_out([Column("name"), Column("kind"), Column("note")], rows, Screen(12, 23, END_MS))
    assert len(block.items) == 23
    assert block.count == 250_000
    # What differs in the last row alone is not constant.
    assert not [text for text, _ in block.tail if "same" in text]


@pytest.mark.parametrize(
    ("time_ms", "texts"),
    [
        (END_MS - 60_001, ("08:52:19", "08:52")),
        (END_MS - 86_400_000, ("2025-10-08 08:53:20", "10-08 08:53")),
        (END_MS - 365 * 86_400_000, ("2024-10-09 08:53:20", "2024-10-09 08:53")),
        (2**62, (f"{2**62 // 1000 * 1000} ms",) * 2),
    ],
)
def test_times_of_today_have_no_date(time_ms: int, texts: tuple[str, str]) -> None:
    moment = Moment(time_ms, "UTC")
    assert (moment.on_screen(END_MS, short=False), moment.on_screen(END_MS, short=True)) == texts


@given(st.lists(NAMES, max_size=20), st.integers(5, 80))
def test_wrapped_lines_are_the_words(words: list[str], width: int) -> None:
    lines = wrap(" ".join(words), width, indent="  ")
    assert " ".join(lines).split() == words
    assert all(cell_len(line) <= width or len(line.split()) == 1 for line in lines)


def test_a_window_is_not_wrapped() -> None:
    window = "2025-09-09 08:53:20 to 2025-10-09 08:53:20 UTC"
    assert wrap(f"Runs of bank, {window}; more", 50) == ["Runs of bank,", f"{window};", "more"]


@given(st.data())
def test_operations_stand_behind_those_that_they_read(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    operations: list[dict[str, Any]] = []
    for number in range(count):
        origins = data.draw(st.sets(st.integers(0, number - 1))) if number else set()
        kind = "TRANSFORM" if origins else "READ"
        inputs = [{"origin": f"o{origin}", "name": "x"} for origin in origins]
        operations.append({"type": kind, "name": f"o{number}", "inputs": inputs})
    shuffled = data.draw(st.permutations(operations))
    ordered = in_order(shuffled)
    assert sorted(item["name"] for item in ordered) == sorted(item["name"] for item in operations)
    seen: set[str] = set()
    for operation in ordered:
        assert {item["origin"] for item in operation["inputs"]} <= seen
        seen.add(operation["name"])


def test_operations_in_a_circle_stand_at_the_end() -> None:
    names = {"a": "b", "b": "a", "c": ""}
    operations = [
        {"type": "TRANSFORM", "name": name, "inputs": [{"origin": origin, "name": "x"}] if origin else []}
        for name, origin in names.items()
    ]
    assert [item["name"] for item in in_order(operations)] == ["c", "a", "b"]
